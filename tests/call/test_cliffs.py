"""What must be done once for all windows, and how many windows there are: counted, since times prove nothing."""

import pytest

from helpers.jobs import call_variants
from helpers.making import Read, other, random_sequence, write_bam, write_fasta
from readwarp.call.reads.inputs import AlignmentFiles
from readwarp.formats.alignments import decoded

CONTIGS = {f"contig{i}": random_sequence(300, seed=i) for i in range(40)}
PLACE = 150


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A homozygous substitution on each contig but the last ones, which have no reads."""
    folder = tmp_path_factory.mktemp("cliffs")
    reads = []
    for name, sequence in list(CONTIGS.items())[:30]:
        changed = sequence[:PLACE] + other(sequence[PLACE]) + sequence[PLACE + 1 :]
        for i in range(12):
            start = 80 + 5 * i
            read = Read(start, "100M", changed[start : start + 100], (35,) * 100, 16 * (i % 2), name=f"{name}{i}")
            reads.append((name, read))
    lengths = {name: len(sequence) for name, sequence in CONTIGS.items()}
    bam = write_bam(folder / "made.bam", lengths, reads, {"RG": [{"ID": "g", "SM": "s"}]})
    return write_fasta(folder / "ref.fa", CONTIGS), bam


@pytest.fixture
def counted(monkeypatch):
    """How often the header is parsed and a window is read."""
    calls = {"header": 0, "window": 0}
    parse, read = decoded.read_groups_of, AlignmentFiles.read

    def parsed(header):
        calls["header"] += 1
        return parse(header)

    def reading(*arguments):
        calls["window"] += 1
        return read(*arguments)

    monkeypatch.setattr(decoded, "read_groups_of", parsed)
    monkeypatch.setattr(AlignmentFiles, "read", reading)
    return calls


def places(path) -> list[tuple[str, int]]:
    rows = (line.split("\t") for line in path.read_text().splitlines() if line[0] != "#")
    return [(row[0], int(row[1]) - 1) for row in rows]


def test_small_contigs_are_read_together(made, counted, tmp_path):
    call_variants(*made, tmp_path / "a.vcf")
    assert counted == {"header": 1, "window": 1}  # not 40
    assert places(tmp_path / "a.vcf") == [(name, PLACE) for name in list(CONTIGS)[:30]]


def test_near_targets_are_read_together(made, counted, tmp_path):
    bed = tmp_path / "x.bed"
    spans = [(name, start) for name in CONTIGS for start in range(0, 300, 4)]
    bed.write_text("".join(f"{name}\t{start}\t{start + 3}\n" for name, start in spans))
    call_variants(*made, tmp_path / "a.vcf", targets=[str(bed)])
    assert counted == {"header": 1, "window": 1}  # not 3,000
    assert places(tmp_path / "a.vcf") == [(name, PLACE) for name in list(CONTIGS)[:30]]
