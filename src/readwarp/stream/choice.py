"""The side that a job runs on: with --device auto a GPU, if one works and the job is large enough for it.

A GPU needs time to start: CUDA is loaded, contexts and pinned memory are made, kernels are loaded, the index is copied.
It saves the share of the work that it does instead of the CPU cores, so it pays if

    bases / (threads * bases per second and thread) * share  >  seconds to start

The figures are those of benchmarks/results/*.csv (two cores) and of metrics.json's stage_seconds; START_SECONDS is an
estimate until it is measured on a card. The compilation of kernels, once per machine, is not counted.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from readwarp.config import Resources
from readwarp.device import backend as backends
from readwarp.device.backend import Backend
from readwarp.device.driver import has_card
from readwarp.device.machine import usable_threads
from readwarp.formats.common.compressed import compression_of

logger = logging.getLogger("readwarp")
START_SECONDS = 5.0
BYTES_PER_BASE = {"text": 2.3, "gzip": 0.5, "BAM": 0.6, "CRAM": 0.25}  # of Illumina reads with their names


@dataclass(frozen=True, slots=True)
class Work:
    """How fast a command works."""

    bases_per_second: float  # of one CPU thread
    share: float  # of that time which the GPU takes over


ALIGN = Work(bases_per_second=10e6, share=0.5)  # 70,000 reads of 150; seed, chain and extend of all stages
CALL = Work(bases_per_second=50e6, share=0.5)  # 300 Mb in 6 s; pileup and PairHMM


class ResourceOptions(TypedDict, total=False):
    """What a job may use; this does not change the output."""

    threads: int | None  # None: all that this process may use
    device: str  # auto, cpu, cuda (a free GPU) or cuda:0,1
    memory: int | None  # bytes; None: the free memory less a margin
    vram: int | None  # bytes of each GPU, likewise
    batch_bases: int | None  # maximum read bases in one batch; None: by the memory


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
    """The backend for work on `share` of the read bases in the files; warns if there is a GPU that auto cannot use.

    Raises UsageError, DeviceError.
    """
    device = choose_device(resources, paths, work, share)
    backend = backends.choose(device)
    if device == "auto" and backend.name == "cpu" and has_card():
        logger.warning("there is a GPU, but %s; continuing on the CPU", backends.unusable())
    return backend


def choose_device(resources: Resources, paths: Iterable[str | Path], work: Work, share: float = 1.0) -> str:
    """--device; for auto and a small job cpu, which is logged."""
    if resources.device != "auto" or not backends.devices():
        return resources.device
    bases, least = bases_of(paths), min_bases(work, resources.threads)
    if bases is None or bases * share >= least:
        return resources.device
    text = "running on the CPU: about %s read bases are too few for a GPU, which pays from %s on with %d threads"
    logger.info(text, f"{bases * share:,.0f}", f"{least:,}", resources.threads)
    return "cpu"


def min_bases(work: Work, threads: int) -> int:
    """Read bases from which on a GPU is faster."""
    return int(START_SECONDS * threads * work.bases_per_second / work.share)


def bases_of(paths: Iterable[str | Path]) -> float | None:
    """The approximate number of read bases in the files, by their sizes; None if one is a pipe."""
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
    if compression_of(head) is None:
        return "text"
    return "BAM" if path.suffix == ".bam" else "gzip"
