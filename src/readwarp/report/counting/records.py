"""Count the figures that need one record at a time."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.compiler.simd import load_eight
from readwarp.formats.alignments import layout
from readwarp.formats.alignments.regions import RawRecords
from readwarp.ragged import empty, take
from readwarp.report.counting import cycles
from readwarp.report.counting.depth import DepthWindow, begins_before
from readwarp.report.counting.tables import (
    ALIGNED,
    CONTENTS,
    FIRST,
    INWARD,
    LARGEST_INSERT,
    LAST,
    LONG,
    MISMATCHES,
    NEITHER,
    OTHER,
    OUTWARD,
    PRIMARY,
    SUM_OF_QUALITIES,
    CountedRecords,
    Tables,
)
from readwarp.rules import flags
from readwarp.rules.cigar import DELETION, HARD_CLIP, INSERTION, is_match, run_of
from readwarp.rules.flags import FIRST as FIRST_BIT
from readwarp.rules.flags import LAST as LAST_BIT

NM = ord("N"), ord("M")
INTEGERS = tuple(b"cCsSiI")  # types of integer fields
LEFT_OUT = flags.UNMAPPED | flags.SUPPLEMENTARY | flags.FAILED | flags.DUPLICATE  # left out of the counts of MAPQ
POLYNOMIAL, ALL_ONES = 0xEDB88320, 0xFFFFFFFF
SLICES = 8  # bytes


def _crc_tables() -> ndarray:
    """Return the contribution of a byte to the remainder after 0, 1, ... following bytes (uint32 [SLICES, 256])."""
    first = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        first = np.where(first & 1, first >> 1 ^ POLYNOMIAL, first >> 1).astype(np.uint32)
    tables = [first]
    for _ in range(SLICES - 1):
        tables.append(tables[-1] >> 8 ^ first[tables[-1] & 255])
    return np.array(tables)


CRC_TABLES = _crc_tables()


class Letters(NamedTuple):
    """Bases of the reference; empty if it is unknown."""

    codes: Annotated[ndarray, "uint8 [bases]"]  # BAM codes; 0 for letters other than ACGT
    start: int  # first base, on the axis


def count_rows(records: RawRecords, place: DepthWindow, letters: Letters, tables: Tables) -> CountedRecords:
    """Add records to the tables; return the rows of those that are kept."""
    rows = empty(CountedRecords, {"rows": records.places.size})
    number = count_records(records, place, letters, tables, rows)
    return take(rows, "rows", slice(0, number))


@kernel
def count_records(records, place, letters, tables, rows):
    """Add the records (Records) that begin in a window (Place) or have no contig to tables (Tables) and rows (Rows).

    letters (Letters): of all aligned records. rows: large enough. Returns the number of rows written.
    """
    data, places = records.data, records.places
    codes, number = np.empty(LONG + 1, np.uint8), 0
    for i in range(places.size):
        at = places[i]
        if begins_before(data, at, place):
            continue
        contig, position = layout.int32_at(data, at + layout.CONTIG), layout.int32_at(data, at + layout.POSITION)
        flag = layout.uint16_at(data, at + layout.FLAG) & (flags.FLAGS - 1)
        length = layout.int32_at(data, at + layout.LENGTH)
        is_kept = length > 0 and flag & flags.SECONDARY == 0
        add_record(data, at, is_kept, tables)
        if not is_kept:
            continue
        if length >= codes.size:
            codes = np.empty(2 * length, np.uint8)
        full, segment = full_length_of(data, at), segment_of(flag)
        is_primary = flag & flags.SUPPLEMENTARY == 0
        tables.bases[flag] += length
        if full < LONG:
            tables.lengths[1 if is_primary else 0, segment, full] += 1
        if flag & LEFT_OUT == 0:
            tables.mapping_qualities[data[at + layout.MAPPING_QUALITY]] += 1
        cycles.unpack_codes(data, at, codes)
        is_counted = is_primary and (segment == FIRST or segment == LAST)
        gc = add_bases(data, at, codes, segment, full, tables) if is_counted else np.int64(0)
        reach = np.int64(0)
        if records.is_aligned[i]:
            cycles.count_gaps(data, at, segment, tables)
            reach = add_alignment(data, at, tables)
            if letters.codes.size > 0 and full < LONG:
                first, mirror = place.first[contig] + position - letters.start, full if flag & flags.REVERSE else 0
                cycles.count_mismatches(data, at, codes, letters.codes, first, mirror, tables.mismatches)
        rows.contig[number], rows.position[number] = contig, position if records.is_aligned[i] else -1
        rows.reach[number], rows.length[number] = reach, full
        rows.segment[number] = segment + (PRIMARY if is_primary else 0)
        rows.content[number] = np.float32(gc) / np.float32(length)
        number += 1
    return number


@scalar
def add_record(data, at, is_kept, tables):
    """Count a record by its flag and its contig, and add its checksums."""
    flag = layout.uint16_at(data, at + layout.FLAG) & (flags.FLAGS - 1)
    contig, quality = layout.int32_at(data, at + layout.CONTIG), data[at + layout.MAPPING_QUALITY]
    quality_class = 0 if quality == 0 else 1 if quality < flags.SURE else 2
    is_elsewhere = contig != layout.int32_at(data, at + layout.MATE_CONTIG)
    tables.records[1 if is_kept else 0, 1 if is_elsewhere else 0, quality_class, flag] += 1
    tables.placed[contig if contig >= 0 else tables.placed.shape[0] - 1, 1 if flag & flags.UNMAPPED else 0] += 1
    name_stop = layout.stored_cigar_of(data, at)[0] - 1
    tables.checksums[0] += crc32_of(data, at + layout.NAME, name_stop)
    bases, length = layout.bases_of(data, at)
    if length > 0:
        start, stop = layout.qualities_of(data, at)
        tables.checksums[1] += crc32_of(data, bases, start)
        tables.checksums[2] += crc32_of(data, start, stop)


@scalar
def segment_of(flag):
    """Return FIRST for a single read; for pairs, the segment by the bits of first and last."""
    if flag & flags.PAIRED == 0:
        return np.int64(FIRST)
    return np.int64(NEITHER + (FIRST if flag & FIRST_BIT else 0) + (LAST if flag & LAST_BIT else 0))


@scalar
def full_length_of(data, at):
    """Return the bases of a record, and those that were clipped from it."""
    cigar, operations = layout.cigar_of(data, at)
    length = layout.int32_at(data, at + layout.LENGTH)
    for i in range(operations):
        operation, clipped, _, _ = run_of(layout.uint32_at(data, cigar + 4 * i))
        length += clipped if operation == HARD_CLIP else 0
    return length


@scalar
def add_bases(data, at, codes, segment, full, tables):
    """Count the letters and qualities of a first or last read; return its number of G and C."""
    length, last = layout.int32_at(data, at + layout.LENGTH), segment - FIRST
    is_reverse = layout.uint16_at(data, at + layout.FLAG) & flags.REVERSE != 0
    if full < LONG:
        cycles.count_letters(codes, length, is_reverse, tables.letters[last, 1 if is_reverse else 0])
        tables.sums[SUM_OF_QUALITIES] += cycles.count_qualities(data, at, is_reverse, tables.qualities[last])
    else:
        tables.sums[SUM_OF_QUALITIES] += cycles.sum_qualities(data, at)
    gc = cycles.count_gc(codes, length)
    for share in range(gc * (CONTENTS - 1) // length, min((gc + 1) * (CONTENTS - 1) // length, CONTENTS - 1)):
        tables.contents[last, share] += 1
    return gc


@scalar
def add_alignment(data, at, tables):
    """Add NM, aligned bases and the insert size of an aligned record; return its position, bases and deleted bases."""
    value, _ = layout.tag_of(data, at, layout.stop_of(data, at), NM[0], NM[1])
    if value > 0 and data[value - 1] in INTEGERS:
        tables.sums[MISMATCHES] += layout.get_number(data, value, data[value - 1])
    reach = layout.int32_at(data, at + layout.POSITION) + layout.int32_at(data, at + layout.LENGTH)
    cigar, operations = layout.cigar_of(data, at)
    for i in range(operations):
        operation, length, _, _ = run_of(layout.uint32_at(data, cigar + 4 * i))
        tables.sums[ALIGNED] += length if is_match(operation) or operation == INSERTION else 0
        reach += length if operation == DELETION else 0
    flag = layout.uint16_at(data, at + layout.FLAG)
    if flag & (flags.PAIRED | flags.MATE_UNMAPPED | flags.SUPPLEMENTARY) == flags.PAIRED:
        insert = abs(layout.int32_at(data, at + layout.TEMPLATE_LENGTH))
        if insert > 0 or layout.int32_at(data, at + layout.CONTIG) == layout.int32_at(data, at + layout.MATE_CONTIG):
            ahead = layout.int32_at(data, at + layout.MATE_POSITION) - layout.int32_at(data, at + layout.POSITION)
            tables.insert_sizes[min(insert, LARGEST_INSERT), orientation_of(flag, ahead)] += 1
    return reach


@scalar
def orientation_of(flag, ahead):
    """Return INWARD, OUTWARD or OTHER, like samtools stats, by the strands and how far ahead the mate starts."""
    is_reverse = flag & flags.REVERSE != 0
    if is_reverse == (flag & flags.MATE_REVERSE != 0):
        return OTHER
    if ahead == 0:
        return INWARD
    return INWARD if is_reverse == (ahead < 0) else OUTWARD


@scalar
def crc32_of(data, start, stop):
    """Return the CRC-32 (zlib's) of data[start:stop] (uint8) as uint64, by slicing-by-8 (Kounavis and Berry 2008)."""
    value, byte = np.uint64(ALL_ONES), np.uint64(255)
    at, end = np.uint64(start), np.uint64(stop)
    while at + np.uint64(SLICES) <= end:
        word = load_eight(data, at) ^ value
        value = np.uint64(
            CRC_TABLES[7, word & byte]
            ^ CRC_TABLES[6, word >> np.uint64(8) & byte]
            ^ CRC_TABLES[5, word >> np.uint64(16) & byte]
            ^ CRC_TABLES[4, word >> np.uint64(24) & byte]
            ^ CRC_TABLES[3, word >> np.uint64(32) & byte]
            ^ CRC_TABLES[2, word >> np.uint64(40) & byte]
            ^ CRC_TABLES[1, word >> np.uint64(48) & byte]
            ^ CRC_TABLES[0, word >> np.uint64(56)]
        )
        at += np.uint64(SLICES)
    while at < end:
        value = value >> np.uint64(8) ^ np.uint64(CRC_TABLES[0, (value ^ np.uint64(data[at])) & byte])
        at += np.uint64(1)
    return value ^ np.uint64(ALL_ONES)
