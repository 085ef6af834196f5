"""Choice of the side a job runs on: with --device auto a GPU, if one works and the job is large enough for it.

A GPU needs time to start: loading CUDA and kernels, making contexts and pinned memory, copying the index. Then it saves
time with each read base, or none where the cores are many. A model of the time per read base decides, in which the
slowest part counts:

    cores alone      max(their threads' time / threads, lock, stream)
    beside a card    max(the host's time / threads, lock, stream, clocks / (multiprocessors * clock rate))

The lock is Python's: one thread of a process has it at a time. A stream of gzip is inflated by one thread, two at a
time of pairs. A card also has a single start-up time. Kernel compilation, once per machine, is not counted.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from readwarp.config import Resources
from readwarp.config.declare import chosen
from readwarp.config.options import ResourceOptions
from readwarp.device import backend as backends
from readwarp.device.backend import Backend
from readwarp.formats.common.compressed import compression_of, is_bgzf
from readwarp.python.keywords import bytes_of
from readwarp.system.machine import usable_threads

logger = logging.getLogger("readwarp")
START_SECONDS = 1.1  # more than on cores, up to the first batch, with kernels from the cache: 0.7 to 1.1 measured
BYTES_PER_BASE = {"text": 2.3, "gzip": 0.5, "BGZF": 0.5, "BAM": 0.6, "CRAM": 0.25}  # of Illumina reads with names
INFLATING = {"gzip": 6.2, "BGZF": 4.4}  # ns of threads per read base; other threads' time is without it
STREAMS = 2  # of gzip, each with a thread: the mates' files of pairs


@dataclass(frozen=True, slots=True)
class SideSpeed:
    """Nanoseconds per read base on one side."""

    threads: float  # CPU time of all threads
    lock: float  # longest time that one process holds Python's lock

    def seconds(self, threads: int, packing: str = "text") -> float:
        """Return the seconds per read base of files packed so."""
        inflating = INFLATING.get(packing, 0.0)
        stream = inflating / STREAMS if packing == "gzip" else 0.0
        return 1e-9 * max((self.threads + inflating) / threads, self.lock, stream)


@dataclass(frozen=True, slots=True)
class CommandWork:
    """Costs of a command."""

    cores: SideSpeed  # without a card
    host: SideSpeed  # beside one
    clocks: float  # of a multiprocessor, per read base


# Measured on an H200 with 16 cores (docs/notes/model.md), 10 Mb of chr20 as 2 x 150, in batches of 33 Mbases beside the
# card: cores, clocks, and the lock, which took three to four times what benchmarks/host_of_card.py counted, since to
# get it back costs too; it counts no less now. Derived since, from figures of that benchmark: the host takes 1.2 us a
# read unsorted and 1.7 sorted, where cores take 3.5 and 4.0, that is 0.35 to 0.42 of their time; and INFLATING, whose
# machine aligns on cores in half the time. Of `call`, the host's were measured on cores, windows at 15x, of which
# PairHMM is a ninth, and the host's work that a card takes over a third of that; clocks are the model's maximum over
# seven cards. Many workers are processes, each with a lock of its own, except those of `align` beside a card.
ALIGN = CommandWork(SideSpeed(48.1, 0.0), SideSpeed(18.0, 2.5), clocks=102.0)
CALL = CommandWork(SideSpeed(19.8, 0.0), SideSpeed(19.1, 0.3), clocks=10.0)


def resources_of(options: Mapping[str, Any]) -> Resources:
    """Return the resources of the options. Raises UsageError."""
    given = chosen(ResourceOptions(), options)
    memory, vram = (None if text is None else bytes_of(text) for text in (given.memory, given.vram))
    return Resources(given.threads or usable_threads(), given.device, memory, vram, given.batch_bases)


def choose_backend(resources: Resources, paths: Iterable[str | Path], work: CommandWork, share: float = 1.0) -> Backend:
    """Choose the backend for work on `share` of the read bases in the files. Raises UsageError, DeviceError."""
    return backends.choose(choose_device(resources, paths, work, share))


def choose_device(resources: Resources, paths: Iterable[str | Path], work: CommandWork, share: float = 1.0) -> str:
    """Resolve --device; auto becomes cpu where the slowest GPU would not be faster, which is logged."""
    if resources.device != "auto" or not (cards := backends.devices()):
        return resources.device
    threads, files = resources.threads, list(map(Path, paths))
    bases, packing = bases_of(files), next((_packing(path) for path in files if path.is_file()), "text")
    least = min_bases(work, threads, min(card.speed for card in cards), START_SECONDS, packing)
    if least is None:
        logger.info("running on the CPU: with %d threads, a GPU would be no faster", threads)
    elif bases is not None and bases * share < least:
        text = "running on the CPU: about %s read bases; a GPU pays off from %s with %d threads"
        logger.info(text, f"{bases * share:,.0f}", f"{least:,}", threads)
    else:
        return resources.device
    return "cpu"


def min_bases(work: CommandWork, threads: int, speed: float, start: float, packing: str = "text") -> int | None:
    """Return the read bases from which a card is faster; None if it never is.

    speed: multiprocessors times clock rate of the card in 1/s; 0 if unknown, in which case the host decides. start:
    seconds that the card takes before the first read.
    """
    on_card = work.clocks / speed if speed else 0.0
    saved = work.cores.seconds(threads, packing) - max(work.host.seconds(threads, packing), on_card)
    return int(start / saved) if saved > 0 else None


def bases_of(paths: Iterable[str | Path]) -> float | None:
    """Estimate the read bases in the files from their sizes; None if one is a pipe."""
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
    return "BAM" if path.suffix == ".bam" else "BGZF" if is_bgzf(head) else "gzip"
