"""Sequences and reads in Python's forms: text, arrays, records of Biopython, dnaio, pysam and others.

None of these libraries is imported: a record is recognised by its attributes. Anything else is rejected.
"""

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.errors import UsageError
from readwarp.wording import counted

NUCLEOTIDES = b"ACGTURYSWKMBDHVNacgturyswkmbdhvn"
MAX_NAME, MAX_PHRED = 254, 93  # limits of SAM and FASTQ
UNNAMED = "<unknown id>"  # a SeqRecord without an id
TEXT = (str, bytes, bytearray, memoryview)


class Read(NamedTuple):
    """A read as sequenced."""

    name: str  # without /1 /2 and comment
    letters: bytes  # IUPAC or .
    qualities: ndarray | None  # uint8 [letters], Phred


class RecordFields(NamedTuple):
    """Contents of a record from another library."""

    name: str | None
    sequence: Any
    qualities: Any


class SequenceError(UsageError):
    """A sequence that cannot be used: its argument, its number from 1, and the reason."""

    def __init__(self, argument: str, number: int, reason: str):
        super().__init__(f"{argument}: sequence {number} {reason}")
        self.argument, self.number, self.reason = argument, number, reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.argument, self.number, self.reason)


def fields_of(given: Any) -> RecordFields | None:
    """Return the fields of a record of pysam, dnaio, Biopython (SeqRecord), pyfastx, pyfaidx or the like, else None."""
    if hasattr(given, "get_forward_sequence"):  # pysam.AlignedSegment: as sequenced, on either strand
        return RecordFields(given.query_name, given.get_forward_sequence(), given.get_forward_qualities())
    if isinstance(given, TEXT) or not (hasattr(given, "sequence") or hasattr(given, "seq")):
        return None
    sequence = given.sequence if hasattr(given, "sequence") else given.seq
    if hasattr(given, "letter_annotations"):  # Bio.SeqRecord
        return RecordFields(given.id, sequence, given.letter_annotations.get("phred_quality"))
    qualities = (getattr(given, name, None) for name in ("qualities", "quality", "qual"))
    return RecordFields(
        getattr(given, "name", None), sequence, next((each for each in qualities if each is not None), None)
    )


def letters_of(given: Any) -> bytes | None:
    """Return the letters of one sequence: text, an array of single letters, a Seq, or a record; None for anything else.

    Raises UsageError for an unknown sequence, such as that of a secondary alignment.
    """
    fields = fields_of(given)
    if fields is not None:
        if fields.sequence is None:
            raise UsageError("has no sequence")
        given = fields.sequence
    if isinstance(given, str):
        return given.encode("ascii", "replace")
    if isinstance(given, ndarray):
        return given.astype("S1").tobytes() if given.dtype.str[1:] in ("S1", "U1") and given.ndim == 1 else None
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(given)
    if is_seq(given):
        try:
            return bytes(given)
        except (TypeError, ValueError) as error:  # only its length is known
            raise UsageError(f"is not known ({error})") from None
    return None


def is_single(given: Any) -> bool:
    """Return whether it is one sequence rather than several."""
    if isinstance(given, ndarray):
        return given.ndim == 1 and (given.dtype.kind not in "SUO" or given.dtype.str[1:] in ("S1", "U1"))
    return isinstance(given, TEXT) or is_seq(given) or fields_of(given) is not None


def is_seq(given: Any) -> bool:
    """Return whether it is a Seq of Biopython or the like; a path has bytes too."""
    return hasattr(given, "__bytes__") and hasattr(given, "reverse_complement")


def several(given: Any, argument: str) -> Iterable[Any]:
    """List the sequences or reads in an argument: a single one, or an iterable's. Raises UsageError."""
    is_file = isinstance(given, PathLike) or (isinstance(given, str) and "." in given and Path(given).is_file())
    if is_single(given) and not is_file:
        return [given]
    if is_file:
        raise UsageError(f"{argument}: {given} is a path; give sequences or reads, or use a function that takes files")
    if isinstance(given, Mapping):
        raise UsageError(f"{argument}: a {type(given).__name__} is not a list; give its values() or items()")
    if hasattr(given, "to_pylist"):  # pyarrow
        given = given.to_pylist()
    if not isinstance(given, Iterable):
        raise UsageError(f"{argument}: {type(given).__name__} is neither a sequence nor a list of them")
    return given


def check_nucleotides(letters: bytes, more: bytes = b"") -> None:
    """Raise UsageError for letters other than IUPAC's and `more`."""
    odd = letters.translate(None, NUCLEOTIDES + more)
    if odd:
        place = letters.index(odd[:1]) + 1
        raise UsageError(f"has {chr(odd[0])!r} at position {place}, which is not a nucleotide")


def read_of(given: Any, number: int) -> Read:
    """Make a read of a sequence, a record, or (name, sequence[, qualities]). number: names it, from 0, if nothing else
    does.

    Raises UsageError.
    """
    name: Any = None
    qualities: Any = None
    sequence = given
    if isinstance(given, tuple) and not hasattr(given, "sequence") and not hasattr(given, "seq"):
        if given and fields_of(given[0]) is not None:
            raise UsageError(f"read {number}: a pair of reads; first reads and mates are two arguments")
        if len(given) not in (2, 3):
            raise UsageError(
                f"read {number}: {counted(len(given), 'item')}; give (name, sequence) or (name, sequence, qualities)"
            )
        name, sequence, qualities = (*given, None)[:3]
    elif (fields := fields_of(given)) is not None:
        name, sequence, qualities = fields
        if getattr(given, "is_secondary", False) or getattr(given, "is_supplementary", False):
            raise UsageError(f"read {name}: a secondary or supplementary alignment; give each read once")
    name = _name(name, number)
    try:
        if sequence is None and given is not None:
            raise UsageError("has no sequence")
        letters = letters_of(sequence)
        if letters is None:
            raise UsageError(f"is of type {type(sequence).__name__}, which is neither a sequence nor a read")
        check_nucleotides(letters, b".")
        return Read(name, letters, None if qualities is None else phreds_of(qualities, len(letters)))
    except UsageError as error:
        raise UsageError(f"read {name}: {error}") from None


def _name(given: Any, number: int) -> str:
    """Return the name as in a FASTQ file: up to the first blank, without /1 or /2."""
    if given is None or given == UNNAMED:
        return str(number)
    if isinstance(given, bytes):
        given = given.decode("latin-1")
    if not isinstance(given, str):
        raise UsageError(f"read {number}: its name is of type {type(given).__name__}, not text")
    name = (given.split() or [""])[0]
    name = name[:-2] if name.endswith(("/1", "/2")) else name
    if len(name) > MAX_NAME or name[:1] == "@" or not all("!" <= letter <= "~" for letter in name):
        reason = f"is longer than {MAX_NAME} letters, begins with '@' or is not ASCII"
        raise UsageError(f"read {number}: the name {name[:40]!r} {reason}")
    return name or str(number)


def phreds_of(given: Any, length: int | None = None) -> ndarray:
    """Return qualities, given as Phred + 33 text or numbers, as uint8. Raises UsageError if there are not `length`."""
    if isinstance(given, TEXT):
        text = given.encode("ascii", "replace") if isinstance(given, str) else bytes(memoryview(given))
        phreds = np.frombuffer(text, np.uint8) - np.int64(33)
    else:
        phreds = np.asarray(given)
        if phreds.size and (phreds.ndim != 1 or phreds.dtype.kind not in "ui"):
            raise UsageError("qualities are text in Phred+33, or whole numbers")
    if length is not None and phreds.size != length:
        raise UsageError(f"quality has {counted(phreds.size, 'letter')}, sequence {length:,}")
    if phreds.size and not 0 <= phreds.min() <= phreds.max() <= MAX_PHRED:
        raise UsageError(f"a quality is outside Phred 0 to {MAX_PHRED} ('!' to '~' in text)")
    return phreds.astype(np.uint8)
