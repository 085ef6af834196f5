"""Which parts of the reference are called: regions, BED files, and the windows that they are cut into."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from readwarp.errors import InputError
from readwarp.formats.common.bed import read_intervals
from readwarp.index.reference import Reference

Region = str | tuple[str, int, int]  # text of the command line; or contig, start and stop, 0-based and half-open


class Target(NamedTuple):
    """[start, stop) of a contig, 0-based. Targets sort in reference order."""

    contig: int
    start: int
    stop: int


def as_regions(given: Region | Iterable[Region] | None) -> tuple[Region, ...] | None:
    """One region or several as a tuple; None, which is everything, stays None."""
    if given is None or isinstance(given, str):
        return None if given is None else (given,)
    if isinstance(given, tuple) and len(given) == 3 and isinstance(given[1], int):
        return (given,)  # contig, start, stop
    return tuple(cast(Iterable[Region], given))


def spell_region(region: Region) -> str:
    """The region as a text of the command line."""
    return region if isinstance(region, str) else f"{region[0]}:{region[1] + 1}-{region[2]}"


def locate_region(region: Region, names: Sequence[str], lengths: Sequence[int]) -> Target:
    """A text is `NAME`, `NAME:FROM` or `NAME:FROM-` (to its end), or `NAME:FROM-TO`; 1-based, inclusive, commas or not.

    Names may contain colons and commas: a text that is a whole name is that contig, else the last colon separates name
    and positions. A TO beyond the contig's end means its end. Raises InputError.
    """
    if isinstance(region, str):
        name, _, span = (region, "", "1-") if region in names else region.rpartition(":")
    else:
        name, span = region[0], ""
    if name not in names:
        raise InputError(region if isinstance(region, str) else name, "no such contig in the reference")
    contig = names.index(name)
    if isinstance(region, str):
        places = re.fullmatch(r"([0-9]+)(?:-([0-9]*))?", span.replace(",", ""))
        if not places:
            raise InputError(region, "a region is NAME, NAME:FROM or NAME:FROM-TO")
        start, stop = int(places[1]) - 1, min(int(places[2] or lengths[contig]), lengths[contig])
    else:
        _, start, stop = region
    if not 0 <= start < stop <= lengths[contig]:
        raise InputError(region, f"empty or outside the contig, which has {lengths[contig]} bases")
    return Target(contig, start, stop)


def find_targets(regions: Iterable[Region] | None, bed: Path | None, reference: Reference) -> list[Target]:
    """What the regions and a BED file ask for, merged; without either, whole contigs. Raises InputError."""
    names, lengths = reference.names, np.diff(reference.contig_offsets).tolist()
    if regions is None and bed is None:
        return [Target(contig, 0, length) for contig, length in enumerate(lengths)]
    found = [locate_region(region, names, lengths) for region in regions or ()]
    return merge_targets(found + (read_bed(bed, names, lengths) if bed else []))


def read_bed(path: Path, names: Sequence[str], lengths: Sequence[int]) -> list[Target]:
    """The intervals of a BED file, plain or gzip. Raises InputError for an unknown contig or a broken line."""
    return [target for _, target, _ in read_bed_lines(path, names, lengths) if target.start < target.stop]


def read_bed_lines(path: Path, names: Sequence[str], lengths: Sequence[int]) -> Iterator[tuple[int, Target, list[str]]]:
    """Line number, interval and the other columns of each line. Raises InputError."""
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


def bases_of(targets: Iterable[Target]) -> int:
    return sum(target.stop - target.start for target in targets)
