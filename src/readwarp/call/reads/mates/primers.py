"""Read the primers of amplicon panels from BED files of ARTIC and iVar schemes, and find those of each read."""

import re
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.places.strips import Strip
from readwarp.call.reads.mates import TOLERANCE
from readwarp.call.reads.mates.pairs import NONE, OverlappingMates
from readwarp.errors import InputError
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.common.regions import Contigs, read_target_lines
from readwarp.index.reference import Reference
from readwarp.rules.cigar import HARD_CLIP, SOFT_CLIP
from readwarp.rules.flags import REVERSE

SIDES = {"+": False, "-": True, "LEFT": False, "RIGHT": True, "F": False, "R": True}  # whether it is a reverse primer
NAME = re.compile(r"(?P<amplicon>.+?)[_-](?P<side>LEFT|RIGHT|F|R)(?:[_-].*)?", re.IGNORECASE)
Row = tuple[int, int, bool, str]  # start, stop, is_reverse, amplicon ("" if unknown)
NOWHERE = 1 << 60


class Primers(NamedTuple):
    """Primers of one contig, sorted by `start`."""

    start: Annotated[ndarray, "int64 [primers]"]  # 0-based
    stop: Annotated[ndarray, "int64 [primers]"]
    reach: Annotated[ndarray, "int64 [primers]"]  # greatest stop up to here
    is_reverse: Annotated[ndarray, "bool [primers]"]
    partner: Annotated[ndarray, "int64 [primers]"]  # innermost primer of its amplicon's other side; NONE if unknown


def read_primers(path: Path | None, reference: Reference) -> dict[int, Primers]:
    """Read the primers of each contig from BED: contig, start, end, name, score or pool, and strand, plain or gzip.

    Without a strand column, the name tells it: the text before `_LEFT` or `_RIGHT` (`_F`, `_R`) is the amplicon, the
    text after is ignored. Raises InputError for an unknown contig, a broken line and a primer without a strand.
    """
    rows: dict[int, list[Row]] = {}
    contigs = Contigs(reference.names, np.diff(reference.contig_offsets).tolist())
    for line, (contig, start, stop), rest in read_target_lines(path, contigs) if path else ():
        name = NAME.fullmatch(rest[0].strip()) if rest else None
        given = [text.strip() for text in rest[1:] if text.strip() in ("+", "-")]
        side = given[0] if given else name["side"].upper() if name else ""
        if side not in SIDES:
            text = "expected columns contig, start, end, name, pool and strand (+ or -) of a primer"
            raise InputError(path, text, line)
        if start < stop:
            rows.setdefault(contig, []).append((start, stop, SIDES[side], name["amplicon"] if name else ""))
    return {contig: primers_of(own) for contig, own in rows.items()}


def primers_of(rows: list[Row]) -> Primers:
    rows = sorted(rows)
    start, stop = (np.array([row[i] for row in rows], np.int64) for i in range(2))
    inner: dict[tuple[str, bool], int] = {}  # innermost primer of each side
    for number, (first, last, is_reverse, amplicon) in enumerate(rows):
        best = inner.setdefault((amplicon, is_reverse), number)
        if first < rows[best][0] if is_reverse else last > rows[best][1]:
            inner[amplicon, is_reverse] = number
    return Primers(
        start=start,
        stop=stop,
        reach=np.maximum.accumulate(stop),
        is_reverse=np.array([row[2] for row in rows], bool),
        partner=np.array([inner.get((row[3], not row[2]), NONE) if row[3] else NONE for row in rows], np.int64),
    )


def primers_along(primers: dict[int, Primers], strip: Strip) -> dict[int, Primers]:
    """Move primers to the strip's axis, as contig 0. Only contigs without primers share a strip."""
    own = primers.get(strip.contigs[0])
    return {0: repeat_primers(own, strip.origins)} if own else {}


def repeat_primers(primers: Primers, origins: ndarray) -> Primers:
    """Repeat the primers on copies of a contig, whose first bases lie at the origins (int64 [copies]).

    An amplicon begins with its forward primer: if that is the later one on the contig, the partner is on the next copy.
    """
    number, is_reverse = primers.start.size, primers.is_reverse
    side, partner = np.where(is_reverse, -1, 1), primers.partner
    step = side * ((primers.start[partner] - primers.start) * side < 0)  # copies to the partner
    copy = np.repeat(np.arange(origins.size), number)
    row, step, partner = (np.tile(column, origins.size) for column in (np.arange(number), step, partner))
    is_known = (partner != NONE) & (copy + step >= 0) & (copy + step < origins.size)
    stop = primers.stop[row] + origins[copy]
    return Primers(
        start=primers.start[row] + origins[copy],
        stop=stop,
        reach=np.maximum.accumulate(stop),
        is_reverse=is_reverse[row],
        partner=np.where(is_known, partner + (copy + step) * number, NONE),
    )


NO_PRIMERS = primers_of([])


def find_amplicons(reads: AlignedReads, pairs: OverlappingMates, primers: Primers) -> tuple[ndarray, ndarray]:
    """Return [low, high) of each read, -NOWHERE and NOWHERE where no primer is known (int64); see the contract."""
    low, high = np.full((2, len(reads)), ((-NOWHERE,), (NOWHERE,)))
    if primers.start.size and len(reads):
        is_reverse, has_mate = reads.flag & REVERSE != 0, pairs.mate != NONE
        outer, aligned = outer_ends(reads)
        own = find_primers(primers, outer, aligned, is_reverse)
        end = reads.fragment_end - ~is_reverse
        outer, aligned = (np.where(has_mate, place[pairs.mate], end) for place in (outer, aligned))
        other = find_primers(primers, outer, aligned, ~is_reverse)
        partner = np.where(own != NONE, primers.partner[own], NONE)
        other = np.where(has_mate | (reads.fragment_end >= 0), other, partner)
        left, right = np.where(is_reverse, (other, own), (own, other))
        low, high = np.where(left != NONE, primers.stop[left], low), np.where(right != NONE, primers.start[right], high)
    return low, high


def outer_ends(reads: AlignedReads) -> tuple[ndarray, ndarray]:
    """Return where each read's 5' end lies, if clips continue along the diagonal, and the aligned base next to it."""
    first, last = reads.cigar_offsets[:-1], reads.cigar_offsets[1:] - 1
    is_reverse = reads.flag & REVERSE != 0
    outside, inside = np.where(is_reverse, (last, np.maximum(last - 1, first)), (first, np.minimum(first + 1, last)))
    code, following = reads.cigar[outside].astype(np.int64), reads.cigar[inside].astype(np.int64)
    is_hard = code & 15 == HARD_CLIP
    soft = np.where(is_hard, following, code)
    clipped = np.where(is_hard, code >> 4, 0) + np.where(soft & 15 == SOFT_CLIP, soft >> 4, 0)
    aligned = np.where(is_reverse, reads.reference_stop - 1, reads.position)
    return aligned + np.where(is_reverse, clipped, -clipped), aligned


def find_primers(primers: Primers, outer: ndarray, aligned: ndarray, is_reverse: ndarray) -> ndarray:
    """Find the primer of a read's strand that holds its outermost or its first aligned base; NONE if there is none.

    On a tie, the one that begins nearest to the outermost base. int64 [reads], like `outer` and `aligned`.
    """
    before = np.where(is_reverse, 0, TOLERANCE)
    after = TOLERANCE - before
    first = np.searchsorted(primers.reach, np.minimum(outer, aligned) - after, "right")
    stop = np.searchsorted(primers.start, np.maximum(outer, aligned) + before, "right")
    number = np.maximum(stop - first, 0)
    read = np.repeat(np.arange(number.size), number)
    k = np.arange(read.size) + (first - np.cumsum(number) + number)[read]
    low, high = primers.start[k] - before[read], primers.stop[k] + after[read]
    is_within = ((low <= outer[read]) & (outer[read] < high)) | ((low <= aligned[read]) & (aligned[read] < high))
    fits = is_within & (primers.is_reverse[k] == is_reverse[read])
    read, k = read[fits], k[fits]
    distance = np.abs(outer[read] - np.where(is_reverse[read], primers.stop[k] - 1, primers.start[k]))
    order = np.lexsort((distance, read))  # stable: the first one on a tie
    rows, nearest = np.unique(read[order], return_index=True)
    out = np.full(number.size, NONE, np.int64)
    out[rows] = k[order[nearest]]
    return out
