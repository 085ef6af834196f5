"""doctor: what this machine has, what readwarp would use, and what is missing."""

import argparse
import os

from readwarp.cli.reporting import show
from readwarp.device.driver import Driver, has_card, read_driver

EPILOG = """\
example:
  readwarp doctor
"""
OLDEST_CUDA, OLDEST_CAPABILITY = 12, (7, 5)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options: it looks, and says."""


def run(options: argparse.Namespace) -> int:
    from rich.table import Table

    driver = read_driver()
    table = Table(title="readwarp doctor", title_justify="left", show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in [*machine_rows(), *gpu_rows(driver), *software_rows()]:
        table.add_row(name, value)
    show(table, "", *advice(driver, cuda_problem()))
    return 0


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
    rows = [("CUDA driver", f"{driver.version or 'version unknown'}, up to CUDA {driver.cuda[0]}.{driver.cuda[1]}")]
    for ordinal, device in enumerate(driver.devices):
        major, minor = device.compute_capability
        free = "" if device.free is None else f", {readable(device.free)} of it free"
        rows.append(
            (f"cuda:{ordinal}", f"{device.name}, compute capability {major}.{minor}, {readable(device.memory)}{free}")
        )
    if not driver.devices:
        rows.append(("GPU", "none shown to this process (CUDA_VISIBLE_DEVICES?)"))
    return rows


def software_rows() -> list[tuple[str, str]]:
    import platform

    from readwarp import __version__
    from readwarp.device import machine
    from readwarp.device.jit import cache_folder

    versions = machine.library_versions()
    installed = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    folder = cache_folder()
    kernels = sum(1 for _ in folder.rglob("*.nbi"))
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
    if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
        return ["CUDA is simulated (NUMBA_ENABLE_CUDASIM=1): for tests only."]
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
