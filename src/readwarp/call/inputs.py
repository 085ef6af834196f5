"""Do the alignments belong to the reference, and whose are they?"""

from readwarp.errors import InputError
from readwarp.formats.aligned import AlignedReader
from readwarp.index.store import Reference


def choose_sample(reader: AlignedReader, wanted: str | None) -> tuple[str, tuple[str, ...]]:
    """The sample's name, and its read groups where others are to be left out."""
    samples = reader.samples()
    if wanted is not None:
        if wanted not in samples:
            raise InputError(
                reader.path, f"has no read group of sample {wanted!r} (it has: {', '.join(samples) or 'none'})"
            )
        return wanted, samples[wanted] if len(samples) > 1 else ()
    if len(samples) > 1:
        raise InputError(reader.path, f"holds several samples; choose one with --sample: {', '.join(samples)}")
    return next(iter(samples), reader.path.name.split(".")[0]), ()


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
