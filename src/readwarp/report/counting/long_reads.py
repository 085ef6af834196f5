"""Count the figures of long reads alone, in a pass of their own."""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.errors import InputError
from readwarp.formats.alignments import layout
from readwarp.formats.alignments.checks import MAX_QUALITY, NO_QUALITY
from readwarp.formats.alignments.regions import AlignedReader, FileForm
from readwarp.formats.common.qualities import PHRED33
from readwarp.ragged import empty
from readwarp.report.counting.depth import DepthWindow, begins_before
from readwarp.report.counting.one_pass import CountStretch, stretches
from readwarp.report.counting.tables import ThreadTables
from readwarp.rules.cigar import DELETION, INSERTION, is_match, run_of
from readwarp.rules.flags import SECONDARY, SUPPLEMENTARY, UNMAPPED
from readwarp.stream.runner import map_ordered

SHARES, TENTHS = 10_000, 10  # units of identity and of quality
PARTS = 1_000  # limit of parts
ERRORS = 10.0 ** (-np.arange(MAX_QUALITY + 1) / 10)  # P(error) of a base, by quality
INTEGERS = tuple(b"cCsSiI")  # types of integer fields
UNKNOWN, BAD = -1.0, -2.0  # in place of a number: the field is missing; it holds none
SEMICOLON = ord(";")


class LongTables(NamedTuple):
    """Counts of primary records."""

    identity: Annotated[ndarray, f"int64 [{SHARES + 1}]"]  # of mapped records, in units of 1 / SHARES
    quality: Annotated[ndarray, f"int64 [{TENTHS * MAX_QUALITY + 1}]"]  # of the mean error, in tenths, if known
    bases: Annotated[ndarray, f"int64 [{MAX_QUALITY + 1}]"]  # by quality
    gc: Annotated[ndarray, "int64 [101]"]  # per cent of the bases
    parts: Annotated[ndarray, f"int64 [{PARTS}]"]  # alignments of mapped records, 1 plus those in SA


def count_long_reads(
    path: Path, reference: Path | None, threads: int, check: Callable[[], None] = lambda: None
) -> LongTables:
    """Count the figures of long reads in a sorted and indexed BAM or CRAM file (reference: indexed FASTA).

    check: called now and then, raises an error to stop the count. Raises InputError.
    """
    reader = AlignedReader(path, reference, form=FileForm(PHRED33))
    shared = ThreadTables(partial(empty, LongTables, {}, np.zeros))
    first = np.array([0, *accumulate(reader.lengths)], np.int64)

    def count(stretch: CountStretch) -> None:
        place = DepthWindow(*(stretch.window[1:] if stretch.window else (0, 0)), first)
        with shared.borrow() as tables:
            for records in stretch.records:
                bad = count_long(records, place, tables)
                if bad >= 0:
                    stop = layout.stored_cigar_of(records.data, bad)[0] - 1
                    name = records.data[bad + layout.NAME : stop].tobytes().decode()
                    raise InputError(path, "the tags of a read cannot be read: de, dv or NM is not a number", name)

    try:
        with closing(map_ordered(stretches(reader), count, threads, 2 * threads)) as parts:
            for _ in parts:
                check()
    finally:
        reader.close()
    return shared.total()


@kernel
def count_long(records, place, tables):
    """Add the primary records (Records) that begin in a window (Place) or have no contig to tables (LongTables).

    Returns the place of the first record whose tags hold no numbers; -1 if there is none.
    """
    data, places = records.data, records.places
    bits = np.empty(1, np.uint32)
    for i in range(places.size):
        at = places[i]
        flag = layout.uint16_at(data, at + layout.FLAG)
        if flag & (SECONDARY | SUPPLEMENTARY) or begins_before(data, at, place):
            continue
        if layout.int32_at(data, at + layout.LENGTH) > 0:
            add_bases(data, at, tables)
        if flag & UNMAPPED == 0:
            start, stop = layout.tag_of(data, at, layout.stop_of(data, at), ord("S"), ord("A"))
            parts = 1
            for j in range(start, stop):
                parts += data[j] == SEMICOLON
            tables.parts[min(parts, PARTS - 1)] += 1
            identity = identity_of(data, at, bits)
            if identity == BAD:
                return at
            if identity > UNKNOWN:
                tables.identity[np.int64(np.rint(SHARES * min(identity, 1.0)))] += 1
    return -1


@scalar
def add_bases(data, at, tables):
    """Add the qualities and the GC content of a record that has bases."""
    start, stop = layout.qualities_of(data, at)
    if data[start] != NO_QUALITY:
        error = 0.0
        for i in range(np.uint64(start), np.uint64(stop)):
            quality = data[i]
            tables.bases[quality] += 1
            error += ERRORS[quality]
        tables.quality[np.int64(np.rint(-10 * TENTHS * np.log10(error / (stop - start))))] += 1
    first, length = layout.bases_of(data, at)
    gc = np.int64(0)
    for i in range(length):
        code = layout.BASES[data[first + (i >> 1)] >> (0 if i & 1 else 4) & 15]
        gc += code == 1 or code == 2
    tables.gc[np.int64(np.rint(100 * gc / length))] += 1


@scalar
def identity_of(data, at, bits):
    """Return the share of equal columns, a gap as one column: 1 - de (minimap2); at least 0, or UNKNOWN or BAD.

    bits: uint32 [1], scratch.
    """
    for name in (ord("e"), ord("v")):
        share = number_of(data, at, ord("d"), name, bits)
        if share == BAD:
            return BAD
        if share != UNKNOWN:
            return max(1 - share, 0.0) if np.isfinite(share) else UNKNOWN
    edits = number_of(data, at, ord("N"), ord("M"), bits)
    if edits < 0:
        return edits
    columns = gaps = in_gaps = np.int64(0)
    cigar, operations = layout.cigar_of(data, at)
    for i in range(operations):
        operation, length, _, _ = run_of(layout.uint32_at(data, cigar + 4 * i))
        if is_match(operation):
            columns += length
        elif operation == INSERTION or operation == DELETION:
            gaps, in_gaps = gaps + 1, in_gaps + length
    return max(1 - (edits - in_gaps + gaps) / (columns + gaps), 0.0) if columns > 0 else UNKNOWN


@scalar
def number_of(data, at, first, second, bits):
    """Return the number in a field (its two letters); UNKNOWN without it, BAD if it is of another type."""
    value, _ = layout.tag_of(data, at, layout.stop_of(data, at), first, second)
    if value == 0:
        return UNKNOWN
    kind = data[value - 1]
    if kind == layout.FLOAT:
        bits[0] = layout.get_number(data, value, kind)
        return np.float64(bits.view(np.float32)[0])
    return np.float64(layout.get_number(data, value, kind)) if kind in INTEGERS else BAD
