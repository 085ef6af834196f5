"""The kernels, with types, that each command needs with all its options: the rows of kernels.tsv.

The file is recorded by running the commands on tiny data (`python tests/compiler/test_manifest.py`). A kernel missing
from it is still compiled when it is called.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from readwarp.compiler import kernel_cache
from readwarp.compiler.levels import Level

TABLE = Path(__file__).with_name("kernels.tsv")
COLUMNS = ("kernel", "signature", "seconds", "commands")


class ManifestEntry(NamedTuple):
    """A kernel for one signature."""

    kernel: str  # module:name
    signature: str  # in the form of readwarp.compiler.signature
    seconds: float  # compile time on the machine that recorded the file
    commands: frozenset[str]  # commands of the command line, and classes and functions of the Python API


@cache
def entries() -> tuple[ManifestEntry, ...]:
    """Return all rows in file order."""
    _, *lines = TABLE.read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines)
    return tuple(
        ManifestEntry(kernel, signature, float(s), frozenset(names.split(","))) for kernel, signature, s, names in rows
    )


def commands() -> list[str]:
    """List the commands for which kernels are recorded."""
    return sorted(frozenset[str]().union(*(entry.commands for entry in entries())))


def needed_by(command: str) -> list[ManifestEntry]:
    """List the kernels of one command; none for an unknown command."""
    return [entry for entry in entries() if command in entry.commands]


def place_of(entry: ManifestEntry, level: Level) -> Path:
    """Return the file of a kernel within each folder of `cache_folders`."""
    return kernel_cache.place_of(entry.kernel, entry.signature, level)


def write(found: list[ManifestEntry]) -> None:
    """Replace the file."""
    rows = sorted((e.kernel, e.signature, f"{e.seconds:.2f}", ",".join(sorted(e.commands))) for e in found)
    TABLE.write_text("".join("\t".join(row) + "\n" for row in (COLUMNS, *rows)), "utf-8")
