"""The aligner's auxiliary fields in BAM encoding (SAM specification, section 4.2.4)."""

from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.long.lengths import are_long
from readwarp.align.places import Genome, contig_of
from readwarp.align.records.choose import ALTERNATE, FIRST, PRIMARY, SECONDARY, UNGAPPED, UNPAIRED
from readwarp.compiler.jit import kernel, scalar
from readwarp.config import CS_FORMS, AlignParameters
from readwarp.device.rows import ragged_rows
from readwarp.formats.alignments.layout import TEXT
from readwarp.formats.alignments.tag_bytes import put_float, put_integer, put_letter, put_run, put_tag
from readwarp.formats.common.reads import ReadBatch
from readwarp.formats.common.text import put_number
from readwarp.index.reference import Reference
from readwarp.ragged import offsets_of
from readwarp.rules.bases import IUPAC, LETTERS, base_at, nibble_at
from readwarp.rules.cigar import DELETION, INSERTION, LETTER_BYTES, MATCH, SHARES, rounded_share, run_of

NM, MD, AS, XS, DE, MC, MQ, MS, SA, PA, XA, CS = (
    int.from_bytes(name, "little")
    for name in (b"NM", b"MD", b"AS", b"XS", b"de", b"MC", b"MQ", b"ms", b"SA", b"pa", b"XA", b"cs")
)
END, STAR, PLUS, COMMA, MINUS, COLON, SEMICOLON, EQUALS, SOFT_CLIP, X, CARET = b"\0*+,-:;=SX^"
LOWER = 32  # bit that makes a letter lower-case
NO_CS, LONG_CS = CS_FORMS.index("none"), CS_FORMS.index("long")
FIXED_ROOM = 72  # bytes of a row's numeric tags, tag names and ends included
NUMBER_ROOM = 11  # a number and the letter after it
MISMATCH_ROOM = 6  # a matched length and a letter in MD
CS_ROOM = NUMBER_ROOM + 3  # a run of equal bases and a mismatch in cs


class RecordRows(NamedTuple):
    """The records of each read."""

    offsets: Annotated[ndarray, "int64 [reads + 1] of records"]
    read: Annotated[ndarray, "int32 [records]"]
    trace: Annotated[ndarray, "int64 [records]"]  # row in Traced, -1 unmapped
    kind: Annotated[ndarray, "uint8 [records]"]  # PRIMARY, SUPPLEMENTARY, ALTERNATE or SECONDARY, in this order


class ContigNames(NamedTuple):
    letters: Annotated[ndarray, "uint8 [letters]"]
    offsets: Annotated[ndarray, "int64 [contigs + 1] of letters"]


class RecordCigars(NamedTuple):
    values: Annotated[ndarray, "uint32 [operations]"]
    offsets: Annotated[ndarray, "int64 [records + 1] of operations"]


class RecordTags(NamedTuple):
    values: Annotated[ndarray, "uint8 [tag bytes]"]
    offsets: Annotated[ndarray, "int64 [records + 1] of tag bytes"]


class TagContext(NamedTuple):
    """Settings and tables for the tags of all records."""

    genome: Genome
    names: ContigNames
    max_name: int  # letters of the longest contig name
    cs: int  # NO_CS, SHORT_CS or LONG_CS
    eqx: bool  # = and X in SA and XA, like in CIGARs
    xa: bool  # places that are no records are named in XA
    has_de: Annotated[ndarray, "bool [reads]"]


@lru_cache(maxsize=4)
def contig_names(names: tuple[str, ...]) -> ContigNames:
    encoded = [name.encode() for name in names]
    return ContigNames(np.frombuffer(b"".join(encoded), np.uint8), offsets_of([len(name) for name in encoded]))


@scalar
def base_of(bases, q, strand):
    """Return the base of a read at a query position; outside 0-3 if it is not A C G T."""
    return np.int64(bases[q]) if strand == 0 else 3 - np.int64(bases[bases.size - 1 - q])


@scalar
def are_equal(base, reference_base):
    return base == reference_base and 0 <= base <= 3


@kernel
def put_divergence(out, at, e, extensions):
    """Put de of alignment e: the fraction of differing columns, a gap counting once, as a float of four decimals."""
    different, columns = np.int64(extensions.edit_distance[e]), np.int64(0)
    for i in range(extensions.cigar_offsets[e], extensions.cigar_offsets[e + 1]):
        operation, count, _, _ = run_of(extensions.cigar[i])
        is_gap = operation == INSERTION or operation == DELETION
        columns += 1 if is_gap else count
        different += 1 - count if is_gap else 0
    return put_float(out, at, DE, rounded_share(different, columns) / SHARES)


@kernel
def put_operations(out, at, operations, start, stop):
    for i in range(start, stop):
        at = put_run(out, at, operations[i] >> 4, LETTER_BYTES[operations[i] & 15])
    return at


@kernel
def put_matches(out, at, run, bases, packed, strand):
    """Put aligned bases as runs of = and X. run: where they begin in read and reference, and their number."""
    q, position, count = run
    first, before = 0, False
    for i in range(count):
        there = base_at(packed[(position + i) >> 1], position + i)
        is_equal = are_equal(base_of(bases, q + i, strand), there)
        if i > 0 and is_equal != before:
            at, first = put_run(out, at, i - first, EQUALS if before else X), i
        before = is_equal
    return put_run(out, at, count - first, EQUALS if before else X)


@kernel
def put_clipped(out, at, e, bases, strand, extensions, shared):
    """Put the CIGAR of alignment e of a read, with soft clips."""
    q, position = np.int64(extensions.query_start[e]), extensions.reference_start[e]
    tail = bases.size - extensions.query_stop[e]
    if q > 0:
        at = put_run(out, at, q, SOFT_CLIP)
    for i in range(extensions.cigar_offsets[e], extensions.cigar_offsets[e + 1]):
        operation, count, on_reference, on_read = run_of(extensions.cigar[i])
        if shared.eqx and operation == MATCH:
            at = put_matches(out, at, (q, position, count), bases, shared.genome.packed, strand)
        else:
            at = put_run(out, at, count, LETTER_BYTES[operation])
        q, position = q + on_read, position + on_reference
    return put_run(out, at, tail, SOFT_CLIP) if tail > 0 else at


@kernel
def put_differences(out, at, e, bases, packed, strand, extensions):
    """Put MD of alignment e of a read: matched lengths, reference letters, ^ before deleted ones.

    Bases are compared only while there are differences to come.
    """
    q = np.int64(extensions.query_start[e])
    position, matched = extensions.reference_start[e], 0
    cigar, to_come = extensions.cigar, np.int64(extensions.edit_distance[e])
    for i in range(extensions.cigar_offsets[e], extensions.cigar_offsets[e + 1]):
        operation, count, _, _ = run_of(cigar[i])
        if operation == INSERTION:
            q, to_come = q + count, to_come - count
            continue
        if operation == DELETION:
            at, matched, to_come = put_run(out, at, matched, CARET), 0, to_come - count
        stop = position + count
        while position < stop and (to_come > 0 or operation == DELETION):
            there = nibble_at(packed[position >> 1], position)
            position += 1
            if operation == DELETION:
                at = put_letter(out, at, IUPAC[there])
                continue
            if are_equal(base_of(bases, q, strand), there):
                matched += 1
            else:
                at, matched, to_come = put_run(out, at, matched, IUPAC[there]), 0, to_come - 1
            q += 1
        matched, q, position = matched + stop - position, q + stop - position, stop
    return put_number(matched, out, at)


@kernel
def put_small(out, at, base):
    """Put a base as a lower-case letter; n for anything but 0-3."""
    return put_letter(out, at, LETTERS[base if 0 <= base <= 3 else 4] | LOWER)


@kernel
def put_equal(out, at, start, stop, packed, is_long):
    """Put the part of cs for reference bases [start, stop), if any, that the read shares, or only their number."""
    if start == stop:
        return at
    if not is_long:
        return put_number(stop - start, out, put_letter(out, at, COLON))
    at = put_letter(out, at, EQUALS)
    for where in range(start, stop):
        at = put_letter(out, at, LETTERS[base_at(packed[where >> 1], where)])
    return at


@kernel
def put_pairs(out, at, run, bases, packed, strand, is_long):
    """Put the part of cs for aligned bases. run: where they begin in read and reference, and their number."""
    q, position, count = run
    equal = position  # start of the equal bases so far
    for where in range(position, position + count):
        base, there = base_of(bases, q + where - position, strand), np.int64(base_at(packed[where >> 1], where))
        if base != there and (there <= 3 or 0 <= base <= 3):  # N equals N here
            at = put_equal(out, at, equal, where, packed, is_long)
            at = put_small(out, put_small(out, put_letter(out, at, STAR), there), base)
            equal = where + 1
    return put_equal(out, at, equal, position + count, packed, is_long)


@kernel
def put_cs(out, at, e, bases, packed, strand, extensions, is_long):
    """Put cs of alignment e of a read, as in minimap2."""
    q, position = np.int64(extensions.query_start[e]), extensions.reference_start[e]
    at = put_tag(out, at, CS, TEXT)
    for i in range(extensions.cigar_offsets[e], extensions.cigar_offsets[e + 1]):
        operation, count, on_reference, on_read = run_of(extensions.cigar[i])
        if operation == INSERTION:
            at = put_letter(out, at, PLUS)
            for j in range(q, q + count):
                at = put_small(out, at, base_of(bases, j, strand))
        elif operation == DELETION:
            at = put_letter(out, at, MINUS)
            for where in range(position, position + count):
                at = put_small(out, at, base_at(packed[where >> 1], where))
        else:
            at = put_pairs(out, at, (q, position, count), bases, packed, strand, is_long)
        q, position = q + on_read, position + on_reference
    return put_letter(out, at, END)


@kernel
def put_contig(out, at, contig, names):
    for i in range(names.offsets[contig], names.offsets[contig + 1]):
        at = put_letter(out, at, names.letters[i])
    return put_letter(out, at, COMMA)


@kernel
def put_supplementary(out, at, row, bases, rows, traced, alignments, shared):
    """Put SA: the other parts of the read, primary first: contig,position,strand,CIGAR,MAPQ,NM;"""
    at = put_tag(out, at, SA, TEXT)
    (choices, extensions), r = traced, rows.read[row]
    for other in range(rows.offsets[r], rows.offsets[r + 1]):
        if other == row or rows.kind[other] == SECONDARY:
            continue
        e = rows.trace[other]
        at = put_contig(out, at, alignments.contig[other], shared.names)
        at = put_run(out, at, alignments.position[other] + 1, COMMA)
        at = put_letter(out, at, MINUS if choices.strand[e] else PLUS)
        at = put_clipped(out, put_letter(out, at, COMMA), e, bases, choices.strand[e], extensions, shared)
        at = put_run(out, put_letter(out, at, COMMA), alignments.mapping_quality[other], COMMA)
        at = put_run(out, at, extensions.edit_distance[e], SEMICOLON)
    return put_letter(out, at, END)


@kernel
def put_ratio(out, at, row, rows, extensions):
    """Put pa: the score of a read's primary row divided by that of its hit on an ALT contig, if it has one."""
    r, score = rows.read[row], extensions.score
    for other in range(row + 1, rows.offsets[r + 1]):
        if rows.kind[other] == ALTERNATE:
            own, alternate = np.int64(score[rows.trace[row]]), np.int64(score[rows.trace[other]])
            at = put_float(out, at, PA, rounded_share(own, alternate) / SHARES)
    return at


@kernel
def put_secondary(out, at, r, bases, traced, shared):
    """Put XA: other places of the read: contig,strand and position,CIGAR,NM; nothing if there are none."""
    has_begun, (choices, extensions) = False, traced
    for e in range(choices.choice_offsets[r], choices.choice_offsets[r + 1]):
        if choices.role[e] != SECONDARY or extensions.status[e] > UNGAPPED:
            continue
        if not has_begun:
            at, has_begun = put_tag(out, at, XA, TEXT), True
        start = extensions.reference_start[e]
        contig = contig_of(shared.genome.contig_offsets, start)
        at = put_contig(out, at, contig, shared.names)
        at = put_letter(out, at, MINUS if choices.strand[e] else PLUS)
        at = put_run(out, at, start - shared.genome.contig_offsets[contig] + 1, COMMA)
        at = put_clipped(out, at, e, bases, choices.strand[e], extensions, shared)
        at = put_run(out, put_letter(out, at, COMMA), extensions.edit_distance[e], SEMICOLON)
    return put_letter(out, at, END) if has_begun else at


@kernel
def mate_of(r, segment):
    return r + 1 if segment[r] == FIRST else r - 1


@scalar
def room_of_tags(row, reads, shared, rows, traced, alignments):
    """Return the maximum bytes of a record's tags; SA and XA name no more places than were traced."""
    r, e, (choices, extensions) = rows.read[row], rows.trace[row], traced
    cigar_offsets, room = extensions.cigar_offsets, np.int64(FIXED_ROOM)
    if reads.segment[r] != UNPAIRED:
        mate_row = rows.offsets[mate_of(r, reads.segment)]
        room += NUMBER_ROOM * (alignments.cigar_offsets[mate_row + 1] - alignments.cigar_offsets[mate_row])
    if e >= 0:
        edits = np.int64(extensions.edit_distance[e])
        room += MISMATCH_ROOM * (edits + 2)
        first, last = choices.choice_offsets[r], choices.choice_offsets[r + 1]
        if shared.cs != NO_CS:
            room += CS_ROOM * (edits + cigar_offsets[e + 1] - cigar_offsets[e] + 1)
        if shared.cs == LONG_CS:
            room += extensions.query_stop[e] - extensions.query_start[e]
        operations = cigar_offsets[last] - cigar_offsets[first]
        if shared.eqx:
            for other in range(first, last):
                operations += 2 * np.int64(extensions.edit_distance[other])
        room += (last - first) * (shared.max_name + 6 * NUMBER_ROOM) + NUMBER_ROOM * operations
    return room


@kernel
def quality_sum(qualities, first, last):
    """Sum the base qualities of at least 15."""
    total = np.int32(0)
    for i in range(first, last):
        quality = np.int32(qualities[i])
        total += quality if quality >= 15 else 0
    return total


@kernel
def put_mate(out, at, mate, reads, rows, alignments):
    """Put MC and MQ of a mapped mate, and ms."""
    mate_row, offsets = rows.offsets[mate], alignments.cigar_offsets
    if rows.trace[mate_row] >= 0:
        at = put_tag(out, at, MC, TEXT)
        at = put_operations(out, at, alignments.cigar, offsets[mate_row], offsets[mate_row + 1])
        at = put_integer(out, put_letter(out, at, END), MQ, np.int64(alignments.mapping_quality[mate_row]))
    total = quality_sum(reads.qualities, reads.read_offsets[mate], reads.read_offsets[mate + 1])
    return put_integer(out, at, MS, np.int64(total))


@ragged_rows(RecordTags, room_of_tags)
def put_tags(row, at, reads, shared, rows, traced, alignments, out):
    """Put NM MD AS XS de MC MQ ms SA pa XA cs of a record."""
    data, (choices, extensions) = out.values, traced
    r, e = rows.read[row], rows.trace[row]
    bases = reads.bases[reads.read_offsets[r] : reads.read_offsets[r + 1]]
    if e >= 0:
        at = put_integer(data, at, NM, np.int64(extensions.edit_distance[e]))
        at = put_tag(data, at, MD, TEXT)
        at = put_differences(data, at, e, bases, shared.genome.packed, choices.strand[e], extensions)
        bonus = choices.score[e] - extensions.score[e]
        at = put_integer(data, put_letter(data, at, END), AS, np.int64(extensions.score[e]))
        at = put_integer(data, at, XS, np.int64(max(0, choices.second_score[e] - bonus)))
        if shared.has_de[r]:
            at = put_divergence(data, at, e, extensions)
    if reads.segment[r] != UNPAIRED:
        at = put_mate(data, at, mate_of(r, reads.segment), reads, rows, alignments)
    first, stop = rows.offsets[r], rows.offsets[r + 1]
    if stop - first > 1 and rows.kind[row] != SECONDARY and rows.kind[first + 1] != SECONDARY:
        at = put_supplementary(data, at, row, bases, rows, traced, alignments, shared)
    if e >= 0 and choices.role[e] == PRIMARY:
        at = put_ratio(data, at, row, rows, extensions)
        if shared.xa:
            at = put_secondary(data, at, r, bases, traced, shared)
    if e >= 0 and shared.cs != NO_CS:
        at = put_cs(data, at, e, bases, shared.genome.packed, choices.strand[e], extensions, shared.cs == LONG_CS)
    return at


def context_of(aligned: ReadBatch, reference: Reference, parameters: AlignParameters) -> TagContext:
    """Return the context of tags. aligned: the reads as aligned."""
    names, options = contig_names(reference.names), parameters.records
    genome, longest = Genome(reference.packed, reference.contig_offsets), int(np.diff(names.offsets).max())
    form, is_long = CS_FORMS.index(options.cs), are_long(aligned, parameters)
    return TagContext(genome, names, longest, form, options.eqx, not options.secondary_records, is_long)
