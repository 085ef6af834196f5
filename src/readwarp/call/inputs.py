"""Do the alignments belong to the reference, and whose are they?"""

from collections.abc import Container, Sequence

from readwarp.errors import InputError
from readwarp.formats.aligned import AlignedReader
from readwarp.index.store import Reference

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


def match_contigs(reader: AlignedReader, reference: Reference) -> dict[int, int]:
    """Reference contig -> number in the file. Raises InputError where name, length or M5 do not match."""
    numbers = {name: i for i, name in enumerate(reference.names)}
    out = {}
    for i, line in enumerate(reader.header.to_dict().get("SQ", [])):
        name = line["SN"]
        if name not in numbers:
            raise InputError(reader.path, f"its contig {name!r} is not in the reference")
        own = contig_length(reference, numbers[name])
        if line["LN"] != own:
            raise InputError(reader.path, f"its contig {name!r} has {line['LN']} bases, in the reference {own}")
        if line.get("M5", reference.md5[numbers[name]]).lower() != reference.md5[numbers[name]]:
            raise InputError(reader.path, f"its contig {name!r} has another sequence (M5) than in the reference")
        out[numbers[name]] = i
    return out


def contig_length(reference: Reference, contig: int) -> int:
    return int(reference.contig_offsets[contig + 1] - reference.contig_offsets[contig])
