"""Records of FASTQ and FASTA as reads. Kernels return (record, reason) of the first error in the text: `REASONS`."""

import numpy as np

from readwarp.compiler.jit import kernel, scalar
from readwarp.errors import InputError
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.formats.common.text import same_bytes
from readwarp.formats.reads.fastx_text import NEWLINE, RETURN, SPACE, TAB, find_line_ends, line_stop, name_stop, repeats
from readwarp.formats.reads.mates import explain_names
from readwarp.formats.reads.raw import FastxRecords, RawBatch
from readwarp.formats.reads.tags import encode_comments
from readwarp.ragged import empty, offsets_of, replace
from readwarp.wording import counted

OK, NO_NAME_LINE, NO_PLUS, UNEQUAL, BAD_BASE, BAD_QUALITY, BAD_NAME, LONG_NAME, OTHER_NAME = range(9)
REASONS = {
    NO_NAME_LINE: "does not start with '@'",
    NO_PLUS: "its third line does not start with '+'",
    BAD_BASE: "a character of the sequence is not an IUPAC letter",
    BAD_QUALITY: "a character of the quality is outside Phred+33 ('!' to '~')",
    BAD_NAME: "the name begins with '@', or a character of it is outside '!' to '~'",
    LONG_NAME: "the name is longer than 254 characters",
    OTHER_NAME: "its third line has another name than its first",
}
PAIR = np.array([Segment.FIRST, Segment.LAST], np.uint8)
AT, GREATER, PLUS = b"@>+"
A, C, G, T = (np.uint8(letter) for letter in b"ACGT")
CAPITAL = np.uint8(0xDF)  # bits of a letter that do not depend on its case
INVALID = 255
NO_QUALITY = 255
MAX_QUALITY, MAX_NAME = 93, 254
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
    reads = empty(
        ReadBatch,
        {},
        number=raw.number,
        source=raw.source,
        read_offsets=read_offsets,
        name_offsets=name_offsets,
        tag_offsets=np.zeros_like(read_offsets),
        segment=raw.chunk.segments if len(texts) == 1 else np.tile(PAIR, raw.chunk.records),
        read_group=np.full(read_offsets.size - 1, read_input.read_group, np.int32),
        failed=np.zeros(read_offsets.size - 1, np.uint8),
    )
    for file, text in enumerate(texts):
        record, reason = fill_reads(text, records[file], file, len(texts), reads)
        if record >= 0:
            raise InputError(read_input.paths[file], REASONS[reason], raw.chunk.first_record + record)
    if len(texts) == 2:
        _check_names(raw, reads)
    has_umis = read_input.umi is not None and read_input.umi.source == "comment"
    return encode_comments(reads, raw, records) if read_input.comments or has_umis else reads


def _measure(raw: RawBatch, file: int) -> FastxRecords:
    """Find the parts of one file's records. Raises InputError."""
    chunk, text = raw.chunk, raw.chunk.data[file]
    ends, records = find_line_ends(text, chunk.kind, chunk.records), empty(FastxRecords, {"records": chunk.records})
    measure = measure_fasta if chunk.kind == "fasta" else measure_fastq
    record, reason, found = measure(text, ends, records)
    if record >= 0:
        unequal = f"quality has {counted(found, 'letter')}, sequence {records.length[record]:,}"
        raise InputError(raw.input.paths[file], REASONS.get(reason, unequal), chunk.first_record + record)
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
    pair = first_unequal_pair(names, offsets)
    if pair >= 0:
        first, last = (
            names[offsets[read] : offsets[read + 1]].tobytes().decode("latin-1") for read in (2 * pair, 2 * pair + 1)
        )
        hint = explain_names(raw.input, first, last)
        reason = f"the names of the mates differ: {first} and {last} ({hint})"
        raise InputError(raw.input.paths[-1], reason, raw.chunk.first_record + pair)


@kernel
def measure_fastq(text, ends, out):
    """Find the parts of all records by line ends; return (record, reason, length found instead) of the first error."""
    letters, start, _ = text
    name, name_length, comment, comment_length, sequence, length, quality = out
    for r in range(name.size):
        if letters[start] != AT:
            return r, NO_NAME_LINE, 0
        header, stop = start + 1, line_stop(letters, start, ends[4 * r])
        name[r], name_length[r], comment[r], comment_length[r] = name_and_comment(letters, header, stop)
        start = ends[4 * r] + 1
        sequence[r], length[r] = start, line_stop(letters, start, ends[4 * r + 1]) - start
        start = ends[4 * r + 1] + 1
        if letters[start] != PLUS:
            return r, NO_PLUS, 0
        if not repeats(letters, start + 1, line_stop(letters, start, ends[4 * r + 2]), header, stop):
            return r, OTHER_NAME, 0
        start = ends[4 * r + 2] + 1
        qualities = line_stop(letters, start, ends[4 * r + 3]) - start
        if qualities != length[r]:
            return r, UNEQUAL, qualities
        quality[r] = start
        start = ends[4 * r + 3] + 1
    return -1, OK, 0


@scalar
def name_and_comment(letters, start, stop):
    """Return starts and lengths of name and comment in the header line [start, stop), without its first letter."""
    name = end = name_stop(letters, start, stop)
    while end < stop and letters[end] != SPACE and letters[end] != TAB:
        end += 1
    return start, name - start, end + 1, max(0, stop - end - 1)


@kernel
def measure_fasta(text, ends, out):
    """Find the parts like `measure_fastq`, with sequences that may span several lines. Return (-1, OK, 0)."""
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
    return -1, OK, 0


@kernel
def fill_reads(text, records, first, step, out):
    """Copy record r to read `first + step * r` of out (ReadBatch, offsets set); return (record, reason) or (-1, OK)."""
    letters, quality = text.letters, records.quality
    bases, qualities = out.bases, out.qualities
    for r in range(quality.size):
        read = first + step * r
        size, source = records.length[r], records.sequence[r]
        to = out.read_offsets[read]
        if quality[r] < 0:
            worst = fill_lines(letters, source, bases[to : to + size])
            qualities[to : to + size] = NO_QUALITY
        else:
            worst = fill_bases(letters[source : source + size], bases[to : to + size])
            if fill_qualities(letters[quality[r] : quality[r] + size], qualities[to : to + size]) > MAX_QUALITY:
                return r, BAD_QUALITY
        if worst == INVALID:
            return r, BAD_BASE
        size, source = records.name_length[r], records.name[r]
        to = out.name_offsets[read]
        if size > MAX_NAME:
            return r, LONG_NAME
        if not fill_name(letters[source : source + size], out.names[to : to + size]):
            return r, BAD_NAME
    return -1, OK


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
def fill_lines(text, source, out):
    """Fill in a sequence over several lines; return the largest code."""
    worst, i = np.uint8(0), 0
    while i < out.size:
        letter = text[source]
        if letter != NEWLINE and not (letter == RETURN and text[source + 1] == NEWLINE):
            out[i] = CODES[letter]
            worst = max(worst, out[i])
            i += 1
        source += 1
    return worst


@kernel
def first_unequal_pair(names, name_offsets):
    """Return the first pair 2i, 2i + 1 whose names differ, or -1."""
    for pair in range((name_offsets.size - 1) // 2):
        start, middle = name_offsets[2 * pair], name_offsets[2 * pair + 1]
        size = middle - start
        if size != name_offsets[2 * pair + 2] - middle or not same_bytes(names, start, names, middle, size):
            return pair
    return -1
