"""doctor: what this machine has, what readwarp would use, and what is missing."""

import argparse
import os
from pathlib import Path

from readwarp.cli import options as shared
from readwarp.cli.reporting import show
from readwarp.device.driver import Driver, has_card, read_driver

EPILOG = """\
examples:
  readwarp doctor
  readwarp doctor --vram 8G --index ref.fa.rwx
  readwarp doctor --vram 80G --threads 16          a card of another machine, human genome
"""
HUMAN = 3_100_000_000  # bases
OLDEST_CUDA, OLDEST_CAPABILITY = 12, (7, 5)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("plan of a GPU's memory, with or without a GPU")
    group.add_argument("--vram", type=shared.size, metavar="SIZE", help="plan for so much memory, such as 8G")
    group.add_argument(
        "--index", type=Path, metavar="REF.rwx", help="plan for this index [with --vram: one of a human genome]"
    )
    group.add_argument(
        "-t", "--threads", type=shared.count, metavar="N", help="plan for so many threads [all this process may use]"
    )


def run(options: argparse.Namespace) -> int:
    from rich.table import Table

    driver = read_driver()
    table = Table(title="readwarp doctor", title_justify="left", show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in [*machine_rows(), *gpu_rows(driver), *software_rows()]:
        table.add_row(name, value)
    planned = plan_lines(options, driver) if options.vram or options.index else []
    show(table, "", *advice(driver, cuda_problem()), *planned)
    return 0


def plan_lines(options: argparse.Namespace, driver: Driver | str) -> list[str]:
    """How `align` would use a card of --vram bytes, or each card that is there. Raises MemoryBudgetError."""
    from readwarp.align.budget import CONTEXT_BYTES, card_for, card_of
    from readwarp.device.machine import usable_threads
    from readwarp.index import Index
    from readwarp.stream.plan import FREE_SHARE, USUAL_BATCH, min_bytes, plan_card, readable, workers_of

    card = card_of(Index.open(options.index)) if options.index else card_for(HUMAN)
    shown = () if isinstance(driver, str) else driver.devices
    free = {f"cuda:{i}": int(FREE_SHARE * (device.free or device.memory)) for i, device in enumerate(shown)}
    rooms = {"a card": options.vram} if options.vram else free
    what = str(options.index or f"an index of {HUMAN:,} bases")
    threads = workers_of(options.threads or usable_threads(), 1)
    lines = ["", f"{what}: {readable(card.reference)} for bases, {readable(card.seeds)} for seeds"]
    for name, room in rooms.items():
        made = plan_card(room, card, threads, USUAL_BATCH)
        side = "the card" if made.seeding == "cuda" else "the CPU"
        lines += [
            f"{name} with --vram {readable(room)}: {made.workspaces} batches in flight of {made.batch_bases:,} bases, "
            f"{readable(made.capacity)} each; seeds are looked up on {side}; {readable(made.device_bytes)} are taken"
        ]
    context = f"about {readable(CONTEXT_BYTES)} more for CUDA itself"
    return [*lines, f"at least --vram {readable(min_bytes(card))}; {context}"]


def machine_rows() -> list[tuple[str, str]]:
    from readwarp.device import machine
    from readwarp.stream.plan import readable

    cores, usable = os.cpu_count() or 1, machine.usable_threads()
    return [
        ("processor", machine.processor()),
        ("threads", f"{usable} of {cores}" if usable != cores else str(cores)),
        ("SIMD", machine.simd()),
        ("memory", f"{readable(machine.total_memory())}, {readable(machine.free_memory())} of it free"),
    ]


def gpu_rows(driver: Driver | str) -> list[tuple[str, str]]:
    from readwarp.stream.plan import readable

    if isinstance(driver, str):
        return [("GPU", driver)]
    from readwarp.device.lanes import form_of

    rows = [("CUDA driver", f"{driver.version or 'version unknown'}, up to CUDA {driver.cuda[0]}.{driver.cuda[1]}")]
    for ordinal, device in enumerate(driver.devices):
        major, minor = device.compute_capability
        free = "" if device.free is None else f", {readable(device.free)} of it free"
        is_new_enough = device.compute_capability >= OLDEST_CAPABILITY
        kernels = f", {form_of(device.compute_capability).name} kernels" if is_new_enough else ""
        text = f"{device.name}, compute capability {major}.{minor}{kernels}, {readable(device.memory)}{free}"
        rows.append((f"cuda:{ordinal}", text))
    if not driver.devices:
        rows.append(("GPU", "none shown to this process (CUDA_VISIBLE_DEVICES?)"))
    return rows


def software_rows() -> list[tuple[str, str]]:
    import platform

    from readwarp.device import machine
    from readwarp.device.kernel_cache import count_kernels, package_folder
    from readwarp.version import __version__

    versions = machine.library_versions()
    installed = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    folder = package_folder().parent
    kernels = count_kernels()
    return [
        ("readwarp", f"{__version__}, Python {platform.python_version()}"),
        ("libraries", installed),
        ("kernel cache", f"{folder} ({kernels} kernels)" if kernels else f"{folder} (empty: the first run compiles)"),
    ]


def cuda_problem() -> str | None:
    from readwarp.device.backend import unusable

    return unusable()


def advice(driver: Driver | str, problem: str | None) -> list[str]:
    """Which side would be used, and the line that would change that."""
    if isinstance(driver, str):
        missing = "Install NVIDIA's driver, then run `readwarp doctor` again." if has_card() else "Nothing is missing."
        return [f"readwarp runs on the CPU: {driver}.", missing]
    if not driver.devices:
        return ["readwarp runs on the CPU: the driver shows no device to this process."]
    if problem is None:
        old = [d.name for d in driver.devices if d.compute_capability < OLDEST_CAPABILITY]
        return [
            "readwarp runs on the GPU.",
            *(f"{name} is older than compute capability 7.5: use --device cpu or another card." for name in old),
        ]
    return [f"readwarp runs on the CPU: {problem}.", *install_lines(driver)]


def install_lines(driver: Driver) -> list[str]:
    """The extra that fits the driver."""
    major = driver.cuda[0]
    if major < OLDEST_CUDA:
        return [
            f"The driver supports CUDA {driver.cuda[0]}.{driver.cuda[1]} at most; update it to one for CUDA 12 or 13."
        ]
    return ["For the GPU install:", f"  python -m pip install 'readwarp[cuda{min(major, 13)}]'"]
