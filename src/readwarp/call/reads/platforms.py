"""Describe kinds of sequencers, and the errors of each that calling models."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from readwarp.call.reads.gap_models import HIFI, NANOPORE, SHORT, GapModel
from readwarp.errors import UsageError
from readwarp.formats.alignments.regions import AlignedReader

LONG = 1000  # median read length from which the platform must be known
OF_READ_GROUPS = {"PACBIO": "hifi", "ONT": "ont"}  # by PL of @RG; others are short


@dataclass(frozen=True, slots=True)
class Platform:
    """Properties in which kinds of reads differ."""

    name: str
    gaps: GapModel
    is_long: bool  # reads are phased along a contig, and sites weighed by haplotype


PLATFORMS = {
    "short": Platform("short", SHORT, is_long=False),
    "hifi": Platform("hifi", HIFI, is_long=True),
    "ont": Platform("ont", NANOPORE, is_long=True),
}


def platform_of(asked: str, names: Iterable[str]) -> Platform:
    """Return the platform `asked` for; for auto, by PL of the read groups. Raises UsageError for several."""
    if asked != "auto":
        return PLATFORMS[asked]
    found = {OF_READ_GROUPS.get(name.upper(), "short") for name in names}
    if len(found) > 1:
        raise UsageError(
            f"reads of several platforms ({', '.join(sorted(found))}): call them separately, or give --platform"
        )
    return PLATFORMS[found.pop()]


def has_long_reads(asked: str, readers: Sequence[AlignedReader]) -> bool:
    """Return whether the platform `asked` for, or for auto that of any read group, has long reads."""
    names = [name.upper() for reader in readers for name in _names(reader)]
    found = [OF_READ_GROUPS.get(name, "short") for name in names] if asked == "auto" else [asked]
    return any(PLATFORMS[name].is_long for name in found)


def find_platform(asked: str, readers: Sequence[AlignedReader]) -> Platform:
    """Find the platform of the files. Raises UsageError if it is ambiguous."""
    found = platform_of(asked, [name for reader in readers for name in _names(reader)])
    longest = max(readers, key=lambda reader: reader.first_length)
    if asked == "auto" and not found.is_long and longest.first_length >= LONG:
        text = f"reads of {longest.first_length:,} bases, but the read groups do not say PL:PACBIO or PL:ONT"
        raise UsageError(f"{longest.path}: {text}; specify --platform hifi, ont or short")
    return found


def _names(reader: AlignedReader) -> list[str]:
    """Return PL of all read groups; empty where there is none."""
    return [group.get("PL", "") for group in reader.header.to_dict().get("RG", [])] or [""]
