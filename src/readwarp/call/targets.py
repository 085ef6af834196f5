"""Which parts of the reference are called: regions, BED files, and the windows they are cut into."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from readwarp.errors import InputError


class Target(NamedTuple):
    """[start, stop) of a contig, 0-based. Sorts in reference order."""

    contig: int
    start: int
    stop: int


def parse_region(text: str, names: Sequence[str], lengths: Sequence[int]) -> Target:
    """`NAME`, `NAME:FROM` or `NAME:FROM-TO`, 1-based and inclusive; names may hold colons. Raises InputError."""
    if text in names:
        contig = names.index(text)
        return Target(contig, 0, lengths[contig])
    name, _, span = text.rpartition(":")
    if name not in names:
        raise InputError(text, "no such contig in the reference")
    contig = names.index(name)
    first, dash, last = span.replace(",", "").partition("-")
    if not first.isdigit() or (dash and not last.isdigit()):
        raise InputError(text, "a region is NAME, NAME:FROM or NAME:FROM-TO")
    start, stop = int(first) - 1, int(last) if dash else lengths[contig]
    if not 0 <= start < min(stop, lengths[contig]):
        raise InputError(text, f"empty or outside the contig, which has {lengths[contig]} bases")
    return Target(contig, start, min(stop, lengths[contig]))


def read_bed(path: Path, names: Sequence[str], lengths: Sequence[int]) -> list[Target]:
    """The intervals of a BED file. Raises InputError for a contig that does not exist and for a broken line."""
    targets = []
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(path, "is not text") from error
    for number, line in enumerate(lines, 1):
        fields = line.split("\t") if "\t" in line else line.split()
        if not fields or fields[0].startswith(("#", "track", "browser")):
            continue
        if len(fields) < 3 or not fields[1].isdigit() or not fields[2].isdigit():
            raise InputError(path, "not contig, start and end", number)
        if fields[0] not in names:
            raise InputError(path, f"no contig {fields[0]!r} in the reference", number)
        contig = names.index(fields[0])
        start, stop = int(fields[1]), int(fields[2])
        if start > stop or start > lengths[contig]:
            raise InputError(path, f"ends before it starts, or lies outside {fields[0]!r}", number)
        if start < min(stop, lengths[contig]):
            targets.append(Target(contig, start, min(stop, lengths[contig])))
    return targets


def merged(targets: Iterable[Target]) -> list[Target]:
    """In reference order, overlapping and touching ones joined."""
    out: list[Target] = []
    for target in sorted(targets):
        if out and out[-1].contig == target.contig and target.start <= out[-1].stop:
            out[-1] = Target(target.contig, out[-1].start, max(out[-1].stop, target.stop))
        else:
            out.append(target)
    return out


def windows(targets: Iterable[Target], size: int) -> Iterator[Target]:
    for contig, start, stop in targets:
        for first in range(start, stop, size):
            yield Target(contig, first, min(first + size, stop))
