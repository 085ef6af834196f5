"""readwarp.pairwise: many pairs of sequences in Python."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.compiler.prepare import prepare_once
from readwarp.config import Scoring
from readwarp.device.arrays import check_places, is_foreign, is_on_card, on_host, ragged_of
from readwarp.device.backend import Backend, choose
from readwarp.device.rows import to_host
from readwarp.errors import UsageError
from readwarp.pairwise.pairs import Costs, Pairs, Scheme
from readwarp.pairwise.results import Alignments, split_matches
from readwarp.pairwise.scalar import ALPHABET, GLOBAL, LOCAL, OUTSIDE, PAD, SEMIGLOBAL, UNREACHED
from readwarp.python.sequences import SequenceError, check_nucleotides, letters_of, several
from readwarp.ragged import Ragged, offsets_of
from readwarp.rules.bases import CODES, NEVER

MODES = {"local": LOCAL, "global": GLOBAL, "semiglobal": SEMIGLOBAL}
NO_ROW = 255  # replaces the code of a letter that a matrix lacks

Sequences = str | bytes | ndarray | Ragged | Iterable[Any]


@dataclass(frozen=True, slots=True)
class MatrixScoring:
    """A substitution matrix, with scores of query letter (row) against target letter (column), and affine gap costs."""

    matrix: ndarray  # integers [letters, letters], such as a matrix of Bio.Align.substitution_matrices
    alphabet: str  # letters of its rows and columns, case-insensitive
    gap_open: int
    gap_extend: int

    @classmethod
    def load(cls, name: str = "BLOSUM62", gap_open: int = 10, gap_extend: int = 1) -> "MatrixScoring":
        """Load a matrix of Biopython by name, such as BLOSUM62 or PAM250. Raises UsageError."""
        from Bio.Align import substitution_matrices

        known = substitution_matrices.load()
        if name not in known:
            raise UsageError(f"matrix {name!r}: not one of {', '.join(known)}")
        matrix = substitution_matrices.load(name)
        return cls(np.asarray(matrix), "".join(matrix.alphabet), gap_open, gap_extend)


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
    """Align the i-th query with the i-th target; a single query or target is paired with all the others.

    Sequences are text (str, bytes, Seq), records (SeqRecord, dnaio, pysam), or uint8 arrays of codes, 0-3 for A C G T
    and 4 for N (with a matrix: rows of it). Letters are IUPAC; case does not matter, U is T, equal letters match, and N
    matches nothing but costs 1 at most. Proteins need a matrix. The end bonus of a `Scoring` is ignored. A gap of n
    bases costs gap_open + n * gap_extend.

        found = readwarp.pairwise(["ACGTTGCA"], ["TTACGTGCATT"], traceback=True)
        found.score, found[0].cigar
        readwarp.pairwise(["HEAGAWGHEE"], ["PAWHEAE"], MatrixScoring.load("BLOSUM62"))

    Many sequences are a list, the rows of a two-dimensional array, or a `Ragged` of codes. Its arrays may come from
    other libraries: on the host through DLPack, on a card (device="cuda") through the CUDA Array Interface. Neither is
    copied, except targets on a card that contain code 4, which are copied there. The offsets of a `Ragged` are read on
    the host.

    mode: local; global (both from end to end); semiglobal (the whole query in any part of the target).
    eqx: CIGARs with = and X instead of M. device: as --device; auto, cpu or cuda. output: host, or device for results
    on the card.

    Raises UsageError for other modes, unequal numbers, letters that are not nucleotides or not in a matrix, arrays on a
    card without device="cuda", and scores beyond 32 bits; DeviceError for a device that cannot be used.
    """
    if mode not in MODES:
        raise UsageError(f"mode {mode!r}: not one of {', '.join(MODES)}")
    scoring = Scoring() if scoring is None else scoring
    scheme = _scheme(scoring, MODES[mode])
    backend = choose(device)
    prepare_once("pairwise", backend.needed_by)
    check_places(output, backend.name == "cuda", queries, targets)
    with backend.on(), backend.frame():
        unknown = NEVER if isinstance(scoring, Scoring) else 4  # N of targets does not match N of queries
        pairs = _pairs(_encode(queries, scoring, 4, "queries"), _encode(targets, scoring, unknown, "targets"))
        found = _align(pairs, scheme, backend, traceback, eqx)
        if output == "device":
            found = backend.resident(found)
        return found


def _align(pairs: Pairs, scheme: Scheme, backend: Backend, traceback: bool, eqx: bool) -> Alignments:
    engine = backend.step("readwarp.pairwise")
    ends = engine.score_pairs(pairs, scheme)
    if not traceback:
        return Alignments(ends.score, ends.query_stop, ends.target_stop)
    traces = engine.trace_pairs(pairs, scheme, ends)
    cigar, offsets = traces.cigar, traces.cigar_offsets
    if eqx and len(pairs):
        given = pairs, traces
        if is_on_card(pairs.queries) or is_on_card(pairs.targets):
            given = backend.to_device(given)
        cigar, offsets = to_host(split_matches(len(pairs), *given))
    starts = traces.query_start, traces.target_start
    return Alignments(ends.score, ends.query_stop, ends.target_stop, *starts, traces.edit_distance, cigar, offsets)


def _scheme(scoring: Scoring | MatrixScoring, mode: int) -> Scheme:
    """Return the scoring without its bonus, and with its matrix extended to all codes."""
    if isinstance(scoring, Scoring):
        return Scheme(Costs(scoring.match, scoring.mismatch, scoring.gap_open, scoring.gap_extend), mode)
    if not isinstance(scoring, MatrixScoring):
        raise UsageError(f"scoring {scoring!r}: give a Scoring or a MatrixScoring, such as MatrixScoring.load()")
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
    """Return (uint8 codes of all sequences, offsets); codes on a card stay there, changed ones in the workspace.

    unknown: the code that replaces 4.
    """
    ragged = ragged_of(sequences, name)
    if ragged is None:
        encoded = _encode_each(sequences, scoring, unknown, name)
        return np.concatenate([*encoded, np.empty(0, np.uint8)]), offsets_of([codes.size for codes in encoded])
    if not is_on_card(ragged.values):
        try:
            return _replace_unknown(_check_codes(ragged.values, scoring), unknown), ragged.offsets
        except UsageError as error:
            raise UsageError(f"{name}: the Ragged {error}") from None
    from readwarp.device.cuda_codes import highest, replace_code
    from readwarp.device.memory import current

    codes, found = ragged.values, highest(ragged.values, current())
    if found >= _number_of_codes(scoring):
        raise UsageError(f"{name} have a code, {found}, that the scoring does not know")
    return replace_code(codes, 4, unknown, current()) if found >= 4 and unknown != 4 else codes, ragged.offsets


def _encode_each(sequences: Any, scoring: Scoring | MatrixScoring, unknown: int, name: str) -> list[ndarray]:
    """Encode each sequence as uint8 codes."""
    if is_foreign(sequences):
        sequences = on_host(sequences, name)
    table = _letter_codes(scoring, unknown)
    encoded: list[ndarray] = []
    for number, sequence in enumerate(several(sequences, name), 1):
        try:
            encoded.append(_encode_one(sequence, scoring, unknown, table))
        except UsageError as error:
            raise SequenceError(name, number, str(error)) from None
    return encoded


def _encode_one(sequence: Any, scoring: Scoring | MatrixScoring, unknown: int, table: ndarray) -> ndarray:
    """Encode one sequence. Raises UsageError whose text follows "sequence 1 "."""
    given = text_or_codes(sequence)
    if isinstance(given, ndarray):
        return _replace_unknown(_check_codes(given, scoring), unknown)
    if isinstance(scoring, Scoring):
        _check_nucleotides(given)
    codes = table[np.frombuffer(given, np.uint8)]
    if codes.size and codes.max() == NO_ROW:
        place = int(codes.argmax())
        raise UsageError(f"has {chr(given[place])!r} at position {place + 1}, which the matrix does not have")
    return codes


def text_or_codes(sequence: Any) -> bytes | ndarray:
    """Return the letters of a sequence, or an array of codes. Raises UsageError whose text follows "sequence 1 "."""
    if is_on_card(sequence):
        raise UsageError("is on a card: give one Ragged of all of them")
    letters = letters_of(sequence)
    if letters is not None:
        return letters
    if not (isinstance(sequence, ndarray) or is_foreign(sequence)):
        raise UsageError(f"is of type {type(sequence).__name__}: neither text nor an array of codes")
    given = on_host(sequence, "array")
    if given.ndim != 1 or (given.size and given.dtype.kind not in "ui"):
        raise UsageError("is an array, but not of codes on one axis")
    return given


def _check_nucleotides(letters: bytes) -> None:
    try:
        check_nucleotides(letters)
    except UsageError as error:
        example = 'scoring=MatrixScoring.load("BLOSUM62", gap_open=10, gap_extend=1)'
        raise UsageError(f"{error}; proteins need a matrix, such as {example}") from None


def _replace_unknown(codes: ndarray, unknown: int) -> ndarray:
    return codes if unknown == 4 else np.where(codes == 4, unknown, codes).astype(np.uint8)


def _number_of_codes(scoring: Scoring | MatrixScoring) -> int:
    return 5 if isinstance(scoring, Scoring) else len(scoring.alphabet)


def _check_codes(codes: ndarray, scoring: Scoring | MatrixScoring) -> ndarray:
    """Check codes and return them as contiguous uint8. Raises UsageError whose text follows "queries: sequence 1 "."""
    for odd in codes[(codes < 0) | (codes >= _number_of_codes(scoring))][:1].tolist():
        is_letter = chr(max(0, odd)).isalpha()
        text = "these are letters: give array.tobytes()" if is_letter else "codes count letters from 0"
        raise UsageError(f"has {odd}, a code that the scoring does not know; {text}")
    return np.ascontiguousarray(codes, np.uint8)


def _letter_codes(scoring: Scoring | MatrixScoring, unknown: int) -> ndarray:
    """Map bytes to codes; with a matrix to its rows, and other letters to the row of `*`, or NO_ROW if it has none."""
    if isinstance(scoring, Scoring):
        table = np.where(CODES < 4, CODES, unknown).astype(np.uint8)
        for letter in "BDHKMRSVWY":  # equal letters match, except N
            table[ord(letter)] = table[ord(letter.lower())] = ord(letter)
        return table
    alphabet = scoring.alphabet.upper()
    table = np.full(256, alphabet.index("*") if "*" in alphabet else NO_ROW, np.uint8)
    for code, letter in enumerate(alphabet):
        table[ord(letter)] = table[ord(letter.lower())] = code
    return table


def _pairs(queries: tuple[Any, ndarray], targets: tuple[Any, ndarray]) -> Pairs:
    sizes = [offsets.size - 1 for _, offsets in (queries, targets)]
    if sizes[0] != sizes[1] and 1 not in sizes:
        raise UsageError(f"{sizes[0]} queries and {sizes[1]} targets: give equal numbers, or exactly one of either")
    number, columns = 0 if 0 in sizes else max(sizes), list[Any]()
    for codes, offsets in (queries, targets):  # a single one is shared
        columns += [codes, np.resize(offsets[:-1], number), np.resize(np.diff(offsets), number)]
    return Pairs(*columns)
