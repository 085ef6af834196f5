"""What only long reads are asked, against plain Python that reads the records by pysam."""

import math
import random
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readwarp.errors import InputError
from readwarp.report.counting import windows
from readwarp.report.counting.long_reads import count_long_reads
from readwarp.report.long_reads import LongReads

HEADER = pysam.AlignmentHeader.from_dict(
    {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": "one", "LN": 90_000}, {"SN": "two", "LN": 90}]}
)


def read_of(runs: list[tuple[str, int]], rng: random.Random, **tags: object) -> pysam.AlignedSegment:
    read = pysam.AlignedSegment(HEADER)
    read.query_name, read.reference_id, read.reference_start = "r", 0, rng.randrange(80_000)
    read.cigarstring = "".join(f"{length}{operation}" for operation, length in runs)
    length = sum(length for operation, length in runs if operation in "MI=X")
    read.query_sequence = "".join(rng.choices("ACGTN", k=length)) or None
    read.query_qualities = [rng.randrange(61) for _ in range(length)] if rng.random() < 0.8 else None
    for name, value in tags.items():
        read.set_tag(name, value)
    return read


def write(path: Path, reads: list[pysam.AlignedSegment]) -> Path:
    reads.sort(key=lambda read: (read.reference_id % 1000, read.reference_start))
    with pysam.AlignmentFile(str(path), "wb", header=HEADER) as out:
        for read in reads:
            out.write(read)
    pysam.index(str(path))
    return path


def counted(path: Path, threads: int = 1) -> LongReads:
    return LongReads.of(count_long_reads(path, None, threads))


runs = st.lists(st.tuples(st.sampled_from("MID=X"), st.integers(1, 50)), min_size=1, max_size=30)


@settings(max_examples=30)
@given(st.lists(runs, min_size=1, max_size=20), st.randoms())
def test_identity_is_one_less_de(tmp_path_factory, given_runs, rng):
    """By columns: each equal, different, or one gap. minimap2's de is rounded to four digits."""
    wanted, by_edits, by_tag = Counter[float](), [], []
    for own in given_runs:
        columns: list[str] = []
        edits = 0
        for operation, length in own:
            if operation in "ID":
                columns, edits = [*columns, "gap"], edits + length
            else:
                same = [operation == "=" or (operation == "M" and rng.random() < 0.8) for _ in range(length)]
                columns += ["same" if equal else "different" for equal in same]
                edits += length - sum(same)
        by_edits.append(read_of(own, rng, NM=edits))
        share = columns.count("same") / len(columns)
        by_tag.append(read_of(own, rng, NM=0, **{rng.choice(("de", "dv")): float(f"{1 - share:.4f}")}))
        if set(columns) - {"gap"}:
            wanted[round(100 * share, 2)] += 1
    folder = tmp_path_factory.mktemp("identity")
    found = counted(write(folder / "x.bam", by_edits)).identity
    tags = counted(write(folder / "y.bam", by_tag)).identity
    assert found.total() == wanted.total() <= tags.total()
    assert sorted(found.elements()) == pytest.approx(sorted(wanted.elements()), abs=0.0101)  # halves go either way
    if tags.total() == wanted.total():
        assert sorted(tags.elements()) == pytest.approx(sorted(wanted.elements()), abs=0.0101)


@pytest.mark.parametrize("threads", [1, 3])
def test_counts_are_those_of_the_records(tmp_path, monkeypatch, threads):
    """Of records of all kinds, in many windows; those that are not primary do not count."""
    monkeypatch.setattr(windows, "WINDOW", 1 << 14)
    rng, reads = random.Random(5), []
    for number in range(500):
        read = read_of([("M", rng.randrange(1, 400)), ("D", 3), ("M", 20)], rng, NM=rng.randrange(20))
        read.query_name, read.flag = f"r{number}", rng.choice([0, 16, 4, 0x100, 0x800, 0x400])
        if number % 5 == 0:
            read.set_tag("SA", "one,1,+,40M,60,0;" * (1 + number % 4))
        if read.is_unmapped and number % 2:
            read.reference_id = read.reference_start = -1
        reads.append(read)
    reads.sort(key=lambda read: (read.reference_id % 1000, read.reference_start))
    found = counted(write(tmp_path / "x.bam", reads), threads)
    primary = [read for read in reads if not read.flag & 0x900]
    with_qualities = [np.array(read.query_qualities, float) for read in primary if read.query_qualities is not None]
    assert found.bases == Counter(quality for row in with_qualities for quality in row)
    means = [-10 * math.log10(np.mean(10.0 ** (-row / 10))) for row in with_qualities]
    assert found.quality == Counter(round(mean, 1) for mean in means)
    gc = [round(100 * sum(map(read.query_sequence.count, "GC")) / read.query_length) for read in primary]
    assert found.gc == Counter(map(float, gc))
    mapped = [read for read in primary if not read.is_unmapped]
    parts = [1 + (read.get_tag("SA").count(";") if read.has_tag("SA") else 0) for read in mapped]
    assert found.parts == Counter(map(float, parts)) and len(found.parts) > 2
    assert found.identity.total() == len(mapped)


def test_identity_is_unknown_without_tags(tmp_path):
    rng = random.Random(1)
    reads = [read_of([("M", 100)], rng), read_of([("M", 100)], rng, dv=0.01), read_of([("M", 100)], rng, de=math.nan)]
    assert counted(write(tmp_path / "x.bam", reads)).identity == {99.0: 1}


@pytest.mark.parametrize("tags", [{"de": "many"}, {"NM": "3"}, {"dv": 0.1, "de": "x"}])
def test_a_tag_that_is_no_number(tmp_path, tags):
    path = write(tmp_path / "x.bam", [read_of([("M", 9)], random.Random(1), **tags)])
    with pytest.raises(InputError, match=re.escape("x.bam: record r: the tags of a read cannot be read")):
        counted(path)
