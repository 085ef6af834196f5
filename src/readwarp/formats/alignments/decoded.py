"""Records found in a region, as AlignedReads, and the samples to which they belong."""

from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from readwarp.compiler.jit import kernel, scalar
from readwarp.formats.alignments import layout
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.alignments.layout import CONTIG, POSITION, values_at
from readwarp.formats.alignments.scan import UNWANTED, DecodedRecords, Wanted
from readwarp.formats.common.text import put_copy
from readwarp.ragged import concatenate, empty, offsets_of, replace
from readwarp.rules.flags import MATE_REVERSE, MATE_UNMAPPED, PAIRED, REVERSE
from readwarp.rules.hashes import hash_of

MATE_CIGAR = ord("M"), ord("C")
CLIPS, NOT_ON_REFERENCE = (ord("S"), ord("H")), (ord("I"), ord("P"))  # operations of MC


def decode(data: np.ndarray, found: DecodedRecords) -> AlignedReads:
    """Decode the records found, of no region yet."""
    known = found.samples >= 0
    places = found.places[known]
    reads = empty(
        AlignedReads,
        {},
        contig=-1,
        start=0,
        stop=0,
        sample=found.samples[known].astype(np.uint16),
        reference_stop=found.stops[known],
        cigar_offsets=offsets_of(found.operations[known]),
        read_offsets=offsets_of(found.lengths[known]),
        unassigned=values_at(data, found.places[~known] + POSITION, "<i4").astype(np.int64),
    )
    fill_reads(data, places, reads)
    return reads


class RecordContigs(NamedTuple):
    """Contigs of records, as numbers in the file's header."""

    reads: Annotated[np.ndarray, "int32 [reads]"]
    unassigned: Annotated[np.ndarray, "int32 [unassigned]"]


def contigs_of(data: np.ndarray, found: DecodedRecords, wanted: Wanted) -> RecordContigs:
    known = found.samples >= 0
    if wanted.lengths.size == 1:
        return RecordContigs(*(np.full(np.count_nonzero(rows), wanted.contig, np.int32) for rows in (known, ~known)))
    return RecordContigs(*(values_at(data, found.places[rows] + CONTIG, "<i4") for rows in (known, ~known)))


def place_reads(reads: AlignedReads, by: np.ndarray, unassigned_by: np.ndarray) -> AlignedReads:
    """Shift reads by numbers of bases (int64 [reads], [unassigned])."""
    return replace(
        reads,
        position=reads.position + by,
        reference_stop=reads.reference_stop + by,
        fragment_end=np.where(reads.fragment_end >= 0, reads.fragment_end + by, reads.fragment_end),
        unassigned=reads.unassigned + unassigned_by,
    )


def join_parts(parts: list[AlignedReads], contig: int, start: int, stop: int) -> AlignedReads:
    """Join the parts of a region, if there are any."""
    parts = parts or [decode(np.empty(0, np.uint8), empty(DecodedRecords, {"reads": 0}))]
    unassigned = np.concatenate([part.unassigned for part in parts])
    return replace(concatenate(parts, "reads"), contig=contig, start=start, stop=stop, unassigned=unassigned)


def read_groups_of(header: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Map sample names to their read groups."""
    out: dict[str, tuple[str, ...]] = {}
    for group in header.get("RG", []):
        if "SM" in group:
            out[group["SM"]] = (*out.get(group["SM"], ()), group["ID"])
    return out


@lru_cache
def group_table(
    samples: tuple[tuple[str, ...], ...], wanted: tuple[tuple[str, ...], ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return ascending hashes of the read groups of all `samples`, and the index of each among the `wanted` samples."""
    numbers = {group: UNWANTED for groups in samples for group in groups} if wanted else {}
    numbers.update({group: number for number, groups in enumerate(wanted) for group in groups})
    rows = sorted((_hash(group), number) for group, number in numbers.items())
    return np.array([row[0] for row in rows], np.uint64), np.array([row[1] for row in rows], np.int16)


def _hash(text: str) -> int:
    raw = np.frombuffer(text.encode(), np.uint8)
    return int(hash_of(raw, 0, raw.size))


@kernel
def fill_reads(data, places, out):
    """Decode the records at these places into out (AlignedReads), whose offsets, samples and stops are known."""
    for i in range(places.size):
        unpack(data, places[i], out, i)
        out.mapping_quality[i] = data[places[i] + layout.MAPPING_QUALITY]
        length = out.read_offsets[i + 1] - out.read_offsets[i]
        out.shared[i, 0] = out.shared[i, 1] = 0 if out.flag[i] & REVERSE else length
        out.hidden[i, 0] = out.hidden[i, 1] = 0


@scalar
def unpack(data, at, out, i):
    """Unpack what all kinds of reads have of the record at `at` to row i of `out`, whose offsets are known."""
    out.position[i], out.flag[i] = layout.int32_at(data, at + layout.POSITION), layout.uint16_at(data, at + layout.FLAG)
    out.name_hash[i] = hash_of(data, at + layout.NAME, layout.stored_cigar_of(data, at)[0] - 1)
    out.fragment_end[i] = fragment_end_of(data, at)
    source, operations = layout.cigar_of(data, at)
    for j in range(operations):
        out.cigar[out.cigar_offsets[i] + j] = layout.uint32_at(data, source + 4 * j)
    bases, first = out.bases, out.read_offsets[i]
    source, length = layout.bases_of(data, at)
    for j in range(length // 2):  # unsigned indices: no test for negative ones
        byte = data[np.uint64(source + j)]
        bases[np.uint64(first + 2 * j)] = layout.BASES[byte >> 4]
        bases[np.uint64(first + 2 * j + 1)] = layout.BASES[byte & 15]
    if length & 1:
        bases[first + length - 1] = layout.BASES[data[source + length // 2] >> 4]
    put_copy(data, *layout.qualities_of(data, at), out.qualities, first)


@scalar
def fragment_end_of(data, at):
    """Return where the mate's 5' end bounds the fragment: its position on a reverse read, after it on a forward one; or
    -1.

    Only for mates on one contig and both strands that begin near enough to be read through. Clipped ends of the mate
    continue along the diagonal if MC tells them; without MC, position and TLEN are used.
    """
    flag, start = layout.uint16_at(data, at + layout.FLAG), layout.int32_at(data, at + layout.POSITION)
    mate, length = layout.int32_at(data, at + layout.MATE_POSITION), layout.int32_at(data, at + layout.LENGTH)
    is_forward = flag & REVERSE == 0  # the mate must be mapped, to the other strand
    is_pair = flag & (PAIRED | MATE_UNMAPPED) == PAIRED and is_forward == (flag & MATE_REVERSE != 0)
    contig, mate_contig = layout.int32_at(data, at + layout.CONTIG), layout.int32_at(data, at + layout.MATE_CONTIG)
    if not is_pair or mate_contig != contig or abs(mate - start) > length:
        return np.int64(-1)
    field, stop = layout.tag_of(data, at, layout.stop_of(data, at), MATE_CIGAR[0], MATE_CIGAR[1])
    if field == stop:
        return start + abs(layout.int32_at(data, at + layout.TEMPLATE_LENGTH)) if is_forward else mate
    number = span = leading = trailing = np.int64(0)
    for i in range(field, stop):
        digit = np.int64(data[i]) - 48
        if 0 <= digit <= 9:
            number = 10 * number + digit
            continue
        if data[i] in CLIPS:
            leading, trailing = (leading, trailing + number) if span else (leading + number, trailing)
        elif data[i] not in NOT_ON_REFERENCE:
            span += number
        number = np.int64(0)
    return mate + span + trailing if is_forward else max(np.int64(0), mate - leading)
