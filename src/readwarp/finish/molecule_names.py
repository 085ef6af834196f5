"""Names of molecules, written into the field MI of the records of their templates."""

import numpy as np

from readwarp.compiler.jit import kernel, scalar
from readwarp.finish import signatures
from readwarp.finish.molecules import Molecules
from readwarp.finish.signatures import KIND, LEFTMOST, LIBRARY, ORIENTATION, PAIR, PLACE, SKIP, STRAND, word_at
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.layout import CONTIG, TEXT, field_stop, int32_at, qualities_of, uint16_at
from readwarp.formats.alignments.tag_bytes import put_tag
from readwarp.formats.common.text import put_bytes, put_copy, put_next, put_number
from readwarp.ragged import empty, replace

LONGEST = 80  # bytes of the field MI without its UMI: at most five numbers of 11 letters, and 15 others
COLON, SLASH, A, ONE, F, R = b":/A1FR"
MI = int.from_bytes(b"MI", "little")
ORIENTATIONS = np.frombuffer(b"FFRRFRRF", np.uint8)


def with_molecules(records: Encoded, rows: slice, molecules: Molecules, is_duplex: bool) -> Encoded:
    """Return these rows of the records without signatures, with the tag MI of their molecules."""
    number = rows.stop - rows.start
    size = int(records.offsets[rows.stop] - records.offsets[rows.start]) - SKIP * number
    longest = LONGEST + int(np.diff(molecules.umis.offsets).max(initial=0))
    out = empty(Encoded, {"records": number, "bytes": size + longest * number})
    written = write_molecules(records, rows.start, molecules, is_duplex, out)
    return replace(out, data=out.data[:written])


@kernel
def write_molecules(records, start, molecules, is_duplex, out):
    """Write records from row `start` on, without signatures, to out (Encoded, large enough), with their molecule's MI.

    An existing MI is dropped. Returns the bytes written.
    """
    data, offsets = records
    umis, seen = molecules.umis, molecules.nodes.record
    to = np.int64(0)
    out.offsets[0] = 0
    for i in range(out.offsets.size - 1):
        row, begin = start + i, to
        at, stop = offsets[row], offsets[row + 1]
        old, rest = find_molecule(data, at + SKIP, stop)
        to = put_copy(data, at + SKIP, old, out.data, to)
        to = put_copy(data, rest, stop, out.data, to)
        node = molecules.node[row]
        if node >= 0:
            to = put_molecule(data, at, umis, seen[molecules.seed[node]], umis.strands[row], is_duplex, out.data, to)
        put_bytes(to - begin - 4, 4, out.data, begin)
        out.offsets[i + 1] = to
    return to


@scalar
def find_molecule(data, at, stop):
    """Return where the field MI of the record [at, stop) starts and stops; (stop, stop) without one."""
    field = qualities_of(data, at)[1]
    while field + 4 <= stop:
        end = min(stop, field_stop(data, field, stop))
        if uint16_at(data, field) == MI:
            return field, end
        field = end
    return stop, stop


@scalar
def put_molecule(data, at, umis, row, strand, is_duplex, out, to):
    """Put MI at out[to:]; return where it ends. row: a record with the molecule's seed UMI; strand: this template's."""
    to = put_ends(data, at, out, put_tag(out, to, MI, TEXT))
    if not is_duplex:
        out[to] = ONE + strand
        to += 1
    out[to] = COLON
    to = put_copy(umis.letters, umis.offsets[row], umis.offsets[row + 1], out, to + 1)
    if is_duplex:
        out[to], out[to + 1] = SLASH, A + strand
        to += 2
    out[to] = 0
    return to + 1


@scalar
def put_ends(data, at, out, to):
    """Put library, places and orientation of a template, from the signature at `at`, at out[to:]; return where they
    end.

    The signatures of both mates give the same text.
    """
    kind = word_at(data, at, KIND)
    contig, place = int32_at(data, at + SKIP + CONTIG), word_at(data, at, PLACE)
    mate_contig, mate_place = word_at(data, at, signatures.MATE_CONTIG), word_at(data, at, signatures.MATE_PLACE)
    to = put_number(word_at(data, at, LIBRARY), out, to)
    if kind & PAIR == 0:
        to = put_place(contig, place, out, to)
        out[to], out[to + 1] = COLON, R if kind & STRAND else F
        return to + 2
    if kind & LEFTMOST:
        to = put_place(mate_contig, mate_place, out, put_place(contig, place, out, to))
    else:
        to = put_place(contig, place, out, put_place(mate_contig, mate_place, out, to))
    letters = 2 * (kind // ORIENTATION & 3)
    out[to] = COLON
    return put_copy(ORIENTATIONS, letters, letters + 2, out, to + 1)


@scalar
def put_place(contig, place, out, at):
    """Put `:contig:place` at out[at:]; return where it ends."""
    return put_next(COLON, place, out, put_next(COLON, contig, out, at))
