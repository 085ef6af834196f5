"""The index of a reference: its packed bases and the places of its syncmers, in one memory-mapped file.

    Index.build(path) -> Index,  Index.open(path.rwx) -> Index,  open_or_build(reference path) -> Index

Contigs lie one behind the other; a k-mer that spans a border or a base other than A C G T is not in the index.
"""

import os
from pathlib import Path

from readwarp.config import SeedParameters
from readwarp.errors import InputError
from readwarp.index.store import Index, IndexFile, Reference, describe_source
from readwarp.metrics import Metrics

__all__ = ["Index", "Reference", "index_path", "open_or_build"]
SUFFIX = ".rwx"
AGAIN = "build it again with readwarp index --force"


def index_path(reference: str | Path) -> Path:
    return Path(f"{reference}{SUFFIX}")


def open_or_build(
    reference: str | Path,
    parameters: SeedParameters | None = None,
    threads: int = 1,
    metrics: Metrics | None = None,
) -> Index:
    """The index of a reference file: REF.rwx where it is present, else built and, if the folder allows, saved there.

    parameters: None takes those of a present index. Raises InputError for a reference that cannot be read, and for an
    index that is damaged, of another version, made with another k, s or t, or from another reference.
    """
    path, metrics = index_path(reference), metrics or Metrics()
    if not Path(reference).is_file():
        raise InputError(reference, "no such file")
    if not path.exists():
        with metrics.time("index_build"):
            return _build_and_save(reference, path, parameters, threads, metrics)
    with metrics.time("index_open"):
        index = Index.open(path)
        _check_parameters(path, index, parameters)
        _check_source(path, index, reference)
        return index


def _build_and_save(
    reference: str | Path, path: Path, parameters: SeedParameters | None, threads: int, metrics: Metrics
) -> Index:
    index = Index.build(reference, parameters, threads)
    metrics.count("index_built")
    if not os.access(path.parent, os.W_OK):
        metrics.count("index_not_saved")
        return index
    index.save(path, reference)
    return Index.open(path)


def _check_parameters(path: Path, index: Index, parameters: SeedParameters | None) -> None:
    have = index.parameters
    if parameters and (parameters.k, parameters.s) != (have.k, have.s):
        raise InputError(
            path,
            f"made with k={have.k} s={have.s}, asked for k={parameters.k} s={parameters.s}; {AGAIN}",
        )


def _check_source(path: Path, index: Index, reference: str | Path) -> None:
    """Size and time of the source file first; if they differ, the contigs: names, lengths and MD5."""
    if IndexFile(path).description["source"] == describe_source(reference):
        return
    from readwarp.index.build import read_reference

    present, indexed = read_reference(reference), index.reference
    lengths_agree = present.contig_offsets.tolist() == indexed.contig_offsets.tolist()
    if present.names != indexed.names or present.md5 != indexed.md5 or not lengths_agree:
        raise InputError(
            path, f"made from another reference than {reference}; build it again with readwarp index --force"
        )
