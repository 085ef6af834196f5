"""Building an index: contigs are packed as they are read, then three passes over stretches of the reference.

    count     syncmers per stretch and partition (the upper bits of the bucket), stretches in parallel
    scatter   the same syncmers once more, each as one uint64 to its stretch's place in its partition, in parallel
    sort      each partition, which is then split into bucket starts, tags and positions, partitions in parallel

An entry is (bucket within its partition) << 48 | tag << 33 | strand << 32 | position, so the plain order of numbers is
the order of the index, whatever the number of threads. Syncmers are computed twice, which is cheaper than keeping them.
Peak memory per base, for k - s = 4: 2.5 bytes while reading, 0.5 (packed) + 1.6 (entries) + 1.45 (index) after it.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from hashlib import md5
from pathlib import Path

import numpy as np

from readwarp.config import SeedParameters
from readwarp.device.jit import kernel
from readwarp.errors import InputError
from readwarp.formats.common.fasta import read_contigs
from readwarp.index.reference import Reference
from readwarp.index.syncmers import bucket_of, sketch, sketch_scratch, tag_of
from readwarp.rules.bases import CODES, pack, unpack

STRETCH = 1 << 21  # bases that one task works on
PIECE = 1 << 13  # bases sketched at once: its scratch stays in the cache
MOST_BASES = (1 << 32) - 1
LEAST_BUCKET_BITS = 8
INNER_BITS = 16  # most bucket bits within a partition
CODE_TABLE = CODES.tobytes()


def read_reference(path: str | Path) -> Reference:
    """The contigs of a file (see `formats.common.fasta`), packed. Raises InputError; also beyond 2^32 - 1 bases."""
    names, digests, ends = [], [], [0]
    packed = np.zeros(1 + Path(path).stat().st_size // 2 if Path(path).exists() else 1, np.uint8)
    for name, letters in read_contigs(path):
        names.append(name)
        digests.append(md5(letters, usedforsecurity=False).hexdigest())
        ends.append(ends[-1] + len(letters))
        if ends[-1] > MOST_BASES:
            raise InputError(path, f"more than {MOST_BASES} bases in all, the most an index can hold", name)
        if ends[-1] // 2 >= packed.size:  # compressed input
            packed = np.concatenate([packed, np.zeros(max(packed.size, len(letters)), np.uint8)])
        pack(np.frombuffer(letters.translate(CODE_TABLE), np.uint8), ends[-2], packed)
    used = packed[: (ends[-1] + 1) // 2].copy()
    return Reference(tuple(names), read_only(np.array(ends, np.int64)), tuple(digests), read_only(used))


def index_reference(
    reference: Reference, parameters: SeedParameters, threads: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """bucket_starts, tags and positions of an `Index`. At most 2^32 of each, which `read_reference` sees to."""
    bucket_bits = bucket_bits_for(int(reference.contig_offsets[-1]))
    partition_bits = max(bucket_bits - INNER_BITS, min(bucket_bits, 8))
    with ThreadPoolExecutor(threads) as pool:
        entries, borders = _partitioned(reference, parameters, bucket_bits, partition_bits, pool)
        bucket_starts = np.empty((1 << bucket_bits) + 1, np.uint32)
        tags, positions = np.empty(entries.size, np.uint16), np.empty(entries.size, np.uint32)
        inner_bits = bucket_bits - partition_bits

        def finish(partition: int) -> None:
            first, last = borders[partition], borders[partition + 1]
            entries[first:last].sort()
            _split(entries, first, last, partition << inner_bits, inner_bits, bucket_starts, tags, positions)

        _run(pool, finish, range(1 << partition_bits))
    bucket_starts[-1] = entries.size
    return read_only(bucket_starts), read_only(tags), read_only(positions)


def bucket_bits_for(bases: int) -> int:
    """The largest power of two of buckets that takes at most a quarter of a byte per base (256 at least)."""
    return max(LEAST_BUCKET_BITS, (bases // 16).bit_length() - 1)


def read_only(array: np.ndarray) -> np.ndarray:
    """Built and mapped indexes look alike to compiled kernels."""
    array.flags.writeable = False
    return array


def _partitioned(
    reference: Reference, parameters: SeedParameters, bucket_bits: int, partition_bits: int, pool: ThreadPoolExecutor
) -> tuple[np.ndarray, np.ndarray]:
    """Unsorted entries, partition by partition, and the partitions' borders (int64 [partitions + 1])."""
    offsets = reference.contig_offsets
    starts = np.arange(0, offsets[-1], STRETCH)
    partitions = 1 << partition_bits
    slots = np.zeros((starts.size, partitions), np.int64)

    def pass_over(entries: np.ndarray, stretch: int) -> None:
        start = int(starts[stretch])
        contig = int(np.searchsorted(offsets, start, "right")) - 1
        stop = min(start + STRETCH, int(offsets[-1]))
        p = parameters
        _pass_over(
            reference.packed, offsets, contig, start, stop, p.k, p.s, p.t, bucket_bits, partition_bits,
            sketch_scratch(PIECE + p.k), slots[stretch], entries,
        )  # fmt: skip

    _run(pool, lambda stretch: pass_over(np.empty(0, np.uint64), stretch), range(starts.size))
    ends = np.cumsum(slots.T.ravel())  # partition by partition, within it stretch by stretch
    slots[:] = (ends - slots.T.ravel()).reshape(partitions, -1).T
    borders = np.concatenate([[0], ends.reshape(partitions, -1)[:, -1]])
    entries = np.empty(borders[-1], np.uint64)
    _run(pool, lambda stretch: pass_over(entries, stretch), range(starts.size))
    return entries, borders


def _run(pool: ThreadPoolExecutor, task: Callable[[int], None], numbers: Iterable[int]) -> None:
    for _ in pool.map(task, numbers):
        pass


@kernel
def _pass_over(
    packed, contig_offsets, contig, start, stop, k, s, t, bucket_bits, partition_bits, scratch, slots, entries
):
    """Syncmers that start in [start, stop), contigs apart: counted in slots, and written there if entries has room."""
    bases = np.empty(PIECE + k, np.uint8)
    room = PIECE // (t + 1) + 2
    hashes, positions, strands = np.empty(room, np.uint64), np.empty(room, np.int32), np.empty(room, np.uint8)
    inner_mask = (1 << (bucket_bits - partition_bits)) - 1
    while start < stop:
        contig_stop = contig_offsets[contig + 1]
        piece_stop = min(start + PIECE, stop, contig_stop)
        length = min(piece_stop + k - 1, contig_stop) - start
        unpack(packed, start, start + length, bases)
        found = sketch(bases, 0, length, k, s, t, scratch, hashes, positions, strands, 0)
        for i in range(found):
            bucket = bucket_of(hashes[i], bucket_bits)
            partition = bucket >> (bucket_bits - partition_bits)
            if entries.size:
                tag = np.uint64(tag_of(hashes[i], bucket_bits)) << np.uint64(1) | np.uint64(strands[i])
                inner = np.uint64(bucket & inner_mask) << np.uint64(48)
                entries[slots[partition]] = inner | tag << np.uint64(32) | np.uint64(start + positions[i])
            slots[partition] += 1
        contig += piece_stop == contig_stop
        start = piece_stop


@kernel
def _split(entries, first, last, first_bucket, inner_bits, bucket_starts, tags, positions):
    """Sorted entries [first, last) of one partition -> their bucket starts, tags and positions."""
    row = first
    for inner in range(1 << inner_bits):
        bucket_starts[first_bucket + inner] = row
        while row < last and entries[row] >> np.uint64(48) == inner:
            tags[row] = (entries[row] >> np.uint64(32)) & np.uint64(0xFFFF)
            positions[row] = entries[row] & np.uint64(0xFFFFFFFF)
            row += 1
