"""Which parts of the reference are called: what was asked for, and the windows in which it is done."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from numpy import ndarray

from readwarp.errors import InputError, UsageError
from readwarp.formats.common.intervals import (
    PICARD,
    REGIONS,
    kind_of,
    read_contigs,
    read_intervals,
    read_regions,
    read_text,
)
from readwarp.index.reference import Reference

MARGIN = 1024  # bases around a window that are read too; nothing beyond reaches into it
JOINED = 8192  # bases between two targets that take no longer than a window of their own would
Region = str | tuple[str, int, int]  # text of the command line; or contig, start and stop, 0-based and half-open


class Contigs:
    """Names and lengths of the reference's contigs; numbers by name."""

    def __init__(self, names: Sequence[str], lengths: Sequence[int]):
        self.lengths, self.numbers = lengths, {name: number for number, name in enumerate(names)}


class Target(NamedTuple):
    """[start, stop) of a contig, 0-based. Targets sort in reference order."""

    contig: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where to call, as it was asked for. Without regions and targets that is everywhere."""

    regions: tuple[Region, ...] | None = None
    targets: tuple[str, ...] = ()  # BED files, interval lists, lists of regions, or texts of regions
    excluded: tuple[str, ...] = ()  # likewise; what they hold is not called
    padding: int = 0  # bases on either side of regions and targets

    def __post_init__(self) -> None:
        if self.padding < 0:
            raise UsageError("--interval-padding must be at least 0")

    @property
    def is_partial(self) -> bool:
        """Whether regions or targets are given."""
        return self.regions is not None or bool(self.targets)

    @property
    def files(self) -> list[Path]:
        return [Path(given) for given in (*self.targets, *self.excluded) if Path(given).exists()]

    def find(self, reference: Reference) -> list["Target"]:
        """The parts of the reference, merged and in order. Raises InputError."""
        names, lengths = reference.names, np.diff(reference.contig_offsets).tolist()
        contigs = Contigs(names, lengths)
        if self.is_partial:
            asked = [locate_region(region, contigs) for region in self.regions or ()]
            asked += [target for given in self.targets for target in read_targets(given, contigs)]
        else:
            asked = [Target(contig, 0, length) for contig, length in enumerate(lengths)]
        excluded = [target for given in self.excluded for target in read_targets(given, contigs)]
        return subtract(merge_targets(pad(asked, self.padding, lengths)), merge_targets(excluded))


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


def locate_region(region: Region, contigs: Contigs) -> Target:
    """A text is `NAME`, `NAME:FROM` or `NAME:FROM-` (to its end), or `NAME:FROM-TO`; 1-based, inclusive, commas or not.

    Names may contain colons and commas: a text that is a whole name is that contig, else the last colon separates name
    and positions. A TO beyond the contig's end means its end. Raises InputError.
    """
    numbers, lengths = contigs.numbers, contigs.lengths
    if isinstance(region, str):
        name, _, span = (region, "", "1-") if region in numbers else region.rpartition(":")
    else:
        name, span = region[0], ""
    if name not in numbers:
        raise InputError(region if isinstance(region, str) else name, "no such contig in the reference")
    contig = numbers[name]
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


def read_targets(given: str, contigs: Contigs) -> list[Target]:
    """The intervals of a BED file, of an interval list or of a list of regions; else the region that the text names.

    Raises InputError for an unknown contig, a broken line, and for what is neither.
    """
    path = Path(given)
    if not path.exists():
        if given in contigs.numbers or given.rpartition(":")[0] in contigs.numbers:
            return [locate_region(given, contigs)]
        raise InputError(given, "no such file, and no region of the reference")
    kind = kind_of(path, read_text(path))
    if kind == REGIONS:
        return [_locate_line(path, line, region, contigs) for line, region in read_regions(path)]
    if kind == PICARD:
        _check_contigs(path, contigs)
    return [target for _, target, _ in read_target_lines(path, contigs) if target.start < target.stop]


def _locate_line(path: Path, line: int, region: str, contigs: Contigs) -> Target:
    try:
        return locate_region(region, contigs)
    except InputError as error:
        raise InputError(path, str(error), line) from None


def _check_contigs(path: Path, contigs: Contigs) -> None:
    """Raises InputError where a contig in the header of an interval list has another length than in the reference."""
    for line, name, length in read_contigs(path):
        if name in contigs.numbers and length != (own := contigs.lengths[contigs.numbers[name]]):
            raise InputError(path, f"its contig {name!r} has {length} bases, in the reference {own}", line)


def read_target_lines(path: Path, contigs: Contigs) -> Iterator[tuple[int, Target, list[str]]]:
    """Line number, interval and the other columns of each line of a BED file or interval list. Raises InputError."""
    numbers, lengths = contigs.numbers, contigs.lengths
    for line, name, start, stop, rest in read_intervals(path):
        if name not in numbers:
            raise InputError(path, f"no contig {name!r} in the reference", line)
        contig = numbers[name]
        if start > stop or start > lengths[contig]:
            raise InputError(path, f"ends before it starts, or lies outside {name!r}", line)
        yield line, Target(contig, start, min(stop, lengths[contig])), rest


def pad(targets: Iterable[Target], bases: int, lengths: Sequence[int]) -> Iterator[Target]:
    """Each target with so many bases more on either side, within its contig."""
    for contig, start, stop in targets:
        yield Target(contig, max(0, start - bases), min(stop + bases, lengths[contig]))


def merge_targets(targets: Iterable[Target]) -> list[Target]:
    """In reference order, overlapping and touching ones joined."""
    out: list[Target] = []
    for target in sorted(targets):
        if out and out[-1].contig == target.contig and target.start <= out[-1].stop:
            out[-1] = Target(target.contig, out[-1].start, max(out[-1].stop, target.stop))
        else:
            out.append(target)
    return out


def subtract(targets: Sequence[Target], excluded: Sequence[Target]) -> list[Target]:
    """What remains of the targets; both are merged."""
    out: list[Target] = []
    at = 0  # excluded before it end before the target
    for contig, start, stop in targets:
        while at < len(excluded) and (excluded[at].contig, excluded[at].stop) <= (contig, start):
            at += 1
        row = at
        while row < len(excluded) and excluded[row].contig == contig and excluded[row].start < stop:
            if start < excluded[row].start:
                out.append(Target(contig, start, excluded[row].start))
            start, row = excluded[row].stop, row + 1
        if start < stop:
            out.append(Target(contig, start, stop))
    return out


class Stretch(NamedTuple):
    """[start, stop) of a contig, which is called as a whole; what lies in its targets is kept."""

    contig: int
    start: int
    stop: int
    targets: tuple[Target, ...]  # within it, in order; the first one begins and the last one ends it

    def mask(self) -> ndarray:
        """bool [bases]: those in the targets."""
        out = np.zeros(self.stop - self.start, bool)
        for target in self.targets:
            out[target.start - self.start : target.stop - self.start] = True
        return out

    def halves(self) -> "tuple[Stretch, Stretch]":
        middle = (self.start + self.stop) // 2
        left = [target._replace(stop=min(target.stop, middle)) for target in self.targets if target.start < middle]
        right = [target._replace(start=max(target.start, middle)) for target in self.targets if target.stop > middle]
        return stretch_of(left), stretch_of(right)


def stretch_of(targets: Sequence[Target]) -> Stretch:
    """Targets of one contig, at least one, in order."""
    return Stretch(targets[0].contig, targets[0].start, targets[-1].stop, tuple(targets))


def join_targets(targets: Iterable[Target], size: int, gap: int = JOINED) -> Iterator[Stretch]:
    """The targets, cut to `size` bases; neighbours that are at most `gap` apart are joined as far as `size` allows."""
    waiting: list[Target] = []
    for target in split_targets(targets, size):
        if waiting:
            first, last = waiting[0], waiting[-1]
            is_near = target.contig == last.contig and target.start - last.stop <= gap
            if not is_near or target.stop - first.start > size:
                yield stretch_of(waiting)
                waiting = []
        waiting.append(target)
    if waiting:
        yield stretch_of(waiting)


def split_targets(targets: Iterable[Target], size: int) -> Iterator[Target]:
    for contig, start, stop in targets:
        for first in range(start, stop, size):
            yield Target(contig, first, min(first + size, stop))


def bases_of(targets: Iterable[Target]) -> int:
    return sum(target.stop - target.start for target in targets)
