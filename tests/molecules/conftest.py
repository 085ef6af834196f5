"""Random families of reads, aligned with indels and clips."""

import random
from pathlib import Path

import pysam
import pytest

LENGTH = 4000
HEADER = {
    "HD": {"VN": "1.6", "SO": "coordinate"},
    "SQ": [{"SN": "c1", "LN": LENGTH}, {"SN": "c2", "LN": LENGTH}],
    "RG": [{"ID": "lane", "SM": "sample", "LB": "library"}],
}


def cigar_of(rng: random.Random, length: int) -> list[tuple[int, int]]:
    """Matches of so many bases, sometimes with an indel or a clip."""
    kind = rng.choice(["plain"] * 5 + ["insertion", "deletion", "clip"])
    place = rng.choice([length // 3, length // 2])
    if kind == "insertion":
        return [(0, place), (1, 2), (0, length - place - 2)]
    if kind == "deletion":
        return [(0, place), (2, 3), (0, length - place)]
    if kind == "clip":
        return [(0, length - 5), (4, 5)]
    return [(0, length)]


def span_of(cigar: list[tuple[int, int]]) -> int:
    return sum(length for operation, length in cigar if operation in (0, 2))


def records_of(seed: int, molecules: int = 6, paired: bool = True) -> list[pysam.AlignedSegment]:
    """Records in the order of their places; of each molecule some reads, with MI of both strands if they are pairs."""
    rng = random.Random(seed)
    header = pysam.AlignmentHeader.from_dict(HEADER)
    found = []
    for molecule in range(molecules):
        start, insert = rng.randrange(100, LENGTH - 400), rng.choice([40, 70, 110, 200])
        sequence = "".join(rng.choice("ACGT") for _ in range(insert + 10))
        umis = ["".join(rng.choice("ACGT") for _ in range(4)) for _ in "ab"]
        for strand in rng.choice(["A", "B", "AB", "AB"]) if paired else "A":
            for copy in range(rng.choice([1, 1, 2, 3, 5])):
                name = f"m{molecule}{strand}{copy}"
                shown = umis if strand == "A" else umis[::-1]
                shown = ["".join(rng.choice("ACGT") if rng.random() < 0.1 else c for c in umi) for umi in shown]
                pair = [draw(rng, header, sequence, start, insert, right) for right in (False, True)]
                pair = pair if paired else pair[:1]
                for is_right, record in enumerate(pair):
                    record.query_name = name
                    is_first = bool(is_right) == (strand == "B")
                    record.flag = (16 if is_right else 0) | (1 | (64 if is_first else 128) if paired else 0)
                    record.set_tags([("MI", f"{molecule}/{strand}", "Z"), ("RX", "-".join(shown), "Z"), ("RG", "lane")])
                if paired:
                    join(*pair)
                found += pair
    found.sort(key=lambda record: record.reference_start)
    return found


def draw(
    rng: random.Random, header: pysam.AlignmentHeader, sequence: str, start: int, insert: int, is_right: bool
) -> pysam.AlignedSegment:
    length = rng.choice([50, 60, 60, 60])
    cigar = cigar_of(rng, length)
    if is_right:
        cigar = cigar[::-1] if cigar[-1][0] == 4 else cigar
    record = pysam.AlignedSegment(header)
    at = max(0, insert - length) if is_right else 0
    bases = (sequence[at:] + "ACGT" * length)[:length]
    record.query_sequence = "".join(rng.choice("ACGTN") if rng.random() < 0.08 else base for base in bases)
    record.query_qualities = [rng.choice([2, 9, 10, 12, 23, 30, 37, 40]) for _ in range(length)]
    record.reference_id, record.mapping_quality, record.cigartuples = 0, 60, cigar
    record.reference_start = start + insert - span_of(cigar) if is_right else start
    return record


def join(one: pysam.AlignedSegment, other: pysam.AlignedSegment) -> None:
    for record, mate in ((one, other), (other, one)):
        record.next_reference_id, record.next_reference_start = mate.reference_id, mate.reference_start
        record.flag |= 32 if mate.is_reverse else 0
        record.template_length = other.reference_end - one.reference_start
        record.template_length *= -1 if record.is_reverse else 1
        record.set_tag("MC", mate.cigarstring)


def write_records(path: Path, records: list, **order: str) -> Path:
    header = HEADER | {"HD": (order and {"VN": "1.6"} | order) or HEADER["HD"]}
    with pysam.AlignmentFile(str(path), "wb", header=header) as file:
        for record in records:
            file.write(record)
    return path


@pytest.fixture
def families():
    """records(seed, molecules, paired), write(path, records, **HD)"""
    return records_of, write_records
