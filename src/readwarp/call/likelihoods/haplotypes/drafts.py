"""Hold haplotypes in the making: kernels add them, then they are merged and ranked."""

from collections import Counter
from itertools import pairwise
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Regions
from readwarp.call.likelihoods.haplotypes import MAX_HAPLOTYPES, RAREST
from readwarp.call.places.bases import Window
from readwarp.compiler.jit import kernel
from readwarp.ragged import empty, offsets_of
from readwarp.rules.shares import scale_shares

NOT_ASKED, REFERENCE = np.int64(-1), np.int64(-2)  # in place of an allele asked for


class DraftSpans(NamedTuple):
    """Coordinates of regions; here and in Alleles, positions count from the first base of the window."""

    start: Annotated[ndarray, "int64 [regions]"]  # variants begin in [start, stop)
    stop: Annotated[ndarray, "int64 [regions]"]
    low: Annotated[ndarray, "int64 [regions]"]  # haplotypes span [low, high)
    high: Annotated[ndarray, "int64 [regions]"]
    known_low: Annotated[ndarray, "int64 [regions]"]  # [known_low, known_high) around the region is assembled: ...
    known_high: Annotated[ndarray, "int64 [regions]"]  # ... it has no N, and is empty if the region itself has one
    rarest: Annotated[ndarray, "int64 [regions]"]  # see the step's contract

    def __len__(self) -> int:
        return self.start.size


class Drafts(NamedTuple):
    """Haplotypes of regions in any order, and space for more."""

    bases: Annotated[ndarray, "uint8 [bases]"]  # 0-4
    base_offsets: Annotated[ndarray, "int64 [drafts + 1] of bases"]
    region: Annotated[ndarray, "int64 [drafts]"]
    support: Annotated[ndarray, "int64 [drafts]"]
    asked: Annotated[ndarray, "int64 [drafts]"]  # the requested allele that makes it, or NOT_ASKED, REFERENCE
    used: Annotated[ndarray, "int64 [2]"]  # drafts and bases so far
    is_full: Annotated[ndarray, "bool [regions]"]  # some were left out

    def __len__(self) -> int:
        return self.region.size


def spans_of(regions: Regions, window: Window, ploidy: ndarray) -> DraftSpans:
    columns = regions.start, regions.stop, regions.low, regions.high
    start, stop, low, high = (column - window.first for column in columns)
    bounds = np.concatenate(([-1], np.flatnonzero(window.bases > 3), [window.bases.size]))  # of stretches without N
    before = np.searchsorted(bounds, start) - 1
    known_low, known_high = np.maximum(low, bounds[before] + 1), np.minimum(high, bounds[before + 1])
    known_high = np.where(stop <= bounds[before + 1], known_high, known_low)
    rarest = np.maximum(1, RAREST / scale_shares(ploidy)).astype(np.int64)
    return DraftSpans(start, stop, low, high, known_low, known_high, rarest)


def new_drafts(drafts: int, bases: int, regions: int) -> Drafts:
    """Allocate that many."""
    out = empty(Drafts, {"drafts": drafts, "bases": bases, "regions": regions})
    out.base_offsets[0], out.used[:], out.is_full[:] = 0, 0, False
    return out


@kernel
def add_draft(drafts, region, stop, support, asked):
    """Add a draft whose bases, up to `stop`, follow those of the last draft; none if `stop` is negative."""
    if stop < 0:
        return
    row = drafts.used[0]
    drafts.region[row], drafts.support[row], drafts.asked[row] = region, support, asked
    drafts.base_offsets[row + 1] = stop
    drafts.used[0], drafts.used[1] = row + 1, stop


def add_references(spans: DraftSpans, reference: ndarray, drafts: Drafts) -> None:
    """Add the reference haplotype of each region to drafts without any."""
    number, offsets = len(spans), offsets_of(spans.high - spans.low)
    for low, high, start, stop in zip(spans.low, spans.high, offsets[:-1], offsets[1:], strict=True):
        drafts.bases[start:stop] = reference[low:high]
    drafts.base_offsets[: number + 1], drafts.region[:number] = offsets, np.arange(number)
    drafts.support[:number], drafts.asked[:number], drafts.used[:] = 0, REFERENCE, (number, offsets[-1])


def list_bases(drafts: Drafts) -> list[bytes]:
    number, size = drafts.used.tolist()
    text = drafts.bases[:size].tobytes()
    return [text[first:stop] for first, stop in pairwise(drafts.base_offsets[: number + 1].tolist())]


def unite(drafts: Drafts) -> ndarray:
    """Return distinct drafts by region: the reference's first, then those asked for, then the others.

    The first of equal drafts represents them, with their greatest support.
    """
    bases = list_bases(drafts)
    number = len(bases)
    first: dict[tuple[int, bytes], int] = {}
    for row in np.lexsort((drafts.asked[:number] == NOT_ASKED, drafts.region[:number])).tolist():
        same = first.setdefault((int(drafts.region[row]), bases[row]), row)
        drafts.support[same] = max(drafts.support[same], drafts.support[row])
    return np.array(list(first.values()), np.int64)


def drop_unseen(drafts: Drafts, rows: ndarray, place: ndarray) -> ndarray:
    """Drop drafts that no read of their region shows, but reads of another sample at the place do.

    place: int64 [regions].
    """
    bases = list_bases(drafts)
    shown = {(int(place[drafts.region[row]]), bases[row]) for row in rows.tolist() if drafts.support[row] > 0}
    is_own = (drafts.asked[rows] != NOT_ASKED) | (drafts.support[rows] > 0)
    others = ((int(place[drafts.region[row]]), bases[row]) not in shown for row in rows[~is_own].tolist())
    is_own[~is_own] = np.fromiter(others, bool)
    return np.asarray(rows[is_own])


def rank(drafts: Drafts, rows: ndarray) -> ndarray:
    """Return the drafts in their final order, without those beyond the limit."""
    bases, asked = list_bases(drafts), drafts.asked
    region = drafts.region.tolist()
    ranked, others = list[int](), Counter[int]()
    for row in sorted(rows.tolist(), key=lambda i: (region[i], asked[i] != REFERENCE, -drafts.support[i], bases[i])):
        others[region[row]] += int(asked[row] == NOT_ASKED)
        if asked[row] == NOT_ASKED and others[region[row]] >= MAX_HAPLOTYPES:
            drafts.is_full[region[row]] = True
        else:
            ranked.append(row)
    return np.array(ranked, np.int64)
