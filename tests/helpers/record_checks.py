"""What every alignment file must satisfy, derived only from its records, the reads and the contigs."""

import re
from collections.abc import Mapping
from pathlib import Path

import pysam

from readwarp.config import Scoring

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")
FIRST, LAST, SECONDARY_OR_SUPPLEMENTARY = 0x40, 0x80, 0x900
Reads = Mapping[tuple[str, int], str]  # (name, FIRST, LAST or 0) -> sequence


def reverse_complement(sequence: str) -> str:
    return sequence.translate(COMPLEMENT)[::-1]


def checked(path: Path, reads: Reads, contigs: Mapping[str, str]) -> list[pysam.AlignedSegment]:
    """All records of a file that passes samtools quickcheck.

    Checked: each read is there exactly once as primary, with its bases; every CIGAR tells AS, NM and MD.
    """
    pysam.quickcheck(str(path))
    with pysam.AlignmentFile(str(path)) as file:
        records = list(file.fetch(until_eof=True))
    primaries = [r for r in records if not r.flag & SECONDARY_OR_SUPPLEMENTARY]
    assert sorted((r.query_name, r.flag & (FIRST | LAST)) for r in primaries) == sorted(reads)
    upper = {name: letters.upper() for name, letters in contigs.items()}
    for record in records:
        bases = re.sub("[^ACGT]", "N", reads[record.query_name, record.flag & (FIRST | LAST)].upper())
        whole = reverse_complement(bases) if record.is_reverse else bases
        if not record.is_unmapped:
            check_alignment(record, whole, upper[record.reference_name])
        elif bases:
            assert record.query_sequence == whole
    return records


def check_alignment(record: pysam.AlignedSegment, whole: str, letters: str) -> None:
    """whole: the read on the record's strand, hard-clipped bases included. letters: of its contig."""
    scoring, q, position, score, edits = Scoring(), 0, record.reference_start, 0, 0
    for operation, count in record.cigartuples:
        if operation in (pysam.CSOFT_CLIP, pysam.CHARD_CLIP):
            q += count
        elif operation in (pysam.CINS, pysam.CDEL):
            score, edits = score - scoring.gap_open - count * scoring.gap_extend, edits + count
            q, position = (q + count, position) if operation == pysam.CINS else (q, position + count)
        else:
            there = re.sub("[^ACGT]", "N", letters[position : position + count])
            pairs = list(zip(whole[q : q + count], there, strict=True))
            same, unknown = sum(a == b != "N" for a, b in pairs), sum("N" in pair for pair in pairs)
            score += same * scoring.match - (count - same - unknown) * scoring.mismatch - unknown
            edits, q, position = edits + count - same, q + count, position + count
    assert q == len(whole) and record.query_sequence in whole
    assert (record.get_tag("AS"), record.get_tag("NM")) == (score, edits)
    assert record.get_reference_sequence().upper() == letters[record.reference_start : position]  # as MD tells it
