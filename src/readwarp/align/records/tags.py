"""The aligner's auxiliary fields, as BAM encodes them (SAM specification, section 4.2.4)."""

from functools import lru_cache

import numpy as np

from readwarp.align.pair.scalar import contig_of
from readwarp.align.records.choose import SECONDARY, Choices
from readwarp.batches import Extensions, ReadBatch, Segment, Status
from readwarp.device.jit import kernel
from readwarp.index.store import Reference

UNPAIRED, FIRST, UNGAPPED = int(Segment.UNPAIRED), int(Segment.FIRST), int(Status.UNGAPPED)
DELETION, INSERTION = 2, 1
LETTERS = np.frombuffer(b"ACGTN", np.uint8)
OPERATIONS = np.frombuffer(b"MIDNSHP=XB", np.uint8)
NM, MD, AS, XS, MC, MQ, MS, SA, XA = (
    int.from_bytes(name, "little") for name in (b"NM", b"MD", b"AS", b"XS", b"MC", b"MQ", b"ms", b"SA", b"XA")
)
FIXED_ROOM = 64  # bytes of the numeric tags of a row, tag names and ends included
NUMBER_ROOM = 11  # letters of one number and what follows it


@lru_cache(maxsize=4)
def contig_names(names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Bytes of all names and int64 offsets."""
    encoded = [name.encode() for name in names]
    offsets = np.concatenate([[0], np.cumsum([len(name) for name in encoded])]).astype(np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


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
def put_clipped(out, at, e, length, query_start, query_stop, operations, operation_offsets):
    """CIGAR of choice e with soft clips."""
    if query_start[e] > 0:
        at = put_number(out, at, np.int64(query_start[e]))
        out[at] = 83  # S
        at += 1
    at = put_operations(out, at, operations, operation_offsets[e], operation_offsets[e + 1])
    if query_stop[e] < length:
        at = put_number(out, at, np.int64(length - query_stop[e]))
        out[at] = 83
        at += 1
    return at


@kernel
def put_differences(
    out, at, e, read_start, read_stop, strand, bases, packed, query_start, start, operations, operation_offsets
):
    """MD: matched lengths, reference letters of mismatches, ^ and letters of deletions."""
    q, position, matched = np.int64(query_start[e]), start[e], 0
    for i in range(operation_offsets[e], operation_offsets[e + 1]):
        count, operation = np.int64(operations[i] >> 4), operations[i] & 15
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
            base = np.int64(bases[read_start + q]) if strand[e] == 0 else 3 - np.int64(bases[read_stop - 1 - q])
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
def put_place(out, at, contig, contig_names, contig_name_offsets):
    at = put_bytes(out, at, contig_names, contig_name_offsets[contig], contig_name_offsets[contig + 1])
    out[at] = 44  # ,
    return at + 1


@kernel
def row_room(
    r,
    row,
    row_offsets,
    row_choice,
    mate_row,
    choice_offsets,
    cigar_offsets,
    operation_offsets,
    edit_distance,
    longest_name,
):
    """Most bytes that the tags of a row can take."""
    room = FIXED_ROOM
    if mate_row >= 0:
        room += NUMBER_ROOM * (cigar_offsets[mate_row + 1] - cigar_offsets[mate_row])
    if row_choice[row] < 0:
        return room
    room += 6 * (edit_distance[row_choice[row]] + 2)
    for e in range(choice_offsets[r], choice_offsets[r + 1]):  # SA and XA name no more places than were traced
        room += longest_name + NUMBER_ROOM * (operation_offsets[e + 1] - operation_offsets[e] + 6)
    return room


@kernel
def quality_sums(qualities, read_offsets, out):
    """Sum of base qualities of at least 15, by read."""
    for r in range(out.size):
        total = 0
        for i in range(read_offsets[r], read_offsets[r + 1]):
            quality = np.int32(qualities[i])
            total += quality if quality >= 15 else 0
        out[r] = total


@kernel
def put_supplementary(out, at, r, row, length, row_offsets, row_choice, strand, contig, position, quality, query_start, query_stop,
                      operations, operation_offsets, edit_distance, names, name_offsets):  # fmt: skip
    """SA: the other rows of the read, primary first: contig,position,strand,CIGAR,MAPQ,NM;"""
    at = put_text_start(out, at, SA)
    for other in range(row_offsets[r], row_offsets[r + 1]):
        if other == row:
            continue
        e = row_choice[other]
        at = put_place(out, at, contig[other], names, name_offsets)
        at = put_number(out, at, position[other] + 1)
        out[at], out[at + 1], out[at + 2] = 44, 45 if strand[e] else 43, 44  # ,-, or ,+,
        at = put_clipped(out, at + 3, e, length, query_start, query_stop, operations, operation_offsets)
        out[at] = 44
        at = put_number(out, at + 1, np.int64(quality[other]))
        out[at] = 44
        at = put_number(out, at + 1, np.int64(edit_distance[e]))
        out[at] = 59  # ;
        at += 1
    out[at] = 0
    return at + 1


@kernel
def put_secondary(out, at, first, last, length, role, status, strand, start, contig_offsets, query_start, query_stop,
                  operations, operation_offsets, edit_distance, names, name_offsets):  # fmt: skip
    """XA: other places of the read: contig,strand and position,CIGAR,NM; nothing when there is none."""
    begun = False
    for e in range(first, last):
        if role[e] != SECONDARY or status[e] > UNGAPPED:
            continue
        if not begun:
            at, begun = put_text_start(out, at, XA), True
        contig = contig_of(contig_offsets, start[e])
        at = put_place(out, at, contig, names, name_offsets)
        out[at] = 45 if strand[e] else 43
        at = put_number(out, at + 1, start[e] - contig_offsets[contig] + 1)
        out[at] = 44
        at = put_clipped(out, at + 1, e, length, query_start, query_stop, operations, operation_offsets)
        out[at] = 44
        at = put_number(out, at + 1, np.int64(edit_distance[e]))
        out[at] = 59
        at += 1
    if begun:
        out[at] = 0
        at += 1
    return at


@kernel
def total_room(
    segment,
    row_offsets,
    row_read,
    row_choice,
    choice_offsets,
    cigar_offsets,
    operation_offsets,
    edit_distance,
    longest_name,
):
    """Most bytes that all tags can take."""
    room = 0
    for row in range(row_read.size):
        r = row_read[row]
        mate_row = -1 if segment[r] == UNPAIRED else (row_offsets[r + 1] if segment[r] == FIRST else row_offsets[r - 1])
        room += row_room(
            r,
            row,
            row_offsets,
            row_choice,
            mate_row,
            choice_offsets,
            cigar_offsets,
            operation_offsets,
            edit_distance,
            longest_name,
        )
    return room


@kernel
def write_tags(
    segment, read_offsets, bases, packed, contig_offsets, names, name_offsets, quality_sum, choice_offsets, role, strand, choice_score,
    second_score, score, query_start, query_stop, start, edit_distance, operations, operation_offsets, status,
    row_offsets, row_read, row_choice, contig, position, quality, cigar, cigar_offsets, out, out_offsets,
):  # fmt: skip
    """Tags of all rows."""
    at = 0
    out_offsets[0] = 0
    for row in range(row_read.size):
        r, e = row_read[row], row_choice[row]
        length = read_offsets[r + 1] - read_offsets[r]
        if e >= 0:
            at = put_integer(out, at, NM, np.int64(edit_distance[e]))
            at = put_text_start(out, at, MD)
            at = put_differences(
                out,
                at,
                e,
                read_offsets[r],
                read_offsets[r + 1],
                strand,
                bases,
                packed,
                query_start,
                start,
                operations,
                operation_offsets,
            )
            out[at] = 0
            at = put_integer(out, at + 1, AS, np.int64(score[e]))
            at = put_integer(out, at, XS, np.int64(max(0, second_score[e] - (choice_score[e] - score[e]))))
        if segment[r] != UNPAIRED:
            mate = r + 1 if segment[r] == FIRST else r - 1
            mate_row = row_offsets[mate]
            if row_choice[mate_row] >= 0:
                at = put_text_start(out, at, MC)
                at = put_operations(out, at, cigar, cigar_offsets[mate_row], cigar_offsets[mate_row + 1])
                out[at] = 0
                at = put_integer(out, at + 1, MQ, np.int64(quality[mate_row]))
            at = put_integer(out, at, MS, np.int64(quality_sum[mate]))
        if row_offsets[r + 1] - row_offsets[r] > 1:
            at = put_supplementary(out, at, r, row, length, row_offsets, row_choice, strand, contig, position, quality, query_start,
                                   query_stop, operations, operation_offsets, edit_distance, names, name_offsets)  # fmt: skip
        if e >= 0 and row == row_offsets[r]:
            at = put_secondary(out, at, choice_offsets[r], choice_offsets[r + 1], length, role, status, strand, start, contig_offsets,
                               query_start, query_stop, operations, operation_offsets, edit_distance, names, name_offsets)  # fmt: skip
        out_offsets[row + 1] = at
    return at


def encode_tags(
    reads: ReadBatch, choices: Choices, extensions: Extensions, reference: Reference, row_offsets: np.ndarray, row_read: np.ndarray,
    row_choice: np.ndarray, contig: np.ndarray, position: np.ndarray, quality: np.ndarray, cigar: np.ndarray, cigar_offsets: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """NM MD AS XS MC MQ ms SA XA of all rows: uint8 bytes and int64 offsets [rows + 1]."""
    names, name_offsets = contig_names(reference.names)
    room = total_room(
        reads.segment, row_offsets, row_read, row_choice, choices.choice_offsets, cigar_offsets, extensions.cigar_offsets,
        extensions.edit_distance, int(np.diff(name_offsets).max()),
    )  # fmt: skip
    out, out_offsets, sums = (
        np.empty(room, np.uint8),
        np.empty(row_read.size + 1, np.int64),
        np.empty(len(reads), np.int64),
    )
    quality_sums(reads.qualities, reads.read_offsets, sums)
    used = write_tags(
        reads.segment, reads.read_offsets, reads.bases, reference.packed, reference.contig_offsets, names, name_offsets, sums,
        choices.choice_offsets, choices.role, choices.strand, choices.score, choices.second_score,
        extensions.score, extensions.query_start, extensions.query_stop, extensions.reference_start, extensions.edit_distance,
        extensions.cigar, extensions.cigar_offsets, extensions.status,
        row_offsets, row_read, row_choice, contig, position, quality, cigar, cigar_offsets, out, out_offsets,
    )  # fmt: skip
    return out[:used], out_offsets
