"""Search of decompressed BAM for the records of a region, which are checked on the way."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.alignments import layout
from readwarp.formats.alignments.checks import SIZE, SOUND, UNSORTED, reason_of_record
from readwarp.rules.hashes import hash_of

CONTIG_SHIFT = 32  # bits that hold a position
MORE, DONE = SOUND, -1  # outcome of a scan; else the number of the reason why a record is bad
UNKNOWN, UNWANTED = -1, -2  # in place of a sample: the header lacks the read group; it is not called
UNUSABLE = -3  # the same for an unusable record, where those are wanted too


class Wanted(NamedTuple):
    """Criteria for usable reads: they pass the filter and overlap [start, stop) of a contig, or lie on several."""

    contig: int  # the first contig
    lengths: Annotated[ndarray, "int64 [contigs]"]  # of this contig and those that follow; several are wanted whole
    start: int
    stop: int
    excluded_flags: int
    min_mapping_quality: int
    groups: Annotated[ndarray, "uint64 [groups]"]  # hashes of read groups, ascending; empty: all reads are of sample 0
    samples: Annotated[ndarray, "int16 [groups]"]  # sample of each group; UNWANTED: its reads are not called
    with_unusable: bool  # also find unusable records that begin in [start, stop)


class DecodedRecords(NamedTuple):
    """Usable records, and unusable ones if wanted."""

    places: Annotated[ndarray, "int64 [reads]"]  # start of each record
    stops: Annotated[ndarray, "int64 [reads]"]  # end of the alignment on its contig
    samples: Annotated[ndarray, "int16 [reads]"]  # including UNKNOWN and UNUSABLE
    operations: Annotated[ndarray, "int64 [reads]"]  # in the CIGAR
    lengths: Annotated[ndarray, "int32 [reads]"]  # number of bases


@scalar
def sample_of(data, at, stop, groups, samples):
    """Return the sample of the record's read group, UNKNOWN for another group or none; 0 if there are no `groups`."""
    if groups.size == 0:
        return np.int64(0)
    start, end = layout.read_group_of(data, at, stop)
    own = hash_of(data, start, end)
    group = np.searchsorted(groups, own)
    return np.int64(samples[group]) if end > start and group < groups.size and groups[group] == own else UNKNOWN


@kernel
def find_wanted(data, last, wanted, header, out):
    """Find usable records in decompressed bytes (uint8) that begin with a record; write them to out
    (DecodedRecords, large enough).

    Records without bases or CIGAR are unusable. Those that begin where reads are wanted, and usable ones that reach
    there, are checked by the `checks.HeaderLimits`: later steps index bases and reference by CIGARs unchecked.
    last: the place of the previous record, contig << CONTIG_SHIFT plus position; -1 if there is none.
    Returns (usable records, where the first unread record begins, the place of the last one read, the outcome: MORE,
    DONE, or the number of one of `checks.REASONS`).
    """
    contig, last_contig = wanted.contig, wanted.contig + wanted.lengths.size - 1
    places, stops, samples, operations, lengths = out
    at = found = 0
    while at + layout.NAME <= data.size:
        stop = layout.stop_of(data, at)
        if stop > data.size:
            break
        if not layout.is_whole(data, at, stop):
            return found, at, last, SIZE
        own_contig, position = layout.int32_at(data, at + layout.CONTIG), layout.int32_at(data, at + layout.POSITION)
        if own_contig < 0 or own_contig > last_contig or (own_contig == last_contig and position >= wanted.stop):
            return found, at, last, DONE
        if own_contig >= contig:
            place = (own_contig << CONTIG_SHIFT) + position
            if place < last:
                return found, at, last, UNSORTED
            last = place
            passes = data[at + layout.MAPPING_QUALITY] >= wanted.min_mapping_quality
            passes &= layout.uint16_at(data, at + layout.FLAG) & wanted.excluded_flags == 0
            length = layout.int32_at(data, at + layout.LENGTH)
            passes &= length > 0 and layout.uint16_at(data, at + layout.OPERATIONS) > 0
            begins, reference_stop = max(position, 0) >= wanted.start, position + 1
            if passes:  # if all are wanted, a record without reference bases counts as one base, as in indexes
                reference_stop = max(layout.span_of(data, at)[0], reference_stop if wanted.with_unusable else 0)
            passes &= reference_stop > wanted.start
            reason = reason_of_record(data, at, header) if begins or passes else SOUND
            if reason != SOUND:
                return found, at, last, reason
            if passes:
                sample = sample_of(data, at, stop, wanted.groups, wanted.samples)
                if sample != UNWANTED:
                    places[found], stops[found] = at, reference_stop
                    samples[found], lengths[found] = sample, length
                    operations[found] = layout.cigar_of(data, at)[1]
                    found += 1
            elif wanted.with_unusable and begins:
                places[found], stops[found] = at, position + 1
                samples[found] = UNUSABLE
                operations[found] = lengths[found] = 0
                found += 1
        at = stop
    return found, at, last, MORE


@kernel
def find_unplaced(data, header, places):
    """Find the whole records in decompressed bytes (uint8) that begin with one, all without a contig.

    Writes to places (int64, large enough). Returns (records, where the first unread one begins, the outcome, as in
    `find_wanted`).
    """
    at = found = 0
    while at + layout.NAME <= data.size:
        stop = layout.stop_of(data, at)
        if stop > data.size:
            break
        if not layout.is_whole(data, at, stop):
            return found, at, SIZE
        if layout.int32_at(data, at + layout.CONTIG) >= 0:
            return found, at, UNSORTED
        reason = reason_of_record(data, at, header)
        if reason != SOUND:
            return found, at, reason
        places[found] = at
        found, at = found + 1, stop
    return found, at, MORE
