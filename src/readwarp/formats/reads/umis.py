"""Unique molecular identifiers (UMIs) of reads, moved to the field RX, and their qualities to QX.

    name       the last field of the name, after ':', as in Illumina and fastp (perhaps after letters and _),
               or after '_', as in UMI-tools; + and _ between its parts become -, and parts after r, which the
               instrument has reverse-complemented, are turned back
    comment    RX:Z: (and QX:Z:) of the FASTQ comment, as written by `samtools fastq -T RX,QX` and others
    tag        RX of the records of BAM or CRAM
    structure  bases of the reads themselves (`read_structure`), which are cut off; mates get the parts of both

The UMIs of an input have parts of equal lengths: those of its first read. Fields follow the SAM tags specification: RX
and QX, for sample barcodes BC and QT, for cell barcodes CR and CY; parts are joined by - and qualities by a space.
"""

import re
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.config import ReadStructure
from readwarp.errors import InputError
from readwarp.formats.alignments.fields import PER_BASE
from readwarp.formats.alignments.layout import TEXT, field_stop
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.formats.common.text import letter_of, put_copy
from readwarp.formats.reads.raw import RawBatch
from readwarp.ragged import empty, offsets_of, replace
from readwarp.wording import counted

RX = re.compile(rb"RXZ[ACGTN]+(-[ACGTN]+)*\0")  # a field of a record
NAMES = {"M": "RXQX", "B": "BCQT", "C": "CRCY"}  # of the fields, by the kind of segment
# Fields that number the bases of the whole read, or have a value for each.
OF_BASES = ("MM", "ML", "MN", "Mm", "Ml", *PER_BASE)
OK, NOT_IN_NAME, SHORT, LONG, NEED_TWO, NEED_ONE = range(6)
REASONS = {
    NOT_IN_NAME: "its name does not end in a UMI (A, C, G, T or N after the last ':' or '_')",
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


def extract_umis(reads: ReadBatch, raw: RawBatch) -> ReadBatch:
    """Add RX to the reads from where their input has UMIs; return them unchanged if that is RX. Raises InputError."""
    umi = raw.input.umi
    if umi is None or umi.source in ("comment", "tag"):
        return reads
    return from_names(reads, raw) if umi.source == "name" else from_bases(reads, raw, umi.structures)


def from_names(reads: ReadBatch, raw: RawBatch) -> ReadBatch:
    """Take UMIs from names. Raises InputError for a name without a UMI."""
    fields = empty(TagFields, {"reads": len(reads), "tag bytes": reads.names.size + 4 * len(reads)})
    read, reason = fields_of_names(reads.names, reads.name_offsets, fields)
    if read >= 0:
        raise error_of(reads, raw, read, REASONS[reason])
    return with_fields(reads, fields, ("RX", "QX"))


def from_bases(reads: ReadBatch, raw: RawBatch, given: tuple[ReadStructure, ...]) -> ReadBatch:
    """Cut the reads to their templates. Raises InputError for a read that its structure does not fit."""
    structures, sizes = pack_structures(given), np.empty(len(reads), np.int64)
    read, reason, bases = measure_templates(reads.segment, reads.read_offsets, structures, sizes)
    if read >= 0:
        length = int(np.diff(reads.read_offsets)[read])
        unlike = f"has {counted(length, 'base')}, but its read structure needs {bases:,}"
        hint = "" if reason != LONG else ": end it in +T, or in +S"
        raise error_of(reads, raw, read, REASONS.get(reason, unlike + hint))
    used = {kind for each in given for kind, _ in each.segments if kind in NAMES}
    wanted = [kind for kind in NAMES if kind in used]
    names = np.array([list(f"{kind}{NAMES[kind]}".encode()) for kind in wanted], np.uint8)
    most = sum(2 * length + 2 for each in given for _, length in each.segments if length) + 8 * len(wanted)
    fields = empty(TagFields, {"reads": len(reads), "tag bytes": most * len(reads) + 8})
    fields_of_structures(reads, structures, names, fields)
    offsets = offsets_of(sizes)
    cut, qualities = (np.empty(offsets[-1], np.uint8) for _ in range(2))
    copy_templates(reads, structures, offsets, cut, qualities)
    replaced = [name for kind in wanted for name in (NAMES[kind][:2], NAMES[kind][2:])]
    reads = with_fields(reads, fields, (*replaced, *OF_BASES))
    return replace(reads, bases=cut, qualities=qualities, read_offsets=offsets)


def pack_structures(given: tuple[ReadStructure, ...]) -> Structures:
    segments = [segment for each in given for segment in each.segments]
    kinds = np.frombuffer("".join(kind for kind, _ in segments).encode(), np.uint8)
    lengths = np.array([-1 if length is None else length for _, length in segments], np.int64)
    return Structures(kinds, lengths, offsets_of([len(each.segments) for each in given]))


def with_fields(reads: ReadBatch, fields: TagFields, dropped: tuple[str, ...]) -> ReadBatch:
    """Put these fields before the reads' own fields, of which the dropped names are left out."""
    numbers = np.array(sorted(ord(name[0]) << 8 | ord(name[1]) for name in dropped), np.int64)
    size = int(fields.offsets[-1] + reads.tag_offsets[-1])
    joined = empty(TagFields, {"reads": len(reads), "tag bytes": size})
    join_fields(reads.tags, reads.tag_offsets, fields, numbers, joined)
    return replace(reads, tags=joined.data[: joined.offsets[-1]], tag_offsets=joined.offsets)


def error_of(reads: ReadBatch, raw: RawBatch, read: int, reason: str) -> InputError:
    name = reads.names[reads.name_offsets[read] : reads.name_offsets[read + 1]].tobytes().decode("latin-1")
    path, record = raw.place_of(read, name)
    return InputError(path, reason, record)


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
    data, offsets = out.data, out.offsets
    offsets[0] = at = 0
    for r in range(name_offsets.size - 1):
        start = umi_of_name(names, name_offsets[r], name_offsets[r + 1])
        if start < 0:
            return r, NOT_IN_NAME
        data[at], data[at + 1] = 82, 88  # RX
        data[at + 2] = TEXT
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
        fixed = kept = np.int64(0)
        is_open = is_kept = False
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
    kinds, lengths, bounds = structures
    all_bases, all_qualities = reads.bases, reads.qualities
    for r in range(reads.segment.size):
        which = 1 if reads.segment[r] == LAST else 0
        at, to = reads.read_offsets[r], offsets[r]
        spare = reads.read_offsets[r + 1] - at
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
    kinds, lengths, bounds = structures
    read_offsets, count = reads.read_offsets, 0
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
    data, offsets = out.data, out.offsets
    segment, at = reads.segment, np.int64(0)
    offsets[0] = 0
    for r in range(segment.size):
        template = r - (1 if segment[r] == LAST else 0), r + (1 if segment[r] == FIRST else 0)
        for k in range(names.shape[0]):
            for value in range(2):
                end = put_parts(reads, template, structures, names[k, 0], value == 1, data, at + 3)
                if end >= 0:
                    data[at], data[at + 1] = names[k, 1 + 2 * value], names[k, 2 + 2 * value]
                    data[at + 2] = TEXT
                    data[end] = 0
                    at = end + 1
        offsets[r + 1] = at


@kernel
def join_fields(tags, tag_offsets, fields, dropped, out):
    """Write new fields of each read, then its own but for the dropped ones, to out (Fields, its data large enough).

    dropped: names as numbers, ascending.
    """
    new, new_offsets = fields
    data, offsets = out.data, out.offsets
    offsets[0] = at = np.int64(0)
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
