"""The kernels, with types, that each command needs with all its options: the rows of kernels.tsv.

The file is recorded by running the commands on tiny data (`python tests/compiler/test_manifest.py`). A kernel missing
from it is still compiled when it is called. `python tests/device/test_card_manifest.py` makes that for cards.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from readwarp.compiler import kernel_cache
from readwarp.compiler.levels import Level

TABLE, CARD_TABLE = (Path(__file__).with_name(name) for name in ("kernels.tsv", "card_kernels.tsv"))
COLUMNS = ("kernel", "signature", "seconds", "commands")


class ManifestEntry(NamedTuple):
    """A kernel for one signature."""

    kernel: str  # module:name
    signature: str  # in the form of readwarp.compiler.signature
    seconds: float  # compile time on the machine that recorded the file
    commands: frozenset[str]  # commands of the command line, and classes and functions of the Python API


@cache
def entries(table: Path = TABLE) -> tuple[ManifestEntry, ...]:
    """Return all rows in file order."""
    _, *lines = table.read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines)
    return tuple(
        ManifestEntry(kernel, signature, float(s), frozenset(names.split(","))) for kernel, signature, s, names in rows
    )


def commands() -> list[str]:
    """List the commands for which kernels are recorded."""
    return sorted(frozenset[str]().union(*(entry.commands for entry in entries())))


def needed_by(*commands: str) -> list[ManifestEntry]:
    """List the kernels of some commands; none for an unknown command."""
    return [entry for entry in entries() if not entry.commands.isdisjoint(commands)]


def place_of(entry: ManifestEntry, level: Level) -> Path:
    """Return the file of a kernel within each folder of `cache_folders`."""
    return kernel_cache.place_of(entry.kernel, entry.signature, level)


def write(found: list[ManifestEntry], table: Path = TABLE) -> None:
    """Replace the file."""
    rows = sorted((e.kernel, e.signature, f"{e.seconds:.2f}", ",".join(sorted(e.commands))) for e in found)
    table.write_text("".join("\t".join(row) + "\n" for row in (COLUMNS, *rows)), "utf-8")
