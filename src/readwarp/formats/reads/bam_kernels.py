"""Compiled loops that turn BAM records back into reads."""

import numpy as np

from readwarp.device.jit import kernel, scalar
from readwarp.formats.alignments.sort_kernels import FLAG, NAME, NAME_LENGTH, int32_at, uint16_at
from readwarp.formats.alignments.tag_text import field_stop
from readwarp.formats.common.text import find_name

UNPAIRED, FIRST, LAST = 0, 1, 2  # batches.Segment
NOT_PRIMARY, PAIRED, REVERSE, MATES = 0x900, 0x1, 0x10, 0xC0
CODES = np.full(16, 4, np.uint8)  # =ACMGRSVTWYHKDBN
CODES[[1, 2, 4, 8]] = 0, 1, 2, 3

# Tags about the alignment that is done anew, as sorted numbers of their two letters.
NAMES = (
    *("NM", "MD", "AS", "XS", "SA", "XA", "MC", "MQ", "ms", "cm", "tp", "s1", "s2", "de", "dv", "rl", "nn", "cs", "cg"),
    *("zd", "CG", "H0", "H1", "H2", "HI", "IH", "NH", "CC", "CP", "PQ", "SM", "AM", "UQ", "X0", "X1", "XM", "XO", "XG"),
    *("XT", "XN", "XE", "XF", "XI", "YS", "YT", "YF", "ZS", "pa", "mc", "dt", "do", "dc", "RG", "OA"),
)
DROPPED = np.array(sorted(ord(name[0]) << 8 | ord(name[1]) for name in NAMES), np.int64)


@scalar
def is_whole(data, at, stop):
    """The parts of the record at `at` fit into it; its name ends in 0 and is not empty."""
    size, length = int32_at(data, at), int32_at(data, at + 20)
    name = np.int64(data[at + NAME_LENGTH])
    parts = NAME + name + 4 * uint16_at(data, at + 16) + (length + 1) // 2 + length
    return length >= 0 and name > 0 and at + parts <= stop and size + 4 >= parts and data[at + NAME + name - 1] == 0


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
def pair_up(data, ended, places, segments):
    """Primary records in order, mates side by side -> places (int64), segments (uint8).

    A paired record waits for its mate, which is the next primary one; if that has another name or is no mate, it is
    taken alone, an orphan. When the data go on (`ended` is false) the last one that waits is left for later.
    -> (reads, records, where the next begins, orphans, whether the last record is damaged)
    """
    at, reads, records, orphans, waiting, waiting_records = 0, 0, 0, 0, -1, 0
    while at + NAME <= data.size:
        stop = at + 4 + int32_at(data, at)
        if stop > data.size and stop - at < (1 << 29):
            break
        if stop < at + NAME or stop > data.size or not is_whole(data, at, stop):
            return reads, records, at, orphans, True
        flag = uint16_at(data, at + FLAG)
        mate = flag & MATES if flag & PAIRED else 0
        if flag & NOT_PRIMARY == 0:
            if (
                waiting >= 0
                and mate == uint16_at(data, waiting + FLAG) & MATES ^ MATES
                and same_name(data, waiting, at)
            ):
                places[reads], places[reads + 1] = (waiting, at) if mate == 0x80 else (at, waiting)
                segments[reads], segments[reads + 1] = FIRST, LAST
                reads, waiting = reads + 2, -1
            else:
                if waiting >= 0:
                    places[reads], segments[reads] = waiting, UNPAIRED
                    reads, orphans, waiting = reads + 1, orphans + 1, -1
                if mate == 0x40 or mate == 0x80:
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
def tag_span(data, at):
    """Where the tags of a record start and stop."""
    length = int32_at(data, at + 20)
    start = at + NAME + np.int64(data[at + NAME_LENGTH]) + 4 * uint16_at(data, at + 16) + (length + 1) // 2 + length
    return start, at + 4 + int32_at(data, at)


@scalar
def is_kept(data, at):
    number = np.int64(data[at]) << 8 | np.int64(data[at + 1])
    found = np.searchsorted(DROPPED, number)
    return found == DROPPED.size or DROPPED[found] != number


@kernel
def measure(data, places, ids, id_offsets, lengths, name_lengths, tag_lengths, groups):
    """Sizes of each read, and its read group where the RG tag names one of `ids`. -> first read with damaged tags."""
    for i in range(places.size):
        at = places[i]
        lengths[i], name_lengths[i], tag_lengths[i] = int32_at(data, at + 20), np.int64(data[at + NAME_LENGTH]) - 1, 0
        tag, stop = tag_span(data, at)
        while tag < stop:
            end = field_stop(data, tag)
            if end > stop or end <= tag:
                return i
            if is_kept(data, tag):
                tag_lengths[i] += end - tag
            elif data[tag] == 82 and data[tag + 1] == 71:
                group = find_name(data, tag + 3, end - 1, ids, id_offsets)
                groups[i] = group if group >= 0 else groups[i]
            tag = end
    return -1


@kernel
def fill(data, places, read_offsets, name_offsets, tag_offsets, bases, qualities, names, tags):
    """Reads as they were sequenced: records of the reverse strand are turned back."""
    for i in range(places.size):
        at, out, length = places[i], read_offsets[i], read_offsets[i + 1] - read_offsets[i]
        name = np.int64(data[at + NAME_LENGTH])
        for j in range(name - 1):
            names[name_offsets[i] + j] = data[at + NAME + j]
        sequence = at + NAME + name + 4 * uint16_at(data, at + 16)
        quality = sequence + (length + 1) // 2
        reverse = uint16_at(data, at + FLAG) & REVERSE
        for j in range(length):
            code = CODES[(data[sequence + (j >> 1)] >> (0 if j & 1 else 4)) & 15]
            to = out + length - 1 - j if reverse else out + j
            bases[to] = 3 - code if reverse and code < 4 else code
            qualities[to] = data[quality + j]
        tag, stop = tag_span(data, at)
        to = tag_offsets[i]
        while tag < stop:
            end = field_stop(data, tag)
            if is_kept(data, tag):
                for j in range(tag, end):
                    tags[to] = data[j]
                    to += 1
            tag = end
