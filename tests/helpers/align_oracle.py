"""Reads cut from sequences, and what a SAM record says, worked out letter by letter."""

import random
import re

from readwarp.align.aligner import Record
from readwarp.config import LongExtendParameters, Scoring

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")
READ = 120


def reverse_complement(sequence: str) -> str:
    return sequence.translate(COMPLEMENT)[::-1]


def random_bases(length: int, seed: int) -> str:
    return "".join(random.Random(seed).choices("ACGT", k=length))


def cut_pair(bases: str, start: int, insert: int = 350, length: int = READ) -> tuple[str, str]:
    """The mates of a fragment of the forward strand."""
    return bases[start : start + length], reverse_complement(bases[start + insert - length : start + insert])


def operations(cigar: str) -> list[tuple[int, str]]:
    return [(int(count), kind) for count, kind in re.findall(r"(\d+)([MIDNSHP=X])", cigar)]


def gap_cost(length: int, scoring: Scoring, long: LongExtendParameters | None) -> int:
    """long: of a long read."""
    cost = scoring.gap_open + length * scoring.gap_extend
    return min(cost, long.long_gap_open + length * long.long_gap_extend, long.max_gap_cost) if long else cost


def retold(
    record: Record, oriented: str, contig: str, scoring: Scoring, long: LongExtendParameters | None = None
) -> tuple[int, int, str]:
    """(score, edit distance, MD) by a record's CIGAR. oriented: the whole read on the record's strand."""
    q, position, score, edits, md, matched = 0, record.position, 0, 0, "", 0
    for count, kind in operations(record.cigar):
        if kind in "SH":
            q += count
        elif kind == "I":
            score -= gap_cost(count, scoring, long)
            edits, q = edits + count, q + count
        elif kind == "D":
            score -= gap_cost(count, scoring, long)
            edits += count
            md, matched = f"{md}{matched}^{contig[position : position + count]}", 0
            position += count
        else:
            here, there = oriented[q : q + count], contig[position : position + count]
            if kind != "X" and here == there and set(here) <= set("ACGT"):  # most are, and base by base takes long
                score, matched = score + count * scoring.match, matched + count
                here = there = ""
            for base, other in zip(here, there, strict=True):
                same = base == other and base in "ACGT"
                assert kind == "M" or (kind == "=") == same
                loss = scoring.mismatch if {base, other} <= set("ACGT") else min(scoring.mismatch, 1)
                score += scoring.match if same else -loss
                edits += not same
                md, matched = (md, matched + 1) if same else (f"{md}{matched}{other}", 0)
            q, position = q + count, position + count
    assert q == len(oriented)
    return score, edits, f"{md}{matched}"
