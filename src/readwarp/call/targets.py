"""Which parts of the reference are called: regions, BED files, and the windows they are cut into."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, cast

from readwarp.call.inputs import contig_length
from readwarp.errors import InputError
from readwarp.formats.common.bed import read_intervals
from readwarp.index.reference import Reference

Region = str | tuple[str, int, int]  # as the command line takes it; or contig, start and stop, 0-based and half-open


class Target(NamedTuple):
    """[start, stop) of a contig, 0-based. Sorts in reference order."""

    contig: int
    start: int
    stop: int


def parse_region(text: str, names: Sequence[str], lengths: Sequence[int]) -> Target:
    """`NAME`, `NAME:FROM` or `NAME:FROM-` (to its end), or `NAME:FROM-TO`; 1-based, inclusive, with commas or without.

    Names may hold colons and commas: a text that is a whole name is that contig, else the last colon parts name and
    places. A TO beyond the contig's end means its end. Raises InputError.
    """
    if text in names:
        contig = names.index(text)
        return Target(contig, 0, lengths[contig])
    name, _, span = text.rpartition(":")
    if name not in names:
        raise InputError(text, "no such contig in the reference")
    contig = names.index(name)
    places = re.fullmatch(r"([0-9]+)(?:-([0-9]*))?", span.replace(",", ""))
    if not places:
        raise InputError(text, "a region is NAME, NAME:FROM or NAME:FROM-TO")
    start, stop = int(places[1]) - 1, min(int(places[2] or lengths[contig]), lengths[contig])
    if not 0 <= start < stop:
        raise InputError(text, f"empty or outside the contig, which has {lengths[contig]} bases")
    return Target(contig, start, stop)


def as_regions(given: Region | Iterable[Region] | None) -> tuple[Region, ...] | None:
    """One region or several as several; None, which is everything, stays None."""
    if given is None or isinstance(given, str):
        return None if given is None else (given,)
    if isinstance(given, tuple) and len(given) == 3 and isinstance(given[1], int):
        return (given,)  # contig, start, stop
    return tuple(cast(Iterable[Region], given))


def spell_region(region: Region) -> str:
    """As the command line takes it."""
    return region if isinstance(region, str) else f"{region[0]}:{region[1] + 1}-{region[2]}"


def locate_region(region: Region, names: Sequence[str], lengths: Sequence[int]) -> Target:
    """The text of a region, or its contig, start and stop. Raises InputError."""
    if isinstance(region, str):
        return parse_region(region, names, lengths)
    name, start, stop = region
    if name not in names:
        raise InputError(name, "no such contig in the reference")
    contig = names.index(name)
    if not 0 <= start < stop <= lengths[contig]:
        raise InputError(region, f"empty or outside the contig, which has {lengths[contig]} bases")
    return Target(contig, start, stop)


def find_targets(regions: Iterable[Region] | None, bed: Path | None, reference: Reference) -> list[Target] | None:
    """What the regions and a BED file ask for; None, which is everything, where there is neither. Raises InputError."""
    if regions is None and bed is None:
        return None
    names, lengths = reference.names, (reference.contig_offsets[1:] - reference.contig_offsets[:-1]).tolist()
    found = [locate_region(region, names, lengths) for region in regions or ()]
    return found + (read_bed(bed, names, lengths) if bed else [])


def targets_in(reference: Reference, found: Iterable[Target] | None) -> list[Target]:
    """In reference order, those that overlap joined; whole contigs for None."""
    if found is not None:
        return merge_targets(found)
    return [Target(contig, 0, contig_length(reference, contig)) for contig in range(len(reference.names))]


def read_bed(path: Path, names: Sequence[str], lengths: Sequence[int]) -> list[Target]:
    """The intervals of a BED file, plain or gzip. Raises InputError for an unknown contig and for a broken line."""
    return [target for _, target, _ in read_bed_lines(path, names, lengths) if target.start < target.stop]


def read_bed_lines(path: Path, names: Sequence[str], lengths: Sequence[int]) -> Iterator[tuple[int, Target, list[str]]]:
    """Line number, interval and the columns after it. Raises InputError."""
    numbers = {name: contig for contig, name in enumerate(names)}
    for line, name, start, stop, rest in read_intervals(path):
        if name not in numbers:
            raise InputError(path, f"no contig {name!r} in the reference", line)
        contig = numbers[name]
        if start > stop or start > lengths[contig]:
            raise InputError(path, f"ends before it starts, or lies outside {name!r}", line)
        yield line, Target(contig, start, min(stop, lengths[contig])), rest


def merge_targets(targets: Iterable[Target]) -> list[Target]:
    """In reference order, overlapping and touching ones joined."""
    out: list[Target] = []
    for target in sorted(targets):
        if out and out[-1].contig == target.contig and target.start <= out[-1].stop:
            out[-1] = Target(target.contig, out[-1].start, max(out[-1].stop, target.stop))
        else:
            out.append(target)
    return out


def split_targets(targets: Iterable[Target], size: int) -> Iterator[Target]:
    for contig, start, stop in targets:
        for first in range(start, stop, size):
            yield Target(contig, first, min(first + size, stop))
