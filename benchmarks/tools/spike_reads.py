#!/usr/bin/env python3
"""Real reads with variants put into shares of them: spike_reads.py IN.bam OUT_PREFIX REF.fa [--seed 1] [--shares 0.01,0.05]

Sites lie some 250 bases apart; two thirds are substitutions, the rest insertions and deletions of 1 to 6 bases. At each
site a share of the fragments gets the variant, in both mates, with the reads' own qualities and errors. Writes
OUT_PREFIX_1.fq.gz and _2.fq.gz, the pairs to align again, and OUT_PREFIX.truth.vcf with the share (INFO SHARE) and how
many fragments across the site got it (INFO CARRIERS). What the sample has itself is not in the truth.
"""

import argparse
import gzip
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pysam

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")
HEADER = """##fileformat=VCFv4.2
##contig=<ID={name},length={length}>
##INFO=<ID=SHARE,Number=1,Type=Float,Description="Share of the fragments">
##INFO=<ID=CARRIERS,Number=1,Type=Integer,Description="Fragments that got it">
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tsample
"""


class Variant(NamedTuple):
    start: int  # 0-based
    old: str
    new: str
    share: float


def choose_variants(reference: str, shares: list[float], rng: np.random.Generator) -> list[Variant]:
    found, at = list[Variant](), 200
    while at < len(reference) - 200:
        base, share = reference[at], shares[len(found) % len(shares)]
        if "N" not in reference[at - 10 : at + 20]:
            size = int(rng.integers(1, 7))
            kind = rng.random()
            if kind < 2 / 3:
                found.append(Variant(at, base, "ACGT"[("ACGT".index(base) + int(rng.integers(1, 4))) % 4], share))
            elif kind < 5 / 6:
                found.append(Variant(at, reference[at : at + size + 1], base, share))
            else:
                found.append(Variant(at, base, base + "".join(rng.choice(list("ACGT"), size)), share))
        at += int(rng.integers(125, 375))
    return found


def edited(read: pysam.AlignedSegment, variants: list[Variant]) -> tuple[str, str]:
    """Bases and qualities of a read on the reference's strand, with the variants that its alignment covers."""
    bases, qualities = read.query_sequence, pysam.qualities_to_qualitystring(read.query_qualities)
    place = {r: q for q, r in read.get_aligned_pairs(matches_only=True)}
    for start, old, new, _ in sorted(variants, reverse=True):
        first, last = place.get(start), place.get(start + len(old) - 1)
        if first is not None and last is not None and last - first == len(old) - 1:
            bases = bases[:first] + new + bases[last + 1 :]
            qualities = qualities[:first] + (qualities[first] * len(new)) + qualities[last + 1 :]
    return bases, qualities


def read_reference(path: str) -> tuple[str, str]:
    """The name and the bases of the first contig."""
    with pysam.FastaFile(path) as file:
        return file.references[0], file.fetch(file.references[0]).upper()


def write_truth(path: Path, contig: str, length: int, carriers: list[tuple[Variant, int]]) -> None:
    """carriers: the variants, and how many fragments or molecules got each."""
    lines = [
        f"{contig}\t{v.start + 1}\t.\t{v.old}\t{v.new}\t.\tPASS\tSHARE={v.share:g};CARRIERS={number}\tGT\t0/1\n"
        for v, number in carriers
        if number
    ]
    path.write_text(HEADER.format(name=contig, length=length) + "".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("alignments"), parser.add_argument("prefix"), parser.add_argument("reference")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shares", default="0.01,0.02,0.05,0.1,0.2")
    options = parser.parse_args()
    contig, reference = read_reference(options.reference)
    rng = np.random.default_rng(options.seed)
    variants = choose_variants(reference, [float(share) for share in options.shares.split(",")], rng)
    pairs, spans = defaultdict[str, list[pysam.AlignedSegment]](list), dict[str, tuple[int, int]]()
    with pysam.AlignmentFile(options.alignments) as file:
        for read in file:
            if read.is_paired and not read.is_secondary and not read.is_supplementary and not read.is_unmapped:
                pairs[read.query_name].append(read)
                low, high = spans.get(read.query_name, (1 << 60, 0))
                spans[read.query_name] = min(low, read.reference_start), max(high, read.reference_end)
    names = sorted(name for name, reads in pairs.items() if len(reads) == 2)
    starts, stops = (np.array([spans[name][side] for name in names]) for side in range(2))
    carried, carriers = defaultdict[str, list[Variant]](list), list[int]()
    for variant in variants:
        across = np.flatnonzero((starts <= variant.start) & (variant.start + len(variant.old) < stops))
        chosen = across[rng.random(across.size) < variant.share]
        carriers.append(chosen.size)
        for row in chosen.tolist():
            carried[names[row]].append(variant)
    with (
        gzip.open(f"{options.prefix}_1.fq.gz", "wt", 1) as first,
        gzip.open(f"{options.prefix}_2.fq.gz", "wt", 1) as last,
    ):
        for name in names:
            for read in pairs[name]:
                bases, qualities = edited(read, carried[name])
                if read.is_reverse:
                    bases, qualities = bases.translate(COMPLEMENT)[::-1], qualities[::-1]
                (first if read.is_read1 else last).write(f"@{name}\n{bases}\n+\n{qualities}\n")
    write_truth(Path(f"{options.prefix}.truth.vcf"), contig, len(reference), list(zip(variants, carriers, strict=True)))


if __name__ == "__main__":
    main()
