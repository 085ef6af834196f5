"""Regions and intervals as users give them, located on contigs of known names and lengths."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from readwarp.config.options import Region
from readwarp.errors import InputError
from readwarp.formats.common import intervals
from readwarp.formats.common.contig_names import explain_absent

NUMBER = r"[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+"
SPAN = re.compile(rf"(?:{NUMBER})(?:-(?:{NUMBER})?)?")


class Contigs:
    """Names and lengths of the reference's contigs; numbers by name."""

    def __init__(self, names: Sequence[str], lengths: Sequence[int]):
        self.names, self.lengths = tuple(names), lengths
        self.numbers = {name: number for number, name in enumerate(names)}


class Target(NamedTuple):
    """A stretch [start, stop) of a contig, 0-based. Targets sort in reference order."""

    contig: int
    start: int
    stop: int


def locate_regions(region: Region, contigs: Contigs) -> list[Target]:
    """Locate a region, or the comma-separated regions of a text. Raises InputError."""
    if not isinstance(region, str):
        return [locate_region(region, contigs)]
    return [locate_region(part, contigs) for part in split_regions(region, contigs)]


def split_regions(text: str, contigs: Contigs) -> list[str]:
    """Split `a:1-5,000,b` into `a:1-5,000` and `b`. Commas may be in numbers and names too: the longest regions win.

    A text that cannot be split so is returned unchanged.
    """
    words, out, first = text.split(","), list[str](), 0
    while first < len(words):
        longest = range(len(words), first, -1)
        stop = next((n for n in longest if _is_region(",".join(words[first:n]).strip(), contigs)), None)
        if stop is None:
            return [text]
        out.append(",".join(words[first:stop]).strip())
        first = stop
    return out


def _is_region(text: str, contigs: Contigs) -> bool:
    name, _, span = text.rpartition(":")
    return text in contigs.numbers or (name in contigs.numbers and SPAN.fullmatch(span) is not None)


def locate_region(region: Region, contigs: Contigs) -> Target:
    """Locate `NAME`, `NAME:FROM` or `NAME:FROM-` (to its end), or `NAME:FROM-TO`; 1-based, inclusive, commas or not.

    Names may contain colons and commas: a text that is a whole name is that contig, else the last colon separates name
    and positions. A TO beyond the contig's end means its end. Raises InputError.
    """
    numbers, lengths = contigs.numbers, contigs.lengths
    if isinstance(region, str):
        name, _, span = (region, "", "1-") if region in numbers else region.rpartition(":")
    else:
        name, span = region[0], ""
    if name not in numbers:
        raise InputError(region if isinstance(region, str) else name, explain_absent(name or str(region), numbers))
    contig = numbers[name]
    if isinstance(region, str):
        places = re.fullmatch(r"([0-9]{1,18})(?:-([0-9]{0,18}))?", span.replace(",", ""))
        if not places:
            raise InputError(region, "a region is NAME, NAME:FROM or NAME:FROM-TO")
        start, stop = int(places[1]) - 1, min(int(places[2] or lengths[contig]), lengths[contig])
    else:
        _, start, stop = region
    if not 0 <= start < stop <= lengths[contig]:
        raise InputError(region, f"empty or outside the contig, which has {lengths[contig]} bases")
    return Target(contig, start, stop)


def read_targets(given: str, contigs: Contigs) -> list[Target]:
    """Read the intervals of a BED file, interval list or list of regions; else the regions named in the text.

    Raises InputError for an unknown contig, a broken line, and a text that is neither.
    """
    return [target for target, _ in read_named_targets(given, contigs)]


def read_named_targets(given: str, contigs: Contigs) -> list[tuple[Target, str]]:
    """Read targets, each with its name if the file has one: column 4 of BED, 5 of an interval list."""
    path = Path(given)
    if not path.exists():
        return [(target, "") for target in _locate_text(given, contigs)]
    kind = intervals.kind_of(path, intervals.read_text(path))
    if kind == intervals.REGIONS:
        lines = intervals.read_regions(path)
        return [(target, "") for line, text in lines for target in _locate_line(path, line, text, contigs)]
    if kind == intervals.PICARD:
        for line, name, length in intervals.read_contigs(path):
            if name in contigs.numbers and length != (own := contigs.lengths[contigs.numbers[name]]):
                raise InputError(path, f"its contig {name!r} has {length} bases, in the reference {own}", line)
    found = ((target, _name_of(columns)) for _, target, columns in read_target_lines(path, contigs))
    return [(target, name) for target, name in found if target.start < target.stop]


def _name_of(columns: Sequence[str]) -> str:
    """Return the first column after the interval that is not its strand."""
    return next((text for text in columns if text not in ("+", "-", ".")), "")


def _locate_text(given: str, contigs: Contigs) -> list[Target]:
    try:
        return locate_regions(given, contigs)
    except InputError as error:
        is_unknown = error.reason.startswith("no contig")
        raise InputError(given, f"no such file, and {error.reason}" if is_unknown else error.reason) from None


def _locate_line(path: Path, line: int, text: str, contigs: Contigs) -> list[Target]:
    try:
        return locate_regions(text, contigs)
    except InputError as error:
        raise InputError(path, str(error), line) from None


def read_target_lines(path: Path, contigs: Contigs) -> Iterator[tuple[int, Target, list[str]]]:
    """Yield line number, interval and other columns of each line of a BED file or interval list. Raises InputError."""
    numbers, lengths = contigs.numbers, contigs.lengths
    for line, name, start, stop, rest in intervals.read_intervals(path):
        if name not in numbers:
            raise InputError(path, explain_absent(name, numbers, "intervals"), line)
        contig = numbers[name]
        if start > stop or start > lengths[contig]:
            raise InputError(path, f"ends before it starts, or lies outside {name!r}", line)
        yield line, Target(contig, start, min(stop, lengths[contig])), rest


def merge_targets(targets: Iterable[Target]) -> list[Target]:
    """Sort targets in reference order, and join overlapping and touching ones."""
    out: list[Target] = []
    for target in sorted(targets):
        if out and out[-1].contig == target.contig and target.start <= out[-1].stop:
            out[-1] = Target(target.contig, out[-1].start, max(out[-1].stop, target.stop))
        else:
            out.append(target)
    return out
