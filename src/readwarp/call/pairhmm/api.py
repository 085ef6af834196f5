"""readwarp.pair_hmm: how likely reads are, given haplotypes, from Python."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.call.pairhmm import ReadRows
from readwarp.call.pairhmm.penalties import gap_penalties
from readwarp.call.pairhmm.scalar import UNKNOWN
from readwarp.device.backend import Backend, choose
from readwarp.errors import UsageError

Sequences = str | bytes | ndarray | Sequence[str | bytes | ndarray]
Phreds = int | ndarray | Sequence[int] | Sequence[ndarray] | Sequence[Sequence[int]]
HIGHEST = 93  # Phred, the highest that FASTQ can write
FORBIDDEN = 255


def pair_hmm(
    reads: Sequences,
    qualities: Phreds,
    haplotypes: Sequences,
    *,
    gap_open: Phreds | None = None,
    gap_extend: Phreds | None = None,
    pairs: Any = None,
    threads: int = 1,
    device: str = "cpu",
) -> ndarray:
    """log10 of the probability that each read was sequenced from each haplotype, over all their alignments.

    Reads and haplotypes are str or bytes (IUPAC letters; case does not matter, all but A C G T U are unknown), or uint8
    arrays of codes, 0-3 for A C G T and 4 for unknown; one of them or a list. qualities, gap_open, gap_extend: Phred
    0-93, one number for all bases, or for each read an array (of a single read: the array). A gap's Phreds are those of
    the base before it; without them they follow from the repeats of each read (`call.pairhmm.penalties`). The
    recurrence is in `readwarp.call.pairhmm`. device: as --device; auto, cpu or cuda. threads: of the CPU.

    Returns float64 [reads, haplotypes]; with `pairs` (indices of reads and of haplotypes, two sequences of equal
    length) float64 [pairs].

    Raises UsageError for haplotypes without bases, letters that are not IUPAC, Phreds that do not fit their reads,
    pairs of what is not there; DeviceError for a device that cannot be used.
    """
    rows = _rows(_encoded(reads, "read"), qualities, gap_open, gap_extend)
    targets = _encoded(haplotypes, "haplotype")
    for number, target in enumerate(targets):
        if target.size == 0:
            raise UsageError(f"haplotype {number + 1} has no bases")
    if threads < 1:
        raise UsageError(f"threads {threads}: at least 1")
    read, haplotype = _pairs(pairs, len(rows), len(targets))
    bases, offsets = _joined(targets)
    values = _computed(choose(device), threads, rows, bases, offsets, read, haplotype)
    return values if pairs is not None else values.reshape(len(rows), len(targets))


def _computed(
    backend: Backend, threads: int, rows: ReadRows, bases: ndarray, offsets: ndarray, read: ndarray, haplotype: ndarray
) -> ndarray:
    step = backend.step("readwarp.call.pairhmm")
    if threads == 1 or backend.name != "cpu" or read.size < 2:
        return step.log_likelihoods(rows, bases, offsets, read, haplotype)[0]
    order = np.argsort(read, kind="stable")
    parts = [part for part in np.array_split(order, min(threads, read.size)) if part.size]
    values = np.empty(read.size, np.float64)
    with ThreadPoolExecutor(threads) as pool:
        found = pool.map(lambda part: step.log_likelihoods(rows, bases, offsets, read[part], haplotype[part])[0], parts)
        for part, some in zip(parts, found, strict=True):
            values[part] = some
    return values


def _encoded(sequences: Sequences, name: str) -> list[ndarray]:
    """Each sequence as codes 0-4."""
    single = isinstance(sequences, str | bytes) or getattr(sequences, "ndim", 0) == 1
    several: Any = [sequences] if single else sequences
    encoded = []
    for number, sequence in enumerate(several):
        if isinstance(sequence, str | bytes | bytearray):
            text = sequence.encode() if isinstance(sequence, str) else bytes(sequence)
            codes = LETTERS[np.frombuffer(text, np.uint8)]
        else:
            given = np.asarray(sequence)
            if given.ndim != 1 or (given.size and given.dtype.kind not in "ui"):
                raise UsageError(f"{name} {number + 1} is neither text nor an array of codes")
            codes = np.where((given < 0) | (given > UNKNOWN), FORBIDDEN, given).astype(np.uint8)
        if (codes == FORBIDDEN).any():
            place = int(np.argmax(codes == FORBIDDEN))
            raise UsageError(f"{name} {number + 1} has something else than a base at position {place + 1}")
        encoded.append(codes)
    return encoded


def _letters() -> ndarray:
    table = np.full(256, FORBIDDEN, np.uint8)
    for letters, codes in (("ACGTU", (0, 1, 2, 3, 3)), ("RYSWKMBDHVN", (UNKNOWN,) * 11)):
        for letter, code in zip(letters, codes, strict=True):
            table[[ord(letter), ord(letter.lower())]] = code
    return table


LETTERS = _letters()


def _joined(sequences: list[ndarray]) -> tuple[ndarray, ndarray]:
    offsets = np.cumsum([0, *(s.size for s in sequences)]).astype(np.int64)
    return np.concatenate([*sequences, np.empty(0, np.uint8)]), offsets


def _rows(reads: list[ndarray], qualities: Phreds, gap_open: Phreds | None, gap_extend: Phreds | None) -> ReadRows:
    bases, offsets = _joined(reads)
    by_context = gap_penalties(bases, offsets) if gap_open is None or gap_extend is None else (bases, bases)
    opening = by_context[0] if gap_open is None else _phreds(gap_open, offsets, "gap_open")
    extension = by_context[1] if gap_extend is None else _phreds(gap_extend, offsets, "gap_extend")
    return ReadRows(bases, _phreds(qualities, offsets, "qualities"), opening, extension, offsets)


def _phreds(given: Any, offsets: ndarray, name: str) -> ndarray:
    """One Phred for each base of all reads."""
    lengths = np.diff(offsets).tolist()
    if np.isscalar(given) or getattr(given, "ndim", 1) == 0:
        values = [np.full(length, given) for length in lengths]
    elif len(lengths) == 1 and (len(given) == 0 or np.isscalar(given[0])):
        values = [np.asarray(given)]
    else:
        values = [np.asarray(each) for each in given]
    if len(values) != len(lengths):
        raise UsageError(f"{name} of {len(values)} reads, but {len(lengths)} reads")
    for read, (value, length) in enumerate(zip(values, lengths, strict=True)):
        if value.shape != (length,):
            raise UsageError(f"read {read + 1}: {value.size} {name}, but {length} bases")
    joined = np.concatenate([*values, np.empty(0, np.uint8)])
    if joined.size and (joined.dtype.kind not in "uif" or joined.min() < 0 or joined.max() > HIGHEST):
        raise UsageError(f"{name}: Phreds must lie between 0 and {HIGHEST}")
    phreds = joined.astype(np.uint8)
    if (phreds != joined).any():
        raise UsageError(f"{name}: Phreds must be whole numbers")
    return phreds


def _pairs(pairs: Any, reads: int, haplotypes: int) -> tuple[ndarray, ndarray]:
    if pairs is None:
        read, haplotype = np.indices((reads, haplotypes))
        return read.ravel().astype(np.int32), haplotype.ravel().astype(np.int32)
    if len(pairs) != 2 or len(pairs[0]) != len(pairs[1]):
        raise UsageError("pairs: indices of reads and as many of haplotypes")
    read, haplotype = (np.asarray(side, np.int64) for side in pairs)
    for name, indices, most in (("read", read, reads), ("haplotype", haplotype, haplotypes)):
        if indices.ndim != 1 or (indices.size and not 0 <= indices.min() <= indices.max() < most):
            raise UsageError(f"pairs: there are {most} {name}s, counted from 0")
    return read.astype(np.int32), haplotype.astype(np.int32)
