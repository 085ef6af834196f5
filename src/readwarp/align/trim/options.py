"""Turn trimming options into parameters."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from readwarp.align.trim.batch import MASK
from readwarp.config import TrimParameters
from readwarp.config.declare import AnyPath, chosen
from readwarp.config.options import TrimOptions
from readwarp.errors import InputError, UsageError
from readwarp.formats.common.fasta import read_contigs

MIN_ADAPTER = 5  # bases other than N
TOO_SHORT = f"needs {MIN_ADAPTER} bases other than N"


def parameters_of(options: Mapping[str, Any]) -> TrimParameters | None:
    """Return the parameters, or None without trimming. Raises UsageError, and InputError for an adapter file."""
    asked = chosen(TrimOptions(), options)
    if not asked.trim:
        return None
    first, last = read_adapters("--adapter", asked.adapter), read_adapters("--adapter2", asked.adapter2)
    return chosen(TrimParameters(adapters=first, last_adapters=last), options)


def read_adapters(option: str, given: AnyPath | Sequence[AnyPath]) -> tuple[str, ...]:
    """Read adapters, each a sequence of IUPAC letters or a FASTA file of them. Raises UsageError and InputError."""
    texts = (given,) if isinstance(given, str | PathLike) else given
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
