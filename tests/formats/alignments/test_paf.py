"""PAF, against lines worked out in plain Python, and against those of minimap2."""

import re
import shutil
import subprocess
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.batch_samples import Read, Row, alignments_of, batch_of
from readwarp.errors import UsageError
from readwarp.finish.writer import AlignmentWriter, Finish
from readwarp.formats.alignments.output import format_of
from readwarp.formats.alignments.sam import Encoder

CONTIGS, LENGTHS = ("one", "chr:2"), (5000, 70)


@st.composite
def placed(draw) -> tuple[Read, Row, list[int]]:
    """A read, its record, and NM and AS."""
    run = st.integers(1, 9)
    inner = [(draw(run), "M")]
    for kind in draw(st.lists(st.sampled_from("ID=X"), max_size=4)):
        inner += [(draw(run), kind), (draw(run), "M")]
    head, tail = ([(draw(run), draw(st.sampled_from("SH")))] if draw(st.booleans()) else [] for _ in range(2))
    parts = [*head, *inner, *tail]
    length = sum(count for count, kind in parts if kind != "D")
    bases = draw(st.text("ACGTN", min_size=length, max_size=length))
    gaps, pairs = (sum(count for count, kind in inner if kind in kinds) for kinds in ("ID", "M=X"))
    edits, score = gaps + draw(st.integers(0, pairs)), draw(st.integers(0, 255))
    tags = b"NMC" + bytes([edits]) + b"MDZ10A5\0ASC" + bytes([score])
    flag = draw(st.sampled_from([0, 16, 256, 272, 2048, 99, 147]))
    cigar = "".join(f"{count}{kind}" for count, kind in parts)
    row = Row(0, flag, draw(st.integers(0, 1)), draw(st.integers(0, 60)), draw(st.integers(0, 60)), cigar, tags=tags)
    return Read("r/1", 0, bases, None), row, [edits, score]


def line_of(read: Read, row: Row, numbers: list[int]) -> str:
    parts = [(int(count), kind) for count, kind in re.findall(r"(\d+)(\D)", row.cigar)]
    inner = [(count, kind) for count, kind in parts if kind not in "SH"]
    first = parts.index(inner[0])
    clips = [sum(count for count, _ in side) for side in (parts[:first], parts[first + len(inner) :])]
    reverse, (edits, score) = bool(row.flag & 16), numbers
    start, stop = clips[reverse], len(read.bases) - clips[not reverse]
    pairs, deleted, gap_bases = (sum(n for n, kind in inner if kind in kinds) for kinds in ("M=X", "D", "ID"))
    unequal, unknown = edits - gap_bases, read.bases[start:stop].count("N")
    gaps = sum(kind in "ID" for _, kind in inner)
    share = round(Fraction(unequal + gaps, pairs + gaps), 4)  # ties to even
    fields = [read.name, len(read.bases), start, stop, "+-"[reverse], CONTIGS[row.contig], LENGTHS[row.contig]]
    fields += [row.position, row.position + pairs + deleted, pairs - unequal, pairs + gap_bases - unknown]
    fields += [row.mapping_quality, f"NM:i:{edits}", f"AS:i:{score}", f"nn:i:{unknown}"]
    fields += [f"tp:A:{'S' if row.flag & 256 else 'P'}", f"de:f:{float(share):.4f}" if unequal + gaps else "de:f:0"]
    return "\t".join(map(str, [*fields, "cg:Z:" + "".join(f"{n}{kind}" for n, kind in inner)])) + "\n"


@settings(max_examples=60)
@given(st.lists(placed(), max_size=5))
def test_lines(cases):
    nowhere = Read("u", 0, "ACGT", None), Row(0, 4, -1, -1, 0, "*")
    reads = [*(read for read, _, _ in cases), nowhere[0]]
    rows = [row._replace(read=i) for i, row in enumerate([*(row for _, row, _ in cases), nowhere[1]])]
    written = Encoder(CONTIGS, text=True, lengths=LENGTHS).encode(batch_of(reads), alignments_of(rows))
    assert written.data.tobytes().decode() == "".join(line_of(*case) for case in cases)
    assert len(written) == len(rows)


def test_no_header_and_no_order(tmp_path):
    path = str(tmp_path / "a.paf")
    assert format_of(path) == "paf"
    with AlignmentWriter(path, "@HD\tVN:1.6\n") as writer:
        assert writer.text
    assert (tmp_path / "a.paf").read_bytes() == b""
    for finish in (Finish("coordinate"), Finish("name"), Finish("none", write_index=True)):
        with pytest.raises(UsageError):
            AlignmentWriter(path, "", finish)
    with pytest.raises(UsageError, match="only readwarp align writes PAF"):
        AlignmentWriter(path, "", binary=True)
    with pytest.raises(UsageError, match=r"--paf: .*b.bam would be BAM: use a name that ends in .paf"):
        AlignmentWriter(str(tmp_path / "b.bam"), "", Finish(paf=True))


@pytest.mark.skipif(shutil.which("minimap2") is None, reason="needs minimap2")
@pytest.mark.parametrize("options", [[], ["--eqx"], ["--cs=short"], ["--cs=long"]])
def test_lines_of_real_reads_are_those_of_minimap2(options, test_data, tmp_path):
    """Columns and tags are the same wherever both programs align a read in the same way."""
    from readwarp.cli import main

    data = test_data / "na12878_chr21"
    out, files = tmp_path / "a.paf", [str(data / name) for name in ("ref.fa", "reads_1.fq.gz", "reads_2.fq.gz")]
    assert main(["align", *files, "-o", str(out), "--index", str(tmp_path / "x.rwx"), "-q", *options]) == 0
    theirs = subprocess.run(["minimap2", "-cx", "sr", *options, *files], capture_output=True, text=True, check=True)
    keys = ("NM", "nn", "tp", "de", "cg", *[option[2:4] for option in options if "cs" in option])

    def table(text: str) -> dict[tuple[str, ...], tuple[list[str], list[str]]]:
        """By read, strand, place and CIGAR: the columns without MAPQ, and the tags that both have."""
        rows = (line.split("\t") for line in text.splitlines())
        told = ((row, {field[:2]: field for field in row[12:]}) for row in rows)
        return {(*row[:1], *row[4:8], tags["cg"]): (row[:11], [tags[key] for key in keys]) for row, tags in told}

    ours, known = table(out.read_text()), table(theirs.stdout)
    both = ours.keys() & known.keys()
    assert len(both) > 0.98 * len(known)
    assert [key for key in both if ours[key] != known[key]] == []
