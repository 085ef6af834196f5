"""The best that the card can do: bytes per second of copies, and instructions per second of the kernels' pipes."""

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from oncard import Figures, Sizes
from oncard.timing import seconds
from readwarp.device.cuda_jit import cuda
from readwarp.device.lanes import HALF2, INT32, S16X2, LaneForm

CHAINS, UNROLLED = 8, 16  # independent values of a thread; instructions of each in the loop
BLOCK = 256


def copies(sizes: Sizes) -> Figures:
    """Copies between pinned host memory and the card, and on the card (read and written bytes both count)."""
    host = cuda.pinned_array(sizes.copied, np.uint8)
    host[:] = 1
    there, other = (cuda.device_array(sizes.copied, np.uint8) for _ in range(2))
    gigabytes = sizes.copied / 1e9
    for name, work, times in (
        ("copy up", lambda: there.copy_to_device(host), 1),
        ("copy down", lambda: there.copy_to_host(host), 1),
        ("copy on the card", lambda: other.copy_to_device(there), 2),
    ):
        yield name, times * gigabytes / seconds(work, sizes.repeats), "GB/s"


def issue_rates(sizes: Sizes) -> Figures:
    """Instructions that threads execute per second; one warp's instruction counts 32."""
    capability = tuple(cuda.get_current_device().compute_capability)
    block = min(BLOCK, sizes.threads)
    steps = sizes.threads * sizes.rounds * CHAINS * UNROLLED
    for name, made in INSTRUCTIONS.items():
        if not (made.form.since if made.form else (0, 0)) <= capability < made.before:
            continue
        values, out = cuda.to_device(np.arange(1, 4).astype(made.number)), cuda.device_array(sizes.threads, made.number)
        work = partial(issue_kernel(name)[sizes.threads // block, block], np.int32(sizes.rounds), values, out)
        rate = steps * made.per_step / seconds(work, sizes.repeats)
        yield f"issue rate, {name}", rate / 1e12, "10^12 instructions/s"


@dataclass(frozen=True, slots=True)
class Instruction:
    """The step of a chain: an operation of `device.lanes`, or of float32, and the cards that have it."""

    form: LaneForm | None  # None: float32
    operation: str
    per_step: int = 1
    before: tuple[int, int] = (99, 0)  # later cards emulate it
    number: type = np.uint32


INSTRUCTIONS = {
    "FP32 multiply-add": Instruction(None, "fma", number=np.float32),
    "integer multiply-add": Instruction(INT32, "plus"),
    "DPX 16-bit": Instruction(S16X2, "gained", before=(10, 0)),
    "half2 add": Instruction(HALF2, "plus"),
    "half2 add and maximum": Instruction(HALF2, "gained", per_step=2),
}


def operation(made: Instruction) -> Any:
    """One step as a function of a chain's value and two others."""
    return getattr(made.form.lanes(), made.operation) if made.form else _fused()


def _fused() -> Any:
    @cuda.jit(device=True)
    def fused(a, x, y):
        return cuda.fma(a, x, y)

    return fused


@cache
def issue_kernel(name: str) -> Any:
    """A kernel of CHAINS independent chains of that instruction in each thread, UNROLLED times in its loop."""
    step, number = operation(INSTRUCTIONS[name]), INSTRUCTIONS[name].number

    @cuda.jit
    def issue(rounds, values, out):
        x, y, total = values[0], values[1], number(0)
        chain = cuda.local.array(CHAINS, number)
        for c in range(CHAINS):
            chain[c] = number(values[2] + number(cuda.threadIdx.x + c))
        for _ in range(rounds):
            for _ in range(UNROLLED):
                for c in range(CHAINS):
                    chain[c] = step(chain[c], x, y)
        for c in range(CHAINS):
            total = number(total + chain[c])
        out[cuda.grid(1)] = total

    return issue
