"""Compiled loops that find UMIs in reads. Errors are (read, reason) with `REASONS`; the first in the batch wins."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.alignments.layout import TEXT, field_stop
from readwarp.formats.common.reads import Segment
from readwarp.formats.common.text import letter_of, put_copy

OK, NOT_IN_NAME, NO_TAG, NOT_TEXT, BAD_LETTER, UNLIKE, MIXED, SHORT, LONG, NEED_TWO, NEED_ONE = range(11)
REASONS = {
    NOT_IN_NAME: "its name does not end in a UMI (A, C, G, T or N after the last ':' or '_')",
    NO_TAG: "has no UMI: no tag RX:Z:",
    NOT_TEXT: "has no UMI: its tag RX is not text",
    BAD_LETTER: "its UMI has letters other than A C G T N, with '-' between its parts",
    UNLIKE: "the mates of the pair have different UMIs",
    NEED_TWO: "belongs to a pair, which needs two read structures: one for first and one for last reads",
    NEED_ONE: "has no mate, but there are two read structures: one for first and one for last reads",
}
COLON, UNDERSCORE, PLUS, MINUS, SPACE, N, SMALL_R = b":_+- Nr"
NO_QUALITY = 255
UNPAIRED, FIRST, LAST = map(int, Segment)
TEMPLATE = ord("T")


class Structures(NamedTuple):
    """Read structures: for single reads, or for first and last reads."""

    kinds: Annotated[ndarray, "uint8 [segments]"]  # letters
    lengths: Annotated[ndarray, "int64 [segments]"]  # -1: the remaining bases
    offsets: Annotated[ndarray, "int64 [structures + 1] of segments"]


class TagFields(NamedTuple):
    """BAM fields of each read."""

    data: Annotated[ndarray, "uint8 [tag bytes]"]
    offsets: Annotated[ndarray, "int64 [reads + 1] of tag bytes"]


@scalar
def is_letter(byte):
    """Return whether it is A C G T or N."""
    return byte == 65 or byte == 67 or byte == 71 or byte == 84 or byte == N


@scalar
def is_umi(text, start, stop, parts_by_underscore):
    """Return whether text[start:stop] are parts of letters joined by + or - (or _); r before a part: it is reversed."""
    size = 0
    for i in range(start, stop):
        if is_letter(text[i] & 0xDF):
            size += 1
        elif text[i] == SMALL_R and size == 0 and (i == start or text[i - 1] != SMALL_R):
            continue
        elif size and (text[i] == PLUS or text[i] == MINUS or (parts_by_underscore and text[i] == UNDERSCORE)):
            size = 0
        else:
            return False
    return size > 0


@scalar
def after_prefix(text, start, stop):
    """Return where text[start:stop] continues after letters and _, such as fastp's UMI_; `stop` without that prefix."""
    i = start
    while i < stop and 65 <= text[i] & 0xDF <= 90:
        i += 1
    return i + 1 if start < i < stop and text[i] == UNDERSCORE else stop


@scalar
def umi_of_name(names, start, stop):
    """Return where the UMI of names[start:stop] begins; -1 if there is none."""
    field, word = -1, -1
    for i in range(start, stop):
        if names[i] == COLON:
            field, word = i + 1, -1
        elif names[i] == UNDERSCORE:
            word = i + 1
    if field >= 0 and is_umi(names, field, stop, True):
        return field
    if field >= 0 and is_umi(names, after_prefix(names, field, stop), stop, True):
        return after_prefix(names, field, stop)
    return word if word >= 0 and is_umi(names, word, stop, False) else -1


@scalar
def put_umi(text, start, stop, out, at):
    """Put parts in capitals joined by -, turning back those after r; return where they end."""
    i = start
    while i < stop:
        end, is_reversed = i, text[i] == SMALL_R
        while end < stop and (text[end] == SMALL_R or is_letter(text[end] & 0xDF)):
            end += 1
        for j in range(i + is_reversed, end):
            out[at] = complement(text[end - 1 - (j - i - 1)] & 0xDF) if is_reversed else text[j] & 0xDF
            at += 1
        if end < stop:
            out[at] = MINUS
            at += 1
        i = end + 1
    return at


@scalar
def complement(letter):
    """Complement A C G T; N stays."""
    if letter == N:
        return letter
    return np.uint8(149) - letter if letter == 65 or letter == 84 else np.uint8(138) - letter


@kernel
def fields_of_names(names, name_offsets, out):
    """Write RX of each read from its name to out (Fields, its data large enough); return (read, reason) or (-1, OK)."""
    data, offsets, at = out.data, out.offsets, 0
    offsets[0] = 0
    for r in range(name_offsets.size - 1):
        start = umi_of_name(names, name_offsets[r], name_offsets[r + 1])
        if start < 0:
            return r, NOT_IN_NAME
        data[at], data[at + 1], data[at + 2] = 82, 88, TEXT  # RX
        at = put_umi(names, start, name_offsets[r + 1], data, at + 3)
        data[at] = 0
        at += 1
        offsets[r + 1] = at
    return -1, OK


@kernel
def measure_templates(segment, read_offsets, structures, sizes):
    """Write the template bases of each read to sizes; return (read, reason, bases of its structure) or (-1, OK, 0)."""
    kinds, lengths, offsets = structures
    for r in range(segment.size):
        if (segment[r] == UNPAIRED) != (offsets.size == 2):
            return r, NEED_ONE if segment[r] == UNPAIRED else NEED_TWO, 0
        which = 1 if segment[r] == LAST else 0
        fixed, kept, is_open, is_kept = np.int64(0), np.int64(0), False, False
        for s in range(offsets[which], offsets[which + 1]):
            fixed += max(0, lengths[s])
            kept += max(0, lengths[s]) if kinds[s] == TEMPLATE else 0
            is_open = is_open or lengths[s] < 0
            is_kept = is_kept or (lengths[s] < 0 and kinds[s] == TEMPLATE)
        length = read_offsets[r + 1] - read_offsets[r]
        if length < fixed or (length > fixed and not is_open):
            return r, SHORT if length < fixed else LONG, fixed
        sizes[r] = kept + (length - fixed if is_kept else 0)
    return -1, OK, 0


@kernel
def copy_templates(reads, structures, offsets, bases, qualities):
    """Copy bases and qualities of the templates to the shorter reads, whose offsets are known."""
    (kinds, lengths, bounds), segment, read_offsets = structures, reads.segment, reads.read_offsets
    all_bases, all_qualities = reads.bases, reads.qualities
    for r in range(segment.size):
        which, at, to = 1 if segment[r] == LAST else 0, read_offsets[r], offsets[r]
        spare = read_offsets[r + 1] - at
        for s in range(bounds[which], bounds[which + 1]):
            spare -= max(0, lengths[s])
        for s in range(bounds[which], bounds[which + 1]):
            size = spare if lengths[s] < 0 else lengths[s]
            if kinds[s] == TEMPLATE:
                for i in range(size):
                    bases[to + i], qualities[to + i] = all_bases[at + i], all_qualities[at + i]
                to += size
            at += size


@scalar
def put_parts(reads, template, structures, kind, is_quality, out, at):
    """Put the segments of this kind of a template (first read, last read), joined, at out[at:]; return where they end.

    Letters are joined by -, or, if `is_quality`, qualities by a space; nothing for a read without qualities.
    """
    (kinds, lengths, bounds), read_offsets, count = structures, reads.read_offsets, 0
    bases, qualities = reads.bases, reads.qualities
    for r in range(template[0], template[1] + 1):
        which, place = 1 if r > template[0] else 0, read_offsets[r]
        spare = read_offsets[r + 1] - place
        for s in range(bounds[which], bounds[which + 1]):
            spare -= max(0, lengths[s])
        for s in range(bounds[which], bounds[which + 1]):
            size = spare if lengths[s] < 0 else lengths[s]
            if kinds[s] == kind:
                if count:
                    out[at] = SPACE if is_quality else MINUS
                    at += 1
                for i in range(place, place + size):
                    if is_quality and qualities[i] == NO_QUALITY:
                        return np.int64(-1)
                    out[at] = qualities[i] + np.uint8(33) if is_quality else letter_of(bases[i])
                    at += 1
                count += 1
            place += size
    return at if count else np.int64(-1)


@kernel
def fields_of_structures(reads, structures, names, out):
    """Write the fields of each read, including its mate's, to out (Fields, its data large enough).

    names: uint8 [kinds, 5], the letter of a segment kind, the field names of its bases and of its qualities.
    """
    data, offsets, segment, at = out.data, out.offsets, reads.segment, np.int64(0)
    offsets[0] = 0
    for r in range(segment.size):
        template = r - (1 if segment[r] == LAST else 0), r + (1 if segment[r] == FIRST else 0)
        for k in range(names.shape[0]):
            for value in range(2):
                end = put_parts(reads, template, structures, names[k, 0], value == 1, data, at + 3)
                if end >= 0:
                    data[at], data[at + 1], data[at + 2] = names[k, 1 + 2 * value], names[k, 2 + 2 * value], TEXT
                    data[end] = 0
                    at = end + 1
        offsets[r + 1] = at


@kernel
def join_fields(tags, tag_offsets, fields, dropped, out):
    """Write new fields of each read, then its own but for the dropped ones, to out (Fields, its data large enough).

    dropped: names as numbers, ascending.
    """
    new, new_offsets = fields
    data, offsets, at = out.data, out.offsets, np.int64(0)
    offsets[0] = 0
    for r in range(tag_offsets.size - 1):
        at = put_copy(new, new_offsets[r], new_offsets[r + 1], data, at)
        tag, stop = tag_offsets[r], tag_offsets[r + 1]
        while tag < stop:
            end = field_stop(tags, tag, stop)
            number = np.int64(tags[tag]) << 8 | np.int64(tags[tag + 1])
            found = np.searchsorted(dropped, number)
            if found == dropped.size or dropped[found] != number:
                at = put_copy(tags, tag, end, data, at)
            tag = end
        offsets[r + 1] = at


@scalar
def find_umi(tags, start, stop):
    """Return where the value of RX starts and stops among the fields; (0, 0): absent, (0, 1): not text."""
    while start + 4 <= stop:
        end = field_stop(tags, start, stop)
        if tags[start] == 82 and tags[start + 1] == 88:
            return (start + 3, end - 1) if tags[start + 2] == TEXT else (np.int64(0), np.int64(1))
        start = end
    return np.int64(0), np.int64(0)


@kernel
def span_of_umi(tags, offsets, read):
    """Return `find_umi` of a read."""
    return find_umi(tags, offsets[read], offsets[read + 1])


@scalar
def problem_of(text, start, stop):
    """Return OK, or why text[start:stop] is not a UMI."""
    size = 0
    for i in range(start, stop):
        if not is_letter(text[i]) and not (text[i] == MINUS and size):
            return BAD_LETTER
        size = 0 if text[i] == MINUS else size + 1
    return OK if size else BAD_LETTER


@scalar
def has_layout(text, start, stop, layout):
    """Return whether a UMI's parts have the same lengths as those of `layout`, another UMI."""
    same = stop - start == layout.size
    for i in range(layout.size if same else 0):
        same &= (text[start + i] == MINUS) == (layout[i] == MINUS)
    return same


@scalar
def has_unknown(text, start, stop):
    """Return whether a letter is N."""
    found = False
    for i in range(start, stop):
        found |= text[i] == N
    return found


@kernel
def check_umis(reads, layout):
    """Check that each read has a UMI in RX, of another's layout (uint8 [letters]), and the same as its mate's.

    Returns (read, reason) or (-1, OK).
    """
    tags, offsets, segment = reads.tags, reads.tag_offsets, reads.segment
    mate_start, mate_stop = np.int64(0), np.int64(0)
    for r in range(segment.size):
        start, stop = find_umi(tags, offsets[r], offsets[r + 1])
        if start == 0:
            return r, NOT_TEXT if stop else NO_TAG
        problem = problem_of(tags, start, stop)
        if problem:
            return r, problem
        if not has_layout(tags, start, stop, layout):
            return r, MIXED
        if segment[r] == LAST:
            same = stop - start == mate_stop - mate_start
            for i in range(stop - start if same else 0):
                same &= tags[start + i] == tags[mate_start + i]
            if not same:
                return r, UNLIKE
        mate_start, mate_stop = start, stop
    return -1, OK


@kernel
def count_umis(reads):
    """Count templates, and those whose UMI has an N."""
    tags, offsets, segment, templates, unknown = reads.tags, reads.tag_offsets, reads.segment, 0, 0
    for r in range(segment.size):
        if segment[r] != LAST:
            start, stop = find_umi(tags, offsets[r], offsets[r + 1])
            templates += 1
            unknown += has_unknown(tags, start, stop)
    return templates, unknown
