"""The index: what it holds in memory, and its one memory-mapped file."""

from dataclasses import dataclass

from numpy import ndarray

from readwarp.config import SeedParameters


@dataclass(frozen=True, slots=True)
class Reference:
    """Contigs one behind the other; a reference position counts from the first base of the first contig."""

    names: tuple[str, ...]
    contig_offsets: ndarray  # int64 [contigs + 1]
    md5: tuple[str, ...]  # of each contig, as in @SQ M5
    packed: ndarray  # uint8, two bases a byte, low nibble first (readwarp.index.bases)


@dataclass(frozen=True, slots=True)
class Index:
    """Positions of the reference's syncmers, grouped by bucket (upper bits of the hash), sorted by tag and position."""

    reference: Reference
    parameters: SeedParameters
    bucket_starts: ndarray  # uint32 [buckets + 1]
    tags: ndarray  # uint16 [entries]: 15 more bits of the hash << 1 | strand of the canonical k-mer
    positions: ndarray  # uint32 [entries], first base of the k-mer
