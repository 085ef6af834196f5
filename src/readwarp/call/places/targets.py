"""Choose the parts of the reference to call, and divide them into windows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy import ndarray

from readwarp.config.commands import CallOptions, GenotypeOptions, RunOptions
from readwarp.config.declare import chosen
from readwarp.config.options import CallingOptions, Region
from readwarp.formats.common.regions import Contigs, Target, locate_regions, merge_targets, read_targets
from readwarp.index.reference import Reference
from readwarp.python.keywords import as_texts

BLOCK = 32  # bases in which the depth limit counts
STEP = 16  # depth is recorded at multiples of this position
MAX_REGION = 300  # bases; longer regions are cut at multiples of it
GRID = lcm(BLOCK, STEP, MAX_REGION)


MARGIN = 1024  # bases around a window that are read too; nothing beyond reaches into it
JOINED = 8192  # bases between two targets that cost no more than a window of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTargets:
    """Places to call, as requested; everywhere without regions and targets."""

    regions: tuple[Region, ...] | None = None
    targets: tuple[str, ...] = ()  # BED files, interval lists, lists of regions, or texts of regions
    excluded: tuple[str, ...] = ()  # places that are not called, given like `targets`
    padding: int = 0  # bases on either side of regions and targets

    @property
    def is_partial(self) -> bool:
        """Return whether regions or targets are given."""
        return self.regions is not None or bool(self.targets)

    @property
    def files(self) -> list[Path]:
        return [Path(given) for given in (*self.targets, *self.excluded) if Path(given).exists()]

    def find(self, reference: Reference) -> list[Target]:
        """Return the parts of the reference, merged and sorted. Raises InputError."""
        names, lengths = reference.names, np.diff(reference.contig_offsets).tolist()
        contigs = Contigs(names, lengths)
        if self.is_partial:
            asked = [target for region in self.regions or () for target in locate_regions(region, contigs)]
            asked += [target for given in self.targets for target in read_targets(given, contigs)]
        else:
            asked = [Target(contig, 0, length) for contig, length in enumerate(lengths)]
        excluded = [target for given in self.excluded for target in read_targets(given, contigs)]
        return subtract(merge_targets(pad(asked, self.padding, lengths)), merge_targets(excluded))


def as_regions(given: Region | Iterable[Region] | None) -> tuple[Region, ...] | None:
    """Return one region or several as a tuple; None, which is everything, stays None."""
    if given is None or isinstance(given, str):
        return None if given is None else (given,)
    if isinstance(given, tuple) and len(given) == 3 and isinstance(given[1], int):
        return (given,)  # contig, start, stop
    return tuple(cast(Iterable[Region], given))


def pad(targets: Iterable[Target], bases: int, lengths: Sequence[int]) -> Iterator[Target]:
    """Widen each target by that many bases on either side, within its contig."""
    for contig, start, stop in targets:
        yield Target(contig, max(0, start - bases), min(stop + bases, lengths[contig]))


def subtract(targets: Sequence[Target], excluded: Sequence[Target]) -> list[Target]:
    """Subtract `excluded` from the targets; both are merged."""
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


class TargetStretch(NamedTuple):
    """Stretch [start, stop) of a contig, which is called as a whole; calls in its targets are kept."""

    contig: int
    start: int
    stop: int
    targets: tuple[Target, ...]  # within it, in order; the first begins and the last ends it

    def mask(self) -> ndarray:
        """Return which bases lie in the targets (bool [bases])."""
        out = np.zeros(self.stop - self.start, bool)
        for target in self.targets:
            out[target.start - self.start : target.stop - self.start] = True
        return out

    def halves(self) -> "tuple[TargetStretch, TargetStretch]":
        left, right = split_at(self, (self.start + self.stop) // 2)
        return left, right


def split_at(stretch: TargetStretch, place: int) -> list[TargetStretch]:
    """Split a stretch at a place; empty parts are left out."""
    before = [target._replace(stop=min(target.stop, place)) for target in stretch.targets if target.start < place]
    after = [target._replace(start=max(target.start, place)) for target in stretch.targets if target.stop > place]
    return [stretch_of(targets) for targets in (before, after) if targets]


def stretch_of(targets: Sequence[Target]) -> TargetStretch:
    """Make a stretch of targets of one contig, at least one, in order."""
    return TargetStretch(targets[0].contig, targets[0].start, targets[-1].stop, tuple(targets))


def join_targets(targets: Iterable[Target], size: int, gap: int = JOINED) -> Iterator[TargetStretch]:
    """Cut targets to `size` bases; neighbours at most `gap` apart are joined as far as `size` allows."""
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


def places_of(options: Mapping[str, Any]) -> CallTargets:
    """Make the places. Raises UsageError."""
    places = chosen(CallingOptions(), options)
    return CallTargets(
        regions=as_regions(places.region),
        targets=as_texts(places.targets),
        excluded=as_texts(places.exclude_regions),
        padding=places.interval_padding,
    )


def spell_regions(options: CallOptions | RunOptions | GenotypeOptions) -> None:
    """Replace regions, if given, by texts as on the command line."""
    regions = as_regions(options.get("region"))
    if regions is not None:
        options["region"] = [one if isinstance(one, str) else f"{one[0]}:{one[1] + 1}-{one[2]}" for one in regions]
