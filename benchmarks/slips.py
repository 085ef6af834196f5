"""Fit the gap models of long reads (`readwarp.call.reads.gap_models`) to alignments whose variants are known.

    slips.py SET... > model, each SET is REF.fa,READS.bam,REGION[,TRUTH.vcf]

A tract is three or more units of 1 to 6 bases of the reference, without a variant in it. Without a truth, tracts where
a third of the reads agree on another length are left out. Of each tract and read that aligns the bases on both sides,
the difference in units is counted: none, one more, one less. Elsewhere the gaps between aligned bases are, and how many
of them go on for a second base. Rates are the mean of those of all sets, so that one simulation or one sample does not
decide alone. By unit, a line through the Phreds of either slip is fitted, weighed by the number of slips; it does not
rise. From where 20 % of reads slip, their mean is the lowest Phred; without such tracts, the lowest one seen is.
"""

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pysam

UNITS, REPEATS = range(1, 7), 3
LEAST_READS, LEAST_TRACT, AGREED = 200, 8, 0.33
STEEP = 0.2  # share of reads that slip, from which the lowest Phred counts
MOST_SLIPS = 200  # by which a rate is weighed


class Tract(NamedTuple):
    start: int
    stop: int
    unit: int

    @property
    def repeats(self) -> int:
        return (self.stop - self.start) // self.unit


class Rates(NamedTuple):
    slips: dict[tuple[int, int], tuple[int, int]]  # unit (0: more than 2), repeats -> reads, slips
    gaps: tuple[int, int, int]  # bases outside of tracts, gaps, gaps of more than one base


def tracts_of(text: str) -> list[Tract]:
    found = []
    for unit in UNITS:
        for match in re.finditer(rf"(?=([ACGT]{{{unit}}}))(?:\1){{{REPEATS},}}", text):
            shown = match[1]
            if not any(unit % n == 0 and shown == shown[:n] * (unit // n) for n in range(1, unit)):
                found.append(Tract(match.start(), match.end(), unit))
    return sorted(found)


def blocks_of(record: pysam.AlignedSegment) -> Iterator[tuple[int, int, int]]:
    """Operation, length and place on the reference of each run."""
    at = record.reference_start
    for operation, length in record.cigartuples or ():
        yield operation, length, at
        at += length if operation in (0, 2, 3, 7, 8) else 0


def measure(fasta: str, bam: str, region: str, truth: str | None) -> Rates:
    contig, span = region.split(":")
    start, stop = (int(part.replace(",", "")) for part in span.split("-"))
    text = pysam.FastaFile(fasta).fetch(contig, start, stop).upper()
    is_variant, is_tract = np.zeros((2, len(text) + 2), bool)
    if truth:
        for variant in pysam.VariantFile(truth):
            if variant.chrom == contig and start <= variant.start < stop:
                is_variant[max(0, variant.start - start - 1) : variant.stop - start + 2] = True
    tracts = tracts_of(text)
    for tract in tracts:
        is_tract[tract.start : tract.stop] = True
    starts = np.array([tract.start for tract in tracts])
    seen, bases, gaps, longer = defaultdict[int, Counter[int]](Counter), 0, 0, 0
    for record in pysam.AlignmentFile(bam).fetch(contig, start, stop):
        if record.flag & 0x904 or record.mapping_quality < 20:
            continue
        low, high = record.reference_start - start, record.reference_end - start
        place, query = np.full(high - low + 1, -1), 0
        for operation, length, at in blocks_of(record):
            own = at - start
            if operation in (0, 7, 8):
                place[own - low : own - low + length] = np.arange(query, query + length)
            elif operation in (1, 2) and own > 0 and own + length < len(text):
                around = slice(own - 1, own + (length if operation == 2 else 1))
                if not is_tract[around].any() and not is_variant[around].any():
                    gaps, longer = gaps + 1, longer + (length > 1)
            query += length if operation in (0, 1, 4, 7, 8) else 0
        inside = slice(max(low, 0), min(high, len(text)))
        bases += int((~is_tract[inside] & ~is_variant[inside]).sum())
        for number in range(*np.searchsorted(starts, (max(low, 0) + 2, min(high, len(text)) - 1)).tolist()):
            tract = tracts[number]
            if tract.stop < min(high, len(text)) - 1 and not is_variant[tract.start : tract.stop].any():
                before, after = place[tract.start - 1 - low], place[tract.stop - low]
                if before >= 0 and after >= 0:
                    seen[number][int(after - before) - (tract.stop - tract.start + 1)] += 1
    slips = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for number, lengths in seen.items():
        tract, total = tracts[number], lengths.total()
        change, most = lengths.most_common(1)[0]
        if total < LEAST_TRACT or (truth is None and change and most > AGREED * total):
            continue
        key = (tract.unit if tract.unit < 3 else 0, tract.repeats)
        slips[0][key] += total
        slips[1][key] += lengths[tract.unit] + lengths[-tract.unit]
    return Rates({key: (slips[0][key], slips[1][key]) for key in slips[0]}, (bases, gaps, longer))


def phred(share: float) -> float:
    return float(-10 * np.log10(max(share, 1e-6)))


def fit(sets: list[Rates]) -> None:
    opening = np.mean([gaps / bases / 2 for bases, gaps, _ in (rates.gaps for rates in sets)])
    longer = np.mean([more / gaps for _, gaps, more in (rates.gaps for rates in sets)])
    print(f"opening {phred(opening):.1f}, extension {phred(longer):.1f}")
    for unit in (1, 2, 0):
        points, steep = [], []
        for repeats in range(REPEATS, 60):
            known = [
                rates.slips[unit, repeats]
                for rates in sets
                if rates.slips.get((unit, repeats), (0, 0))[0] >= LEAST_READS
            ]
            if known:
                share = float(np.mean([(slipped + 0.5) / reads for reads, slipped in known]))
                number = sum(slipped for _, slipped in known) + 1
                (steep if share > STEEP or steep else points).append((repeats, phred(share / 2), number))
        if len(points) < 2:
            continue
        x, y, weight = (np.array(column, float) for column in zip(*points, strict=True))
        weight = np.sqrt(np.minimum(weight, MOST_SLIPS))
        table = np.stack((np.ones_like(x), x - REPEATS), axis=1) * weight[:, None]
        (first, slope), *_ = np.linalg.lstsq(table, y * weight, rcond=None)
        if slope > 0:
            first, slope = np.average(y, weights=weight**2), 0.0
        lowest = np.average([own for _, own, _ in steep], weights=[n for *_, n in steep]) if steep else min(y)
        name = f"unit {unit}" if unit else "longer units"
        print(f"{name}: first {first:.1f}, slope {abs(slope):.2f}, lowest {lowest:.1f}; Phred by repeats:", end=" ")
        print(", ".join(f"{repeats:.0f} {own:.1f}" for repeats, own, _ in (*points, *steep)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="REF,BAM,REGION[,TRUTH]")
    given = [(*text.split(","), None)[:4] for text in parser.parse_args().sets]
    fit([measure(*own) for own in given])
    return 0


if __name__ == "__main__":
    sys.exit(main())
