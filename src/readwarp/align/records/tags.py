"""The aligner's auxiliary fields, as BAM encodes them (SAM specification, section 4.2.4)."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from readwarp.align.pair.scalar import contig_of
from readwarp.align.records.choose import SECONDARY
from readwarp.align.records.views import Rows, Traces
from readwarp.align.views import ReadView, view_reference
from readwarp.batches import Segment, Status
from readwarp.device.jit import kernel
from readwarp.index.reference import Reference
from readwarp.ragged import offsets_of

UNPAIRED, FIRST, UNGAPPED = int(Segment.UNPAIRED), int(Segment.FIRST), int(Status.UNGAPPED)
DELETION, INSERTION = 2, 1
LETTERS = np.frombuffer(b"ACGTN", np.uint8)
OPERATIONS = np.frombuffer(b"MIDNSHP=XB", np.uint8)
NM, MD, AS, XS, MC, MQ, MS, SA, XA = (
    int.from_bytes(name, "little") for name in (b"NM", b"MD", b"AS", b"XS", b"MC", b"MQ", b"ms", b"SA", b"XA")
)
FIXED_ROOM = 64  # bytes of the numeric tags of a row, tag names and ends included
NUMBER_ROOM = 11  # a number and the letter after it
MISMATCH_ROOM = 6  # a matched length and a letter in MD


class ContigNames(NamedTuple):
    letters: np.ndarray  # uint8
    offsets: np.ndarray  # int64 [contigs + 1]


@lru_cache(maxsize=4)
def contig_names(names: tuple[str, ...]) -> ContigNames:
    encoded = [name.encode() for name in names]
    offsets = offsets_of([len(name) for name in encoded])
    return ContigNames(np.frombuffer(b"".join(encoded), np.uint8), offsets)


@kernel
def put_name(out, at, name):
    out[at], out[at + 1] = name & 255, name >> 8
    return at + 2


@kernel
def put_integer(out, at, name, value):
    """An integer tag in the smallest unsigned type that holds it."""
    at = put_name(out, at, name)
    size = 1 if value < 1 << 8 else (2 if value < 1 << 16 else 4)
    out[at] = 67 if size == 1 else (83 if size == 2 else 73)  # C S I
    for i in range(size):
        out[at + 1 + i] = (value >> 8 * i) & 255
    return at + 1 + size


@kernel
def put_text_start(out, at, name):
    at = put_name(out, at, name)
    out[at] = 90  # Z
    return at + 1


@kernel
def put_number(out, at, value):
    """Decimal digits of a number that is not negative."""
    digits, rest = 1, value // 10
    while rest > 0:
        digits, rest = digits + 1, rest // 10
    for i in range(digits):
        out[at + digits - 1 - i] = 48 + value % 10
        value //= 10
    return at + digits


@kernel
def put_bytes(out, at, values, start, stop):
    for i in range(start, stop):
        out[at] = values[i]
        at += 1
    return at


@kernel
def put_operations(out, at, operations, start, stop):
    for i in range(start, stop):
        at = put_number(out, at, np.int64(operations[i] >> 4))
        out[at] = OPERATIONS[operations[i] & 15]
        at += 1
    return at


@kernel
def put_clipped(out, at, e, length, traces):
    """CIGAR of trace e with soft clips."""
    head, tail = np.int64(traces.query_start[e]), np.int64(length - traces.query_stop[e])
    if head > 0:
        at = put_number(out, at, head)
        out[at] = 83  # S
        at += 1
    at = put_operations(out, at, traces.operations, traces.operation_offsets[e], traces.operation_offsets[e + 1])
    if tail > 0:
        at = put_number(out, at, tail)
        out[at] = 83
        at += 1
    return at


@kernel
def put_differences(out, at, e, first, last, bases, packed, traces):
    """MD of trace e of the read bases[first:last]: matched lengths, reference letters, ^ before those deleted."""
    q, position, matched = np.int64(traces.query_start[e]), traces.start[e], 0
    for i in range(traces.operation_offsets[e], traces.operation_offsets[e + 1]):
        count, operation = np.int64(traces.operations[i] >> 4), traces.operations[i] & 15
        if operation == INSERTION:
            q += count
            continue
        if operation == DELETION:
            at = put_number(out, at, matched)
            matched = 0
            out[at] = 94  # ^
            at += 1
        for where in range(position, position + count):
            there = np.int64((packed[where >> 1] >> np.uint8((where & 1) << 2)) & 15)
            if operation == DELETION:
                out[at] = LETTERS[there]
                at += 1
                continue
            base = np.int64(bases[first + q]) if traces.strand[e] == 0 else 3 - np.int64(bases[last - 1 - q])
            q += 1
            if base == there and 0 <= base <= 3:
                matched += 1
            else:
                at = put_number(out, at, matched)
                matched = 0
                out[at] = LETTERS[there]
                at += 1
        position += count
    return put_number(out, at, matched)


@kernel
def put_contig(out, at, contig, names):
    at = put_bytes(out, at, names.letters, names.offsets[contig], names.offsets[contig + 1])
    out[at] = 44  # ,
    return at + 1


@kernel
def put_supplementary(out, at, r, row, length, rows, traces, names):
    """SA: the other rows of the read, primary first: contig,position,strand,CIGAR,MAPQ,NM;"""
    at = put_text_start(out, at, SA)
    for other in range(rows.offsets[r], rows.offsets[r + 1]):
        if other == row:
            continue
        e = rows.trace[other]
        at = put_contig(out, at, rows.contig[other], names)
        at = put_number(out, at, rows.position[other] + 1)
        out[at], out[at + 1], out[at + 2] = 44, 45 if traces.strand[e] else 43, 44  # ,-, or ,+,
        at = put_clipped(out, at + 3, e, length, traces)
        out[at] = 44
        at = put_number(out, at + 1, np.int64(rows.mapping_quality[other]))
        out[at] = 44
        at = put_number(out, at + 1, np.int64(traces.edit_distance[e]))
        out[at] = 59  # ;
        at += 1
    out[at] = 0
    return at + 1


@kernel
def put_secondary(out, at, r, length, traces, contig_offsets, names):
    """XA: other places of the read: contig,strand and position,CIGAR,NM; nothing when there is none."""
    begun = False
    for e in range(traces.offsets[r], traces.offsets[r + 1]):
        if traces.role[e] != SECONDARY or traces.status[e] > UNGAPPED:
            continue
        if not begun:
            at, begun = put_text_start(out, at, XA), True
        contig = contig_of(contig_offsets, traces.start[e])
        at = put_contig(out, at, contig, names)
        out[at] = 45 if traces.strand[e] else 43
        at = put_number(out, at + 1, traces.start[e] - contig_offsets[contig] + 1)
        out[at] = 44
        at = put_clipped(out, at + 1, e, length, traces)
        out[at] = 44
        at = put_number(out, at + 1, np.int64(traces.edit_distance[e]))
        out[at] = 59
        at += 1
    if begun:
        out[at] = 0
        at += 1
    return at


@kernel
def mate_of(r, segment):
    return r + 1 if segment[r] == FIRST else r - 1


@kernel
def total_room(segment, rows, traces, cigar_offsets, longest_name):
    """Most bytes that all tags can take; SA and XA name no more places than were traced."""
    room = 0
    for row in range(rows.read.size):
        r, e = rows.read[row], rows.trace[row]
        room += FIXED_ROOM
        if segment[r] != UNPAIRED:
            mate_row = rows.offsets[mate_of(r, segment)]
            room += NUMBER_ROOM * (cigar_offsets[mate_row + 1] - cigar_offsets[mate_row])
        if e >= 0:
            room += MISMATCH_ROOM * (traces.edit_distance[e] + 2)
            for t in range(traces.offsets[r], traces.offsets[r + 1]):
                operations = traces.operation_offsets[t + 1] - traces.operation_offsets[t]
                room += longest_name + NUMBER_ROOM * (operations + 6)
    return room


@kernel
def quality_sum(qualities, first, last):
    """Sum of base qualities of at least 15."""
    total = np.int32(0)
    for i in range(first, last):
        quality = np.int32(qualities[i])
        total += quality if quality >= 15 else 0
    return total


@kernel
def put_mate(out, at, mate, reads, rows, cigar, cigar_offsets):
    """MC and MQ of a mapped mate, and ms."""
    mate_row = rows.offsets[mate]
    if rows.trace[mate_row] >= 0:
        at = put_text_start(out, at, MC)
        at = put_operations(out, at, cigar, cigar_offsets[mate_row], cigar_offsets[mate_row + 1])
        out[at] = 0
        at = put_integer(out, at + 1, MQ, np.int64(rows.mapping_quality[mate_row]))
    total = quality_sum(reads.qualities, reads.offsets[mate], reads.offsets[mate + 1])
    return put_integer(out, at, MS, np.int64(total))


@kernel
def write_tags(reads, reference, rows, traces, names, cigar, cigar_offsets, out, out_offsets):
    """Tags of all rows; returns their bytes."""
    at = 0
    out_offsets[0] = 0
    for row in range(rows.read.size):
        r, e = rows.read[row], rows.trace[row]
        first, last = reads.offsets[r], reads.offsets[r + 1]
        if e >= 0:
            at = put_integer(out, at, NM, np.int64(traces.edit_distance[e]))
            at = put_text_start(out, at, MD)
            at = put_differences(out, at, e, first, last, reads.bases, reference.packed, traces)
            out[at] = 0
            bonus = traces.full_score[e] - traces.score[e]
            at = put_integer(out, at + 1, AS, np.int64(traces.score[e]))
            at = put_integer(out, at, XS, np.int64(max(0, traces.second_score[e] - bonus)))
        if reads.segment[r] != UNPAIRED:
            at = put_mate(out, at, mate_of(r, reads.segment), reads, rows, cigar, cigar_offsets)
        if rows.offsets[r + 1] - rows.offsets[r] > 1:
            at = put_supplementary(out, at, r, row, last - first, rows, traces, names)
        if e >= 0 and row == rows.offsets[r]:
            at = put_secondary(out, at, r, last - first, traces, reference.contig_offsets, names)
        out_offsets[row + 1] = at
    return at


def encode_tags(
    reads: ReadView, reference: Reference, rows: Rows, traces: Traces, cigar: np.ndarray, cigar_offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """NM MD AS XS MC MQ ms SA XA of all rows: uint8 bytes and int64 offsets [r + 1]."""
    names = contig_names(reference.names)
    room = total_room(reads.segment, rows, traces, cigar_offsets, int(np.diff(names.offsets).max()))
    out, offsets = np.empty(room, np.uint8), np.empty(rows.read.size + 1, np.int64)
    view = view_reference(reference)
    used = write_tags(reads, view, rows, traces, names, cigar, cigar_offsets, out, offsets)
    return out[:used], offsets
