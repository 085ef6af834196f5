"""Do the alignments belong to the reference, and whose are they?"""

from collections.abc import Container, Sequence
from typing import Any

from readwarp.errors import InputError
from readwarp.formats.alignments.regions import AlignedReader
from readwarp.index.reference import Reference

MAX_SAMPLES = 255  # numbers of AlignedReads.sample
Groups = tuple[tuple[str, ...], ...]


def choose_samples(reader: AlignedReader, wanted: Sequence[str] = ()) -> tuple[tuple[str, ...], Groups]:
    """Names of the samples to call, and the read groups of each; no groups where every read belongs to the only sample.

    Without `wanted` these are all samples of the header in its order, or one named after the file where the header
    names none. An entry of `wanted` is a name, or several with commas between them. Raises InputError.
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
    """Names in the order given, once each. A text that is a name, commas and all, is not split."""
    parts = (part for text in wanted for part in ([text] if text in samples else text.split(",")))
    return list(dict.fromkeys(parts))


def match_contigs(reader: AlignedReader, reference: Reference, whole: bool = True) -> dict[int, int]:
    """Reference contig -> number in the file. Contigs are the same when their names are.

    Raises InputError where the length or M5 of a contig is another one, where no contig is in both, and, when the
    `whole` reference is called, where reads lie on a contig that the reference lacks: they would be left out unsaid.
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
    name, own, md5 = line["SN"], contig_length(reference, contig), reference.md5[contig]
    if line["LN"] != own:
        raise InputError(reader.path, f"its contig {name!r} has {line['LN']} bases, in the reference {own}")
    if line.get("M5", md5).lower() != md5:
        raise InputError(reader.path, f"its contig {name!r} has another sequence (M5) than in the reference")


def contig_length(reference: Reference, contig: int) -> int:
    return int(reference.contig_offsets[contig + 1] - reference.contig_offsets[contig])
