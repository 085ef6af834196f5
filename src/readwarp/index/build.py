"""Build an index: pack contigs as they are read, divide their seeds, then sort these part by part.

    read_reference    the file -> packed bases, names, MD5
    partition_seeds   every syncmer -> the partition of its bucket, for all partitions or for a range of them
    sort_round        each partition -> its bucket starts, tags and positions, which enter the index at once

Peak memory per base, for k - s = 4: 0.5 bytes (packed) and, all partitions at once, 1.7 (entries).
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from hashlib import md5
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from readwarp.config import SeedParameters
from readwarp.errors import InputError
from readwarp.formats.common.fasta import read_pieces
from readwarp.formats.common.index_file import MAX_BASES, dtypes_of, is_index
from readwarp.index.partition import PartitionRound, partition_seeds
from readwarp.index.plan import BuildPlan, plan_build
from readwarp.index.reference import Reference
from readwarp.index.sort import sort_round
from readwarp.index.store import ReferenceIndexFile, SeedArrays
from readwarp.rules.bases import pack
from readwarp.stream.plan import FREE_SHARE
from readwarp.system.ahead import read_ahead
from readwarp.system.machine import free_memory

GROWTH = 1 << 26  # bytes by which packed bases grow if their number is unknown
READ_AHEAD = 8  # pieces of contigs


def read_reference(path: str | Path) -> Reference:
    """Read the contigs of a file (see `formats.common.fasta`), packed; contigs of an index come unchanged.

    Raises InputError, also for more than MAX_BASES.
    """
    if is_index(path):
        file = ReferenceIndexFile(Path(path))
        file.check(["packed"])
        return file.reference()
    names, digests = list[str](), list[Any]()
    ends = [0]
    packed = np.zeros(1 + (Path(path).stat().st_size // 2 if Path(path).exists() else 0), np.uint8)
    with closing(read_ahead(read_pieces(path), READ_AHEAD)) as pieces:
        for name, letters, is_first in pieces:
            if is_first:
                names.append(name)
                digests.append(md5(usedforsecurity=False))
                ends.append(ends[-1])
            if ends[-1] + len(letters) > MAX_BASES:
                raise InputError(path, f"more than {MAX_BASES:,} bases in all, the maximum of an index", name)
            if (ends[-1] + len(letters)) // 2 >= packed.size:  # compressed input
                packed.resize(packed.size + max(GROWTH, len(letters)), refcheck=False)  # moves pages, copies nothing
            digests[-1].update(letters)
            pack(np.frombuffer(letters, np.uint8), ends[-1], packed)
            ends[-1] += len(letters)
    packed.resize((ends[-1] + 1) // 2, refcheck=False)
    digests = [digest.hexdigest() for digest in digests]
    return Reference(tuple(names), read_only(np.array(ends, np.int64)), tuple(digests), read_only(packed))


def read_only(array: np.ndarray) -> np.ndarray:
    """Return the array, read-only like those of a mapped index."""
    array.flags.writeable = False
    return array


def build(
    path: str | Path, parameters: SeedParameters, threads: int, memory: int | None = None, in_memory: bool = False
) -> tuple[Reference, SeedArrays]:
    """Read the reference of a file, and make its seeds as they are consumed.

    memory: bytes of the whole process; None: the free memory less a margin. in_memory: the seeds stay there too. Raises
    InputError and MemoryBudgetError.
    """
    budget = memory or int(FREE_SHARE * free_memory())
    reference = read_reference(path)
    bases = int(reference.contig_offsets[-1])
    return reference, index_reference(
        reference, plan_build(bases, parameters, threads, budget, bool(memory), in_memory)
    )


def index_reference(reference: Reference, plan: BuildPlan) -> SeedArrays:
    """Make the seeds of a reference. The first round of partitions, which counts them all, is made at once."""
    rounds = partition_seeds(reference, plan)
    first = next(rounds)
    sizes = {"bucket_starts": (1 << plan.form.bucket_bits) + 1, "tags": first.total, "positions": first.total}
    dtypes = dtypes_of(int(reference.contig_offsets[-1]), first.total)
    return SeedArrays(sizes, dtypes, _parts(chain([first], rounds), plan, dtypes))


def _parts(
    rounds: Iterable[PartitionRound], plan: BuildPlan, dtypes: dict[str, type]
) -> Iterator[dict[str, np.ndarray]]:
    row = 0
    for part in rounds:
        for seeds in sort_round(part, plan, row, dtypes):
            yield seeds._asdict()
            row += seeds.positions.size
    yield {"bucket_starts": np.array([row], dtypes["bucket_starts"])}
