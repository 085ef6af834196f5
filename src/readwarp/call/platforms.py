"""Kinds of sequencers, and what calling knows of the errors of each."""

from collections.abc import Sequence
from dataclasses import dataclass

from readwarp.call.pairhmm.penalties import HIFI, NANOPORE, SHORT, GapModel
from readwarp.errors import UsageError
from readwarp.formats.alignments.regions import AlignedReader

LONG = 1000  # bases of the median read, from which the platform must be known


@dataclass(frozen=True, slots=True)
class Platform:
    """What differs between kinds of reads."""

    name: str
    gaps: GapModel
    is_long: bool  # reads are phased along a contig, and sites weighed by the haplotypes that the reads are of


PLATFORMS = {
    "short": Platform("short", SHORT, is_long=False),
    "hifi": Platform("hifi", HIFI, is_long=True),
    "ont": Platform("ont", NANOPORE, is_long=True),
}
OF_READ_GROUPS = {"PACBIO": "hifi", "ONT": "ont"}  # by PL of @RG; the others are short


def find_platform(asked: str, readers: Sequence[AlignedReader]) -> Platform:
    """The platform `asked` for; for auto, that of the read groups. Raises UsageError if that is not clear."""
    if asked != "auto":
        return PLATFORMS[asked]
    found = {OF_READ_GROUPS.get(name.upper(), "short") for reader in readers for name in _names(reader)}
    if len(found) > 1:
        raise UsageError(f"reads of several kinds ({', '.join(sorted(found))}): call them apart, or give --platform")
    longest = max(readers, key=lambda reader: reader.first_length)
    if found == {"short"} and longest.first_length >= LONG:
        text = f"reads of {longest.first_length:,} bases, and no read group of PACBIO or ONT (PL)"
        raise UsageError(f"{longest.path}: {text}: give --platform hifi, ont, or short if that is what they are")
    return PLATFORMS[found.pop()]


def _names(reader: AlignedReader) -> list[str]:
    """PL of all read groups; empty where there is none."""
    return [group.get("PL", "") for group in reader.header.to_dict().get("RG", [])] or [""]
