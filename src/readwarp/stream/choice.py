"""The side that a job runs on: with --device auto a GPU where one works and the job is large enough for it."""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict

from readwarp.config import Resources
from readwarp.device import backend as backends
from readwarp.device.backend import Backend
from readwarp.device.driver import has_card
from readwarp.device.machine import usable_threads
from readwarp.stream.worth import Work, min_bases

logger = logging.getLogger("readwarp")
BYTES_PER_BASE = {"text": 2.3, "gzip": 0.5, "BAM": 0.6, "CRAM": 0.25}  # of Illumina reads with their names


class ResourceOptions(TypedDict, total=False):
    """What a job may use; none of it changes the output."""

    threads: int | None  # None: all that this process may use
    device: str  # auto, cpu, cuda (a free GPU) or cuda:0,1
    memory: int | None  # bytes; None: what is free less a margin
    vram: int | None  # bytes of each GPU, likewise
    batch_bases: int | None  # most read bases in one batch; None: by the memory


def resources_of(options: ResourceOptions) -> Resources:
    """Raises UsageError."""
    return Resources(
        options.get("threads") or usable_threads(),
        options.get("device", "auto"),
        options.get("memory"),
        options.get("vram"),
        options.get("batch_bases"),
    )


def choose_backend(resources: Resources, paths: Iterable[str | Path], work: Work, share: float = 1.0) -> Backend:
    """The backend for work on `share` of the read bases in the files; says so where auto leaves a card alone.

    Raises UsageError, DeviceError.
    """
    device = settle_device(resources, paths, work, share)
    backend = backends.choose(device)
    if device == "auto" and backend.name == "cpu" and has_card():
        logger.warning("a GPU is there but %s; going on with the CPU", backends.unusable())
    return backend


def settle_device(resources: Resources, paths: Iterable[str | Path], work: Work, share: float = 1.0) -> str:
    """--device; cpu for auto where the job is small, which is said."""
    if resources.device != "auto" or not backends.devices():
        return resources.device
    bases, least = bases_of(paths), min_bases(work, resources.threads)
    if bases is None or bases * share >= least:
        return resources.device
    text = "about %s read bases are too few for a GPU to pay (it does from %s on with %d threads): on the CPU"
    logger.info(text, f"{bases * share:,.0f}", f"{least:,}", resources.threads)
    return "cpu"


def bases_of(paths: Iterable[str | Path]) -> float | None:
    """About how many read bases the files hold, by their sizes; None where one is a pipe."""
    bases = 0.0
    for path in map(Path, paths):
        if not path.is_file():
            return None
        bases += path.stat().st_size / BYTES_PER_BASE[_packing(path)]
    return bases


def _packing(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(18)
    if head[:4] == b"CRAM":
        return "CRAM"
    if head[:2] != b"\x1f\x8b":
        return "text"
    return "BAM" if path.suffix == ".bam" else "gzip"
