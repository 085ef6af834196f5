"""SAM tags in FASTQ comments, from text to BAM's binary fields.

A field is `XX:T:value` with T one of A i f Z H B. Fields are separated by a tab, or by a space before the next `XX:T:`.
RG does not become a tag: it names one of the header's read groups. Illumina's `1:N:0:ACGT+TGCA` may come first: its
barcode becomes BC:Z:ACGT-TGCA, as in `samtools import -i`; a sample's number in its place is ignored. Y instead of N
means that the read failed the instrument's quality checks.

Fields that align itself writes are dropped, with those of other aligners and of phasing that came along, and all but
the first of equal names.
"""

from collections.abc import Sequence

import numpy as np

from readwarp.compiler.jit import kernel, scalar
from readwarp.errors import InputError
from readwarp.formats.alignments.fields import WRITTEN, is_left_out, kind_of
from readwarp.formats.alignments.layout import ARRAY, CHARACTER, FLOAT, HEX, INTEGER, TEXT, UNSIGNED, field_stop
from readwarp.formats.common.reads import ReadBatch
from readwarp.formats.common.text import find_name, pack_names, put_bytes, put_copy
from readwarp.formats.reads.fastx_text import SPACE, TAB
from readwarp.formats.reads.raw import FastxRecords, RawBatch
from readwarp.ragged import offsets_of, replace

NO_TAG, UNKNOWN_GROUP = -1, -2
REASONS = {
    NO_TAG: "its comment is not made of SAM tags such as BC:Z:AC, or Illumina's 1:N:0:ACGT: leave out --comments (-C)",
    UNKNOWN_GROUP: "the read group of its RG tag is not in the header",
}
COLON, COMMA, MINUS, PLUS, DOT, ZERO, NINE, NO, YES = b":,-+.09NY"
POWERS = np.array([float(f"1e{exponent}") for exponent in range(310)])  # the last is infinite


def encode_comments(reads: ReadBatch, raw: RawBatch, records: Sequence[FastxRecords]) -> ReadBatch:
    """Add tags and read groups from the comments of the records to the reads. Raises InputError.

    If only UMIs are requested, not comments, add only RX and QX.
    """
    wanted = pack_names(raw.input.groups), not raw.input.comments
    sizes, left_out = np.zeros(len(reads), np.int64), 0
    longest = max(int(rows.comment_length.max(initial=0)) for rows in records)
    scratch = np.empty(4 * longest + 8, np.uint8)
    tags, offsets = np.empty(0, np.uint8), offsets_of(sizes)
    for is_measured in (False, True):
        for file, (text, rows) in enumerate(zip(raw.chunk.data, records, strict=True)):
            stride = file, len(records)
            out = tags, offsets, sizes, reads.read_group, reads.failed
            record, reason, number = write_comments(text, rows, stride, wanted, scratch, out)
            if record >= 0:
                raise InputError(raw.input.paths[file], REASONS[reason], raw.chunk.first_record + record)
            left_out += number * is_measured
        if not is_measured:
            offsets = offsets_of(sizes)
            tags = np.empty(offsets[-1], np.uint8)
    return replace(reads, tags=tags, tag_offsets=offsets, left_out=left_out)


@kernel
def write_comments(text, records, stride, wanted, scratch, out):
    """Write the fields of each read, its group and whether it failed to `out`; without room, only count the bytes.

    Record r is that of read `first + step * r`; stride: first, step. wanted: the names of the groups, and whether only
    RX and QX are wanted. scratch: has room for a comment. Returns (record, reason) of the first error, or (-1, 0), and
    the number of fields dropped.
    """
    (first, step), (groups, only_umis) = stride, wanted
    group_letters, group_offsets = groups
    letters, left_out = text.letters, 0
    comment, length = records.comment, records.comment_length
    tags, offsets, sizes, read_group, failed = out
    for r in range(comment.size):
        read, span = first + step * r, (comment[r], comment[r] + length[r])
        if only_umis:
            size = encode_umi(letters, *span, scratch)
            group_start = group_stop = 0
        else:
            size, group_start, group_stop = encode(letters, *span, scratch)
            failed[read] = find_barcode(letters, *span) > 0 and letters[comment[r] + 2] == YES
        if size < 0:
            return r, size, 0
        sizes[read], number = leave_out(scratch, size)
        left_out += number
        if tags.size > 0:
            put_copy(scratch, 0, sizes[read], tags, offsets[read])
        if group_stop > group_start:
            group = find_name(letters, group_start, group_stop, group_letters, group_offsets)
            if group < 0:
                return r, UNKNOWN_GROUP, 0
            read_group[read] = group
    return -1, 0, left_out


@scalar
def leave_out(fields, size):
    """Keep the fields[:size] that a record may have; return their bytes, and the number dropped."""
    at = kept = number = 0
    was_aligned = False
    while at < size and not was_aligned:
        was_aligned, at = kind_of(fields, at) == WRITTEN, field_stop(fields, at, size)
    at = 0
    while at < size:
        end, kind = field_stop(fields, at, size), kind_of(fields, at)
        other = 0
        while other < kept and (fields[other] != fields[at] or fields[other + 1] != fields[at + 1]):
            other = field_stop(fields, other, kept)
        if other < kept or (was_aligned and is_left_out(kind, True)):
            number += 1
        else:
            kept = put_copy(fields, at, end, fields, kept)
        at = end
    return kept, number


@scalar
def is_field(text, start, stop):
    """Return whether a field begins here."""
    if stop - start < 5 or text[start + 2] != COLON or text[start + 4] != COLON:
        return False
    second, kind = text[start + 1], text[start + 3]
    if not is_letter(text[start]) or not (is_letter(second) or ZERO <= second <= NINE):
        return False
    is_number = kind == INTEGER or kind == FLOAT or kind == ARRAY
    return is_number or kind == CHARACTER or kind == TEXT or kind == HEX


@scalar
def is_letter(byte):
    return 97 <= byte | 32 <= 122


@scalar
def word_stop(text, start, stop):
    while start < stop and text[start] != TAB and text[start] != SPACE:
        start += 1
    return start


@scalar
def find_barcode(text, start, stop):
    """Return where the barcode of `1:N:0:ACGT` begins; 0 if the text does not begin so."""
    if stop - start < 5 or (text[start] != ZERO + 1 and text[start] != ZERO + 2):
        return 0
    if text[start + 1] != COLON or text[start + 3] != COLON or (text[start + 2] != NO and text[start + 2] != YES):
        return 0
    at = start + 4
    while at < stop and ZERO <= text[at] <= NINE:
        at += 1
    if at == start + 4 or (at < stop and text[at] != COLON and text[at] != SPACE and text[at] != TAB):
        return 0
    return at + 1 if at < stop and text[at] == COLON else at


@scalar
def encode_barcode(text, start, stop, out):
    """Write BC:Z of a barcode, with - between its parts, to `out`; return the bytes, 0 for a number."""
    if start == stop or ZERO <= text[start] <= NINE:
        return 0
    out[0], out[1] = 66, 67
    out[2] = TEXT
    for i in range(start, stop):
        out[3 + i - start] = MINUS if text[i] == PLUS else text[i]
    out[3 + stop - start] = 0
    return 4 + stop - start


@scalar
def encode(text, start, stop, out):
    """Encode fields of text[start:stop] to `out`; return (bytes or NO_TAG, span of the value of RG)."""
    size = group_start = group_stop = 0
    barcode = find_barcode(text, start, stop)
    if barcode > 0:
        start = word_stop(text, barcode, stop)
        size = encode_barcode(text, barcode, start, out)
    while start < stop:
        if text[start] == TAB or text[start] == SPACE:
            start += 1
            continue
        if not is_field(text, start, stop):
            return NO_TAG, 0, 0
        end = value_stop(text, start + 5, stop)
        if text[start] == 82 and text[start + 1] == 71:  # RG
            group_start, group_stop = start + 5, end
        else:
            out[size], out[size + 1] = text[start], text[start + 1]
            size = encode_value(text, start + 5, end, text[start + 3], out, size + 2)
            if size < 0:
                return NO_TAG, 0, 0
        start = end
    return size, group_start, group_stop


@scalar
def value_stop(text, start, stop):
    """Return where the value of a field ends: before a tab, or a space before another field."""
    while start < stop and text[start] != TAB:
        if text[start] == SPACE and is_field(text, start + 1, stop):
            break
        start += 1
    return start


@scalar
def encode_umi(text, start, stop, out):
    """Encode the fields RX and QX of text[start:stop], wherever they are, to `out`; return bytes or NO_TAG."""
    size = 0
    while start < stop:
        if not is_field(text, start, stop):
            start = word_stop(text, start, stop) + 1
            continue
        end = value_stop(text, start + 5, stop)
        if text[start + 1] == 88 and (text[start] == 81 or text[start] == 82):
            end = word_stop(text, start + 5, end) if text[start] == 82 else end
            out[size], out[size + 1] = text[start], text[start + 1]
            size = encode_value(text, start + 5, end, text[start + 3], out, size + 2)
            if size < 0:
                return size
        start = end + 1
    return size


@scalar
def encode_value(text, start, stop, kind, out, at):
    """Put type and value of one field at out[at:]; return where it ends, or NO_TAG."""
    if kind == INTEGER:
        number, end = integer(text, start, stop)
        if start == stop or end != stop or number < -(1 << 31) or number >= (1 << 32):
            return NO_TAG
        return put_integer(number, out, at)
    if kind == FLOAT:
        value, end = decimal(text, start, stop)
        out[at] = FLOAT
        return put_bytes(float_bits(value), 4, out, at + 1) if start < end == stop else NO_TAG
    if kind == ARRAY:
        return encode_array(text, start, stop, out, at)
    if kind == CHARACTER and stop - start != 1:
        return NO_TAG
    out[at] = kind
    for i in range(start, stop):
        if text[i] < 32 or text[i] > 126:
            return NO_TAG
        out[at + 1 + i - start] = text[i]
    at += 1 + stop - start
    if kind != CHARACTER:
        out[at] = 0
        at += 1
    return at


@scalar
def encode_array(text, start, stop, out, at):
    """Encode `c,1,2` as B, the element type, the count, the elements."""
    if start >= stop:
        return NO_TAG
    kind = text[start]
    width = 1 if kind == 99 or kind == 67 else 2 if kind == 115 or kind == 83 else 4
    if width == 4 and kind != INTEGER and kind != UNSIGNED and kind != FLOAT:
        return NO_TAG
    out[at], out[at + 1] = ARRAY, kind
    end, count = start + 1, 0
    put = at + 6
    while end < stop:
        if text[end] != COMMA:
            return NO_TAG
        before = end + 1
        if kind == FLOAT:
            value, end = decimal(text, before, stop)
            bits = float_bits(value)
        else:
            bits, end = integer(text, before, stop)
        if end == before:
            return NO_TAG
        put = put_bytes(bits, width, out, put)
        count += 1
    put_bytes(count, 4, out, at + 2)
    return put


@scalar
def integer(text, start, stop):
    """Parse sign and digits; return (value, where they end; `start` if there are none)."""
    i = start
    negative = i < stop and text[i] == MINUS
    if i < stop and (text[i] == MINUS or text[i] == PLUS):
        i += 1
    digits, value = i, np.int64(0)
    while i < stop and 48 <= text[i] <= 57 and i - digits < 18:
        value = 10 * value + np.int64(text[i]) - 48
        i += 1
    return (-value if negative else value), (i if i > digits else start)


@scalar
def decimal(text, start, stop):
    """Parse sign, digits, point and exponent; return (float64, where they end), exact to float32's last place."""
    i, mantissa = start, 0.0
    exponent = digits = 0
    point = False
    negative = i < stop and text[i] == MINUS
    if i < stop and (text[i] == MINUS or text[i] == PLUS):
        i += 1
    while i < stop and (48 <= text[i] <= 57 or (text[i] == DOT and not point)):
        if text[i] == DOT:
            point = True
        else:
            mantissa = 10.0 * mantissa + (np.int64(text[i]) - 48)
            exponent -= point
            digits += 1
        i += 1
    if digits == 0:
        return 0.0, start
    if i < stop and (text[i] == 101 or text[i] == 69):
        written, end = integer(text, i + 1, stop)
        if end == i + 1:
            return 0.0, start
        exponent, i = exponent + written, end
    power = POWERS[min(abs(exponent), POWERS.size - 1)]
    value = mantissa * power if exponent >= 0 else mantissa / power
    return (-value if negative else value), i


@scalar
def float_bits(value):
    """Return the IEEE single of a float64 as an integer."""
    return np.int64(np.float32(value).view(np.uint32))


@scalar
def put_integer(value, out, at):
    """Put the smallest type that holds the value, then the value."""
    if value < 0:
        width = 1 if value >= -128 else 2 if value >= -32768 else 4
        out[at] = 99 if width == 1 else 115 if width == 2 else 105  # c s i
    else:
        width = 1 if value < 256 else 2 if value < 65536 else 4
        out[at] = 67 if width == 1 else 83 if width == 2 else 73  # C S I
    return put_bytes(value, width, out, at + 1)
