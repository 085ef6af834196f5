"""The aligner's auxiliary fields, as BAM encodes them (SAM specification, section 4.2.4)."""

from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.pair.scalar import contig_of
from readwarp.align.places import genome_of
from readwarp.align.records.choose import SECONDARY
from readwarp.align.records.traced import Cigars, Records, Traced, are_equal, base_of
from readwarp.batches import ReadBatch, Segment, Status
from readwarp.device.jit import kernel
from readwarp.index.reference import Reference
from readwarp.ragged import offsets_of
from readwarp.rules import cigar as cigar_rules
from readwarp.rules.bases import LETTERS, base_at
from readwarp.rules.cigar import DELETION, INSERTION, run_of

UNPAIRED, FIRST, UNGAPPED = int(Segment.UNPAIRED), int(Segment.FIRST), int(Status.UNGAPPED)
OPERATIONS = np.frombuffer(cigar_rules.LETTERS.encode(), np.uint8)
NM, MD, AS, XS, MC, MQ, MS, SA, XA = (
    int.from_bytes(name, "little") for name in (b"NM", b"MD", b"AS", b"XS", b"MC", b"MQ", b"ms", b"SA", b"XA")
)
FIXED_ROOM = 64  # bytes of the numeric tags of a row, tag names and ends included
NUMBER_ROOM = 11  # a number and the letter after it
MISMATCH_ROOM = 6  # a matched length and a letter in MD


class ContigNames(NamedTuple):
    letters: Annotated[ndarray, "uint8 [letters]"]
    offsets: Annotated[ndarray, "int64 [contigs + 1] of letters"]


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
def put_clipped(out, at, e, length, traced):
    """CIGAR of trace e with soft clips."""
    head, tail = np.int64(traced.query_start[e]), np.int64(length - traced.query_stop[e])
    if head > 0:
        at = put_number(out, at, head)
        out[at] = 83  # S
        at += 1
    at = put_operations(out, at, traced.cigar, traced.cigar_offsets[e], traced.cigar_offsets[e + 1])
    if tail > 0:
        at = put_number(out, at, tail)
        out[at] = 83
        at += 1
    return at


@kernel
def put_differences(out, at, e, bases, packed, traced):
    """MD of trace e of a read: matched lengths, reference letters, ^ before those deleted."""
    q, position, matched, strand = np.int64(traced.query_start[e]), traced.start[e], 0, traced.strand[e]
    cigar = traced.cigar
    for i in range(traced.cigar_offsets[e], traced.cigar_offsets[e + 1]):
        operation, count, _, _ = run_of(cigar[i])
        if operation == INSERTION:
            q += count
            continue
        if operation == DELETION:
            at = put_number(out, at, matched)
            matched = 0
            out[at] = 94  # ^
            at += 1
        for where in range(position, position + count):
            there = base_at(packed[where >> 1], where)
            if operation == DELETION:
                out[at] = LETTERS[there]
                at += 1
                continue
            if are_equal(base_of(bases, q, strand), there):
                matched += 1
            else:
                at = put_number(out, at, matched)
                matched = 0
                out[at] = LETTERS[there]
                at += 1
            q += 1
        position += count
    return put_number(out, at, matched)


@kernel
def put_contig(out, at, contig, names):
    at = put_bytes(out, at, names.letters, names.offsets[contig], names.offsets[contig + 1])
    out[at] = 44  # ,
    return at + 1


@kernel
def put_supplementary(out, at, r, row, length, records, traced, names):
    """SA: the other records of the read, primary first: contig,position,strand,CIGAR,MAPQ,NM;"""
    at = put_text_start(out, at, SA)
    for other in range(records.offsets[r], records.offsets[r + 1]):
        if other == row:
            continue
        e = records.trace[other]
        at = put_contig(out, at, records.contig[other], names)
        at = put_number(out, at, records.position[other] + 1)
        out[at], out[at + 1], out[at + 2] = 44, 45 if traced.strand[e] else 43, 44  # ,-, or ,+,
        at = put_clipped(out, at + 3, e, length, traced)
        out[at] = 44
        at = put_number(out, at + 1, np.int64(records.mapping_quality[other]))
        out[at] = 44
        at = put_number(out, at + 1, np.int64(traced.edit_distance[e]))
        out[at] = 59  # ;
        at += 1
    out[at] = 0
    return at + 1


@kernel
def put_secondary(out, at, r, length, traced, contig_offsets, names):
    """XA: other places of the read: contig,strand and position,CIGAR,NM; nothing when there is none."""
    begun = False
    for e in range(traced.offsets[r], traced.offsets[r + 1]):
        if traced.role[e] != SECONDARY or traced.status[e] > UNGAPPED:
            continue
        if not begun:
            at, begun = put_text_start(out, at, XA), True
        contig = contig_of(contig_offsets, traced.start[e])
        at = put_contig(out, at, contig, names)
        out[at] = 45 if traced.strand[e] else 43
        at = put_number(out, at + 1, traced.start[e] - contig_offsets[contig] + 1)
        out[at] = 44
        at = put_clipped(out, at + 1, e, length, traced)
        out[at] = 44
        at = put_number(out, at + 1, np.int64(traced.edit_distance[e]))
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
def total_room(segment, records, traced, cigars, longest_name):
    """Most bytes that all tags can take; SA and XA name no more places than were traced."""
    room = 0
    for row in range(records.read.size):
        r, e = records.read[row], records.trace[row]
        room += FIXED_ROOM
        if segment[r] != UNPAIRED:
            mate_row = records.offsets[mate_of(r, segment)]
            room += NUMBER_ROOM * (cigars.offsets[mate_row + 1] - cigars.offsets[mate_row])
        if e >= 0:
            room += MISMATCH_ROOM * (traced.edit_distance[e] + 2)
            for t in range(traced.offsets[r], traced.offsets[r + 1]):
                operations = traced.cigar_offsets[t + 1] - traced.cigar_offsets[t]
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
def put_mate(out, at, mate, reads, records, cigars):
    """MC and MQ of a mapped mate, and ms."""
    mate_row = records.offsets[mate]
    if records.trace[mate_row] >= 0:
        at = put_text_start(out, at, MC)
        at = put_operations(out, at, cigars.operations, cigars.offsets[mate_row], cigars.offsets[mate_row + 1])
        out[at] = 0
        at = put_integer(out, at + 1, MQ, np.int64(records.mapping_quality[mate_row]))
    total = quality_sum(reads.qualities, reads.read_offsets[mate], reads.read_offsets[mate + 1])
    return put_integer(out, at, MS, np.int64(total))


@kernel
def write_tags(reads, genome, records, traced, names, cigars, out, out_offsets):
    """Tags of all records; returns their bytes."""
    at, packed, contig_offsets = 0, genome.packed, genome.contig_offsets
    out_offsets[0] = 0
    for row in range(records.read.size):
        r, e = records.read[row], records.trace[row]
        bases = reads.bases[reads.read_offsets[r] : reads.read_offsets[r + 1]]
        if e >= 0:
            at = put_integer(out, at, NM, np.int64(traced.edit_distance[e]))
            at = put_text_start(out, at, MD)
            at = put_differences(out, at, e, bases, packed, traced)
            out[at] = 0
            bonus = traced.full_score[e] - traced.score[e]
            at = put_integer(out, at + 1, AS, np.int64(traced.score[e]))
            at = put_integer(out, at, XS, np.int64(max(0, traced.second_score[e] - bonus)))
        if reads.segment[r] != UNPAIRED:
            at = put_mate(out, at, mate_of(r, reads.segment), reads, records, cigars)
        if records.offsets[r + 1] - records.offsets[r] > 1:
            at = put_supplementary(out, at, r, row, bases.size, records, traced, names)
        if e >= 0 and row == records.offsets[r]:
            at = put_secondary(out, at, r, bases.size, traced, contig_offsets, names)
        out_offsets[row + 1] = at
    return at


def encode_tags(
    reads: ReadBatch, reference: Reference, records: Records, traced: Traced, cigars: Cigars
) -> tuple[ndarray, ndarray]:
    """NM MD AS XS MC MQ ms SA XA of all records: uint8 bytes and int64 offsets [records + 1]."""
    names = contig_names(reference.names)
    room = total_room(reads.segment, records, traced, cigars, int(np.diff(names.offsets).max()))
    out, offsets = np.empty(room, np.uint8), np.empty(records.read.size + 1, np.int64)
    used = write_tags(reads, genome_of(reference), records, traced, names, cigars, out, offsets)
    return out[:used], offsets
