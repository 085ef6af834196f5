"""The index that is made while a BAM file is written is that of `samtools index`."""

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pysam
import pytest

from helpers.any_records import make_record
from helpers.batch_samples import bam_records
from helpers.binning_indexes import read_index
from readwarp.finish import sort
from readwarp.finish.writer import AlignmentWriter, Finish
from readwarp.formats.alignments import samtools
from readwarp.formats.alignments.header import Contig, header_text
from readwarp.formats.common.bgzf import BLOCK
from readwarp.formats.common.output_file import OutputFile
from readwarp.ragged import take

CONTIGS = {"one": 40_000_000, "most": 1 << 29, "none": 500, "HLA*1:1": 90_000, "short": 60, "last": 2}
LONG = CONTIGS | {"long": 600_000_000}


def header_of(contigs: dict[str, int]) -> pysam.AlignmentHeader:
    return pysam.AlignmentHeader.from_text(text_of(contigs))


def text_of(contigs: dict[str, int]) -> str:
    return header_text([Contig(*pair) for pair in contigs.items()], "coordinate")


def random_records(contigs: dict[str, int], seed: int, number: int) -> list[pysam.AlignedSegment]:
    """Of all kinds, most of them near each other; one of each contig begins before it: htslib refuses a second one."""
    rng, header, records = random.Random(seed), header_of(contigs), []
    for _ in range(number):
        records.append(record := make_record(rng, header, rng.choice((50, 50, 50, 5000))))
        record.set_tag("RG", None)
        length, span = header.lengths[record.reference_id], record.reference_length or 1
        if record.reference_id >= 0 and rng.random() < 0.7:
            center = rng.choice((length, 100_000, length // 2 >> 14 << 14))
            record.reference_start = max(0, min(length - span, center + rng.randrange(-2000, 2000)))
        if record.is_unmapped and record.reference_name not in {own.reference_name for own in records[:-1]}:
            record.reference_start = -1
    return records


def write(path, records, contigs=CONTIGS, cuts=(), threads=1, memory=1 << 28, mark=False):
    """In batches that end at the cuts. -> the path of the index"""
    with pysam.AlignmentFile(str(path), "wb", header=header_of(contigs)) as out:
        for record in records:
            out.write(record)
    encoded, bounds = bam_records(path), [0, *cuts, len(records)]
    path.unlink()
    finish = Finish("coordinate", mark, write_index=True, memory=memory)
    with AlignmentWriter(str(path), text_of(contigs), finish, threads=threads, binary=True) as writer:
        for first, stop in pairwise(bounds):
            writer.write(take(encoded, "records", slice(first, stop)))
    return writer.index


def check(path, index) -> None:
    """The same as that of samtools but for the order of bins."""
    theirs = path.with_suffix(f".theirs{index.suffix}")
    pysam.index({".bai": "-b", ".csi": "-c"}[index.suffix], "-o", str(theirs), str(path))
    assert read_index(index) == read_index(theirs)


def overlapping(records, contig: str, start: int, stop: int) -> list[str]:
    """Names of the records of a region, as samtools sees it."""
    own = [record for record in records if record.reference_name == contig]
    begins = [record.reference_start for record in own]
    sizes = [0 if record.is_unmapped else record.reference_length or 0 for record in own]
    found = [begin < stop and begin + max(1, size) > start for begin, size in zip(begins, sizes, strict=True)]
    return sorted(record.query_name for record, is_found in zip(own, found, strict=True) if is_found)


@pytest.mark.parametrize("contigs", [CONTIGS, LONG], ids=["bai", "csi"])
@pytest.mark.parametrize("seed", range(2))
def test_as_samtools(tmp_path, contigs, seed):
    rng, path = random.Random(seed), tmp_path / "a.bam"
    records = random_records(contigs, seed, 1000)
    index = write(path, records, contigs, threads=2)
    assert index == tmp_path / ("a.bam.csi" if contigs is LONG else "a.bam.bai")
    check(path, index)
    with pysam.AlignmentFile(str(path)) as file:
        for name, length in contigs.items():
            for start in (0, 100_000, length // 2, length - 1, *(rng.randrange(length) for _ in range(10))):
                start, stop = min(start, length - 1), min(length, start + rng.randrange(1, 50_000))
                found = sorted(record.query_name for record in file.fetch(name, start, stop))
                assert found == overlapping(records, name, start, stop)
        placed = Counter((record.reference_name, record.is_unmapped) for record in records if record.reference_id >= 0)
        counts = {own.contig: (own.mapped, own.unmapped) for own in file.get_index_statistics()}
        assert counts == {name: (placed[name, False], placed[name, True]) for name in contigs}
        assert file.nocoordinate == sum(1 for _ in file.fetch("*")) == len(records) - placed.total()


def test_any_batches_threads_and_memory(tmp_path, monkeypatch):
    """The same bytes, also where the output is merged in many pieces."""
    records, made = random_records(CONTIGS, 5, 1500), set()
    monkeypatch.setattr(sort, "MIN_PIECE", 1 << 14)
    for number, (cuts, threads, memory) in enumerate((((), 1, 1 << 28), ((7, 600), 3, 1 << 15), ((1499,), 2, 1 << 18))):
        index = write(tmp_path / f"{number}.bam", records, CONTIGS, cuts, threads, memory, mark=True)
        made.add((index.read_bytes(), index.with_suffix("").read_bytes()))
    assert len(made) == 1
    check(tmp_path / "1.bam", tmp_path / "1.bam.bai")


@pytest.mark.parametrize("contigs", [CONTIGS, LONG, {}], ids=["bai", "csi", "none"])
def test_no_records(tmp_path, contigs):
    check(tmp_path / "a.bam", write(tmp_path / "a.bam", [], contigs))


def test_reads_without_a_contig(tmp_path):
    records = [record for record in random_records(CONTIGS, 3, 500) if record.reference_id < 0]
    check(tmp_path / "a.bam", write(tmp_path / "a.bam", records))


@pytest.mark.parametrize("size", [1, BLOCK - 1, BLOCK, 2 * BLOCK])
def test_records_that_end_with_a_block(tmp_path, size):
    """The next one begins in the next block; the file ends where the block of its end begins."""
    header, records, path = header_of(CONTIGS), [], tmp_path / "a.bam"
    for name, place in (("first", 5), ("second", 20_000)):
        records.append(record := pysam.AlignedSegment(header))
        record.query_name, record.reference_id, record.reference_start, record.flag = name, 0, place, 0
        record.query_sequence, record.cigarstring = "ACGT", "4M"
    write(path, records[:1])
    with pysam.BGZFile(str(path)) as file:
        missing = -(len(file.read()) + size) % BLOCK
    records[0].set_tag("XX", "x" * (missing + size - 4 + BLOCK))
    for number in (1, 2):
        check(path, write(path, records[:number]))


def test_long_reads(tmp_path):
    """Of several blocks each, over several windows and bins."""
    rng, header, records = random.Random(8), header_of(CONTIGS), []
    for number in range(60):
        records.append(record := pysam.AlignedSegment(header))
        length = rng.randrange(60_000, 90_000)
        record.query_name, record.reference_id, record.flag = f"r{number}", 0, 0
        record.reference_start = rng.choice((0, 130_000, 1 << 20, 8 << 20)) + rng.randrange(40_000)
        record.query_sequence, record.cigarstring = "".join(rng.choices("ACGT", k=length)), f"{length}M"
        record.query_qualities = rng.choices(range(40), k=length)
    check(tmp_path / "a.bam", write(tmp_path / "a.bam", records, threads=2))


def test_without_samtools(tmp_path, monkeypatch):
    """The file is not read again."""
    monkeypatch.setattr(samtools, "run", None)
    index = write(tmp_path / "a.bam", random_records(CONTIGS, 1, 20))
    assert {path.name for path in tmp_path.iterdir()} == {"a.bam", index.name}


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(OutputFile, "index_path", lambda self, ending: Path("/dev/full"))
    with pytest.raises(OSError, match=r"No space left on device.*a\.bam\.bai"):
        write(tmp_path / "a.bam", random_records(CONTIGS, 1, 20))
    assert not list(tmp_path.iterdir())


def test_reads_without_a_position(tmp_path):
    """samtools index takes the second one on a contig for unsorted."""
    records = []
    for name in ("a", "b"):
        records.append(record := pysam.AlignedSegment(header_of(CONTIGS)))
        record.query_name, record.flag, record.reference_id, record.reference_start = name, 4, 0, -1
    (one, *_) = read_index(write(tmp_path / "a.bam", records)).contigs
    ((begin, end), counts) = one.bins[37450]
    assert one.bins[4681] == ((begin, end),) and counts == (0, 2) and one.windows == (begin,)
