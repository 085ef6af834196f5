"""Alignments as an input: do their contigs match the reference, and whose reads are they?"""

from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from readwarp.errors import InputError
from readwarp.formats.alignments.regions import AlignedReader
from readwarp.index.reference import Reference

MAX_SAMPLES = 255  # numbers of AlignedReads.sample
Groups = tuple[tuple[str, ...], ...]


def choose_samples(reader: AlignedReader, wanted: Sequence[str] = ()) -> tuple[tuple[str, ...], Groups]:
    """Names of the samples to call, and the read groups of each; no groups if there is one sample: it has every read.

    Without `wanted`, these are all samples in the header, in its order, or one named after the file if the header names
    none. An entry of `wanted` is a name, or several separated by commas. Raises InputError.
    """
    samples = reader.samples()
    names = _split(wanted, samples) or list(samples) or [reader.path.name.split(".")[0]]
    for name in names:
        if name not in samples and wanted:
            known = ", ".join(samples) or "none"
            raise InputError(reader.path, f"has no read group of sample {name!r} (it has: {known})")
    if len(names) > MAX_SAMPLES:
        raise InputError(reader.path, f"holds {len(names)} samples, of which {MAX_SAMPLES} can be called together")
    return tuple(names), tuple(samples[name] for name in names) if len(samples) > 1 else ()


def _split(wanted: Sequence[str], samples: Container[str]) -> list[str]:
    """Names in the order given, once each. A name that has commas is not split."""
    parts = (part for text in wanted for part in ([text] if text in samples else text.split(",")))
    return list(dict.fromkeys(parts))


def match_contigs(reader: AlignedReader, reference: Reference, whole: bool = True) -> dict[int, int]:
    """Reference contig -> number in the file. Contigs are matched by name.

    Raises InputError if the length or M5 of a contig differs, if no contig is in both, and, when the `whole` reference
    is called, if a contig with reads is not in the reference: these reads would be left out silently.
    """
    numbers = {name: i for i, name in enumerate(reference.names)}
    out = {}
    for i, line in enumerate(reader.header.to_dict().get("SQ", [])):
        name = line["SN"]
        if name in numbers:
            _check_contig(reader, line, reference, numbers[name])
            out[numbers[name]] = i
        elif whole and reader.has_reads(i):
            raise InputError(reader.path, f"has reads on contig {name!r}, which is not in the reference")
    if not out:
        raise InputError(reader.path, f"none of its contigs ({reader.names[0]!r}, ...) is in the reference")
    return out


def _check_contig(reader: AlignedReader, line: dict[str, Any], reference: Reference, contig: int) -> None:
    name, own, md5 = line["SN"], int(np.diff(reference.contig_offsets)[contig]), reference.md5[contig]
    if line["LN"] != own:
        raise InputError(reader.path, f"its contig {name!r} has {line['LN']} bases, in the reference {own}")
    if line.get("M5", md5).lower() != md5:
        raise InputError(reader.path, f"its contig {name!r} has another sequence (M5) than in the reference")
