"""Measure a card: its ceilings, the kernels, whole runs, and the CPU of the same machine. Takes under 8 minutes.

    python benchmarks/gpu.py [--only ceilings kernels commands cpu] [--pairs N] [--no-save]

Prints rows (subject, value, unit) as they are measured and adds them to benchmarks/results/gpu.csv with the card, its
driver, versions, commit and date. Without a card it says so and ends with exit code 4. docs/how-to/gpu-proof.md
explains the rows. --tiny runs everything on a tiny amount of work and saves nothing: it is for the emulated card.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from measure import Row, append, circumstances
from oncard import TINY, Figures, Sizes
from readwarp.device import backend
from readwarp.device.driver import read_driver
from readwarp.errors import DeviceError
from readwarp.ragged import replace

RESULTS = Path(__file__).parent / "results" / "gpu.csv"
COLUMNS = ("date", "commit", "device", "driver", "versions", "subject", "value", "unit")
PACKAGES = ("readwarp", "numba", "numba-cuda", "nvidia-cuda-nvcc", "numpy")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--pairs", type=int, default=Sizes.read_pairs, help="of reads for the whole runs [1000000]")
    parser.add_argument("--no-save", action="store_true", help="leave benchmarks/results/gpu.csv as it is")
    parser.add_argument("--tiny", action="store_true", help="for tests: a tiny amount of work, nothing saved")
    options = parser.parse_args()
    reason = backend.unusable() or (None if options.tiny else unmeasurable())
    if reason:
        print(f"no card to measure: {reason}", file=sys.stderr)
        return DeviceError.exit_code
    sizes = TINY if options.tiny else replace(Sizes(), read_pairs=options.pairs)
    shared = facts()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            rows = [{**shared, **row} for row in measured(name, sizes, Path(folder))]
            if not (options.no_save or options.tiny):
                append(rows, RESULTS, COLUMNS)
    return 0


def unmeasurable() -> str | None:
    """Why times on this card mean nothing, or None."""
    return "the cards are emulated" if os.environ.get("EMULATED_CARDS") else None


def facts() -> Row:
    """Where and with what the measurement is made."""
    today, commit, machine = circumstances()
    driver = read_driver()
    if isinstance(driver, str):
        raise DeviceError(driver)
    return {
        "date": today, "commit": commit, "device": f"{driver.devices[0].name}, {machine}",
        "driver": f"{driver.version} CUDA {driver.cuda[0]}.{driver.cuda[1]}",
        "versions": " ".join(f"{name} {found}" for name in PACKAGES if (found := installed(name))),
    }  # fmt: skip


def installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def measured(name: str, sizes: Sizes, folder: Path) -> list[Row]:
    started, rows = time.perf_counter(), []
    for subject, value, unit in SECTIONS[name](sizes, folder):
        rows.append({"subject": subject, "value": f"{value:.5g}", "unit": unit})
        print(f"{subject:60s} {value:12,.5g} {unit}", flush=True)
    print(f"-- {name}: {time.perf_counter() - started:.0f} s", flush=True)
    return rows


def ceilings(sizes: Sizes, folder: Path) -> Figures:
    from oncard.ceilings import copies, issue_rates

    yield from copies(sizes)
    yield from issue_rates(sizes)


def kernels(sizes: Sizes, folder: Path) -> Figures:
    from oncard.engines import alignments, likelihoods

    yield from alignments(sizes)
    yield from likelihoods(sizes)


def commands(sizes: Sizes, folder: Path) -> Figures:
    from oncard.commands import whole

    yield from whole(folder, sizes)


def cpu(sizes: Sizes, folder: Path) -> Figures:
    from oncard.engines import on_the_cpu

    yield from on_the_cpu(sizes)


SECTIONS: dict[str, Callable[[Sizes, Path], Figures]] = {
    "ceilings": ceilings, "kernels": kernels, "commands": commands, "cpu": cpu
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(main())
