"""Model the time that CUDA kernels take on named cards, without a card: from counts of an emulated card, and from what
compilers, pipes and memory of the card allow. docs/notes/model.md says how, and how a card refutes the model.

    python benchmarks/model.py [--workload NAME ...] [--capability 90 ...] [--only KERNEL] [--save]

Prints, for each kernel, microseconds a batch and nanoseconds an item (a read, a window) that the model gives, and what
bounds it. --save adds rows to benchmarks/results/model.csv; the column `kernel` has the names that benchmarks/gpu.py
gives its rows ("align, cuda, kernel NAME"). Every figure is the model's, none was measured.
"""

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

import numpy as np
from rich.console import Console
from rich.table import Table

from compiled.cards import Card, cards
from compiled.compile import kept
from compiled.kernels import CAPABILITIES
from compiled.listing import PIPES
from compiled.occupancy import occupancy
from measure import Row, append, circumstances
from modelled.bounds import BOUNDS, Times, times
from modelled.kernels import Kernel, kernels_of
from modelled.workloads import WORKLOADS, Counted, counted

RESULTS = Path(__file__).parent / "results" / "model.csv"
MEMORY = ("requests", "lines", "sectors", "of_blocks", "of_launch")
COLUMNS = (
    *("date", "commit", "workload", "unit", "items", "capability", "card", "kernel", "launches", "warps"),
    *("registers", "shared", "occupancy", "active_threads", "instructions", *PIPES),
    *(f"{kind}_{what}" for kind in ("read", "write", "atomic") for what in MEMORY),
    *("shared_requests", "shared_passes", "bank_conflicts", "local_sectors"),
    *(f"us_{bound}" for bound in BOUNDS), "us_alone", "bound", "us_shared", "pipe", "us_launching", "ns_an_item",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--capability", type=int, nargs="+", choices=CAPABILITIES, default=[90])
    parser.add_argument("--only", default="", help="only kernels whose name contains this")
    parser.add_argument("--kept", action="store_true", help="use the counts of the last run, if there was one")
    parser.add_argument("--save", action="store_true", help="add rows to benchmarks/results/model.csv")
    options = parser.parse_args()
    console = Console() if Console().is_terminal else Console(width=160)
    for capability in options.capability:
        for name in options.workload:
            folder = kept(capability).parent / "counted"
            if not options.kept:
                (folder / f"{name}.{capability}.launches").unlink(missing_ok=True)
            done = counted(name, capability, folder)
            found = [each for each in kernels_of(done.launches, folder) if options.only in each.name]
            for card in (card for card in cards() if card.capability == capability):
                timed = [(kernel, times(kernel, card)) for kernel in found]
                console.print(table(done, card, timed))
                if options.save:
                    append([row(done, card, *each) for each in timed], RESULTS, COLUMNS)


def row(done: Counted, card: Card, kernel: Kernel, made: Times) -> Row:
    today, commit, _ = circumstances()
    ran = kernel.counts[:, 0] @ kernel.instructions()
    launches = kernel.launches
    passes, least = (sum(getattr(each, f"shared_{name}") for each in launches) for name in ("passes", "least"))
    width = int(np.prod(launches[0].block))
    machine = kernel.machine
    return {
        "date": today, "commit": commit, "workload": done.name, "unit": done.unit, "items": done.items,
        "capability": card.capability, "card": card.name, "kernel": kernel.name, "launches": len(launches),
        "warps": int(kernel.counts[0, 0]), "registers": machine.registers, "shared": machine.shared,
        "occupancy": f"{occupancy(card.capability, machine.registers, machine.shared, width):.2f}",
        "active_threads": f"{active_threads(kernel):.1f}", "instructions": f"{ran.sum():.0f}",
        **{pipe: f"{number:.0f}" for pipe, number in zip(PIPES, ran, strict=True)},
        **{f"{kind}_{what}": sum(getattr(each.traffic[kind], what) for each in launches)
           for kind in ("read", "write", "atomic") for what in MEMORY},
        "shared_requests": sum(each.shared_requests for each in launches), "shared_passes": passes,
        "bank_conflicts": passes - least, "local_sectors": sum(each.local_sectors for each in launches),
        **{f"us_{bound}": f"{value:.1f}" for bound, value in made.by.items()},
        "us_alone": f"{made.alone:.1f}", "bound": made.bound, "us_shared": f"{made.shared:.1f}", "pipe": made.pipe,
        "us_launching": f"{made.launching:.0f}", "ns_an_item": f"{1000 * made.alone / done.items:.2f}",
    }  # fmt: skip


def active_threads(kernel: Kernel) -> float:
    """Mean number of active threads in a warp's instruction."""
    by_block = kernel.instructions().sum(1)
    warps = kernel.counts[:, 0] @ by_block
    return float(kernel.counts[:, 1] @ by_block / max(warps, 1))


def table(done: Counted, card: Card, timed: list[tuple[Kernel, Times]]) -> Table:
    """A table of kernels, the costliest first."""
    title = f"The model's figures: {done.name}, {done.items:,} {done.unit}, {card.name}"
    shown = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    shown.add_column("kernel")
    titles = (
        "launches",
        "instr/item",
        "threads",
        "conflicts",
        "alone us",
        "ns/item",
        "bound",
        "shared us",
        "pipe",
        *BOUNDS,
    )
    for each in titles:
        shown.add_column(each, justify="right")
    for kernel, made in sorted(timed, key=lambda each: -each[1].alone):
        said = row(done, card, kernel, made)
        instructions = float(str(said["instructions"])) / done.items
        by = (f"{value:.1f}" for value in made.by.values())
        shown.add_row(
            kernel.name, str(said["launches"]), f"{instructions:.0f}", str(said["active_threads"]),
            str(said["bank_conflicts"]), f"{made.alone:.1f}", str(said["ns_an_item"]), made.bound, f"{made.shared:.1f}",
            made.pipe, *by,
        )  # fmt: skip
    alone, shared, launching = (
        sum(getattr(made, name) for _, made in timed) for name in ("alone", "shared", "launching")
    )
    each = 1000 * alone / max(1, done.items)
    shown.add_row(
        "all", "", "", "", "", f"{alone:.1f}", f"{each:.2f}", "", f"{shared:.1f}", "", f"launching {launching:.0f}"
    )
    return shown


if __name__ == "__main__":
    main()
