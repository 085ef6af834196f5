"""Turn trimming options into parameters."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict

from readwarp.align.trim.batch import MASK
from readwarp.config import TrimParameters
from readwarp.errors import InputError, UsageError
from readwarp.formats.common.fasta import read_contigs
from readwarp.keywords import AnyPath, defaults_of, pick

FIELDS = {"trim_poly_g": "poly_g", "trim_quality": "min_quality", "trim_min_length": "min_length"}
OTHERS = "adapter", "adapter2", "trim_bases", "correct_overlap"
BASES = ("clip", "drop")
MIN_ADAPTER = 5  # bases other than N
TOO_SHORT = f"needs {MIN_ADAPTER} bases other than N"


DEFAULTS = {**defaults_of(TrimParameters(), FIELDS), "trim_bases": BASES[0]}


class TrimOptions(TypedDict, total=False):
    trim: bool  # trim adapters and poly-G tails; required by the other options
    adapter: AnyPath | Sequence[AnyPath]  # for first and single reads: sequence or FASTA file; absent: the known ones
    adapter2: AnyPath | Sequence[AnyPath]  # for last reads; absent: those of `adapter`
    trim_poly_g: str  # auto, always, never
    trim_quality: int  # Phred: also cut 3' ends below it
    trim_min_length: int  # reads cut to less are kept as unmapped
    trim_bases: str  # clip: keep the cut bases as soft clips; drop: remove them
    correct_overlap: bool  # in overlapping mates


def parameters_of(options: TrimOptions) -> TrimParameters | None:
    """Return the parameters, or None without trimming. Raises UsageError, and InputError for an adapter file."""
    given: dict[str, Any] = {name: options.get(name) for name in (*FIELDS, *OTHERS)}
    if not options.get("trim"):
        return None
    if given["trim_bases"] not in (None, *BASES):
        raise UsageError(f"--trim-bases {given['trim_bases']}: not one of {', '.join(BASES)}")
    return TrimParameters(
        adapters=read_adapters("--adapter", given["adapter"]),
        last_adapters=read_adapters("--adapter2", given["adapter2"]),
        drop=given["trim_bases"] == "drop",
        correct=bool(given["correct_overlap"]),
        **pick(given, FIELDS),
    )


def read_adapters(option: str, given: AnyPath | Sequence[AnyPath] | None) -> tuple[str, ...]:
    """Read adapters, each a sequence of IUPAC letters or a FASTA file of them. Raises UsageError and InputError."""
    texts = () if given is None else (given,) if isinstance(given, str | PathLike) else given
    found: list[str] = []
    for text in map(str, texts):
        if text and set(text.upper()) <= MASK.keys():
            if is_short(text.upper()):
                raise UsageError(f"{option} {text}: {TOO_SHORT}")
            found.append(text.upper())
        elif Path(text).is_file():
            for contig in read_contigs(text):
                if is_short(adapter := contig.letters.decode()):
                    raise InputError(text, TOO_SHORT, contig.name)
                found.append(adapter)
        else:
            raise UsageError(f"{option} {text}: neither a sequence of IUPAC letters nor a file")
    return tuple(found)


def is_short(adapter: str) -> bool:
    """Return whether the adapter occurs in every other read by chance."""
    return len(adapter) - adapter.count("N") < MIN_ADAPTER
