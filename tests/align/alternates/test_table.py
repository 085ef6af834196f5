"""bwa's .alt file: which contigs are ALT, which bases of the primary assembly theirs are aligned to, and refusals."""

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.made_alternates import images_of, sam_line
from readwarp.align.alternates import Alternates, cut_alternates, find_alternates, read_alternates
from readwarp.align.alternates.table import are_alternate, contigs_of, count_alternates, describe_alternates
from readwarp.align.places import Genome
from readwarp.errors import InputError
from readwarp.index.reference import Reference
from readwarp.ragged import check, offsets_of

NAMES, LENGTHS = ("chr1", "chr2", "a_alt", "b_alt", "HLA-A*01:01"), (1000, 500, 60, 80, 30)


def reference_of(names=NAMES, lengths=LENGTHS) -> Reference:
    return Reference(tuple(names), offsets_of(lengths), ("",) * len(names), np.empty(0, np.uint8))


def read(text: str, path: Path, reference: Reference | None = None) -> Alternates:
    path.write_bytes(text.encode())
    table = read_alternates(path, reference or reference_of())
    check(table)
    return table


def images_in(table: Alternates, contig: int) -> list[tuple[int, int] | None]:
    """(reference position, strand) of each base of a contig."""
    first, last = (int(offset) for offset in table.contig_offsets[contig : contig + 2])
    found: list[tuple[int, int] | None] = [None] * (last - first)
    for start, stop, image, strand in zip(*(column.tolist() for column in table[2:]), strict=True):
        for at in range(max(start, first), min(stop, last)):
            assert found[at - first] is None
            found[at - first] = (image + (start - at if strand else at - start), strand)
    return found


def test_by_hand(tmp_path):
    """2S3M1I2M4D52M of a contig of 60 bases at position 101 of chr2, forward and reversed."""
    table = read(sam_line("a_alt", 0, "chr2", 101, "2S3M1I2M4D52M") + "\n", tmp_path / "x.alt")
    assert table.is_alternate.tolist() == [False, False, True, False, False]
    assert table.start.tolist() == [1502, 1506, 1508] and table.stop.tolist() == [1505, 1508, 1560]
    assert table.image.tolist() == [1100, 1103, 1109] and table.strand.tolist() == [0, 0, 0]
    table = read(sam_line("a_alt", 16, "chr2", 101, "2S3M1I2M4D52M") + "\n", tmp_path / "x.alt")
    assert table.start.tolist() == [1500, 1552, 1555] and table.stop.tolist() == [1552, 1554, 1558]
    assert table.image.tolist() == [1160, 1104, 1102] and table.strand.tolist() == [1, 1, 1]


@st.composite
def record(draw, name="a_alt", length=60):
    """A line with a random alignment of the contig to chr1."""
    runs, left = [], length
    clip = draw(st.integers(0, 20))
    if clip:
        runs.append((clip, draw(st.sampled_from("SH"))))
    left -= clip
    while left:
        size, kind = draw(st.integers(1, left)), draw(st.sampled_from("MM=XIDN"))
        runs.append((size, kind))
        left -= size if kind in "M=XI" else 0
    flag = draw(st.sampled_from((0, 16, 2048, 2064)))
    return sam_line(name, flag, "chr1", draw(st.integers(1, 300)), "".join(f"{n}{kind}" for n, kind in runs))


@given(lines=st.lists(record(), min_size=1, max_size=3))
def test_images_are_those_of_the_records(lines, tmp_path_factory):
    """A base that several records align is where one of them has it; no base that one of them aligns is left out."""
    table = read("\n".join(lines), tmp_path_factory.getbasetemp() / "random.alt")
    wanted = [images_of(line, 60) for line in lines]
    found = images_in(table, 2)
    for at, image in enumerate(found):
        possible = [each[at] for each in wanted if at in each]
        assert image in possible if possible else image is None
    if len(lines) == 1:
        assert {at: image for at, image in enumerate(found) if image} == wanted[0]


def test_of_two_records_the_one_that_starts_first_counts(tmp_path):
    first, second = sam_line("a_alt", 0, "chr1", 1, "40M20S"), sam_line("a_alt", 2064, "chr1", 501, "10S30M20S")
    for lines in ((first, second), (second, first)):
        found = images_in(read("\n".join(lines), tmp_path / "x.alt"), 2)
        assert found[39:41] == [(39, 0), (509, 1)] and found[49:51] == [(500, 1), None]


def test_records_that_only_name_their_contig(tmp_path):
    """Unmapped, secondary, bare names (also with CRLF), on an ALT contig; headers and blank lines say nothing."""
    lines = [
        "@SQ\tSN:chr1\tLN:1000",
        sam_line("HLA-A*01:01", 4, "*", 0, "*"),
        "",
        sam_line("a_alt", 256, "chr1", 1, "60M"),
        "b_alt",
        sam_line("b_alt", 0, "a_alt", 1, "60M20S"),
    ]
    for end in ("\n", "\r\n"):
        table = read(end.join(lines), tmp_path / "x.alt")
        assert table.is_alternate.tolist() == [False, False, True, True, True] and table.start.size == 0
        assert count_alternates(table) == {"contigs": 3, "without_lift_over": 3}
    assert read("", tmp_path / "x.alt").is_alternate.sum() == 0


def test_what_is_said_of_them(tmp_path):
    table = read(sam_line("a_alt", 0, "chr1", 1, "60M") + "\nb_alt\n", tmp_path / "x.alt")
    text = describe_alternates(Path("x.alt"), table)
    assert text == "ALT-aware by x.alt: 2 ALT contigs, 1 of them without a lift-over"
    assert are_alternate(table, np.array([0, 1499, 1500, 1639, 1640])).tolist() == [False, False, True, True, False]
    lines = [contig.line for contig in contigs_of(reference_of(), table)]
    assert lines[1:3] == ["@SQ\tSN:chr2\tLN:500", "@SQ\tSN:a_alt\tLN:60\tAH:*"]
    assert "AH" not in "".join(contig.line for contig in contigs_of(reference_of(), None))


@pytest.mark.parametrize(
    ("lines", "kept"), [("", [1000, 500, 60, 80, 30]), ("b_alt", [1000, 500, 60, 0, 0]), ("chr1\na_alt", [0] * 5)]
)
def test_where_reads_are_settled(lines, kept, tmp_path):
    """On the contigs before the first ALT contig."""
    table = read(lines, tmp_path / "x.alt")
    genome = Genome(np.empty(0, np.uint8), table.contig_offsets)
    assert np.diff(cut_alternates(genome, table).contig_offsets).tolist() == kept


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("c_alt", "c_alt is not a contig of the reference"),
        (sam_line("a_alt", 0, "chr3", 1, "60M"), "a_alt: is aligned to chr3, which is not a contig of the reference"),
        (sam_line("a_alt", 0, "chr1", 1, "59M"), "a_alt: its CIGAR covers 59 bases, the contig has 60"),
        (sam_line("a_alt", 16, "chr1", 1, "5H55M1S"), "a_alt: its CIGAR covers 61 bases, the contig has 60"),
        (sam_line("a_alt", 0, "chr2", 442, "60M"), "a_alt: its CIGAR goes 1 base beyond chr2"),
        (sam_line("a_alt", 0, "chr1", 900, "30M60D30M"), "a_alt: its CIGAR goes 19 bases beyond chr1"),
        (sam_line("a_alt", 0, "chr1", 0, "60M"), "a_alt: has a position or a CIGAR that SAM does not allow"),
        (sam_line("a_alt", 0, "chr1", 1, "60Q"), "a_alt: has a position or a CIGAR that SAM does not allow"),
        (sam_line("a_alt", 0, "chr1", 1, "*"), "a_alt: has a position or a CIGAR that SAM does not allow"),
        ("a_alt\tx\tchr1\t1\t60\t60M", "a_alt: is not a SAM record"),
        ("a_alt\t0\tchr1", "a_alt: is not a SAM record"),
    ],
)
def test_refusals(line, reason, tmp_path):
    text = f"@CO\tx\nb_alt\n{line}\n"
    with pytest.raises(InputError) as caught:
        read(text, tmp_path / "x.alt")
    assert str(caught.value) == f"{tmp_path / 'x.alt'}: record 2: {reason} (--no-alt aligns without this file)"


@given(line=record(), at=st.integers(0, 200), letter=st.characters(codec="latin-1"))
def test_damage_is_refused_or_harmless(line, at, letter, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "damaged.alt"
    path.write_bytes(f"{line[:at]}{letter}{line[at + 1 :]}\n{line}\n".encode("latin-1"))
    try:
        table = read_alternates(path, reference_of())
    except InputError as error:
        assert str(error).startswith(f"{path}: ") and "\n" not in str(error)
    else:
        check(table)


def test_what_is_no_file_of_text(tmp_path):
    path = tmp_path / "x.alt"
    path.write_bytes(b"\x1f\x8b\x08\xff")
    with pytest.raises(InputError, match=r"is not a SAM file \(--no-alt aligns without this file\)"):
        read_alternates(path, reference_of())
    with pytest.raises(InputError, match="no such file"):
        read_alternates(tmp_path / "absent.alt", reference_of())


@pytest.mark.parametrize("given", ["ref.fa", "ref.fa.gz", "ref.fa.rwx", "ref.fa.gz.rwx"])
@pytest.mark.parametrize("name", ["ref.fa.alt", "ref.fa.64.alt", "ref.alt"])
def test_beside_the_reference(given, name, tmp_path):
    assert find_alternates(tmp_path / given) is None
    (tmp_path / name).touch()
    (tmp_path / "other.alt").touch()
    assert find_alternates(tmp_path / given) == tmp_path / name


def test_the_longest_name_comes_first(tmp_path):
    for name in ("ref.alt", "ref.fa.64.alt", "ref.fa.alt", "ref.fa.gz.alt"):
        (tmp_path / name).touch()
        assert find_alternates(tmp_path / "ref.fa.gz") == tmp_path / name


def test_ten_thousand_contigs(tmp_path):
    """Time in proportion to the file: about 0.1 s here."""
    number = 10_000
    names = ["chr1", *(f"c{i}_alt" for i in range(number))]
    lengths = [1_000_000, *[1000] * number]
    lines = [sam_line(name, 16 * (i & 1), "chr1", 1 + 99 * i, "500M10I490M") for i, name in enumerate(names[1:])]
    started = time.process_time()
    table = read("\n".join(lines), tmp_path / "x.alt", reference_of(names, lengths))
    assert time.process_time() - started < 5
    assert table.start.size == 2 * number and count_alternates(table)["without_lift_over"] == 0
