#!/usr/bin/env python3
"""Real reads as copies of molecules: family_reads.py IN.bam OUT_PREFIX REF.fa [--region C:FROM-TO] [--seed 1] [--shares 0.1,0.3]

Pairs that begin and end alike, such as those of an amplicon, are dealt to molecules, some four to each. A molecule has two
UMIs, one at each end of it, which all of its pairs, of either strand, have in front: 8 bases, with an error in one of a
hundred, and the spacer TGAC. At sites some 250 bases apart a share of the molecules gets a variant, in all of their pairs,
which keep their own qualities and errors. Writes OUT_PREFIX_1.fq.gz and _2.fq.gz, of the read structure 8M4S+T, and
OUT_PREFIX.truth.vcf with the share (INFO SHARE) and how many molecules across the site got it (INFO CARRIERS).
"""

import argparse
import gzip
from collections import defaultdict
from pathlib import Path

import numpy as np
import pysam

from spike_reads import COMPLEMENT, Variant, choose_variants, edited, read_reference, write_truth

UMI, SPACER, COPIES, ERRORS = 8, "TGAC", 4, 0.01
HIGH = "F"  # quality of UMIs and spacers


def families_in(path: str, region: str | None, rng: np.random.Generator) -> list[list[list[pysam.AlignedSegment]]]:
    """The pairs of each molecule, as (left read, right read)."""
    pairs, alike = defaultdict[str, list[pysam.AlignedSegment]](list), defaultdict[tuple[int, int], list[str]](list)
    with pysam.AlignmentFile(path) as file:
        for read in file.fetch(region=region):
            if read.is_proper_pair and not read.is_secondary and not read.is_supplementary:
                pairs[read.query_name].append(read)
    for name, reads in pairs.items():
        if len(reads) == 2 and reads[0].is_reverse != reads[1].is_reverse:
            reads.sort(key=lambda read: read.is_reverse)
            alike[reads[0].reference_start, reads[1].reference_end].append(name)
    molecules = list[list[list[pysam.AlignedSegment]]]()
    for _, names in sorted(alike.items()):
        rng.shuffle(names)
        while names:
            size = 1 + int(rng.poisson(COPIES - 1))
            molecules.append([pairs[name] for name in names[:size]])
            del names[:size]
    return molecules


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("alignments"), parser.add_argument("prefix"), parser.add_argument("reference")
    parser.add_argument("--region")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shares", default="0.1,0.3")
    options = parser.parse_args()
    contig, reference = read_reference(options.reference)
    rng = np.random.default_rng(options.seed)
    variants = choose_variants(reference, [float(share) for share in options.shares.split(",")], rng)
    carriers = dict.fromkeys(variants, 0)
    with (
        gzip.open(f"{options.prefix}_1.fq.gz", "wt", 9) as first,
        gzip.open(f"{options.prefix}_2.fq.gz", "wt", 9) as last,
    ):
        for family in families_in(options.alignments, options.region, rng):
            start, stop = family[0][0].reference_start, family[0][1].reference_end
            across = [v for v in variants if start <= v.start and v.start + len(v.old) < stop]
            carried = [variant for variant in across if rng.random() < variant.share]
            for variant in carried:
                carriers[variant] += 1
            umis = ["".join(rng.choice(list("ACGT"), UMI)) for _ in range(2)]
            for pair in family:
                for read, umi in zip(pair, umis, strict=True):
                    copy = "".join(str(rng.choice(list("ACGT"))) if rng.random() < ERRORS else base for base in umi)
                    bases, qualities = edited(read, carried)
                    if read.is_reverse:
                        bases, qualities = bases.translate(COMPLEMENT)[::-1], qualities[::-1]
                    text = f"@{read.query_name}\n{copy}{SPACER}{bases}\n+\n{HIGH * (UMI + len(SPACER))}{qualities}\n"
                    (first if read.is_read1 else last).write(text)
    write_truth(Path(f"{options.prefix}.truth.vcf"), contig, len(reference), list(carriers.items()))


if __name__ == "__main__":
    main()
