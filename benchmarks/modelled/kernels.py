"""The cost of each run of a basic block of a kernel's PTX: instructions by pipe, and clocks of a lone warp."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compiled.listing import PIPES, pipe_of
from emulated_card.counted import Launched
from emulated_card.ptx import read
from modelled.flow import threads_of
from modelled.machine import Machine, assembled
from modelled.waits import clocks_of

WARP = 32
OF_ROWS = "rooms", "apart", "at_once", "close", "copy"  # kernels of a row function (readwarp.device)


@dataclass(frozen=True, slots=True)
class Kernel:
    """All launches of one kernel, and what they executed."""

    name: str  # of the Python function
    machine: Machine
    launches: list[Launched]
    counts: np.ndarray  # int64 [PTX blocks, 2]: executions by warps and by threads, of all launches
    homes: np.ndarray  # int64 [blocks of machine code]: the PTX block that each is counted with
    warps: np.ndarray  # float64 [blocks of machine code]: how often warps ran each

    def instructions(self) -> np.ndarray:
        """Instructions by pipe for each run of a PTX block by a warp, float64 [PTX blocks, PIPES]."""
        of = np.zeros((len(self.machine.blocks), len(PIPES)))
        for number, block in enumerate(self.machine.blocks):
            for instruction, _ in block.instructions:
                of[number, PIPES.index(pipe_of(instruction.opcode))] += 1
        return self._per_run(of)

    def opcodes(self, name: str) -> np.ndarray:
        """Instructions of one kind for each run of a PTX block, float64 [PTX blocks]."""
        of = [sum(each.opcode == name for each, _ in block.instructions) for block in self.machine.blocks]
        return self._per_run(np.array(of, float)[:, None])[:, 0]

    def clocks(self, latency: dict[str, float]) -> np.ndarray:
        """Clocks of a lone warp for each run of a PTX block, float64 [PTX blocks]."""
        of = [clocks_of(block, number, latency) for number, block in enumerate(self.machine.blocks)]
        return self._per_run(np.array(of)[:, None])[:, 0]

    def _per_run(self, of: np.ndarray) -> np.ndarray:
        made = np.zeros((len(self.counts), of.shape[1]))
        np.add.at(made, self.homes, self.warps[:, None] * of)
        return made / np.maximum(self.counts[:, :1], 1)


def kernels_of(launches: list[Launched], folder: Path) -> list[Kernel]:
    """A Kernel for each kernel that was launched, in the order of first launches."""
    by_text: dict[tuple[str, str], list[Launched]] = {}
    for launch in launches:
        by_text.setdefault((launch.kernel, launch.text), []).append(launch)
    return [_kernel(name, text, some, folder) for (name, text), some in by_text.items()]


def _kernel(name: str, text: str, launches: list[Launched], folder: Path) -> Kernel:
    (ptx,) = read(text)
    machine, counts = assembled(text, folder), sum(launch.counts for launch in launches)
    block_of = {each.line: block.number for block in ptx.blocks for each in block.instructions}
    ran = {line: float(counts[block, 1]) for line, block in block_of.items()}
    threads = threads_of(machine.blocks, ran, float(counts[0, 1]))
    homes = homes_of(machine, block_of, counts)
    warps = threads * (counts[homes, 0] / np.maximum(counts[homes, 1], 1))
    return Kernel(short(name), machine, launches, counts, homes, warps)


def homes_of(machine: Machine, block_of: dict[int, int], counts: np.ndarray) -> np.ndarray:
    """For each block of machine code, the PTX block that ran and that most of its instructions come from."""
    homes, usual = [], int(np.argmax(counts[:, 0]))
    for block in machine.blocks:
        lines = [line for each, line in block.instructions if line in block_of and not each.predicate]
        lines = lines or [line for _, line in block.instructions if line in block_of]
        votes = np.bincount([block_of[line] for line in lines], minlength=len(counts)) * (counts[:, 0] > 0)
        homes.append(int(np.argmax(votes)) if votes.any() else usual)
    return np.array(homes)


def short(name: str) -> str:
    """The Python name of a mangled function: the last part of the path before the first tag.

    The grid of a row function is called by what is done for a row: put_end, put_tags.apart.
    """
    place, parts = re.match(r"_ZN?", name).end(), [""]  # type: ignore[union-attr]
    while length := re.compile(r"\d+").match(name, place):
        place = length.end() + int(length[0])
        parts.append(name[length.end() : place])
    if parts[-1] == "grid":
        parts.pop()
    return ".".join(parts[-2:]) if parts[-1] in OF_ROWS else parts[-1]
