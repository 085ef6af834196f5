"""Fetch mates that an aligner could not place beside their reads: unaligned, or aligned far away."""

import threading
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from readwarp.call.reads.inputs import AlignmentFiles, AlignmentSource
from readwarp.call.reads.usable import hide_poor
from readwarp.errors import InputError
from readwarp.rules.bases import CODES, UNKNOWN
from readwarp.rules.flags import SECONDARY, SUPPLEMENTARY, UNMAPPED

REACH = 1000  # bases on either side of a place, for reads whose mates may belong there
FAR = 10_000  # bases between mates of different places
MAX_RECORDS, MAX_AWAY = 20_000, 200  # records beside a place; mates fetched from elsewhere
fetching = threading.Lock()  # a reader fetches for one thread at a time
Record = Any  # pysam.AlignedSegment, whose stubs say that everything may be missing


def find_lost(alignments: AlignmentFiles, contig: int, place: int) -> Iterator[list[bytes]]:
    """Yield the bases of mates, 0-4, on both strands: first of the unaligned, then with those aligned elsewhere.

    Raises InputError where a file is damaged.
    """
    found, away = list[Record](), list[tuple[AlignmentSource, Record]]()
    for source in alignments.sources:
        if located := source.locate(contig, place):
            with fetching:
                beside = list(records_beside(source, *located))
            found += (record for record in beside if record.is_unmapped)
            away += ((source, record) for record in beside if has_mate_away(record, located[1]))
    yield both_strands(found)
    with fetching:
        found += filter(None, (fetch_mate(*one) for one in away[:MAX_AWAY]))
    yield both_strands(found)


def records_beside(source: AlignmentSource, name: str, place: int) -> Iterator[Record]:
    """Yield the primary records around a place of a contig, aligned or not, of the samples that are called."""
    left_out = source.keep.excluded_flags & ~UNMAPPED | SECONDARY | SUPPLEMENTARY
    for record in fetch(source, name, max(0, place - REACH), place + REACH):
        if not record.flag & left_out and record.query_sequence and source.sample_of(record) is not None:
            yield record


def fetch(source: AlignmentSource, name: str, start: int, stop: int) -> list[Record]:
    try:
        return list(islice(source.reader.fetch(name, start, stop), MAX_RECORDS))
    except (OSError, ValueError) as error:  # raised by pysam
        raise InputError(source.reader.path, f"cannot be read ({error})", f"near {name}:{start + 1}") from error


def has_mate_away(record: Record, place: int) -> bool:
    """Return whether the mate of an aligned read belongs beside or across the place, but is aligned elsewhere."""
    if record.is_unmapped or record.mate_is_unmapped or record.next_reference_id < 0:
        return False
    is_towards = bool(record.reference_end > place if record.is_reverse else record.reference_start < place)
    is_away = abs(record.next_reference_start - record.reference_start) > FAR
    return is_towards and bool(is_away or record.next_reference_id != record.reference_id)


def fetch_mate(source: AlignmentSource, record: Record) -> Record | None:
    """Fetch the primary record of the mate; None if it is not where the record says."""
    start = record.next_reference_start
    for mate in fetch(source, record.next_reference_name, start, start + 1):
        is_mate = mate.query_name == record.query_name and mate.is_read1 != record.is_read1
        if is_mate and not mate.flag & (SECONDARY | SUPPLEMENTARY) and mate.query_sequence:
            return mate
    return None


def both_strands(records: Sequence[Record]) -> list[bytes]:
    """Return the bases and their reverse complement; UNKNOWN where quality is low."""
    reads = list[np.ndarray]()
    for record in records:
        bases, qualities = CODES[np.frombuffer(record.query_sequence.encode(), np.uint8)], record.query_qualities
        reads.append(bases if qualities is None else hide_poor(bases, np.array(qualities)))
    turned = (np.where(read == UNKNOWN, read, 3 - read)[::-1] for read in reads)
    return [read.tobytes() for read in (*reads, *turned)]
