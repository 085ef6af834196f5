"""Where UMIs are found in reads, compared with plain Python; and what is refused."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readwarp.config import ReadStructure, UmiParameters
from readwarp.errors import InputError, UsageError
from readwarp.formats.common.reads import ReadBatch
from readwarp.formats.reads.raw import ReadInput
from readwarp.formats.reads.read_structure import parse_structure, parse_umi
from readwarp.formats.reads.stream import open_reads, parse
from readwarp.formats.reads.umi_checks import check_umis, layout_of, umi_of

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


def read(folder, texts, umi, comments=False, interleaved=False, **others):
    """The reads of FASTQ texts (ReadBatch), and the batch before it was decoded."""
    paths = []
    for number, text in enumerate(texts, 1):
        (folder / f"{number}.fq").write_text(text)
        paths.append(str(folder / f"{number}.fq"))
    given = ReadInput(tuple(paths), umi=umi, comments=comments, interleaved=interleaved, **others)
    (raw,) = open_reads([given], 1 << 20)
    return parse(raw), raw


def fastq(name, bases="ACGTACGT", quality=None):
    return f"@{name}\n{bases}\n+\n{quality or 'I' * len(bases)}\n"


def fields(reads: ReadBatch, row: int) -> dict[str, str]:
    """Text fields of a read."""
    data = reads.tags[reads.tag_offsets[row] : reads.tag_offsets[row + 1]].tobytes()
    return {text[:2].decode(): text[3:].decode() for text in data.split(b"\0")[:-1]}


def bases(reads, row):
    return "".join("ACGTN"[b] for b in reads.bases[reads.read_offsets[row] : reads.read_offsets[row + 1]])


def qualities(reads, row):
    return (reads.qualities[reads.read_offsets[row] : reads.read_offsets[row + 1]] + 33).tobytes().decode()


def umi_in(name):
    """By regular expressions; None: there is none."""
    part = "r?[ACGTNacgtn]+"
    found = re.fullmatch(rf".*:({part}(?:[-+_]{part})*)", name)
    if not found or ":" in found[1]:
        found = re.fullmatch(rf".*:[A-Za-z]+_({part}(?:[-+_]{part})*)", name)
    if not found or ":" in found[1]:
        found = re.fullmatch(rf".*_({part}(?:[-+]{part})*)", name)
    if not found:
        return None
    parts = re.split("[-+_]", found[1])
    turned = [p[1:].upper().translate(COMPLEMENT)[::-1] if p[0] == "r" else p.upper() for p in parts]
    return "-".join(turned)


@pytest.mark.parametrize(
    ("name", "umi"),
    [
        ("A00:1:HX:1:1101:10:20:ACGTN", "ACGTN"),
        ("A00:1:HX:1:1101:10:20:ACGT+TTGA", "ACGT-TTGA"),
        ("A00:1:HX:1:1101:10:20:ACGT-TTGA", "ACGT-TTGA"),
        ("A00:1:HX:1:1101:10:20:ACGT_TTGA", "ACGT-TTGA"),  # fastp
        ("A00:1:HX:1:1101:10:20:UMI_ACGT_TTGA", "ACGT-TTGA"),  # fastp --umi_prefix
        ("A00:1:HX:1:1101:10:20:umi_ACGT", "ACGT"),
        ("A00:1:HX:1:1101:10:20_ACGT_TTGA", "TTGA"),
        ("A00:1:HX:1:1101:10:20:ACGT+rTTGA", "ACGT-TCAA"),  # BCL Convert
        ("A00:1:HX:1:1101:10:20_ACGT", "ACGT"),  # UMI-tools
        ("A00:1:HX:1:1101:10:20_CELL_ACGT", "ACGT"),
        ("SRR1.1_acg", "ACG"),
    ],
)
def test_umis_in_names(name, umi, tmp_path):
    assert umi_in(name) == umi
    reads, _ = read(tmp_path, [fastq(name)], UmiParameters("name"))
    assert fields(reads, 0) == {"RX": umi}
    assert reads.names.tobytes().decode() == name


NAMES = st.text("ACGTNaxr1:_+-", min_size=1, max_size=14) | st.from_regex(
    r"(1:|1_)(AC_|xT_)?r?[ACGTNac]{1,4}([-+_]r?[ACGT]{1,3})?", fullmatch=True
)


@settings(max_examples=200)
@given(st.lists(NAMES, min_size=1, max_size=4))
def test_names_of_any_kind(tmp_path_factory, names):
    """As by regular expressions, or the first name without a UMI is refused."""
    expected = [umi_in(name) for name in names]
    text = "".join(map(fastq, names))
    folder = tmp_path_factory.mktemp("names")
    if None in expected:
        with pytest.raises(InputError, match=rf"record {expected.index(None) + 1}: its name does not end in a UMI"):
            read(folder, [text], UmiParameters("name"), single=True)
    else:
        reads, _ = read(folder, [text], UmiParameters("name"), single=True)
        assert [fields(reads, row)["RX"] for row in range(len(names))] == expected


def test_umis_in_comments(tmp_path):
    comments = ["RX:Z:ACG", "1:N:0:AC RX:Z:ACG", "BC:Z:AA\tRX:Z:AC-G\tQX:Z:II I", "hello RX:Z:NNN world"]
    text = "".join(fastq(f"r{i} {comment}") for i, comment in enumerate(comments))
    reads, _ = read(tmp_path, [text], UmiParameters("comment"))
    found = [fields(reads, row) for row in range(4)]
    assert found == [{"RX": "ACG"}, {"RX": "ACG"}, {"RX": "AC-G", "QX": "II I"}, {"RX": "NNN"}]
    kept, _ = read(tmp_path, [fastq("r BC:Z:AA\tRX:Z:ACG")], UmiParameters("comment"), comments=True)
    assert fields(kept, 0) == {"BC": "AA", "RX": "ACG"}


def cut(text, structure):
    """Parts of a read by kind, in order."""
    spare = len(text) - sum(n or 0 for _, n in structure.segments)
    parts, at = [], 0
    for kind, n in structure.segments:
        size = spare if n is None else n
        parts.append((kind, text[at : at + size]))
        at += size
    return parts


STRUCTURES = ["8M12S+T", "+T", "2B3M4T", "3T2M+T", "2M1S2M+T", "1C4B2M2T+S", "4M5T", "+T3M"]


@pytest.mark.parametrize("pair", [(a, b) for a in STRUCTURES for b in STRUCTURES if "M" in a + b])
def test_umis_in_bases(pair, tmp_path):
    rng = np.random.default_rng(len("".join(pair)))
    texts, structures = ["", ""], [parse_structure("", text) for text in pair]
    made = []
    for number in range(5):
        mates = []
        for mate, structure in enumerate(structures):
            fixed = sum(n or 0 for _, n in structure.segments)
            is_open = any(n is None for _, n in structure.segments)
            size = fixed + (int(rng.integers(0, 30)) if is_open else 0)
            letters = "".join(rng.choice(list("ACGTN"), size))
            scores = "".join(map(chr, rng.integers(33, 73, size)))
            texts[mate] += fastq(f"r{number}", letters, scores) if size else f"@r{number}\n\n+\n\n"
            mates.append((letters, scores))
        made.append(mates)
    umi = parse_umi(",".join(pair), False)
    reads, _ = read(tmp_path, texts, umi)
    for number, mates in enumerate(made):
        parts = [[cut(text, structure) for text in mate] for mate, structure in zip(mates, structures, strict=True)]
        for mate in range(2):
            row = 2 * number + mate
            assert bases(reads, row) == "".join(text for kind, text in parts[mate][0] if kind == "T")
            assert qualities(reads, row) == "".join(text for kind, text in parts[mate][1] if kind == "T")
            expected = {}
            for kind, name, quality in (("M", "RX", "QX"), ("B", "BC", "QT"), ("C", "CR", "CY")):
                letters, scores = ([t for each in parts for k, t in each[i] if k == kind] for i in range(2))
                if (letters and mates[0][0]) or letters:
                    expected |= {name: "-".join(letters), quality: " ".join(scores)}
            assert fields(reads, row) == expected


def test_fasta_has_no_qualities(tmp_path):
    (tmp_path / "r.fa").write_text(">r\nACGTACGT\n")
    given = ReadInput((str(tmp_path / "r.fa"),), umi=parse_umi("3M+T", False))
    (raw,) = open_reads([given], 1 << 20)
    reads = parse(raw)
    assert fields(reads, 0) == {"RX": "ACG"} and bases(reads, 0) == "TACGT"


def test_structures_are_read():
    assert parse_structure("", "8M12S+T") == ReadStructure((("M", 8), ("S", 12), ("T", None)))
    assert parse_umi("8M+T,+T", False) == parse_umi("8M+T +T", False)
    assert parse_umi("name", True) == UmiParameters("name", duplex=True)


@pytest.mark.parametrize(
    ("text", "duplex", "reason"),
    [
        ("nam", False, "did you mean name"),
        ("8X+T", False, "'8X\\+T' is not a segment"),
        ("8M+", False, "'\\+' is not a segment"),
        ("M8T", False, "'M8T' is not a segment"),
        ("8M+T+T", False, "more than one \\+"),
        ("0M+T", False, "has no bases"),
        ("+T", False, "has no M"),
        ("8M", False, "has no T"),
        ("5T+M", False, "the length of M must be a number"),
        ("8M+T,+T,+T", False, "has 3 read structures"),
        ("8M+T,+T", True, "two UMIs of equal length"),
        ("8M+T,6M+T", True, "two UMIs of equal length"),
        ("8m+T", False, "not a segment"),
    ],
)
def test_bad_structures(text, duplex, reason):
    with pytest.raises(UsageError, match=reason):
        parse_umi(text, duplex)


@pytest.mark.parametrize(
    ("source", "texts", "reason"),
    [
        ("3M+T", [fastq("a", "ACGTT") + fastq("b", "AC")], "record 2: has 2 bases, but its read structure needs 3"),
        ("3M4T", [fastq("a", "ACGTT")], "1.fq: record 1: has 5 bases, but its read structure needs 7"),
        ("3M1T", [fastq("a", "ACGTT")], r"record 1: has 5 bases, but its read structure needs 4: end it in \+T"),
        ("3M+T", [fastq("a", "ACGTT"), fastq("a", "ACGTT")], "1.fq: record 1: belongs to a pair, which needs two"),
        ("3M+T,+T", [fastq("a", "ACGTT")], "1.fq: record 1: has no mate, but there are two"),
        ("3M+T,4M+T", [fastq("a", "ACGTT"), fastq("a", "AC")], "2.fq: record 1: has 2 bases, but its read structure"),
        ("name", [fastq("a:AC") + fastq("a:12")], "1.fq: record 2: its name does not end in a UMI"),
        ("name", [fastq("ACGT")], "record 1: its name does not end in a UMI"),
    ],
)
def test_reads_that_do_not_fit(source, texts, reason, tmp_path):
    with pytest.raises(InputError, match=reason):
        read(tmp_path, texts, parse_umi(source, False))


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ([fastq("a RX:Z:AC") + fastq("b")], "1.fq: record 2: its comment has no RX:Z: tag"),
        ([fastq("a RX:Z:AC") + fastq("b RX:Z:AX")], "1.fq: record 2: its UMI has letters other than A C G T N"),
        ([fastq("a RX:Z:AC") + fastq("b RX:Z:A-")], "record 2: its UMI has letters other"),
        ([fastq("a RX:Z:AC") + fastq("b RX:i:1")], "record 2: has no UMI: its tag RX is not text"),
        (
            [fastq("a RX:Z:AC") + fastq("b RX:Z:ACG")],
            "record 2: its UMI ACG has other lengths than the input's first, AC",
        ),
        ([fastq("a RX:Z:A-CC") + fastq("b RX:Z:AC-C")], "record 2: its UMI AC-C has other lengths"),
        ([fastq("a RX:Z:AC"), fastq("a RX:Z:AG")], "2.fq: record 1: the mates of the pair have different UMIs"),
        ([fastq("a RX:Z:AC"), fastq("a")], "2.fq: record 1: its comment has no RX:Z: tag"),
    ],
)
def test_umis_that_are_refused(texts, reason, tmp_path):
    reads, raw = read(tmp_path, texts, UmiParameters("comment"))
    with pytest.raises(InputError, match=reason):
        check_umis(reads, raw, layout_of(reads, raw.input))


def test_the_first_read_says_what_a_umi_is(tmp_path):
    reads, raw = read(tmp_path, [fastq("a RX:Z:AC")], UmiParameters("comment"))
    assert layout_of(reads, raw.input) == umi_of(reads, 0) == "AC"
    for text, duplex, reason in (("b", False, "no RX:Z:"), ("b RX:Z:AC", True, "needs two parts of equal length")):
        reads, raw = read(tmp_path, [fastq(text)], UmiParameters("comment", duplex=duplex))
        with pytest.raises(InputError, match=rf"1.fq: record 1: .*{reason}"):
            layout_of(reads, raw.input)
