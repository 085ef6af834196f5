"""Records of FASTQ and FASTA as reads, on the host or on a card. What is wrong with a record is a reason: `REASONS`."""

from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.device.gather import add_up, join_beside
from readwarp.device.rows import each_row, maker_beside, to_host, to_side_of
from readwarp.errors import InputError
from readwarp.formats.common.qualities import PHRED64
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.formats.common.text import same_bytes
from readwarp.formats.reads.fastx_text import (
    NEWLINE,
    RETURN,
    SPACE,
    SPAN,
    TAB,
    Text,
    find_line_ends,
    line_stop,
    list_line_ends,
    name_stop,
    repeats,
)
from readwarp.formats.reads.mates import explain_names
from readwarp.formats.reads.raw import FastxRecords, RawBatch
from readwarp.formats.reads.tags import encode_comments
from readwarp.ragged import empty, offsets_of, replace
from readwarp.wording import counted

OK, NO_NAME_LINE, NO_PLUS, UNEQUAL, BAD_BASE, BAD_QUALITY, BAD_NAME, LONG_NAME, OTHER_NAME, LONG_READ = range(10)
REASONS = {
    NO_NAME_LINE: "does not start with '@'",
    NO_PLUS: "its third line does not start with '+'",
    BAD_BASE: "a character of the sequence is not an IUPAC letter",
    BAD_QUALITY: "a character of the quality is outside Phred+33 ('!' to '~')",
    BAD_NAME: "the name begins with '@', or a character of it is outside '!' to '~'",
    LONG_NAME: "the name is longer than 254 characters",
    OTHER_NAME: "its third line has another name than its first",
}
FIRST = int(Segment.FIRST)
AT, GREATER, PLUS = b"@>+"
A, C, G, T = (np.uint8(letter) for letter in b"ACGT")
CAPITAL = np.uint8(0xDF)  # bits of a letter that do not depend on its case
INVALID = 255
NO_QUALITY = 255
MAX_QUALITY, MAX_NAME = 93, 254
ANY_LENGTH = np.iinfo(np.int64).max
CODES = np.full(256, INVALID, np.uint8)  # letter -> base: A C G T(U) 0-3, other IUPAC letters and '.' 4
for _base, _letters in enumerate(("A", "C", "G", "TU", "RYSWKMBDHVN.")):
    CODES[list((_letters + _letters.lower()).encode())] = _base


def parse(raw: RawBatch) -> ReadBatch:
    """Parse text of whole records. Raises InputError."""
    texts, read_input = raw.chunk.data, raw.input
    records = [_measure(raw, file) for file in range(len(texts))]
    read_offsets, name_offsets = (
        offsets_of(np.stack(lengths, axis=1).ravel())  # mates are neighbours
        for lengths in ([each.length for each in records], [each.name_length for each in records])
    )
    offsets = {"read_offsets": read_offsets, "name_offsets": name_offsets}
    reads = empty(ReadBatch, {"tag bytes": 0}, number=raw.number, source=raw.source, **offsets)
    for file, text in enumerate(texts):
        reasons = np.zeros(raw.chunk.records, np.uint8)
        fill_reads(raw.chunk.records, text, records[file], (file, len(texts)), _given(raw), reads, reasons)
        if reasons.any():
            record = int(np.argmax(reasons > OK))
            raise InputError(read_input.paths[file], REASONS[reasons[record]], raw.chunk.first_record + record)
    if len(texts) == 2:
        _check_names(raw, reads)
    has_umis = read_input.umi is not None and read_input.umi.source == "comment"
    return encode_comments(reads, raw, records) if read_input.comments or has_umis else reads


def is_plain(raw: RawBatch) -> bool:
    """Return whether a batch is FASTQ of which only names, bases and qualities count."""
    given = raw.input
    is_other = given.comments or given.umi or given.numbered or given.phred == PHRED64
    return raw.chunk.kind == "fastq" and not is_other


def parse_beside(raw: RawBatch, beside: Any, longest: int) -> ReadBatch | None:
    """Parse a plain batch where the array `beside` is; return None if a read is longer, or something is wrong with it.

    The caller frames the memory of what only this step needs.
    """
    texts, step = raw.chunk.data, len(raw.chunk.data)
    letters = join_beside(beside, [text.letters[text.start : text.stop] for text in texts])
    number, make = step * raw.chunk.records, maker_beside(letters)
    text = Text(letters, 0, letters.size)
    records, reasons = empty(FastxRecords, {"records": number}, make), make(number, np.uint8)
    ends = list_line_ends(-(-letters.size // SPAN), letters, number=4 * number).place
    measure_fastq(number, text, ends, (raw.chunk.records * (step - 1), longest), records, reasons)
    read_offsets, name_offsets = (make(number + 1, np.int64) for _ in range(2))
    add_up(number, read_offsets, records.length)
    add_up(number, name_offsets, records.name_length)
    wrong, bases, names = to_host((reasons, read_offsets[number:], name_offsets[number:]))
    if wrong.any():
        return None
    sizes = {"bases": int(bases[0]), "letters": int(names[0]), "tag bytes": 0}
    offsets = {"read_offsets": read_offsets, "name_offsets": name_offsets}
    reads = empty(ReadBatch, sizes, make, number=raw.number, source=raw.source, **offsets)
    fill_reads(number, text, records, (0, 1), to_side_of(letters, _given(raw)), reads, reasons)
    if step == 2:
        compare_names(number // 2, reads.names, name_offsets, reasons)
    return None if to_host(reasons).any() else reads


def _given(raw: RawBatch) -> tuple[ndarray, int]:
    """Return the segments of the reads, if their order does not tell them, and the read group."""
    return np.empty(0, np.uint8) if len(raw.chunk.data) == 2 else raw.chunk.segments, raw.input.read_group


def _measure(raw: RawBatch, file: int) -> FastxRecords:
    """Find the parts of one file's records. Raises InputError."""
    chunk, text = raw.chunk, raw.chunk.data[file]
    ends, records = find_line_ends(text, chunk.kind, chunk.records), empty(FastxRecords, {"records": chunk.records})
    if chunk.kind == "fasta":
        measure_fasta(text, ends, records)
        return records
    reasons = np.empty(chunk.records, np.uint8)
    measure_fastq(chunk.records, text, ends, (0, ANY_LENGTH), records, reasons)
    if reasons.any():
        record = int(np.argmax(reasons > OK))
        found = line_stop(text.letters, records.quality[record], ends[4 * record + 3]) - records.quality[record]
        unequal = f"quality has {counted(found, 'letter')}, sequence {records.length[record]:,}"
        raise InputError(raw.input.paths[file], REASONS.get(reasons[record], unequal), chunk.first_record + record)
    return _cut_endings(raw, file, records) if raw.input.numbered else records


def _cut_endings(raw: RawBatch, file: int, records: FastxRecords) -> FastxRecords:
    """Cut .1 (in the first file) or .2 off the names. Raises InputError for a name without it."""
    letters, ending = raw.chunk.data[file].letters, f".{file + 1}"
    stop = records.name + records.name_length
    has = (records.name_length > 2) & (letters[stop - 2] == ord(ending[0])) & (letters[stop - 1] == ord(ending[1]))
    if not has.all():
        reason = f"its name does not end in {ending}, as that of the first read does"
        raise InputError(raw.input.paths[file], reason, raw.chunk.first_record + int(np.argmin(has)))
    return replace(records, name_length=records.name_length - 2)


def _check_names(raw: RawBatch, reads: ReadBatch) -> None:
    """Raise InputError if two mates have different names."""
    names, offsets = reads.names, reads.name_offsets
    is_other = np.zeros(raw.chunk.records, np.uint8)
    compare_names(is_other.size, names, offsets, is_other)
    if is_other.any():
        pair = int(np.argmax(is_other))
        first, last = (
            names[offsets[read] : offsets[read + 1]].tobytes().decode("latin-1") for read in (2 * pair, 2 * pair + 1)
        )
        hint = explain_names(raw.input, first, last)
        reason = f"the names of the mates differ: {first} and {last} ({hint})"
        raise InputError(raw.input.paths[-1], reason, raw.chunk.first_record + pair)


@each_row
def measure_fastq(r, text, ends, rules, out, reasons):
    """Find the parts of a record by line ends, and the reason why it is wrong, if it is (OK).

    rules: number of records before those of the mates, which take turns with them in `out` (0: all are in order), and
    bases of the longest read.
    """
    letters, (before, longest) = text.letters, rules
    record = r if before == 0 else (r & 1) * before + (r >> 1)
    first, start = 4 * record, text.start if record == 0 else ends[4 * record - 1] + 1
    header, stop = start + 1, line_stop(letters, start, ends[first])
    out.name[r], out.name_length[r], out.comment[r], out.comment_length[r] = name_and_comment(letters, header, stop)
    bases, quality = ends[first] + 1, ends[first + 2] + 1
    plus, length = ends[first + 1] + 1, line_stop(letters, bases, ends[first + 1]) - bases
    out.sequence[r], out.length[r] = bases, length
    out.quality[r] = quality
    reasons[r] = OK
    if letters[start] != AT:
        reasons[r] = NO_NAME_LINE
    elif letters[plus] != PLUS:
        reasons[r] = NO_PLUS
    elif not repeats(letters, plus + 1, line_stop(letters, plus, ends[first + 2]), header, stop):
        reasons[r] = OTHER_NAME
    elif line_stop(letters, quality, ends[first + 3]) - quality != length:
        reasons[r] = UNEQUAL
    elif length > longest:
        reasons[r] = LONG_READ


@scalar
def name_and_comment(letters, start, stop):
    """Return starts and lengths of name and comment in the header line [start, stop), without its first letter."""
    name = end = name_stop(letters, start, stop)
    while end < stop and letters[end] != SPACE and letters[end] != TAB:
        end += 1
    return start, name - start, end + 1, max(0, stop - end - 1)


@kernel
def measure_fasta(text, ends, out):
    """Find the parts like `measure_fastq`, with sequences that may span several lines."""
    letters, start, _ = text
    name, name_length, comment, comment_length, sequence, length, quality = out
    r = -1
    for end in ends:
        stop = line_stop(letters, start, end)
        if stop > start and letters[start] == GREATER:
            r += 1
            name[r], name_length[r], comment[r], comment_length[r] = name_and_comment(letters, start + 1, stop)
            sequence[r], length[r] = end + 1, 0
            quality[r] = -1
        else:
            length[r] += stop - start
        start = end + 1


@each_row
def fill_reads(r, text, records, stride, given, out, reasons):
    """Copy record r to read first + step * r of out (ReadBatch, offsets set); write the reason if it is wrong.

    stride: first and step; given: segments of the reads, none if they take turns, and the read group.
    """
    letters, quality = text.letters, records.quality[r]
    (first, step), (segments, read_group) = stride, given
    read = first + step * r
    out.segment[read] = segments[read] if segments.size else FIRST + (read & 1)
    out.read_group[read], out.failed[read] = read_group, 0
    out.tag_offsets[read + 1] = 0
    if read == 0:
        out.tag_offsets[0] = 0
    size, to = records.length[r], out.read_offsets[read]
    source = records.sequence[r]
    bases, qualities = out.bases[to : to + size], out.qualities[to : to + size]
    if quality < 0:
        worst, highest = fill_lines(letters, source, bases, qualities), np.uint8(0)
    else:
        worst = fill_bases(letters[source : source + size], bases)
        highest = fill_qualities(letters[quality : quality + size], qualities)
    size, to = records.name_length[r], out.name_offsets[read]
    source = records.name[r]
    is_good = fill_name(letters[source : source + size], out.names[to : to + size])
    if highest > MAX_QUALITY:
        reasons[r] = BAD_QUALITY
    elif worst == INVALID:
        reasons[r] = BAD_BASE
    elif size > MAX_NAME:
        reasons[r] = LONG_NAME
    elif not is_good:
        reasons[r] = BAD_NAME


@scalar
def fill_name(text, out):
    """Fill in a name; return whether SAM can hold it: after a leading @, a line would belong to the header."""
    good = text.size == 0 or text[0] != AT
    for i in range(text.size):
        out[i] = text[i]
        good &= (text[i] >= 33) & (text[i] <= 126)
    return good


@scalar
def fill_bases(text, out):
    """Convert letters to codes; return the largest. A C G T, by far the most, go without a table, many at a time."""
    others = False
    for i in range(text.size):
        letter = text[i] & CAPITAL
        half = (letter >> np.uint8(1)) & np.uint8(3)
        out[i] = half ^ (half >> np.uint8(1))
        others |= (letter != A) & (letter != C) & (letter != G) & (letter != T)
    if not others:
        return np.uint8(3)
    worst = np.uint8(0)
    for i in range(text.size):
        out[i] = CODES[text[i]]
        worst = max(worst, out[i])
    return worst


@scalar
def fill_qualities(text, out):
    worst = np.uint8(0)
    for i in range(text.size):
        quality = np.uint8(text[i] - np.uint8(33))
        out[i] = quality
        worst = max(worst, quality)
    return worst


@scalar
def fill_lines(text, source, out, qualities):
    """Fill in a sequence over several lines, without qualities; return the largest code."""
    worst, i = np.uint8(0), 0
    while i < out.size:
        qualities[i] = NO_QUALITY
        letter = text[source]
        if letter != NEWLINE and not (letter == RETURN and text[source + 1] == NEWLINE):
            out[i] = CODES[letter]
            worst = max(worst, out[i])
            i += 1
        source += 1
    return worst


@each_row
def compare_names(pair, names, name_offsets, reasons):
    """Write OTHER_NAME if mates, 2 pair and 2 pair + 1, have different names."""
    start, middle = name_offsets[2 * pair], name_offsets[2 * pair + 1]
    size = middle - start
    if size != name_offsets[2 * pair + 2] - middle or not same_bytes(names, start, names, middle, size):
        reasons[pair] = OTHER_NAME
