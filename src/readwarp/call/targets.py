"""Which parts of the reference are called: regions, BED files, and the windows that they are cut into."""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from readwarp.errors import InputError
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
    for number, line in enumerate(_read_text(path).splitlines(), 1):
        fields = line.split("\t") if "\t" in line else line.split()
        if not fields or fields[0].startswith(("#", "track", "browser")):
            continue
        if len(fields) < 3 or not all(field.isascii() and field.strip().isdigit() for field in fields[1:3]):
            raise InputError(path, "not contig, start and end", number)
        if fields[0] not in numbers:
            raise InputError(path, f"no contig {fields[0]!r} in the reference", number)
        contig, start, stop = numbers[fields[0]], int(fields[1]), int(fields[2])
        if start > stop or start > lengths[contig]:
            raise InputError(path, f"ends before it starts, or lies outside {fields[0]!r}", number)
        yield number, Target(contig, start, min(stop, lengths[contig])), fields[3:]


def _read_text(path: Path) -> str:
    try:
        data = path.read_bytes()
        return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror or error})") from error
    except (EOFError, zlib.error) as error:
        raise InputError(path, f"truncated or corrupt gzip ({error})") from error
    except UnicodeDecodeError as error:
        raise InputError(path, "is not text") from error


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
