"""doctor: what this machine has, what readwarp would use, and what is missing."""

import argparse
import os
import platform
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from readwarp.cli import options as shared
from readwarp.cli.reporting import show
from readwarp.device.driver import MIN_CUDA, Driver, has_card, is_able, read_driver
from readwarp.errors import DeviceError
from readwarp.stream.plan import FREE_SHARE, min_bytes, plan_card, readable, usual_batch, workers_of
from readwarp.system import machine
from readwarp.version import __version__
from readwarp.wording import counted

HUMAN = 3_100_000_000  # bases


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("GPU memory plan, with or without a GPU")
    group.add_argument("--vram", type=shared.size, metavar="SIZE", help="plan for this much memory, such as 8G")
    text = "plan for this index [with --vram: one of a human genome]"
    group.add_argument("--index", type=Path, metavar="REF.rwx", help=text)
    shared.add_threads(group)


def run(options: argparse.Namespace) -> None:
    from rich.table import Table

    from readwarp.device.backend import problems

    driver = read_driver()
    table = Table(title="readwarp doctor", title_justify="left", show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in [*describe_machine(), *describe_gpus(driver), *describe_software()]:
        table.add_row(name, value)
    planned = describe_plan(options, driver) if options.vram or options.index else []
    show(table, "", *advise(driver, problems()), *planned)


def describe_plan(options: argparse.Namespace, driver: Driver | str) -> list[str]:
    """Describe how `align` would use a card of --vram bytes, or each card. Raises MemoryBudgetError, DeviceError."""
    if find_spec("numba_cuda") is None:
        raise DeviceError("a GPU memory plan needs numba-cuda: `pip install '.[cuda13]'` in a clone of readwarp")
    from readwarp.align.budget import CONTEXT_BYTES, card_for, card_of
    from readwarp.index import Index

    card = card_of(Index.open(options.index)) if options.index else card_for(HUMAN)
    shown = () if isinstance(driver, str) else driver.devices
    free = {f"cuda:{i}": int(FREE_SHARE * (device.free or device.memory)) for i, device in enumerate(shown)}
    rooms = {"a card": options.vram} if options.vram else free
    what = str(options.index or f"an index of {HUMAN:,} bases")
    threads = workers_of(options.threads or machine.usable_threads(), 1)
    lines = ["", f"{what}: {readable(card.reference)} for bases, {readable(card.seeds)} for seeds"]
    for name, room in rooms.items():
        made = plan_card(room, card, threads, usual_batch(threads, is_on_cards=True))
        side = "the card" if made.seeding == "cuda" else "the CPU"
        batches = counted(made.workspaces, "batch")
        lines.append(
            f"{name} with --vram {readable(room)}: {batches} in flight of {made.batch_bases:,} bases, "
            f"{readable(made.capacity)} each; seeds are looked up on {side}; {readable(made.device_bytes)} are used"
        )
    context = f"about {readable(CONTEXT_BYTES)} more for CUDA itself"
    return [*lines, f"at least --vram {readable(min_bytes(card))}; {context}"]


def describe_machine() -> list[tuple[str, str]]:
    cores, usable = os.cpu_count() or 1, machine.usable_threads()
    return [
        ("processor", machine.processor()),
        ("threads", f"{usable} of {cores}" if usable != cores else str(cores)),
        ("SIMD", machine.simd()),
        ("memory", f"{readable(machine.total_memory())}, {readable(machine.free_memory())} of it free"),
    ]


def describe_gpus(driver: Driver | str) -> list[tuple[str, str]]:
    if isinstance(driver, str):
        return [("GPU", driver)]
    from readwarp.device.lanes import form_of

    rows = [("CUDA driver", f"{driver.version or 'version unknown'}, up to CUDA {driver.cuda[0]}.{driver.cuda[1]}")]
    for ordinal, device in enumerate(driver.devices):
        major, minor = device.compute_capability
        free = "" if device.free is None else f", {readable(device.free)} of it free"
        kernels = f", {form_of(device.compute_capability).name} kernels" if is_able(device) else ""
        text = f"{device.name}, compute capability {major}.{minor}{kernels}, {readable(device.memory)}{free}"
        rows.append((f"cuda:{ordinal}", text))
    if not driver.devices:
        rows.append(("GPU", "none shown to this process (CUDA_VISIBLE_DEVICES?)"))
    return rows


def describe_software() -> list[tuple[str, str]]:
    from readwarp.compiler.cache_folders import folders
    from readwarp.compiler.kernel_cache import count_kernels
    from readwarp.compiler.levels import current_level
    from readwarp.index.place import cache_folder, kept_indexes

    versions, kernels = machine.library_versions(), count_kernels()
    content = counted(kernels, "kernel") if kernels else "empty: the first run compiles"
    kept = kept_indexes()
    size = f"{len(kept)} indexes, {readable(sum(path.stat().st_size for path in kept))}" if kept else "empty"
    return [
        ("readwarp", f"{__version__}, Python {platform.python_version()}"),
        ("libraries", ", ".join(f"{name} {version}" for name, version in versions.items() if version)),
        ("kernel cache", f"{', '.join(map(str, folders()))} ({content}, for {current_level().name})"),
        ("index cache", f"{cache_folder()} ({size})"),
    ]


def advise(driver: Driver | str, problems: Sequence[str | None]) -> list[str]:
    """Tell whether the CPU or a GPU would be used, and what to do to use each GPU. problems: of each device."""
    if isinstance(driver, str):
        missing = "Install NVIDIA's driver, then run `readwarp doctor` again." if has_card() else "Nothing is missing."
        return [f"readwarp runs on the CPU: {driver}.", missing]
    if not driver.devices:
        return ["readwarp runs on the CPU: the driver shows no device to this process."]
    lines = ["readwarp runs on the CPU." if all(problems) else "readwarp runs on the GPU."]
    for problem in dict.fromkeys(filter(None, problems)):
        names = ", ".join(f"cuda:{n}" for n, each in enumerate(problems) if each == problem)
        lines.append(f"{names} cannot be used: {problem}.")
    if not any(problem and is_able(device) for device, problem in zip(driver.devices, problems, strict=True)):
        return lines
    major = driver.cuda[0]
    if major < MIN_CUDA:
        return [*lines, "Update the driver to one for CUDA 12 or 13."]
    install, extra = "  python -m pip install", f"'.[cuda{min(major, 13)}]'"
    lines.append("To use the GPU, run in a clone of readwarp:")
    if not find_spec("numba_cuda"):
        return [*lines, f"{install} {extra}"]
    more = "If that does not help, `nvidia-smi` and the system's log may say more about the card."
    return [*lines, f"{install} --upgrade --upgrade-strategy eager {extra}", more]
