"""Intervals of BED files."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from readwarp.errors import InputError


def read_intervals(path: Path) -> Iterator[tuple[int, str, int, int, list[str]]]:
    """Line number, contig, start, stop (0-based, half-open) and further columns of each interval; plain or gzip.

    Raises InputError for a file that cannot be read, and for a line that holds no interval.
    """
    for number, line in enumerate(_read_text(path).splitlines(), 1):
        fields = line.split("\t") if "\t" in line else line.split()
        if not fields or fields[0].startswith(("#", "track", "browser")):
            continue
        if len(fields) < 3 or not all(field.isascii() and field.strip().isdigit() for field in fields[1:3]):
            raise InputError(path, "not contig, start and end", number)
        yield number, fields[0], int(fields[1]), int(fields[2]), fields[3:]


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
