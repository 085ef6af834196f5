"""Records out: Alignments and their reads as SAM text, BAM records or PAF, encoded in compiled code batch by batch.

SEQ and QUAL follow the strand of the flag; bases and qualities under a hard clip are omitted, and all those of a record
that has none. A CIGAR of more operations than BAM has room for goes to the field CG, see `layout.cigar_of`.
"""

from dataclasses import dataclass

import numpy as np

from readwarp.compiler.jit import scalar
from readwarp.device.rows import ragged_rows, to_side_of
from readwarp.formats.alignments import layout
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.fields import put_turned
from readwarp.formats.alignments.paf import put_paf
from readwarp.formats.alignments.records import AlignmentBatch
from readwarp.formats.alignments.tag_bytes import put_letter, put_tag
from readwarp.formats.alignments.tag_text import FACTOR, put_tags
from readwarp.formats.common.binning import bin_of
from readwarp.formats.common.index import DEPTH
from readwarp.formats.common.reads import ReadBatch
from readwarp.formats.common.text import (
    Names,
    letter_of,
    pack_names,
    put_bytes,
    put_copy,
    put_name,
    put_next,
    put_number,
    put_text,
)
from readwarp.rules.cigar import LETTER_BYTES, SKIP, SOFT_CLIP, hard_clips, run_of
from readwarp.rules.flags import REVERSE

FIXED_TEXT = 200  # bytes of a line besides names, bases, CIGAR and tags
BIN = 14  # offset of the bin in a record
FIXED_ROOM = 64  # bytes of a record besides name, bases, CIGAR and tags; CG and the name of RG included
TAB, NEWLINE, STAR, EQUAL = b"\t\n*="
RG, CG = (int.from_bytes(name, "little") for name in (b"RG", b"CG"))
READ_GROUP = np.frombuffer(b"\tRG:Z:", np.uint8)
M, L, N, SMALL_M, SMALL_L = b"MLNml"
NO_LETTERS = np.frombuffer(b"*\t*", np.uint8)
NO_QUALITY = 255


@dataclass(frozen=True, slots=True)
class Encoder:
    """An encoder shared by all batches of a run: names of contigs and read groups, and the form of the records.

    BAM, CRAM and every sorted output are made of BAM records; unsorted SAM text is written directly.
    """

    contigs: tuple[str, ...]
    read_groups: tuple[str, ...] = ()
    text: bool = False  # SAM text instead of BAM records
    lengths: tuple[int, ...] = ()  # of the contigs: PAF instead

    @property
    def is_binary(self) -> bool:
        return not self.text and not self.lengths

    @property
    def groups(self) -> Names:
        return pack_names(self.read_groups)

    def encode(self, reads: ReadBatch, alignments: AlignmentBatch) -> Encoded:
        """Encode `alignments` in their order, BAM records on the side of the arrays. Runs without the GIL."""
        given = reads, alignments
        if self.is_binary:
            return put_record(len(alignments), *given, to_side_of(reads.bases, self.groups))
        contigs = pack_names(self.contigs)
        if self.lengths:
            return put_paf(len(alignments), *given, contigs, np.array(self.lengths, np.int64))
        scratch = np.empty(max(np.diff(reads.tag_offsets), default=0), np.uint8)
        return put_line(len(alignments), *given, contigs, self.groups, scratch)


@scalar
def shown_span(reads, rows, row):
    """Return where the bases of a record start and stop among those of the reads.

    A record without bases has none, and others lack those that their CIGAR hard-clips.
    """
    r, cigar = rows.read[row], rows.cigar
    start, stop = reads.read_offsets[r], reads.read_offsets[r + 1]
    first, last = rows.cigar_offsets[row], rows.cigar_offsets[row + 1]
    left, right = hard_clips(cigar, first, last)
    if rows.flag[row] & REVERSE:
        left, right = right, left
    start += left
    return start, max(start, stop - right) if rows.has_bases[row] else start


@scalar
def put_bases(bases, start, stop, reverse, out, at):
    """Put letters of bases[start:stop], or of their reverse complement."""
    source, target = bases[start:stop], out[at : at + stop - start]
    if reverse:
        for i in range(source.size):
            base = source[np.uint64(source.size - 1 - i)]
            target[i] = letter_of(base if base > 3 else np.uint8(3 - base))
    else:
        for i in range(source.size):
            target[i] = letter_of(source[i])
    return at + stop - start


@scalar
def put_qualities(qualities, start, stop, reverse, shift, out, at):
    """Put qualities[start:stop], or their reverse, plus `shift`."""
    source, target = qualities[start:stop], out[at : at + stop - start]
    if reverse:
        for i in range(source.size):
            target[i] = source[np.uint64(source.size - 1 - i)] + shift
    else:
        for i in range(source.size):
            target[i] = source[i] + shift
    return at + stop - start


@scalar
def counts_bases(tags, at):
    """Return whether the field is MM, ML or MN, which number modified bases along the whole read."""
    return tags[at] == M and tags[at + 1] in (M, L, N, SMALL_M, SMALL_L)  # Mm and Ml: the older names


@scalar
def put_carried(reads, r, shown, reverse, out, at):
    """Put the fields that read r carries to a record at out[at:]; return where they end.

    shown: where the bases of the record start and stop.
    """
    first, stop = reads.tag_offsets[r], reads.tag_offsets[r + 1]
    origin = reads.read_offsets[r]
    length = reads.read_offsets[r + 1] - origin
    part = shown[0] - origin, shown[1] - origin, length
    while first < stop:
        end = layout.field_stop(reads.tags, first, stop)
        if shown[1] - shown[0] == length or not counts_bases(reads.tags, first):
            at = put_turned(reads.tags, first, end, part, reverse, out, at)
        first = end
    return at


@scalar
def size_of(names, index):
    """Return the letters of the name at `index` of Names; 0 for none."""
    return names.offsets[index + 1] - names.offsets[index] if index >= 0 else np.int64(0)


@scalar
def parts_of(row, reads, rows):
    """Return the name's letters, the bases, the CIGAR's operations, and the bytes of all tags of a record."""
    r = np.int64(rows.read[row])
    carried, own = reads.tag_offsets[r + 1] - reads.tag_offsets[r], rows.tag_offsets[row + 1] - rows.tag_offsets[row]
    name, length = reads.name_offsets[r + 1] - reads.name_offsets[r], reads.read_offsets[r + 1] - reads.read_offsets[r]
    return name, length, rows.cigar_offsets[row + 1] - rows.cigar_offsets[row], carried + own


@scalar
def room_of_record(row, reads, rows, groups):
    """Return the maximum bytes of a BAM record."""
    name, length, operations, tags = parts_of(row, reads, rows)
    return FIXED_ROOM + size_of(groups, reads.read_group[rows.read[row]]) + name + 2 * length + 4 * operations + tags


@scalar
def room_of_line(row, reads, rows, contigs, groups, scratch):
    """Return the maximum bytes of a line of SAM."""
    name, length, operations, tags = parts_of(row, reads, rows)
    names = size_of(contigs, rows.contig[row]) + size_of(contigs, rows.mate_contig[row])
    names += size_of(groups, reads.read_group[rows.read[row]])
    return FIXED_TEXT + names + name + 2 * length + 10 * operations + FACTOR * tags


@ragged_rows(Encoded, room_of_line)
def put_line(row, at, reads, rows, contigs, groups, scratch, out):
    """Put a line of SAM; contigs and groups are Names. scratch: uint8, with room for the fields that a read carries."""
    data = out.data
    r, reverse = np.int64(rows.read[row]), rows.flag[row] & REVERSE != 0
    contig, mate = np.int64(rows.contig[row]), np.int64(rows.mate_contig[row])
    at = put_name((reads.names, reads.name_offsets), r, data, at)
    at = put_next(TAB, np.int64(rows.flag[row]), data, at)
    data[at] = TAB
    at = put_name(contigs, contig, data, at + 1)
    at = put_next(TAB, np.int64(rows.position[row]) + 1, data, at)
    at = put_next(TAB, np.int64(rows.mapping_quality[row]), data, at)
    at = put_cigar(rows.cigar, rows.cigar_offsets[row], rows.cigar_offsets[row + 1], data, at)
    data[at] = TAB
    if mate >= 0 and mate == contig:
        data[at + 1] = EQUAL
        at += 2
    else:
        at = put_name(contigs, mate, data, at + 1)
    at = put_next(TAB, np.int64(rows.mate_position[row]) + 1, data, at)
    at = put_next(TAB, np.int64(rows.template_length[row]), data, at)
    start, stop = shown_span(reads, rows, row)
    at = put_letters(reads.bases, reads.qualities, start, stop, reverse, data, at)
    at = put_tags(rows.tags, rows.tag_offsets[row], rows.tag_offsets[row + 1], data, at)
    if reads.read_group[r] >= 0:
        at = put_name(groups, np.int64(reads.read_group[r]), data, put_text(READ_GROUP, data, at))
    at = put_tags(scratch, 0, put_carried(reads, r, (start, stop), reverse, scratch, 0), data, at)
    data[at] = NEWLINE
    return at + 1


@scalar
def put_cigar(cigar, start, stop, out, at):
    out[at] = TAB
    at += 1
    if start == stop:
        out[at] = STAR
        return at + 1
    for i in range(start, stop):
        at = put_number(np.int64(cigar[i] >> 4), out, at)
        out[at] = LETTER_BYTES[cigar[i] & 15]
        at += 1
    return at


@scalar
def put_letters(bases, qualities, start, stop, reverse, out, at):
    """Put SEQ and QUAL as text, each '*' when empty or unknown."""
    out[at] = TAB
    if start == stop:
        return put_text(NO_LETTERS, out, at + 1)
    at = put_bases(bases, start, stop, reverse, out, at + 1)
    out[at] = TAB
    if qualities[start] == NO_QUALITY:
        out[at + 1] = STAR
        return at + 2
    return put_qualities(qualities, start, stop, reverse, np.uint8(33), out, at + 1)


@ragged_rows(Encoded, room_of_record)
def put_record(row, at, reads, rows, groups, out):
    """Put a BAM record, block_size first. groups: Names."""
    data = out.data
    r, place = np.int64(rows.read[row]), np.int64(rows.position[row])
    first, last = rows.cigar_offsets[row], rows.cigar_offsets[row + 1]
    start, stop = shown_span(reads, rows, row)
    reverse, covered = rows.flag[row] & REVERSE != 0, 0
    for i in range(first, last):
        _, _, on_reference, _ = run_of(rows.cigar[i])
        covered += on_reference
    put_bytes(rows.contig[row], 4, data, at + layout.CONTIG)
    put_bytes(place, 4, data, at + layout.POSITION)
    data[at + layout.MAPPING_QUALITY] = rows.mapping_quality[row]
    put_bytes(bin_of(place, place + max(covered, 1), DEPTH), 2, data, at + BIN)
    is_long = last - first > layout.MAX_OPERATIONS
    put_bytes(2 if is_long else last - first, 2, data, at + layout.OPERATIONS)
    put_bytes(rows.flag[row], 2, data, at + layout.FLAG)
    put_bytes(stop - start, 4, data, at + layout.LENGTH)
    put_bytes(rows.mate_contig[row], 4, data, at + layout.MATE_CONTIG)
    put_bytes(rows.mate_position[row], 4, data, at + layout.MATE_POSITION)
    put_bytes(rows.template_length[row], 4, data, at + layout.TEMPLATE_LENGTH)
    end = put_letter(data, put_name((reads.names, reads.name_offsets), r, data, at + layout.NAME), 0)
    data[at + layout.NAME_LENGTH] = end - at - layout.NAME
    if is_long:
        end = put_bytes((stop - start) << 4 | SOFT_CLIP, 4, data, end)
        end = put_bytes(covered << 4 | SKIP, 4, data, end)
    else:
        end = put_operations(rows.cigar, first, last, data, end)
    end = put_nibbles(reads.bases, start, stop, reverse, data, end)
    end = put_qualities(reads.qualities, start, stop, reverse, np.uint8(0), data, end)
    end = put_copy(rows.tags, rows.tag_offsets[row], rows.tag_offsets[row + 1], data, end)
    if is_long:
        end = put_letter(data, put_tag(data, end, CG, layout.ARRAY), layout.UNSIGNED)
        end = put_operations(rows.cigar, first, last, data, put_bytes(last - first, 4, data, end))
    if reads.read_group[r] >= 0:
        end = put_tag(data, end, RG, layout.TEXT)
        end = put_letter(data, put_name(groups, np.int64(reads.read_group[r]), data, end), 0)
    end = put_carried(reads, r, (start, stop), reverse, data, end)
    put_bytes(end - at - 4, 4, data, at)
    return end


@scalar
def put_operations(cigar, start, stop, out, at):
    for i in range(start, stop):
        at = put_bytes(cigar[i], 4, out, at)
    return at


@scalar
def put_nibbles(bases, start, stop, reverse, out, at):
    """Put SEQ, two letters a byte."""
    source, target = bases[start:stop], out[at : at + ((stop - start + 1) >> 1)]
    last, flip = source.size - 1, np.uint8(3) if reverse else np.uint8(0)
    for i in range(source.size >> 1):
        first = np.uint64(last - 2 * i if reverse else 2 * i)
        second = np.uint64(last - 2 * i - 1 if reverse else 2 * i + 1)
        target[i] = nibble_of(source[first], flip) << np.uint8(4) | nibble_of(source[second], flip)
    if source.size & 1:
        target[last >> 1] = nibble_of(source[0 if reverse else last], flip) << np.uint8(4)
    return at + target.size


@scalar
def nibble_of(base, flip):
    """Map 0-4 to BAM's 1 2 4 8 15, complemented when `flip` is 3."""
    return np.uint8(15) if base > 3 else np.uint8(1) << (base ^ flip)
