#!/usr/bin/env python3
"""Make up the variants of a diploid sample with structural ones: a truth VCF for simulate_long.py.

Every --every bases or so there is an event of --min to --max bases (log-uniform), half of them deletions, half insertions: in turn of
random bases, of a stretch from elsewhere on the contig (either strand), and of the bases that follow (a tandem duplication). A third are
homozygous. Between them are substitutions (one in 1,000 bases) and insertions and deletions of 1 to 20 bases (one in 8,000), in which
the events' surroundings look as they do in a genome.

    simulate_structural.py REF.fa OUT.vcf.gz --contig chr20 [--region FROM-TO] [--every 20000] [--min 50] [--max 10000] [--seed 1]

Alleles are spelled out; KIND in INFO says what an event was made of. Writes OUT.vcf.gz and its .tbi.
"""
import argparse
import sys

import numpy as np
import pysam

LETTERS = np.frombuffer(b"ACGT", np.uint8)
COMPLEMENT = str.maketrans("ACGT", "TGCA")
SOURCES = ("random", "elsewhere", "tandem")


def letters(rng, n):
    return LETTERS[rng.integers(0, 4, n)].tobytes().decode()


def genotype(rng):
    return ((1, 1), (0, 1), (1, 0))[rng.integers(3)]


def event(ref, at, size, number, low, rng):
    """REF, ALT and kind of an event after the base at `at`; None where the reference has other letters."""
    if number % 2 == 0:
        alleles, kind = (ref[at:at + size + 1], ref[at]), "deletion"
    else:
        kind = SOURCES[number // 2 % 3]
        if kind == "random":
            new = letters(rng, size)
        elif kind == "tandem":
            new = ref[at + 1:at + 1 + size]
        else:
            place = low + int(rng.integers(0, len(ref) - low - size))
            new = ref[place:place + size]
            new = new.translate(COMPLEMENT)[::-1] if rng.random() < 0.5 else new
        alleles = ref[at], ref[at] + new
    usable = all(set(allele) <= set("ACGT") for allele in alleles) and set(ref[at - 200:at + size + 200]) <= set("ACGT")
    return (*alleles, kind) if usable else None


def small(ref, at, rng):
    """REF and ALT of a substitution, or of a short insertion or deletion."""
    size = int(rng.integers(1, 21))
    if rng.random() < 8 / 9:
        return ref[at], letters(rng, 1)
    return (ref[at:at + size + 1], ref[at]) if rng.random() < 0.5 else (ref[at], ref[at] + letters(rng, size))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("ref"), p.add_argument("out")
    p.add_argument("--contig", required=True)
    p.add_argument("--region", help="0-based, half open")
    p.add_argument("--every", type=int, default=20000)
    p.add_argument("--min", type=int, default=50)
    p.add_argument("--max", type=int, default=10000)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    rng = np.random.default_rng(a.seed)
    ref = pysam.FastaFile(a.ref).fetch(a.contig).upper()
    low, high = map(int, a.region.split("-")) if a.region else (0, len(ref))
    places = np.arange(low + a.every, high - 3 * a.every, a.every) + rng.integers(0, a.every // 4, len(range(low + a.every, high - 3 * a.every, a.every)))
    made, taken = [], []
    for number, at in enumerate(places.tolist()):
        size = int(np.exp(rng.uniform(np.log(a.min), np.log(a.max))))
        found = event(ref, at, size, number, low, rng)
        if found:
            made.append((at, *found, genotype(rng)))
            taken.append((at - 20, at + size + 40))
    starts, stops = np.array(taken).T
    for at in np.unique(rng.integers(low, high, (high - low) * 9 // 8000)).tolist():
        before = np.searchsorted(starts, at, side="right") - 1
        if (before >= 0 and at < stops[before]) or (before + 1 < len(starts) and at + 40 > starts[before + 1]):
            continue
        alleles = small(ref, at, rng)
        if alleles[0] != alleles[1] and set(alleles[0]) <= set("ACGT"):
            made.append((at, *alleles, "", genotype(rng)))
    made.sort(key=lambda row: row[0])
    plain = a.out.removesuffix(".gz")
    with open(plain, "w") as out:
        out.write(f"##fileformat=VCFv4.2\n##contig=<ID={a.contig},length={len(ref)}>\n"
                  '##INFO=<ID=SVTYPE,Number=1,Type=String,Description="DEL or INS">\n'
                  '##INFO=<ID=SVLEN,Number=1,Type=Integer,Description="Bases that ALT has more than REF">\n'
                  '##INFO=<ID=KIND,Number=1,Type=String,Description="What the event was made of">\n'
                  '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
                  "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tTRUTH\n")
        for at, old, new, kind, gt in made:
            size = len(new) - len(old)
            note = f"SVTYPE={'INS' if size > 0 else 'DEL'};SVLEN={size};KIND={kind}" if kind else "."
            out.write(f"{a.contig}\t{at + 1}\t.\t{old}\t{new}\t.\tPASS\t{note}\tGT\t{gt[0]}|{gt[1]}\n")
    pysam.tabix_index(plain, preset="vcf", force=True)
    print(f"{len(taken)} events, {len(made) - len(taken)} small variants", file=sys.stderr)


if __name__ == "__main__":
    main()
