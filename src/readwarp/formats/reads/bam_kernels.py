"""Compiled loops that turn BAM records back into reads."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.device.jit import kernel, scalar
from readwarp.formats.alignments.layout import (
    BASES,
    FLAG,
    LENGTH,
    MAX_RECORD,
    NAME,
    NAME_LENGTH,
    G,
    R,
    bases_of,
    field_stop,
    int32_at,
    is_whole,
    qualities_of,
    stop_of,
    uint16_at,
)
from readwarp.formats.common.text import find_name
from readwarp.rules.bases import complement

UNPAIRED, FIRST, LAST = 0, 1, 2  # batches.Segment
NOT_PRIMARY, PAIRED, REVERSE, MATES, FIRST_MATE, LAST_MATE = 0x900, 0x1, 0x10, 0xC0, 0x40, 0x80

# Fields that describe the old alignment, as sorted numbers of their two letters.
NAMES = (
    *("NM", "MD", "AS", "XS", "SA", "XA", "MC", "MQ", "ms", "cm", "tp", "s1", "s2", "de", "dv", "rl", "nn", "cs", "cg"),
    *("zd", "CG", "H0", "H1", "H2", "HI", "IH", "NH", "CC", "CP", "PQ", "SM", "AM", "UQ", "X0", "X1", "XM", "XO", "XG"),
    *("XT", "XN", "XE", "XF", "XI", "YS", "YT", "YF", "ZS", "pa", "mc", "dt", "do", "dc", "RG", "OA"),
)
DROPPED = np.array(sorted(ord(name[0]) << 8 | ord(name[1]) for name in NAMES), np.int64)


class Templates(NamedTuple):
    """Primary records, mates side by side."""

    data: Annotated[ndarray, "uint8 [bytes]"]
    places: Annotated[ndarray, "int64 [reads]"]  # where each begins
    segments: Annotated[ndarray, "uint8 [reads]"]  # batches.Segment


@scalar
def is_sound(data, at, stop):
    """Whether the parts of the record fit into it, and its name ends in 0."""
    return is_whole(data, at, stop) and data[at + NAME + np.int64(data[at + NAME_LENGTH]) - 1] == 0


@scalar
def same_name(data, a, b):
    length = data[a + NAME_LENGTH]
    if data[b + NAME_LENGTH] != length:
        return False
    same = True
    for i in range(NAME, NAME + np.int64(length)):
        same &= data[a + i] == data[b + i]
    return same


@kernel
def pair_up(out, ended):
    """Find the primary records in the data of `out` (Templates) and fill in the rest.

    A paired record waits for its mate, which must be the next primary one; if that has another name or is no mate, the
    record is taken alone, as an orphan. Unless the data have `ended`, a record that still waits comes again.
    -> (reads, records, where the next begins, orphans, whether the last record is damaged)
    """
    data, places, segments = out.data, out.places, out.segments
    at, reads, records, orphans, waiting, waiting_records = 0, 0, 0, 0, -1, 0
    while at + NAME <= data.size:
        stop = stop_of(data, at)
        if stop > data.size and stop - at <= MAX_RECORD:
            break
        if stop > data.size or not is_sound(data, at, stop):
            return reads, records, at, orphans, True
        flag = uint16_at(data, at + FLAG)
        mate = flag & MATES if flag & PAIRED else 0
        if flag & NOT_PRIMARY == 0:
            if (
                waiting >= 0
                and mate == uint16_at(data, waiting + FLAG) & MATES ^ MATES
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
def is_kept(data, at):
    """Whether the new records have this field too."""
    number = np.int64(data[at]) << 8 | np.int64(data[at + 1])
    found = np.searchsorted(DROPPED, number)
    return found == DROPPED.size or DROPPED[found] != number


@kernel
def measure(templates, groups, sizes, read_group):
    """Bases, letters of the name and tag bytes of each read -> sizes (int64 [3, reads]); its group -> read_group."""
    data, places, (letters, offsets) = templates.data, templates.places, groups
    for i in range(places.size):
        at = places[i]
        sizes[0, i], sizes[1, i], sizes[2, i] = int32_at(data, at + LENGTH), np.int64(data[at + NAME_LENGTH]) - 1, 0
        tag, stop = qualities_of(data, at)[1], stop_of(data, at)
        while tag < stop:
            end = field_stop(data, tag, stop)
            if is_kept(data, tag):
                sizes[2, i] += end - tag
            elif data[tag] == R and data[tag + 1] == G:
                group = find_name(data, tag + 3, end - 1, letters, offsets)
                read_group[i] = group if group >= 0 else read_group[i]
            tag = end


@kernel
def fill(templates, out):
    """Reads as they were sequenced, those of the reverse strand turned back -> out (ReadBatch), offsets known."""
    data, places = templates.data, templates.places
    bases, qualities, read_offsets = out.bases, out.qualities, out.read_offsets
    names, name_offsets, tags, tag_offsets = out.names, out.name_offsets, out.tags, out.tag_offsets
    for i in range(places.size):
        at, first, last = places[i], read_offsets[i], read_offsets[i + 1] - 1
        for j in range(name_offsets[i + 1] - name_offsets[i]):
            names[name_offsets[i] + j] = data[at + NAME + j]
        sequence, length = bases_of(data, at)
        quality, tag = qualities_of(data, at)
        reverse = uint16_at(data, at + FLAG) & REVERSE
        for j in range(length):
            base = BASES[(data[sequence + (j >> 1)] >> (0 if j & 1 else 4)) & 15]
            to = last - j if reverse else first + j
            bases[to] = complement(base) if reverse else base
            qualities[to] = data[quality + j]
        to, stop = tag_offsets[i], stop_of(data, at)
        while tag < stop:
            end = field_stop(data, tag, stop)
            if is_kept(data, tag):
                for j in range(tag, end):
                    tags[to] = data[j]
                    to += 1
            tag = end
