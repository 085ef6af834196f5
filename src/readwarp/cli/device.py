"""--device auto: a GPU where one works and the job is large enough for it."""

import logging
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from readwarp.config import Resources
from readwarp.device import backend as backends
from readwarp.device.backend import Backend
from readwarp.device.driver import has_card
from readwarp.stream.worth import CALL, Work, min_bases

if TYPE_CHECKING:
    from readwarp.call.targets import Target
    from readwarp.index.reference import Reference

logger = logging.getLogger("readwarp")
BYTES_PER_BASE = {"text": 2.3, "gzip": 0.5, "BAM": 0.6, "CRAM": 0.25}  # of Illumina reads with their names


def settled(resources: Resources, paths: Iterable[str | Path], work: Work, share: float = 1.0) -> Resources:
    """auto becomes cpu where the job is small, and says so; `share` of the bases in the files takes part."""
    if resources.device != "auto" or not backends.devices():
        return resources
    bases, least = bases_of(paths), min_bases(work, resources.threads)
    if bases is None or bases * share >= least:
        return resources
    text = "about %s read bases are too few for a GPU to pay (it does from %s on with %d threads): on the CPU"
    logger.info(text, f"{bases * share:,.0f}", f"{least:,}", resources.threads)
    return replace(resources, device="cpu")


def settled_for(
    resources: Resources, alignments: Path, reference: "Reference", targets: "list[Target] | None"
) -> Resources:
    """`settled` for calling in the targets (None: everywhere)."""
    parts = sum(target.stop - target.start for target in targets) if targets is not None else None
    share = 1.0 if parts is None else parts / int(reference.contig_offsets[-1])
    return settled(resources, [alignments], CALL, share)


def choose_backend(device: str) -> Backend:
    """The backend asked for; `auto` says so when a card is there and cannot be used."""
    backend = backends.choose(device)
    if device == "auto" and backend.name == "cpu" and has_card():
        logger.warning("a GPU is there but %s; going on with the CPU", backends.unusable())
    return backend


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
