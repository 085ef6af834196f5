"""Microseconds of a kernel's launches on a card, by what could limit them. See docs/notes/model.md."""

from dataclasses import dataclass

import numpy as np

from compiled.cards import ALONE, Card, lanes, latencies
from compiled.listing import PIPES
from compiled.occupancy import warps_held
from emulated_card.counted import Launched
from modelled.kernels import WARP, Kernel

SECTOR = 32  # bytes
LAUNCH = 3.0  # microseconds between the ends of two small launches that follow each other on a stream; assumed
FLOWING = ("issue", "pipe", "accesses", "l2", "dram")
BOUNDS = (*FLOWING, "latency", "longest")


@dataclass(frozen=True, slots=True)
class Times:
    """Microseconds of all launches of a kernel; the others do not include `launching`."""

    by: dict[str, float]  # by BOUNDS: if nothing else limited
    alone: float  # one launch after the other: the largest bound of each
    bound: str  # which of them makes most of that
    shared: float  # the largest bound except waiting, if other work filled what a launch leaves idle
    pipe: str  # the fullest
    launching: float


def times(kernel: Kernel, card: Card) -> Times:
    instructions, shuffles = kernel.instructions(), kernel.opcodes("SHFL")
    clocks = kernel.clocks(latency_of(kernel, card.capability))
    rows, pipes, shared = [], np.zeros(len(PIPES)), 0.0
    for launch in kernel.launches:
        ran = launch.counts[:, 0] @ instructions
        pipes += ran
        rows.append(_of(launch, kernel, card, ran, float(launch.counts[:, 0] @ shuffles), clocks))
        even = card.multiprocessors * _deep(launch, card)  # 1 if all multiprocessors have equally much to do
        shared += max(*(each / even for each in rows[-1][:3]), *rows[-1][3:5])
    table = np.array(rows)  # [launches, BOUNDS]
    largest = np.bincount(table.argmax(1), table.max(1), minlength=len(BOUNDS))
    by = dict(zip(BOUNDS, map(float, table.sum(0)), strict=True))
    of_pipes = pipe_clocks(dict(zip(PIPES, pipes, strict=True)), card.capability)
    fullest = max(of_pipes, key=lambda each: of_pipes[each])
    bound, launching = BOUNDS[int(largest.argmax())], LAUNCH * len(kernel.launches)
    return Times(by, float(table.max(1).sum()), bound, shared, fullest, launching)


def _deep(launch: Launched, card: Card) -> float:
    """Share of the launch on the fullest multiprocessor, with blocks of threads spread evenly."""
    grid = int(np.prod(launch.grid))
    return -(-grid // card.multiprocessors) / grid


def _of(
    launch: Launched, kernel: Kernel, card: Card, ran: np.ndarray, shuffles: float, clocks: np.ndarray
) -> list[float]:
    """Microseconds of one launch by BOUNDS."""
    grid, width = int(np.prod(launch.grid)), int(np.prod(launch.block))
    deep = _deep(launch, card)
    tick = 1e-3 / card.clock  # microseconds
    used = pipe_clocks(dict(zip(PIPES, ran, strict=True)), card.capability)
    of_block = -(-width // WARP)
    held = warps_held(card.capability, kernel.machine.registers, kernel.machine.shared + launch.dynamic_shared, width)
    side_by_side = min(held, -(-grid // card.multiprocessors) * of_block)
    traffic = launch.traffic.values()
    accesses = sum(each.lines for each in traffic) + launch.local_sectors / 4 + launch.shared_passes + shuffles
    return [
        float(ran.sum()) * WARP / lanes(card.capability)["issue"] * deep * tick,
        max(used.values()) * deep * tick,
        accesses * deep * tick,
        sum(each.of_blocks for each in traffic) * SECTOR / card.l2_bytes_per_clock * tick,
        sum(each.of_launch for each in traffic) * SECTOR / card.bandwidth * 1e-3,
        float(launch.counts[:, 0] @ clocks) * deep / side_by_side * tick,
        float(launch.slowest[:, 0] @ clocks) / of_block * tick,
    ]


def pipe_clocks(warps: dict[str, float], capability: int) -> dict[str, float]:
    """Clocks that one multiprocessor would need for all these warp instructions, by pipe."""
    rates = lanes(capability)
    found = {pipe: warps[pipe] * WARP / rates[pipe] for pipe in ALONE if pipe != "memory"}
    shared = warps["half"] if rates["half_is_fma"] else 0.0
    found["fma"] = (warps["fma"] + warps["imad"] + shared) * WARP / rates["fma"]
    return found


def latency_of(kernel: Kernel, capability: int) -> dict[str, float]:
    """Clocks by kind. A sector comes from the L2 if a block touches it first, from DRAM if the launch does."""
    known = latencies(capability)
    reads = [launch.traffic["read"] for launch in kernel.launches]
    sectors = max(1, sum(each.sectors for each in reads))
    beyond, far = (sum(getattr(each, name) for each in reads) / sectors for name in ("of_blocks", "of_launch"))
    mixed = known["first_level"] * (1 - beyond) + known["second_level"] * (beyond - far) + known["memory"] * far
    return {**known, "global": mixed}
