"""How much of its input a job has read, whatever reads it."""

from collections.abc import Iterator, Sequence
from pathlib import Path


def consumed(paths: Sequence[Sequence[str]], source: int) -> float | None:
    """The share of the inputs that has been read, in bytes as they lie on disk, while input `source` is being read.

    The position is the kernel's, of any descriptor this process has open on one of the files, so that it holds for
    every reader. None where an input is a pipe, or cannot be seen.
    """
    flat = [Path(path) for files in paths for path in files]
    if not all(path.is_file() for path in flat):
        return None
    whole = sum(path.stat().st_size for path in flat)
    before = sum(Path(path).stat().st_size for files in paths[:source] for path in files)
    return (before + sum(_positions({Path(path).resolve() for path in paths[source]}))) / whole if whole else None


def _positions(wanted: set[Path]) -> Iterator[int]:
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            if descriptor.readlink() in wanted:
                yield int(Path(f"/proc/self/fdinfo/{descriptor.name}").read_text().split()[1])
        except OSError:  # closed meanwhile
            continue
