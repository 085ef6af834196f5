"""Intervals of a reference: BED, Picard's interval lists, and lists of regions, plain or compressed."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from readwarp.errors import InputError
from readwarp.formats.common.compressed import decompress
from readwarp.formats.common.source import reading

MAX_TEXT = 1 << 29  # bytes
BED, PICARD, REGIONS = "BED", "interval list", "list of regions"
PLACE = re.compile("[0-9]{1,18}")
COLUMN_NAMES = {("start", "end"), ("start", "stop"), ("chromstart", "chromend"), ("begin", "end"), ("from", "to")}


class Interval(NamedTuple):
    """A line of a BED file or an interval list."""

    line: int  # from 1
    name: str  # of the contig
    start: int  # 0-based, half-open
    stop: int
    columns: list[str]  # further columns


def read_intervals(path: Path) -> Iterator[Interval]:
    """Yield the intervals of a BED file or Picard's interval list (1-based and inclusive, with a header of @SQ lines).

    Raises InputError for an unreadable file, a line without an interval, and a list of regions.
    """
    text = read_text(path)
    kind = kind_of(path, text)
    if kind == REGIONS:
        raise InputError(path, "expected columns contig, start and end", 1)
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split("\t") if "\t" in line else line.split()
        if not fields or fields[0].startswith(("#", "track", "browser")) or (kind == PICARD and line[0] == "@"):
            continue
        if kind == BED and tuple(field.strip().lower() for field in fields[1:3]) in COLUMN_NAMES:
            continue
        if len(fields) < 3 or not all(PLACE.fullmatch(field.strip()) for field in fields[1:3]):
            hint = " (columns are separated by tabs)" if "," in line and len(fields) < 3 else ""
            raise InputError(path, f"expected columns contig, start and end{hint}", number)
        start, stop = int(fields[1]), int(fields[2])
        if kind == PICARD and start == 0:
            raise InputError(path, "positions of an interval list begin at 1", number)
        yield Interval(number, fields[0], start - (kind == PICARD), stop, fields[3:])


def read_regions(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each region in a list of regions."""
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line.strip()


def read_contigs(path: Path) -> Iterator[tuple[int, str, int]]:
    """Yield line number, name and length of each contig in the header of an interval list."""
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.startswith("@SQ\t"):
            fields = dict(part.split(":", 1) for part in line.split("\t")[1:] if ":" in part)
            if not ("SN" in fields and PLACE.fullmatch(fields.get("LN", ""))):
                raise InputError(path, "@SQ without SN or LN", number)
            yield number, fields["SN"], int(fields["LN"])


def kind_of(path: Path, text: str) -> str:
    """Return the format by the content, or, for an interval list without a header, by the ending."""
    if text.startswith("@") or re.search(r"\.(interval_list|picard)(\.gz)?$", path.name):
        return PICARD
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith(("#", "track", "browser")))
    first = next(lines, "")
    is_one = len(first.split("\t") if "\t" in first else first.split()) == 1
    return REGIONS if is_one and (re.search(r"\.(list|intervals)(\.gz)?$", path.name) or ":" in first) else BED


def read_text(path: Path) -> str:
    with reading(path), path.open("rb") as raw, decompress(raw) as stream:
        data = stream.read(MAX_TEXT + 1)
    if len(data) > MAX_TEXT:
        raise InputError(path, f"more than {MAX_TEXT >> 20} MiB of text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(path, "is not text") from error
