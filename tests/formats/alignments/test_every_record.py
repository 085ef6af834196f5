"""All records of a file, window by window: each begins in one of them, in the order of the file, as pysam reads it."""

import random

import pysam
import pytest

from helpers.making import write_fasta
from readwarp.errors import InputError
from readwarp.formats.alignments.layout import CONTIG, NAME, NAME_LENGTH, POSITION, int32_at
from readwarp.formats.alignments.regions import AlignedReader

CONTIGS = {"one": 40_000, "none": 500, "two": 90, "three": 60}
WINDOW = 1 << 14


@pytest.fixture(scope="module")
def bam(tmp_path_factory):
    """Records of all kinds: unmapped with a place and without, secondary, without bases, of insertions only."""
    folder, rng = tmp_path_factory.mktemp("records"), random.Random(4)
    letters = {name: "".join(rng.choices("ACGT", k=length)) for name, length in CONTIGS.items()}
    write_fasta(folder / "ref.fa", letters)
    header = pysam.AlignmentHeader.from_dict(
        {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": n, "LN": m} for n, m in CONTIGS.items()]}
    )
    reads = []
    for number in range(3000):
        read = pysam.AlignedSegment(header)
        read.query_name = f"r{number}"
        contig = rng.choice([0] * 40 + [2, 3])
        read.reference_id, read.reference_start = contig, rng.randrange(list(CONTIGS.values())[contig] - 30)
        read.flag = rng.choice([0, 16, 4, 256, 1024, 2048, 512])
        read.cigarstring = None if read.flag == 4 else rng.choice(["20M", "4S16M", "8M5D12M", "10M500N10M", "20I"])
        read.query_sequence = None if rng.random() < 0.1 else "".join(rng.choices("ACGT", k=20))
        if not read.is_unmapped and (read.reference_end or 0) > list(CONTIGS.values())[contig]:
            read.cigarstring = "20M"
        reads.append(read)
    reads.sort(key=lambda read: (read.reference_id, read.reference_start))
    for number in range(700):
        read = pysam.AlignedSegment(header)
        read.query_name, read.flag, read.query_sequence = f"unplaced{number}", 4, "ACGTT"
        reads.append(read)
    with pysam.AlignmentFile(str(folder / "x.bam"), "wb", header=header) as out:
        for read in reads:
            out.write(read)
    pysam.index(str(folder / "x.bam"))
    return folder / "x.bam"


def names_of(records) -> list[str]:
    data = records.data.tobytes()
    return [data[at + NAME : at + NAME + data[at + NAME_LENGTH] - 1].decode() for at in records.places.tolist()]


def begins(records) -> list[tuple[int, int]]:
    return [(int32_at(records.data, at + CONTIG), int32_at(records.data, at + POSITION)) for at in records.places]


@pytest.mark.parametrize("kind", ["bam", "cram"])
def test_each_record_once(bam, tmp_path, kind):
    path = bam
    if kind == "cram":
        path = tmp_path / "x.cram"
        pysam.view("-C", "-T", str(bam.with_name("ref.fa")), "-o", str(path), str(bam), catch_stdout=False)
        pysam.index(str(path))
    with pysam.AlignmentFile(str(path), reference_filename=str(bam.with_name("ref.fa"))) as file:
        wanted = list(file.fetch(until_eof=True))
    reader = AlignedReader(path, bam.with_name("ref.fa"))
    found, before = [], 0
    for start in range(0, CONTIGS["one"], WINDOW):
        for records in reader.records(range(1), start, start + WINDOW):
            for name, (_, position) in zip(names_of(records), begins(records), strict=True):
                found += [name] if position >= start else []
                before += position < start
    for records in reader.records(range(2, 4), 0, 90):
        found += names_of(records)
    for records in reader.unplaced():
        assert not records.is_aligned.any()
        found += names_of(records)
    reader.close()
    assert found == [read.query_name for read in wanted]
    edges = range(WINDOW, CONTIGS["one"], WINDOW)
    across = [
        read
        for read in wanted
        if read.reference_name == "one" and not read.is_unmapped and read.query_sequence
        for edge in edges
        if read.reference_start < edge < (read.reference_end or 0)
    ]
    assert before == len(across) > 3


def test_what_is_aligned(bam):
    """Mapped, with bases and a CIGAR."""
    reader = AlignedReader(bam)
    with pysam.AlignmentFile(str(bam)) as file:
        wanted = {r.query_name: not r.is_unmapped and r.query_sequence is not None for r in file.fetch("one")}
    found = {}
    for records in reader.records(range(1), 0, CONTIGS["one"]):
        found |= dict(zip(names_of(records), records.is_aligned.tolist(), strict=True))
    reader.close()
    assert found == wanted


def test_records_with_a_contig_after_those_without(tmp_path):
    """An index that does not know of them would hide them."""
    header = pysam.AlignmentHeader.from_dict({"SQ": [{"SN": "c", "LN": 100}]})
    path = tmp_path / "x.bam"
    for order in ((0, -1), (0, -1, 0)):
        with pysam.AlignmentFile(str(path), "wbu", header=header) as out:
            for contig in order:
                read = pysam.AlignedSegment(header)
                read.query_name, read.flag, read.query_sequence = "r", 4, "ACGT"
                read.reference_id, read.reference_start = contig, contig
                out.write(read)
        if len(order) == 2:
            pysam.index(str(path))
    reader = AlignedReader(path)
    with pytest.raises(InputError, match=r"x\.bam: .*not sorted"):
        list(reader.unplaced())
    reader.close()
