"""Compiled loops that turn the BAM records of a region into arrays."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.alignments import layout
from readwarp.formats.alignments.check_kernels import SIZE, SOUND, UNSORTED, reason_of_record
from readwarp.formats.common.index import LINEAR_WINDOW
from readwarp.rules.flags import MATE_REVERSE, MATE_UNMAPPED, PAIRED, REVERSE
from readwarp.rules.hashes import hash_of

MATE_CIGAR = ord("M"), ord("C")
CLIPS, NOT_ON_REFERENCE = (ord("S"), ord("H")), (ord("I"), ord("P"))  # operations of MC
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
def scan(data, last, wanted, header, out):
    """Find usable records in decompressed bytes (uint8) that begin with a record; write them to out
    (DecodedRecords, large enough).

    Records without bases or CIGAR are unusable. Those that begin where reads are wanted, and usable ones that reach
    there, are checked by the `checks.HeaderLimits`: later steps index bases and reference by CIGARs unchecked.
    last: the place of the previous record, contig << CONTIG_SHIFT plus position; -1 if there is none.
    Returns (usable records, where the first unread record begins, the place of the last one read, the outcome: MORE,
    DONE, or the number of a reason of `check_kernels`).
    """
    contig, groups, group_samples = wanted.contig, wanted.groups, wanted.samples
    last_contig = contig + wanted.lengths.size - 1
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
                sample = sample_of(data, at, stop, groups, group_samples)
                if sample != UNWANTED:
                    places[found], stops[found], samples[found], lengths[found] = at, reference_stop, sample, length
                    operations[found] = layout.cigar_of(data, at)[1]
                    found += 1
            elif wanted.with_unusable and begins:
                places[found], stops[found], samples[found] = at, position + 1, UNUSABLE
                operations[found] = lengths[found] = 0
                found += 1
        at = stop
    return found, at, last, MORE


@kernel
def scan_unplaced(data, header, places):
    """Find the whole records in decompressed bytes (uint8) that begin with one, all without a contig.

    Writes to places (int64, large enough). Returns (records, where the first unread one begins, the outcome, as in
    `scan`).
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


class Blocks(NamedTuple):
    """BGZF blocks of decompressed bytes."""

    begin: Annotated[ndarray, "int64 [blocks]"]  # start in the bytes
    place: Annotated[ndarray, "int64 [blocks]"]  # start in the file


class FileWindows(NamedTuple):
    """The linear index of a BAM file."""

    first: Annotated[ndarray, "int64 [contigs + 1] of windows"]  # of each contig
    offset: Annotated[ndarray, "uint64 [windows]"]  # virtual offset of the first record that reaches it; 0: none yet


@kernel
def add_to_index(data, at, last, blocks, out):
    """Add the whole records from `at` on to out (Windows). last: contig and position of the previous record.

    Returns (where the first incomplete record begins, contig and position of the last one, MORE | UNSORTED | SIZE).
    """
    contig, position = last
    begin, place, first, offset = blocks.begin, blocks.place, out.first, out.offset
    block, contigs = 0, first.size - 1
    while at + layout.NAME <= data.size:
        stop = layout.stop_of(data, at)
        if stop > data.size:
            break
        own, start = layout.int32_at(data, at + layout.CONTIG), layout.int32_at(data, at + layout.POSITION)
        if own >= contigs or not layout.is_whole(data, at, stop):
            return at, contig, position, SIZE
        if own >= 0 and (own < contig or (own == contig and start < position)):
            return at, contig, position, UNSORTED
        contig, position = own if own >= 0 else contigs, start
        while block + 1 < begin.size and begin[block + 1] <= at:
            block += 1
        if own >= 0 and start >= 0:
            stop_window = (max(start, layout.span_of(data, at)[0] - 1) >> LINEAR_WINDOW) + 1
            for window in range(first[own] + (start >> LINEAR_WINDOW), min(first[own] + stop_window, first[own + 1])):
                if offset[window] == 0:
                    offset[window] = place[block] << 16 | (at - begin[block])
        at = stop
    return at, contig, position, MORE


@scalar
def fragment_end_of(data, at):
    """Return where the mate's 5' end bounds the fragment: its position on a reverse read, after it on a forward one; or
    -1.

    Only for mates on one contig and both strands that begin near enough to be read through. Clipped ends of the mate
    continue along the diagonal if MC tells them; without MC, position and TLEN are used.
    """
    flag, start = layout.uint16_at(data, at + layout.FLAG), layout.int32_at(data, at + layout.POSITION)
    mate, length = layout.int32_at(data, at + layout.MATE_POSITION), layout.int32_at(data, at + layout.LENGTH)
    is_forward = flag & REVERSE == 0  # the mate must be mapped, to the other strand
    is_pair = flag & (PAIRED | MATE_UNMAPPED) == PAIRED and is_forward == (flag & MATE_REVERSE != 0)
    contig, mate_contig = layout.int32_at(data, at + layout.CONTIG), layout.int32_at(data, at + layout.MATE_CONTIG)
    if not is_pair or mate_contig != contig or abs(mate - start) > length:
        return np.int64(-1)
    field, stop = layout.tag_of(data, at, layout.stop_of(data, at), MATE_CIGAR[0], MATE_CIGAR[1])
    if field == stop:
        return start + abs(layout.int32_at(data, at + layout.TEMPLATE_LENGTH)) if is_forward else mate
    number = span = leading = trailing = np.int64(0)
    for i in range(field, stop):
        digit = np.int64(data[i]) - 48
        if 0 <= digit <= 9:
            number = 10 * number + digit
            continue
        if data[i] in CLIPS:
            leading, trailing = (leading, trailing + number) if span else (leading + number, trailing)
        elif data[i] not in NOT_ON_REFERENCE:
            span += number
        number = np.int64(0)
    return mate + span + trailing if is_forward else max(np.int64(0), mate - leading)


@kernel
def decode(data, places, out):
    """Decode the records at these places into out (AlignedReads), whose offsets, samples and stops are known."""
    position, flag, mapping_quality = out.position, out.flag, out.mapping_quality
    cigar, cigar_offsets, name_hash = out.cigar, out.cigar_offsets, out.name_hash
    bases, qualities, read_offsets = out.bases, out.qualities, out.read_offsets
    fragment_end, shared, hidden = out.fragment_end, out.shared, out.hidden
    for i in range(places.size):
        at = places[i]
        position[i], flag[i] = layout.int32_at(data, at + layout.POSITION), layout.uint16_at(data, at + layout.FLAG)
        mapping_quality[i] = data[at + layout.MAPPING_QUALITY]
        name_hash[i] = hash_of(data, at + layout.NAME, layout.stored_cigar_of(data, at)[0] - 1)
        copy_cigar(data, at, cigar, cigar_offsets[i])
        length = copy_bases(data, at, bases, qualities, read_offsets[i])
        fragment_end[i] = fragment_end_of(data, at)
        shared[i, 0] = shared[i, 1] = 0 if flag[i] & REVERSE else length
        hidden[i, 0] = hidden[i, 1] = 0


@scalar
def copy_cigar(data, at, cigar, run):
    """Copy the CIGAR of the record at `at` to cigar[run:]."""
    source, operations = layout.cigar_of(data, at)
    for j in range(operations):
        cigar[run + j] = layout.uint32_at(data, source + 4 * j)


@scalar
def copy_bases(data, at, bases, qualities, first):
    """Copy the bases and qualities of the record at `at` to rows from `first` on; return how many."""
    source, length = layout.bases_of(data, at)
    for j in range(length // 2):  # unsigned indices: no test for negative ones
        byte = data[np.uint64(source + j)]
        bases[np.uint64(first + 2 * j)] = layout.BASES[byte >> 4]
        bases[np.uint64(first + 2 * j + 1)] = layout.BASES[byte & 15]
    if length & 1:
        bases[first + length - 1] = layout.BASES[data[source + length // 2] >> 4]
    source, _ = layout.qualities_of(data, at)
    for j in range(length):
        qualities[np.uint64(first + j)] = data[np.uint64(source + j)]
    return length


@scalar
def unpack(data, at, out, i):
    """Unpack what all kinds of reads have of the record at `at` to row i of `out`, whose offsets are known."""
    out.position[i], out.flag[i] = layout.int32_at(data, at + layout.POSITION), layout.uint16_at(data, at + layout.FLAG)
    out.name_hash[i] = hash_of(data, at + layout.NAME, layout.stored_cigar_of(data, at)[0] - 1)
    out.fragment_end[i] = fragment_end_of(data, at)
    copy_cigar(data, at, out.cigar, out.cigar_offsets[i])
    copy_bases(data, at, out.bases, out.qualities, out.read_offsets[i])
