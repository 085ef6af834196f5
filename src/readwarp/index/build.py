"""Building an index: contigs are packed as they are read; three passes follow.

    count     the syncmers of each stretch and partition (upper bits of the bucket), stretches in parallel
    scatter   the same syncmers, each as one uint64, to their partitions, stretches in parallel
    sort      each partition, and split it into bucket starts, tags and positions, partitions in parallel

An entry is (bucket within its partition) << 48 | tag << 33 | strand << 32 | position, so the order of these numbers is
the order of the index, for any number of threads. Syncmers are computed twice, which is cheaper than storing them.
Peak memory per base, for k - s = 4: 2.5 bytes while reading, 0.5 (packed) + 1.6 (entries) + 1.45 (index) after it.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from hashlib import md5
from pathlib import Path
from typing import NamedTuple

import numpy as np

from readwarp.config import SeedParameters
from readwarp.device.jit import kernel
from readwarp.errors import InputError
from readwarp.formats.common.fasta import read_contigs
from readwarp.formats.common.index_file import MAX_BASES, MAX_CONTIG, is_index
from readwarp.index.reference import Reference
from readwarp.index.store import IndexFile
from readwarp.index.syncmers import Shape, Syncmers, bucket_of, scratch_of, sketch, tag_of
from readwarp.rules.bases import CODES, pack, unpack

STRETCH = 1 << 21  # bases per task
PIECE = 1 << 13  # bases sketched at once, whose scratch stays in the cache
MIN_BUCKET_BITS = 8  # index_file.MIN_BUCKETS
MAX_INNER_BITS = 16  # bucket bits within a partition
CODE_TABLE = CODES.tobytes()


class Form(NamedTuple):
    """The shape of the seeds of an index, and how they are divided."""

    shape: Shape
    bucket_bits: int
    inner_bits: int  # the lower ones of them, within a partition


def read_reference(path: str | Path) -> Reference:
    """The contigs of a file (see `formats.common.fasta`), packed; those of an index as they are.

    Raises InputError, also for more than MAX_BASES, or a contig of more than MAX_CONTIG.
    """
    if is_index(path):
        file = IndexFile(Path(path))
        file.check(["packed"])
        return file.reference()
    names, digests, ends = [], [], [0]
    packed = np.zeros(1 + Path(path).stat().st_size // 2 if Path(path).exists() else 1, np.uint8)
    for name, letters in read_contigs(path):
        names.append(name)
        digests.append(md5(letters, usedforsecurity=False).hexdigest())
        ends.append(ends[-1] + len(letters))
        if len(letters) > MAX_CONTIG:
            raise InputError(path, f"more than {MAX_CONTIG:,} bases, the maximum of a contig in SAM", name)
        if ends[-1] > MAX_BASES:
            raise InputError(path, f"more than {MAX_BASES:,} bases in all, the maximum of an index", name)
        if ends[-1] // 2 >= packed.size:  # compressed input
            packed = np.concatenate([packed, np.zeros(max(packed.size, len(letters)), np.uint8)])
        pack(np.frombuffer(letters.translate(CODE_TABLE), np.uint8), ends[-2], packed)
    used = packed[: (ends[-1] + 1) // 2].copy()
    return Reference(tuple(names), read_only(np.array(ends, np.int64)), tuple(digests), read_only(used))


def index_reference(
    reference: Reference, parameters: SeedParameters, threads: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """bucket_starts, tags and positions of an `Index`: fewer than 2^32 of each, as `read_reference` checks."""
    bucket_bits = bucket_bits_for(int(reference.contig_offsets[-1]))
    partition_bits = max(bucket_bits - MAX_INNER_BITS, min(bucket_bits, 8))
    form = Form(Shape.of(parameters), bucket_bits, bucket_bits - partition_bits)
    with ThreadPoolExecutor(threads) as pool:
        entries, borders = _partition(reference, form, pool)
        bucket_starts = np.empty((1 << bucket_bits) + 1, np.uint32)
        tags, positions = np.empty(entries.size, np.uint16), np.empty(entries.size, np.uint32)

        def finish(partition: int) -> None:
            first, last = borders[partition], borders[partition + 1]
            entries[first:last].sort()
            first_bucket = partition << form.inner_bits
            split(entries, first, last, first_bucket, form.inner_bits, bucket_starts, tags, positions)

        _run(pool, finish, range(1 << partition_bits))
    bucket_starts[-1] = entries.size
    return read_only(bucket_starts), read_only(tags), read_only(positions)


def bucket_bits_for(bases: int) -> int:
    """Bits for the maximum number of buckets that need at most a quarter of a byte per base; for 256 at least."""
    return max(MIN_BUCKET_BITS, (bases // 16).bit_length() - 1)


def read_only(array: np.ndarray) -> np.ndarray:
    """The array, read-only like those of a mapped index."""
    array.flags.writeable = False
    return array


def _partition(reference: Reference, form: Form, pool: ThreadPoolExecutor) -> tuple[np.ndarray, np.ndarray]:
    """Unsorted entries, partition by partition, and the borders of the partitions (int64 [partitions + 1])."""
    packed, offsets = reference.packed, reference.contig_offsets
    starts = np.arange(0, offsets[-1], STRETCH)
    partitions = 1 << (form.bucket_bits - form.inner_bits)
    slots = np.zeros((starts.size, partitions), np.int64)

    def scan(entries: np.ndarray, stretch: int) -> None:
        start = int(starts[stretch])
        stop = min(start + STRETCH, int(offsets[-1]))
        scratch = scratch_of(PIECE + form.shape.k)
        scan_stretch(packed, offsets, start, stop, form, scratch, slots[stretch], entries)

    _run(pool, lambda stretch: scan(np.empty(0, np.uint64), stretch), range(starts.size))
    ends = np.cumsum(slots.T.ravel())  # partition by partition, and in each stretch by stretch
    slots[:] = (ends - slots.T.ravel()).reshape(partitions, -1).T
    borders = np.concatenate([[0], ends.reshape(partitions, -1)[:, -1]])
    entries = np.empty(borders[-1], np.uint64)
    _run(pool, lambda stretch: scan(entries, stretch), range(starts.size))
    return entries, borders


def _run(pool: ThreadPoolExecutor, task: Callable[[int], None], numbers: Iterable[int]) -> None:
    for _ in pool.map(task, numbers):
        pass


@kernel
def scan_stretch(packed, contig_offsets, start, stop, form, scratch, slots, entries):
    """Syncmers that start in [start, stop), within contigs: counted in slots, and written there if entries has room."""
    shape, bucket_bits, inner_bits = form
    bases, room = np.empty(PIECE + shape.k, np.uint8), PIECE // (shape.t + 1) + 2
    found = Syncmers(np.empty(room, np.uint64), np.empty(room, np.int32), np.empty(room, np.uint8))
    hashes, positions, strands = found
    inner_mask = (1 << inner_bits) - 1
    contig = np.searchsorted(contig_offsets, start, "right") - 1
    while start < stop:
        contig_stop = contig_offsets[contig + 1]
        piece_stop = min(start + PIECE, stop, contig_stop)
        length = min(piece_stop + shape.k - 1, contig_stop) - start
        unpack(packed, start, start + length, bases)
        for i in range(sketch(bases, 0, length, shape, scratch, found, 0)):
            bucket = bucket_of(hashes[i], bucket_bits)
            partition = bucket >> inner_bits
            if entries.size:
                tag = np.uint64(tag_of(hashes[i], bucket_bits)) << np.uint64(1) | np.uint64(strands[i])
                inner = np.uint64(bucket & inner_mask) << np.uint64(48)
                entries[slots[partition]] = inner | tag << np.uint64(32) | np.uint64(start + positions[i])
            slots[partition] += 1
        contig += piece_stop == contig_stop
        start = piece_stop


@kernel
def split(entries, first, last, first_bucket, inner_bits, bucket_starts, tags, positions):
    """Sorted entries [first, last) of one partition -> their bucket starts, tags and positions."""
    row = first
    for inner in range(1 << inner_bits):
        bucket_starts[first_bucket + inner] = row
        while row < last and entries[row] >> np.uint64(48) == inner:
            tags[row] = (entries[row] >> np.uint64(32)) & np.uint64(0xFFFF)
            positions[row] = entries[row] & np.uint64(0xFFFFFFFF)
            row += 1
