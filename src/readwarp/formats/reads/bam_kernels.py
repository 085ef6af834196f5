"""Compiled loops that turn BAM records back into reads."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.alignments import layout
from readwarp.formats.alignments.fields import count_values, is_left_out, kind_of, put_turned
from readwarp.formats.common.reads import Segment
from readwarp.formats.common.text import find_name, put_copy
from readwarp.rules.bases import complement
from readwarp.rules.flags import FAILED, MATE_UNMAPPED, NOT_PRIMARY, PAIRED, REVERSE, UNMAPPED
from readwarp.rules.flags import FIRST as FIRST_MATE
from readwarp.rules.flags import LAST as LAST_MATE

UNPAIRED, FIRST, LAST = map(int, Segment)
MATES = FIRST_MATE | LAST_MATE


class Templates(NamedTuple):
    """Primary records, mates side by side."""

    data: Annotated[ndarray, "uint8 [bytes]"]
    places: Annotated[ndarray, "int64 [reads]"]  # start of each record
    segments: Annotated[ndarray, "uint8 [reads]"]  # batches.Segment


@scalar
def is_sound(data, at, stop):
    """Return whether the parts of the record fit into it, and its name ends in 0."""
    return layout.is_whole(data, at, stop) and data[at + layout.NAME + np.int64(data[at + layout.NAME_LENGTH]) - 1] == 0


@scalar
def same_name(data, a, b):
    length = data[a + layout.NAME_LENGTH]
    if data[b + layout.NAME_LENGTH] != length:
        return False
    same = True
    for i in range(layout.NAME, layout.NAME + np.int64(length)):
        same &= data[a + i] == data[b + i]
    return same


@kernel
def pair_up(out, ended):
    """Find the primary records in the data of `out` (Templates) and fill in the rest.

    A paired record waits for its mate, which must be the next primary one; if that has another name or is no mate, the
    record is taken alone, as an orphan. Unless the data have `ended`, a waiting record comes again in the next data.
    Returns (reads, records, where the next begins, orphans, whether the last record is damaged).
    """
    data, places, segments = out.data, out.places, out.segments
    at, reads, records, orphans, waiting, waiting_records = 0, 0, 0, 0, -1, 0
    while at + layout.NAME <= data.size:
        stop = layout.stop_of(data, at)
        if stop > data.size and stop - at <= layout.MAX_RECORD:
            break
        if stop > data.size or not is_sound(data, at, stop):
            return reads, records, at, orphans, True
        flag = layout.uint16_at(data, at + layout.FLAG)
        mate = flag & MATES if flag & PAIRED else 0
        if flag & NOT_PRIMARY == 0:
            if (
                waiting >= 0
                and mate == layout.uint16_at(data, waiting + layout.FLAG) & MATES ^ MATES
                and same_name(data, waiting, at)
            ):
                places[reads], places[reads + 1] = (waiting, at) if mate == LAST_MATE else (at, waiting)
                segments[reads], segments[reads + 1] = FIRST, LAST
                reads, waiting = reads + 2, -1
            else:
                if waiting >= 0:
                    places[reads], segments[reads] = waiting, UNPAIRED
                    reads, orphans, waiting = reads + 1, orphans + 1, -1
                if mate in (FIRST_MATE, LAST_MATE):
                    waiting, waiting_records = at, records
                else:
                    places[reads], segments[reads] = at, UNPAIRED
                    reads += 1
        at, records = stop, records + 1
    if waiting >= 0 and not ended:
        return reads, waiting_records, waiting, orphans, False
    if waiting >= 0:
        places[reads], segments[reads] = waiting, UNPAIRED
        reads, orphans = reads + 1, orphans + 1
    return reads, records, at, orphans, False


@scalar
def was_aligned(flag):
    """Return whether the record or its mate was aligned."""
    return flag & UNMAPPED == 0 or (flag & PAIRED != 0 and flag & MATE_UNMAPPED == 0)


@kernel
def measure(templates, groups, sizes, read_group):
    """Write bases, name letters and tag bytes of each read to sizes (int64 [3, reads]); its group to read_group."""
    data, places, (letters, offsets) = templates.data, templates.places, groups
    for i in range(places.size):
        at = places[i]
        sizes[0, i], sizes[1, i], sizes[2, i] = (
            layout.int32_at(data, at + layout.LENGTH),
            np.int64(data[at + layout.NAME_LENGTH]) - 1,
            0,
        )
        tag, stop = layout.qualities_of(data, at)[1], layout.stop_of(data, at)
        aligned = was_aligned(layout.uint16_at(data, at + layout.FLAG))
        while tag < stop:
            end = layout.field_stop(data, tag, stop)
            if not is_left_out(kind_of(data, tag), aligned):
                sizes[2, i] += end - tag
            elif data[tag] == layout.R and data[tag + 1] == layout.G:
                group = find_name(data, tag + 3, end - 1, letters, offsets)
                read_group[i] = group if group >= 0 else read_group[i]
            tag = end


@kernel
def fill(templates, out):
    """Fill out (ReadBatch, offsets known) with reads as sequenced: those on the reverse strand are turned back."""
    data, places = templates.data, templates.places
    bases, qualities, read_offsets = out.bases, out.qualities, out.read_offsets
    names, name_offsets, tags, tag_offsets = out.names, out.name_offsets, out.tags, out.tag_offsets
    for i in range(places.size):
        at, first, last = places[i], read_offsets[i], read_offsets[i + 1] - 1
        for j in range(name_offsets[i + 1] - name_offsets[i]):
            names[name_offsets[i] + j] = data[at + layout.NAME + j]
        sequence, length = layout.bases_of(data, at)
        quality, tag = layout.qualities_of(data, at)
        flag = layout.uint16_at(data, at + layout.FLAG)
        reverse, out.failed[i] = flag & REVERSE, 1 if flag & FAILED else 0
        for j in range(length):
            base = layout.BASES[(data[sequence + (j >> 1)] >> (0 if j & 1 else 4)) & 15]
            to = last - j if reverse else first + j
            bases[to] = complement(base) if reverse else base
            qualities[to] = data[quality + j]
        to, stop, shown = tag_offsets[i], layout.stop_of(data, at), (np.int64(0), length, length)
        while tag < stop:
            end = layout.field_stop(data, tag, stop)
            if not is_left_out(kind_of(data, tag), was_aligned(flag)):
                if reverse and count_values(data, tag, end) == length:
                    to = put_turned(data, tag, end, shown, True, tags, to)
                else:
                    to = put_copy(data, tag, end, tags, to)
            tag = end
