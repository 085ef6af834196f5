"""Records found in a region, as AlignedReads, and the samples to which they belong."""

from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from readwarp.formats.alignments import decode_kernels as kernels
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.alignments.decode_kernels import UNWANTED, DecodedRecords, Wanted
from readwarp.formats.alignments.layout import CONTIG, POSITION, values_at
from readwarp.ragged import concatenate, empty, offsets_of, replace
from readwarp.rules.hashes import hash_of


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
    kernels.decode(data, places, reads)
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
