"""Provide readwarp.pair_hmm, which returns the likelihoods of reads given haplotypes."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.call.likelihoods.pairhmm import ReadRows
from readwarp.call.likelihoods.pairhmm.penalties import gap_penalties
from readwarp.call.likelihoods.pairhmm.scalar import UNKNOWN
from readwarp.compiler.prepare import prepare_once
from readwarp.device.arrays import check_places, is_foreign, is_on_card, on_card, on_host, ragged_of
from readwarp.device.backend import Backend, choose
from readwarp.errors import UsageError
from readwarp.pairwise.api import text_or_codes
from readwarp.python.sequences import NUCLEOTIDES, TEXT, fields_of, phreds_of, several
from readwarp.ragged import Ragged, offsets_of
from readwarp.rules.bases import CODES

Sequences = str | bytes | ndarray | Ragged | Iterable[Any]
Phreds = int | str | bytes | ndarray | Ragged | Sequence[int] | Sequence[str | bytes | ndarray | Sequence[int]]
MAX_PHRED = 93  # highest Phred that FASTQ can write
FORBIDDEN = 255
IUPAC = np.frombuffer(NUCLEOTIDES, np.uint8)
LETTERS = np.full(256, FORBIDDEN, np.uint8)  # code of each letter
LETTERS[IUPAC] = CODES[IUPAC]


def pair_hmm(
    reads: Sequences,
    qualities: Phreds | None,
    haplotypes: Sequences,
    *,
    gap_open: Phreds | None = None,
    gap_extend: Phreds | None = None,
    pairs: Any = None,
    threads: int = 1,
    device: str = "cpu",
    output: str = "host",
) -> Any:
    """Return log10 of the probability that each read was sequenced from each haplotype, over all their alignments.

    Reads and haplotypes are text (IUPAC letters; case does not matter; letters other than A C G T U are unknown),
    records of Biopython, dnaio or pysam, or uint8 arrays of codes, 0-3 for A C G T and 4 for unknown; one or a list.
    qualities, gap_open, gap_extend: Phred 0-93, one number for all bases, or for each read an array or text in Phred+33
    (for a single read: the array); qualities=None takes the records' own. A gap takes the Phreds of the base before it;
    by default they follow from the repeats of each read (`call.likelihoods.pairhmm.penalties`). The recurrence is in
    `readwarp.call.likelihoods.pairhmm`. device: auto, cpu or cuda, like --device. threads: CPU threads.

    Sequences of codes may also be a `Ragged`, with Phreds as one uint8 array for all bases or as a `Ragged` with the
    same offsets. These arrays may come from other libraries: on the host by DLPack, on a card (device="cuda") by the
    CUDA Array Interface. Only offsets and one sum per pair are copied from a card, and reads and haplotypes only if the
    host must compute a pair (its status is not OK, see `readwarp.call.likelihoods.pairhmm`). Reads on a card need
    gap_open and gap_extend, since repeats are found on the host.

    Returns float64 [reads, haplotypes]; with `pairs` (indices of reads and of haplotypes, two sequences of equal
    length) float64 [pairs]. output: host for a NumPy array, device for an array on the card.

    Raises UsageError for haplotypes without bases, letters that are not IUPAC, Phreds that do not match their reads,
    indices out of range, or arrays on a card without device="cuda"; DeviceError for an unusable device.
    """
    backend = choose(device)
    prepare_once("pair_hmm", backend.needed_by)
    check_places(output, backend.name == "cuda", reads, haplotypes, qualities, gap_open, gap_extend)
    if qualities is None:
        reads = list(several(reads, "reads"))
        qualities = _qualities_of(reads)
    rows = _rows(*_codes(reads, "read"), qualities, gap_open, gap_extend)
    bases, offsets = _codes(haplotypes, "haplotype")
    if (np.diff(offsets) == 0).any():
        raise UsageError(f"haplotype {int(np.argmin(np.diff(offsets))) + 1} has no bases")
    if threads < 1:
        raise UsageError(f"threads {threads}: must be at least 1")
    read, haplotype = _pairs(pairs, len(rows), offsets.size - 1)
    with backend.on():
        values = _compute(backend, threads, rows, (bases, offsets), (read, haplotype))
        values = values if pairs is not None else values.reshape(len(rows), offsets.size - 1)
        if output == "device":
            from readwarp.device.memory import resident

            return resident(values)
        return values


def _compute(
    backend: Backend, threads: int, rows: ReadRows, haplotypes: tuple[Any, ndarray], pairs: tuple[ndarray, ndarray]
) -> ndarray:
    step, (read, haplotype) = backend.step("readwarp.call.likelihoods.pairhmm"), pairs
    values = np.empty(read.size)

    def fill(part: ndarray) -> None:
        values[part] = step.log_likelihoods(rows, *haplotypes, read[part], haplotype[part])[0]

    number = min(threads, read.size) if backend.name == "cpu" else 1
    first, *others = np.array_split(np.argsort(read, kind="stable"), max(1, number))
    if not others:
        fill(first)
    else:
        with ThreadPoolExecutor(number) as pool:
            list(pool.map(fill, (first, *others)))
    return values


def _codes(sequences: Sequences, name: str) -> tuple[Any, ndarray]:
    """Return the codes (0-4) and offsets of all sequences; codes on a card stay there."""
    ragged = ragged_of(sequences, name)
    if ragged is None:
        encoded = _encode(sequences, name)
        return np.concatenate([*encoded, np.empty(0, np.uint8)]), offsets_of([s.size for s in encoded])
    largest = _find_highest(ragged.values)
    if largest > UNKNOWN:
        raise UsageError(f"{name}s have a code, {largest}, that is not a base")
    return ragged.values, ragged.offsets


def _find_highest(values: Any) -> int:
    """Return the largest of uint8 values on the host or a card; -1 if there are none."""
    if not is_on_card(values):
        return int(values.max(initial=0)) if values.size else -1
    from readwarp.device.cuda_codes import highest
    from readwarp.device.memory import current

    return highest(values, current())


def _encode(sequences: Sequences, name: str) -> list[ndarray]:
    """Encode each sequence as codes 0-4."""
    if is_foreign(sequences):
        sequences = on_host(sequences, name)
    encoded = []
    for number, sequence in enumerate(several(sequences, f"{name}s"), 1):
        try:
            encoded.append(_encode_one(sequence))
        except UsageError as error:
            raise UsageError(f"{name} {number} {error}") from None
    return encoded


def _encode_one(sequence: Any) -> ndarray:
    """Encode one sequence. Raises UsageError, whose text continues "read 1 "."""
    given = text_or_codes(sequence)
    if isinstance(given, bytes):
        codes = LETTERS[np.frombuffer(given, np.uint8)]
    else:
        codes = np.where((given < 0) | (given > UNKNOWN), FORBIDDEN, given).astype(np.uint8)
    if (codes == FORBIDDEN).any():
        place = int(np.argmax(codes == FORBIDDEN))
        raise UsageError(f"has a letter or code that is not a base, at position {place + 1}")
    return codes


def _qualities_of(reads: list[Any]) -> Phreds:
    """Return the qualities that the reads carry. Raises UsageError."""
    found = []
    for number, read in enumerate(reads, 1):
        fields = fields_of(read)
        if fields is None or fields.sequence is None or fields.qualities is None:
            raise UsageError(f"read {number} carries no qualities: give one number for all, or an array for each read")
        found.append(phreds_of(fields.qualities, len(fields.sequence)))
    return found


def _rows(
    bases: Any, offsets: ndarray, qualities: Phreds, gap_open: Phreds | None, gap_extend: Phreds | None
) -> ReadRows:
    is_needed = gap_open is None or gap_extend is None
    if is_needed and is_on_card(bases):
        raise UsageError("reads on a card need gap_open and gap_extend")
    by_context = gap_penalties(bases, offsets) if is_needed else (bases, bases)
    opening = by_context[0] if gap_open is None else _phreds(gap_open, offsets, "gap_open")
    extension = by_context[1] if gap_extend is None else _phreds(gap_extend, offsets, "gap_extend")
    return ReadRows(bases, _phreds(qualities, offsets, "qualities"), opening, extension, offsets)


def _phreds(given: Any, offsets: ndarray, name: str) -> Any:
    """Return a Phred for each base of all reads; an array on a card stays there."""
    if isinstance(given, Ragged) and on_host(given.offsets, name).tolist() != offsets.tolist():
        raise UsageError(f"{name}: a Ragged must have the offsets of the reads")
    flat, bases = given.values if isinstance(given, Ragged) else given, int(offsets[-1])
    if is_on_card(flat):
        values = _check_size(on_card(flat, name), bases, name).reshape(bases)
        if values.dtype != np.uint8 or _find_highest(values) > MAX_PHRED:
            raise UsageError(f"{name}: Phreds on a card are uint8, at most {MAX_PHRED}")
        return values
    given = on_host(flat, name) if is_foreign(flat) else flat
    if isinstance(given, TEXT):
        given = phreds_of(given)
    if np.isscalar(given) or getattr(given, "ndim", 1) == 0:
        return _as_phreds(np.full(bases, given), name)
    if isinstance(given, ndarray) and given.ndim == 1 and given.dtype != object:
        return _as_phreds(_check_size(given, bases, name), name)
    return _as_phreds(_phreds_by_read(given, np.diff(offsets).tolist(), name), name)


def _phreds_by_read(given: Any, lengths: list[int], name: str) -> ndarray:
    is_single = len(lengths) == 1 and (len(given) == 0 or (np.isscalar(given[0]) and not isinstance(given[0], TEXT)))
    several_ = [given] if is_single else given
    values = [phreds_of(each) if isinstance(each, TEXT) else np.asarray(each) for each in several_]
    if len(values) != len(lengths):
        raise UsageError(f"{name} of {len(values)} reads, but there are {len(lengths)} reads")
    for read, (value, length) in enumerate(zip(values, lengths, strict=True)):
        if value.shape != (length,):
            raise UsageError(f"read {read + 1}: {value.size} {name} for {length} bases")
    return np.concatenate([*values, np.empty(0, np.uint8)])


def _check_size(values: Any, bases: int, name: str) -> Any:
    if values.size != bases:
        raise UsageError(f"{name}: {values.size} Phreds, but {bases} bases")
    return values


def _as_phreds(given: ndarray, name: str) -> ndarray:
    if given.size and (given.dtype.kind not in "uif" or given.min() < 0 or given.max() > MAX_PHRED):
        raise UsageError(f"{name}: Phreds must be between 0 and {MAX_PHRED}")
    phreds = given.astype(np.uint8, copy=False)
    if (phreds != given).any():
        raise UsageError(f"{name}: Phreds must be whole numbers")
    return phreds


def _pairs(pairs: Any, reads: int, haplotypes: int) -> tuple[ndarray, ndarray]:
    if pairs is None:
        read, haplotype = np.indices((reads, haplotypes))
        return read.ravel().astype(np.int32), haplotype.ravel().astype(np.int32)
    if len(pairs) != 2 or len(pairs[0]) != len(pairs[1]):
        raise UsageError("pairs: give equal numbers of read and haplotype indices")
    read, haplotype = (np.asarray(side, np.int64) for side in pairs)
    for name, indices, number in (("read", read, reads), ("haplotype", haplotype, haplotypes)):
        if indices.ndim != 1 or (indices.size and not 0 <= indices.min() <= indices.max() < number):
            raise UsageError(f"pairs: there are {number} {name}s, counted from 0")
    return read.astype(np.int32), haplotype.astype(np.int32)
