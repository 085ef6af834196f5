"""The index of a reference: its packed bases and the positions of its syncmers, in one memory-mapped file.

    Index.build(path) -> Index,  Index.open(path.rwx) -> Index,  open_or_build(path of either) -> Index

The package is callable: `readwarp.index(reference, ...)`, which saves the index, is `readwarp.index.api.index(...)`.
Contigs follow one another; a k-mer that spans a contig border or a base other than A C G T is not in the index.
"""

import logging
import os
import shlex
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from numpy import ndarray

from readwarp.compiler.prepare import prepare_once
from readwarp.config import PRESETS, SeedParameters
from readwarp.errors import InputError, OutputExistsError, UsageError
from readwarp.formats.common.files import check_output
from readwarp.formats.common.index_file import is_index
from readwarp.index import store
from readwarp.index.place import cache_folder, index_path, place_of
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics
from readwarp.python.callable_package import make_callable
from readwarp.stream.plan import FREE_SHARE, readable
from readwarp.system.machine import free_memory, usable_threads
from readwarp.system.stopping import followed
from readwarp.wording import counted

__all__ = ["Index", "Reference", "index_path", "open_or_build"]
logger = logging.getLogger("readwarp")


@dataclass(frozen=True, slots=True, init=False)
class Index:
    """Positions of a reference's syncmers, grouped by bucket (upper bits of the hash), sorted by tag and position.

    All arrays are read-only. `Index("ref.fa")` opens the index of a reference, or builds and saves it, like
    `open_or_build`. `Index.build("ref.fa")`, `.save("ref.fa.rwx")` and `Index.open("ref.fa.rwx")` are the single steps.
    """

    reference: Reference
    parameters: SeedParameters
    bucket_starts: ndarray  # uint32 [buckets + 1]; uint64 if there are 2^32 entries or more
    tags: ndarray  # uint16 [entries]: the next 15 bits of the hash << 1 | strand of the canonical k-mer
    positions: ndarray  # uint32 [entries], first base of the k-mer; uint64 if there are 2^32 bases or more
    origin: tuple[str, str] | None = None  # the mapped file and its digest

    def __init__(
        self,
        reference: Reference | str | Path,
        parameters: SeedParameters | None = None,
        bucket_starts: ndarray | None = None,
        tags: ndarray | None = None,
        positions: ndarray | None = None,
        origin: tuple[str, str] | None = None,
    ):
        """Take all fields, or the path of a reference or index; `parameters`, if given, must be the index's."""
        values: tuple[Any, ...] = reference, parameters, bucket_starts, tags, positions, origin
        if not isinstance(reference, Reference):
            found = open_or_build(reference, parameters, usable_threads())
            values = tuple(getattr(found, field.name) for field in fields(found))
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a mapped index as the path of its file, which other processes map too."""
        if self.origin is not None:
            return _map_again, self.origin
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def __repr__(self) -> str:
        p, reference = self.parameters, self.reference
        contigs, bases = len(reference.names), int(reference.contig_offsets[-1])
        return f"Index({counted(contigs, 'contig')}, {bases} bases, {self.positions.size} seeds, k={p.k}, s={p.s})"

    @classmethod
    def build(
        cls,
        path: str | Path,
        parameters: SeedParameters | None = None,
        threads: int | None = None,
        memory: int | None = None,
    ) -> "Index":
        """Build the index of a FASTA, GenBank or EMBL file in memory. threads: None: all that this process may use.

        memory: budget of the whole process in bytes; None: the free memory less a margin.
        """
        from readwarp.index import build

        prepare_once("index")
        parameters, threads = parameters or SeedParameters(), threads or len(os.sched_getaffinity(0))
        reference, seeds = build.build(path, parameters, threads, memory, in_memory=True)
        arrays = store.gather(seeds)
        return cls(reference, parameters, arrays["bucket_starts"], arrays["tags"], arrays["positions"])

    @classmethod
    def open(cls, path: str | Path) -> "Index":
        """Map an index file. Raises InputError for another kind of file, another version, or damage.

        If it does not fit into memory, pages are read from disk again and again, and a warning says so.
        """
        file = store.ReferenceIndexFile(Path(path))
        free, size = free_memory(), file.data.size
        fits = size <= FREE_SHARE * free
        if fits:
            file.advise("MADV_HUGEPAGE")
        file.check()
        if not fits:
            file.advise("MADV_RANDOM")
            text = "%s: the index (%s) does not fit into %s of the free memory (%s)"
            remedy = "seeds are looked up on disk, which can be 100 times slower: free memory, or use a larger machine"
            logger.warning(f"{text}; {remedy}", path, readable(size), f"{FREE_SHARE:.0%}", readable(free))
        starts, tags, positions = (file.array(name) for name in ("bucket_starts", "tags", "positions"))
        origin = str(Path(path).resolve()), file.digest
        return cls(file.reference(), file.parameters(), starts, tags, positions, origin)

    def save(self, path: str | Path, source: str | Path | None = None, *, force: bool = False) -> None:
        """Write the index file, which gets its name when complete. source: the file it is made from.

        force: replace an existing file, which otherwise raises OutputExistsError.
        """
        if Path(path).exists() and not force:
            raise OutputExistsError(path, "force=True replaces it")
        arrays = {"bucket_starts": self.bucket_starts, "tags": self.tags, "positions": self.positions}
        sizes = {name: array.size for name, array in arrays.items()}
        dtypes = {name: array.dtype.type for name, array in arrays.items()}
        store.save(Path(path), self.reference, self.parameters, store.SeedArrays(sizes, dtypes, [arrays]), source)

    @staticmethod
    def verify(path: str | Path) -> None:
        """Check every byte of an index file. Raises InputError if it is damaged."""
        store.ReferenceIndexFile(Path(path)).check()


class Built(NamedTuple):
    """Contents of an index file just built."""

    contigs: int
    bases: int
    seeds: int


def build_file(
    source: str | Path, path: str | Path, parameters: SeedParameters, threads: int, memory: int | None = None
) -> Built:
    """Build the index of a reference file straight into its file, which takes less memory than `Index.build`.

    The file gets its name when complete. memory: as for `Index.build`. Raises InputError, MemoryBudgetError, OSError.
    """
    from readwarp.index import build

    reference, seeds = build.build(source, parameters, threads, memory)
    store.save(Path(path), reference, parameters, seeds, source)
    return Built(len(reference.names), int(reference.contig_offsets[-1]), seeds.sizes["positions"])


def _map_again(path: str, digest: str) -> Index:
    """Map the index of another process. Raises InputError if its file has changed since."""
    index = Index.open(path)
    if index.origin != (path, digest):
        raise InputError(path, "is no longer the index that was pickled")
    return index


def open_or_build(
    reference: str | Path,
    parameters: SeedParameters | None = None,
    threads: int = 1,
    metrics: Metrics | None = None,
    place: str | Path | None = None,
    memory: int | None = None,
) -> Index:
    """Open the index of a reference file, or the index itself if that is given; build and save it if absent.

    parameters: None: any that the index has. place: of the index; None: REF.rwx, or the cache folder
    (`readwarp.index.place`). memory: to build it, as for `Index.build`. An index that cannot be saved is built in
    memory each time and counted (`index_not_saved`). Raises InputError for an unreadable reference, and for an index
    that is damaged, of another version, or made with other k, s or t or from another reference; UsageError for a place
    that cannot be written; MemoryBudgetError.
    """
    metrics = metrics or Metrics()
    if is_index(reference):
        if place:
            raise UsageError(f"--index {place}: {reference} is an index itself")
        return _open(reference, Path(reference), parameters, metrics)
    if not Path(reference).is_file():
        raise InputError(reference, "no such file")
    path = Path(place) if place else place_of(reference, parameters)
    is_kept = not place and path.parent == cache_folder()
    if path.exists():
        try:
            index = _open(reference, path, parameters, metrics)
            _check_source(path, index, reference)
            return index
        except InputError as error:
            if not is_kept:
                raise
            logger.warning("%s: it is built again", error)
    elif place:
        check_output(path, force=False)
    with metrics.time("index_build"):
        prepare_once("index")
        metrics.count("index_built")
        try:
            if is_kept:
                path.parent.mkdir(0o700, parents=True, exist_ok=True)
            with followed():  # another process may be faster, with the same bytes
                build_file(reference, path, parameters or SeedParameters(), threads, memory)
        except OSError as error:
            metrics.count("index_not_saved")
            why = (error.strerror or "cannot be written").lower()
            logger.warning("%s: %s; the index is not saved, so each run builds it again", path, why)
            return Index.build(reference, parameters, threads, memory)
        return Index.open(path)


def _open(reference: str | Path, path: Path, parameters: SeedParameters | None, metrics: Metrics) -> Index:
    """Open an index file. Raises InputError if its seeds differ from the parameters."""
    with metrics.time("index_open"):
        index = Index.open(path)
    have = index.parameters
    if parameters and (parameters.k, parameters.s) != (have.k, have.s):
        text = f"made with k={have.k} s={have.s}, asked for k={parameters.k} s={parameters.s}"
        raise InputError(path, f"{text}; {_remedy(reference, path, parameters)}")
    return index


def _remedy(reference: str | Path, path: Path, parameters: SeedParameters) -> str:
    """Return the command that makes the index of this reference, or a new one for this index, with these seeds."""
    k, s = parameters.k, parameters.s
    seeds = {(preset.parameters.seed.k, preset.parameters.seed.s): name for name, preset in reversed(PRESETS.items())}
    preset = seeds.get((k, s))
    given = () if preset == "standard" else ("--preset", preset) if preset else ("-k", k, "-s", s)
    if path == Path(reference):
        return f"make another of it with {_spell('readwarp', 'index', *given, reference)} -o FILE"
    place = () if path == index_path(reference) else ("-o", path)
    words = "readwarp", "index", "--force", *given, reference, *place
    return f"build it again with {_spell(*words)}, or keep both with --index FILE"


def _spell(*words: object) -> str:
    return shlex.join(map(str, words))


def _check_source(path: Path, index: Index, reference: str | Path) -> None:
    """Compare size and time of the source file; if they differ, compare the contigs: names, lengths and MD5."""
    if store.ReferenceIndexFile(path).description["source"] == store.describe_source(reference):
        return
    from readwarp.index.build import read_reference

    present, indexed = read_reference(reference), index.reference
    lengths_agree = present.contig_offsets.tolist() == indexed.contig_offsets.tolist()
    if present.names != indexed.names or present.md5 != indexed.md5 or not lengths_agree:
        remedy = _remedy(reference, path, index.parameters)
        raise InputError(path, f"made from another reference than {reference}; {remedy}")


make_callable(__name__, {"index": "readwarp.index.api"})
