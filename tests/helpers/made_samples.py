"""A folder like one of `readwarp run`, made by hand: all its numbers are chosen here or counted in plain Python."""

import json
import random
from dataclasses import dataclass
from pathlib import Path

import pysam

LENGTH, READ, PAIRS = 3000, 80, 600
CIGARS = (("80M", 78), ("10S70M", 8), ("40M2I38M", 7), ("40M3D40M", 7))  # and how often of 100
CALLS = """\
##fileformat=VCFv4.2
##FILTER=<ID=PASS,Description="All filters passed">
##FILTER=<ID=LowQual,Description="low">
##FILTER=<ID=StrandBias,Description="one strand">
##contig=<ID=one,length=3000>
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
##FORMAT=<ID=DP,Number=1,Type=Integer,Description="Depth">
##FORMAT=<ID=AD,Number=R,Type=Integer,Description="Reads">
#CHROM	POS	ID	REF	ALT	QUAL	FILTER	INFO	FORMAT	x
one	100	.	A	G	500	PASS	.	GT:DP:AD	0/1:20:10,10
one	200	.	C	T	250	PASS	.	GT:DP:AD	1/1:18:0,18
one	300	.	A	C	40	PASS	.	GT:DP:AD	0|1:20:15,5
one	400	.	A	ATT	90	PASS	.	GT:DP:AD	0/1:10:4,6
one	500	.	CAG	C	80	PASS	.	GT:DP:AD	1/1:12:0,12
one	600	.	CAG	C,CAGAG	80	PASS	.	GT:DP:AD	1/2:11:0,5,6
one	700	.	G	T	3	LowQual	.	GT:DP:AD	0/1:9:7,2
one	800	.	G	T	2	LowQual;StrandBias	.	GT:DP:AD	0/1:9:7,2
"""
METRICS = {
    "readwarp": "0.0.1",
    "date": "2026-11-20T10:30:00",
    "command": "readwarp run ref.fa x_1.fq x_2.fq -o <here>",
    "device": "cpu",
    "threads": 2,
    "reads_per_second": 12345,
    "mean_depth": 30.5,
    "versions": {"python": "3.12", "numba": "0.1"},
    "peak_memory_bytes": 3 << 29,
    "wall_seconds": 4.5,
    "phase_seconds": {"start": 1.0, "align": 2.0, "sort": 0.5, "call": 1.0},
    "counts": {"bases": 96000, "variants": 8, "variants_pass": 6, "snvs": 3, "indels": 3, "dp_cells": 5_000_000},
    "stage_seconds": {"seed": 1.5, "call": 1.0, "pileup": 0.25},
}


@dataclass(frozen=True)
class Made:
    folder: Path
    reference: Path
    letters: str


def reads_of(letters: str, header: pysam.AlignmentHeader) -> list[pysam.AlignedSegment]:
    """Pairs with mismatches, clips and gaps; the reads of every 20th pair are unmapped, every 7th is a duplicate."""
    rng = random.Random(5)
    out = []
    for number in range(PAIRS):
        start, insert = rng.randrange(LENGTH - 500), rng.choice((120, 150, 200, 200, 260, 300))
        for last in (False, True):
            read = pysam.AlignedSegment(header)
            read.query_name = f"p{number}"
            read.flag = 0x1 | (0x80 if last else 0x40)
            quality = [rng.choice((12, 25, 37)) - (cycle // 40) for cycle in range(READ)]
            if number % 20 == 0:
                read.flag |= 0x4 | 0x8
                read.query_sequence = "".join(rng.choice("ACGT") for _ in range(READ))
                read.query_qualities = quality
            else:
                place(read, letters, start + (insert - READ if last else 0), rng, quality)
                read.flag |= 0x2 | (0x10 if last else 0x20) | (0x400 if number % 7 == 0 else 0)
                read.template_length = -insert if last else insert
                read.next_reference_id, read.next_reference_start = 0, start
                read.mapping_quality = rng.choice((0, 20, 60, 60, 60))
            out.append(read)
    return out


def place(read: pysam.AlignedSegment, letters: str, start: int, rng: random.Random, quality: list[int]) -> None:
    """Give the read a place, a CIGAR and a base that differs now and then."""
    read.reference_id, read.reference_start = 0, start
    read.cigarstring = rng.choices(*zip(*CIGARS, strict=True))[0]
    sequence, at, changed = [], start, 0
    for operation, length in read.cigartuples:
        if operation == 0:
            for letter in letters[at : at + length]:
                differs = rng.random() < 0.02
                changed += differs
                sequence.append(rng.choice([b for b in "ACGT" if b != letter]) if differs else letter)
            at += length
        elif operation == 2:
            at += length
            changed += length
        else:
            sequence += rng.choices("ACGT", k=length)
            changed += length if operation == 1 else 0
    read.query_sequence = "".join(sequence)
    read.query_qualities = quality
    read.set_tag("NM", changed)


def build(folder: Path, name: str = "x") -> Made:
    letters = "".join(random.Random(3).choices("ACGT", k=LENGTH))
    reference = folder.parent / "ref.fa"
    reference.write_text(f">one\n{letters}\n")
    header = pysam.AlignmentHeader.from_dict(
        {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": "one", "LN": LENGTH}, {"SN": "two", "LN": 500}]}
    )
    reads = sorted(reads_of(letters, header), key=lambda r: (r.is_unmapped, r.reference_start))
    folder.mkdir()
    with pysam.AlignmentFile(str(folder / f"{name}.bam"), "wb", header=header) as out:
        for read in reads:
            out.write(read)
    pysam.index(str(folder / f"{name}.bam"))
    (folder / f"{name}.vcf").write_text(CALLS)
    (folder / "metrics.json").write_text(json.dumps({**METRICS, "reference": str(reference)}))
    return Made(folder, reference, letters)
