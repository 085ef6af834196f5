"""readwarp.pairwise: many pairs of sequences, from Python."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.config import Scoring
from readwarp.device.arrays import check_places, is_foreign, is_on_card, on_host, ragged_of
from readwarp.device.backend import Backend, choose
from readwarp.device.prepare import prepare_once
from readwarp.errors import UsageError
from readwarp.pairwise.matches import split_matches
from readwarp.pairwise.pairs import Costs, Pairs, Scheme
from readwarp.pairwise.scalar import ALPHABET, GLOBAL, LOCAL, OUTSIDE, PAD, SEMIGLOBAL, UNREACHED
from readwarp.ragged import Ragged, offsets_of
from readwarp.rules.bases import CODES
from readwarp.rules.cigar import LETTERS

MODES = {"local": LOCAL, "global": GLOBAL, "semiglobal": SEMIGLOBAL}
NEVER = 5  # the code of N in targets, which does not match N in queries (4)

Sequences = str | bytes | ndarray | Ragged | Sequence[str | bytes | ndarray]


@dataclass(frozen=True, slots=True)
class MatrixScoring:
    """A substitution matrix: scores of query letter (row) with target letter (column), and affine gap costs."""

    matrix: ndarray  # integers [letters, letters], such as one of Bio.Align.substitution_matrices
    alphabet: str  # the letters of its rows and columns; case does not matter
    gap_open: int
    gap_extend: int


@dataclass(frozen=True, slots=True)
class Alignments:
    """Scores and positions of pairs; the last five fields are None without traceback. Positions are 0-based, half-open.

    Arrays are NumPy's or, on a card, Numba's, which have the CUDA Array Interface.
    """

    score: ndarray  # int32 [p]
    query_stop: ndarray  # int32 [p]; 0 where no local alignment scores above 0
    target_stop: ndarray  # int32 [p]
    query_start: ndarray | None = None  # int32 [p]
    target_start: ndarray | None = None  # int32 [p]
    edit_distance: ndarray | None = None  # int32 [p]
    cigar: ndarray | None = None  # uint32, BAM coding, of the aligned spans
    cigar_offsets: ndarray | None = None  # int64 [p + 1]

    def __len__(self) -> int:
        return self.score.size

    def cigar_string(self, pair: int) -> str:
        if self.cigar is None or self.cigar_offsets is None:
            raise UsageError("no CIGAR without traceback")
        runs = on_host(self.cigar[int(self.cigar_offsets[pair]) : int(self.cigar_offsets[pair + 1])], "cigar")
        return "".join(f"{int(run) >> 4}{LETTERS[int(run) & 15]}" for run in runs)


def pairwise(
    queries: Sequences,
    targets: Sequences,
    scoring: Scoring | MatrixScoring | None = None,
    mode: str = "local",
    traceback: bool = False,
    device: str = "cpu",
    eqx: bool = True,
    output: str = "host",
) -> Alignments:
    """Align the i-th query with the i-th target; a single query or target is paired with all of the others.

    Sequences are str or bytes (letters; case does not matter, U is T), or uint8 arrays of codes, 0-3 for A C G T and 4
    for a base that matches nothing (with a matrix: rows of it). With match and mismatch scores, equal letters match and
    N matches nothing. The end bonus of a `Scoring` is not used. A gap of n bases costs gap_open + n * gap_extend.

    Many sequences are a list, the rows of an array of two axes, or a `Ragged` of codes. Its arrays may come from other
    libraries: on the host by DLPack, on a card (device="cuda") by the CUDA Array Interface. Neither is copied, except
    for targets on a card that have a code 4, which are copied there. The offsets of a `Ragged` are read on the host.

    mode: local; global (both from end to end); semiglobal (the whole query in any part of the target).
    eqx: CIGARs with = and X instead of M. device: as --device; auto, cpu or cuda. output: host, or device for results
    on the card.

    Raises UsageError for other modes, unequal numbers, letters that a matrix lacks, arrays on a card without
    device="cuda", and scores beyond 32 bits; DeviceError for a device that cannot be used.
    """
    if mode not in MODES:
        raise UsageError(f"mode {mode!r}: not one of {', '.join(MODES)}")
    scoring = Scoring() if scoring is None else scoring
    scheme = _scheme(scoring, MODES[mode])
    backend = choose(device)
    prepare_once("pairwise")
    check_places(output, backend.name == "cuda", queries, targets)
    with backend.on(), backend.frame():
        unknown = NEVER if isinstance(scoring, Scoring) else 4
        pairs = _pairs(_encode(queries, scoring, 4, "queries"), _encode(targets, scoring, unknown, "targets"))
        found = _align(pairs, scheme, backend, traceback, eqx)
        return backend.resident(found) if output == "device" else found


def _align(pairs: Pairs, scheme: Scheme, backend: Backend, traceback: bool, eqx: bool) -> Alignments:
    engine = backend.step("readwarp.pairwise")
    ends = engine.score_pairs(pairs, scheme)
    if not traceback:
        return Alignments(ends.score, ends.query_stop, ends.target_stop)
    traces = engine.trace_pairs(pairs, scheme, ends)
    cigar, offsets = traces.cigar, traces.cigar_offsets
    if eqx:
        split: Any = split_matches
        if is_on_card(pairs.queries) or is_on_card(pairs.targets):
            from readwarp.pairwise.cuda_matches import split_matches as split
        cigar, offsets = split(pairs, traces)
    starts = traces.query_start, traces.target_start
    return Alignments(ends.score, ends.query_stop, ends.target_stop, *starts, traces.edit_distance, cigar, offsets)


def _scheme(scoring: Scoring | MatrixScoring, mode: int) -> Scheme:
    """The scoring without its bonus, and its matrix extended to all codes."""
    if isinstance(scoring, Scoring):
        return Scheme(Costs(scoring.match, scoring.mismatch, scoring.gap_open, scoring.gap_extend), mode)
    given = np.asarray(scoring.matrix)
    scores = given.astype(np.int32)
    letters = len(scoring.alphabet)
    if scores.shape != (letters, letters) or (scores != given).any() or not 0 < letters < PAD:
        raise UsageError("a substitution matrix needs integers, one row and one column for each letter of its alphabet")
    if scoring.gap_open < 0 or scoring.gap_extend < 1:
        raise UsageError("a matrix needs a gap opening of at least 0 and a gap extension of at least 1")
    matrix = np.full((ALPHABET, ALPHABET), UNREACHED, np.int32)
    matrix[:letters, :letters] = scores
    matrix[PAD, :OUTSIDE] = 0
    highest, lowest = max(1, int(scores.max())), max(0, -int(scores.min()))
    return Scheme(Costs(highest, lowest, int(scoring.gap_open), int(scoring.gap_extend)), mode, matrix.ravel())


def _encode(sequences: Any, scoring: Scoring | MatrixScoring, unknown: int, name: str) -> tuple[Any, ndarray]:
    """(uint8 codes of all sequences, offsets). Codes on a card stay there; changed ones are copied to the workspace.

    unknown: the code that replaces 4.
    """
    ragged = ragged_of(sequences, name)
    if ragged is None:
        encoded = _encode_each(sequences, scoring, unknown)
        return np.concatenate([*encoded, np.empty(0, np.uint8)]), offsets_of([codes.size for codes in encoded])
    if not is_on_card(ragged.values):
        return _replace_unknown(_check_codes(ragged.values, scoring, name), unknown), ragged.offsets
    from readwarp.device.cuda_codes import highest, replace_code
    from readwarp.device.memory import current

    codes, found = ragged.values, highest(ragged.values, current())
    if found >= _number_of_codes(scoring):
        raise UsageError(f"{name} have a code, {found}, that the scoring does not know")
    return replace_code(codes, 4, unknown, current()) if found >= 4 and unknown != 4 else codes, ragged.offsets


def _encode_each(sequences: Sequences, scoring: Scoring | MatrixScoring, unknown: int) -> list[ndarray]:
    """Each sequence as uint8 codes."""
    if is_foreign(sequences):
        sequences = on_host(sequences, "sequences")
    single = isinstance(sequences, str | bytes) or getattr(sequences, "ndim", 0) == 1
    several: Any = [sequences] if single else sequences
    table = _letter_codes(scoring, unknown)
    encoded: list[ndarray] = []
    for sequence in several:
        if is_foreign(sequence):
            if is_on_card(sequence):
                raise UsageError("a list of arrays on a card: give a Ragged of all, values and offsets")
            sequence = on_host(sequence, "sequences")
        if isinstance(sequence, ndarray) and sequence.dtype.kind != "S":
            codes = _replace_unknown(np.ascontiguousarray(sequence, np.uint8), unknown)
        else:
            if not isinstance(sequence, str | bytes | bytearray | ndarray):
                raise UsageError(f"sequence {len(encoded) + 1} is neither text nor an array of codes")
            text = sequence.encode() if isinstance(sequence, str) else bytes(sequence)
            codes = table[np.frombuffer(text, np.uint8)]
        encoded.append(_check_codes(codes, scoring, f"sequence {len(encoded) + 1}"))
    return encoded


def _replace_unknown(codes: ndarray, unknown: int) -> ndarray:
    return codes if unknown == 4 else np.where(codes == 4, unknown, codes).astype(np.uint8)


def _number_of_codes(scoring: Scoring | MatrixScoring) -> int:
    return PAD if isinstance(scoring, Scoring) else len(scoring.alphabet)


def _check_codes(codes: ndarray, scoring: Scoring | MatrixScoring, name: str) -> ndarray:
    if codes.size and codes.max() >= _number_of_codes(scoring):
        raise UsageError(f"{name} has letters or codes that the scoring does not know")
    return codes


def _letter_codes(scoring: Scoring | MatrixScoring, unknown: int) -> ndarray:
    """Byte -> code. With a matrix: its row; for other letters, the row of `*`, or 255 if it has none."""
    if isinstance(scoring, Scoring):
        table = np.where(CODES < 4, CODES, unknown).astype(np.uint8)
        for letter in "BDEFHIJKLMOPQRSVWXYZ":  # equal letters match, except N
            table[ord(letter)] = table[ord(letter.lower())] = ord(letter)
        return table
    alphabet = scoring.alphabet.upper()
    table = np.full(256, alphabet.index("*") if "*" in alphabet else 255, np.uint8)
    for code, letter in enumerate(alphabet):
        table[ord(letter)] = table[ord(letter.lower())] = code
    return table


def _pairs(queries: tuple[Any, ndarray], targets: tuple[Any, ndarray]) -> Pairs:
    sizes = [offsets.size - 1 for _, offsets in (queries, targets)]
    if sizes[0] != sizes[1] and 1 not in sizes:
        raise UsageError(f"{sizes[0]} queries and {sizes[1]} targets: as many of each, or one of either")
    number, columns = 0 if 0 in sizes else max(sizes), list[Any]()
    for codes, offsets in (queries, targets):  # a single one is shared
        columns += [codes, np.resize(offsets[:-1], number), np.resize(np.diff(offsets), number)]
    return Pairs(*columns)
