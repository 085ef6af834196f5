"""What the CUDA kernels become on each kind of card, without a card: registers, memory, instructions per cell.

    python benchmarks/sass.py [--capability 90 ...] [--kernel NAME] [--save]

Compiles every kernel by Numba, libNVVM and ptxas (`pip install '.[test-gpu]'` installs them) and counts the
instructions of hot loops by pipe. "Bounds" are what the pipes alone would allow named cards. No card can do better, and
latency, memory and launches cost extra. --save adds rows to benchmarks/results/sass.csv.
"""

import argparse
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from compiled.cards import bound, cards
from compiled.compile import Code, compiled, kept
from compiled.kernels import CAPABILITIES, KERNELS
from measure import Row, append, circumstances

RESULTS = Path(__file__).parent / "results" / "sass.csv"
SHOWN = {
    "alu": ("alu",),
    "fma": ("fma", "imad", "half"),
    "memory": ("memory",),
    "control": ("control",),
    "other": ("fp64", "special", "uniform", "system"),
}
MADE = ("registers", "stack", "spill_stores", "spill_loads", "shared")
COLUMNS = (
    *("date", "commit", "ptxas", "numba_cuda", "capability", "kernel", *MADE, "threads", "occupancy"),
    *("packed", "instructions", *SHOWN),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--capability", type=int, nargs="+", choices=CAPABILITIES, default=CAPABILITIES)
    parser.add_argument("--kernel", default="", help="only kernels whose name contains this")
    parser.add_argument("--save", action="store_true", help="add rows to benchmarks/results/sass.csv")
    options = parser.parse_args()
    kernels = [kernel for kernel in KERNELS if options.kernel in kernel.name]
    console, found = Console(), []
    if not console.is_terminal:
        console = Console(width=160)
    for capability in options.capability:
        codes = list(compiled(capability, kernels).values())
        console.print(table(capability, codes))
        found += codes
    if any(code.kernel.loop for code in found):
        console.print(bounds(found))
    console.print(f"PTX, machine code and listings: {kept(options.capability[0]).parent}", soft_wrap=True)
    if options.save:
        append([row(code) for code in found], RESULTS, COLUMNS)


def row(code: Code) -> Row:
    today, commit, _ = circumstances()
    made = {name: getattr(code, name) for name in MADE}
    return {
        "date": today, "commit": commit, "ptxas": version("nvidia-cuda-nvcc"), "numba_cuda": version("numba-cuda"),
        "capability": code.capability, "kernel": code.kernel.name, **made, "threads": code.kernel.threads,
        "occupancy": f"{code.occupancy:.2f}", **loop_of(code),
    }  # fmt: skip


def loop_of(code: Code) -> dict[str, object]:
    """Instructions per cell, or per pair of cells if two are packed; empty for a kernel without a hot loop."""
    if code.kernel.loop is None:
        return {}
    pipes = code.per_cell()
    shown = {name: f"{sum(pipes[pipe] for pipe in of):.2f}" for name, of in SHOWN.items()}
    return {"packed": code.kernel.loop.packed, "instructions": f"{sum(pipes.values()):.2f}", **shown}


def table(capability: int, codes: list[Code]) -> Table:
    shown = Table(title=f"sm_{capability}", title_justify="left", box=None, header_style="bold", pad_edge=False)
    titles = ("registers", "stack", "spills", "shared", "threads", "occupancy", "cells", "instructions", *SHOWN)
    shown.add_column("kernel")
    for title in titles:
        shown.add_column(title, justify="right")
    for code in codes:
        spills, loop = code.spill_stores + code.spill_loads, loop_of(code)
        made = (code.registers, code.stack, spills, code.shared, code.kernel.threads, f"{code.occupancy:.0%}")
        shown.add_row(code.kernel.name, *map(str, made), *(str(loop[each]) for each in loop))
    return shown


def bounds(codes: list[Code]) -> Table:
    """10^9 cells per second that the pipes of named cards allow the hot loops, and the limiting pipe."""
    looped = [code for code in codes if code.kernel.loop]
    shown = Table(title="Bounds, 10^9 cells per second", title_justify="left", box=None, header_style="bold")
    known = [card for card in cards() if any(code.capability == card.capability for code in looped)]
    shown.add_column("kernel")
    for card in known:
        shown.add_column(card.name, justify="right")
    for name in dict.fromkeys(code.kernel.name for code in looped):
        of = {code.capability: code for code in looped if code.kernel.name == name}
        shown.add_row(name, *(cell_of(of.get(card.capability), card) for card in known))
    return shown


def cell_of(code: Code | None, card) -> str:
    if code is None or code.kernel.loop is None:
        return ""
    rate, pipe = bound(card, code.per_cell(), code.kernel.loop.packed)
    return f"{rate:,.0f} {pipe}"


if __name__ == "__main__":
    main()
