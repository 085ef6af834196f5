"""Read the primers of amplicon panels from BED files of ARTIC and iVar schemes."""

import re
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.places.strips import Strip
from readwarp.errors import InputError
from readwarp.formats.common.regions import Contigs, read_target_lines
from readwarp.index.reference import Reference

SIDES = {"+": False, "-": True, "LEFT": False, "RIGHT": True, "F": False, "R": True}  # whether it is a reverse primer
NAME = re.compile(r"(?P<amplicon>.+?)[_-](?P<side>LEFT|RIGHT|F|R)(?:[_-].*)?", re.IGNORECASE)
NONE = -1


class Primers(NamedTuple):
    """Primers of one contig, sorted by `start`."""

    start: Annotated[ndarray, "int64 [primers]"]  # 0-based
    stop: Annotated[ndarray, "int64 [primers]"]
    reach: Annotated[ndarray, "int64 [primers]"]  # greatest stop up to here
    is_reverse: Annotated[ndarray, "bool [primers]"]
    partner: Annotated[ndarray, "int64 [primers]"]  # innermost primer of its amplicon's other side; NONE if unknown


Row = tuple[int, int, bool, str]  # start, stop, is_reverse, amplicon ("" if unknown)


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
