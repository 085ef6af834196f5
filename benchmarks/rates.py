"""Cells per second of calls that compete in one run, and the rows of results made from them."""

import csv
import platform
import subprocess
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

from readwarp.compiler.simd import VECTOR_BYTES

ROUNDS = 7
COLUMNS = ("date", "commit", "machine", "vector_bytes", "what", "gcups")
Contest = tuple[Callable[[], object], int]  # a call and the cells it computes


def best_rates(contests: dict[str, Contest]) -> dict[str, float]:
    """10^9 cells per second of processor time, the best of ROUNDS rounds; compiling is not counted."""
    for call, _ in contests.values():
        call()
    best = dict.fromkeys(contests, 0.0)
    for _ in range(ROUNDS):
        for name, (call, cells) in contests.items():
            started = time.process_time()
            call()
            best[name] = max(best[name], cells / (time.process_time() - started) / 1e9)
    return best


def report(best: dict[str, float]) -> None:
    print(f"{processor()}, vectors of {VECTOR_BYTES} bytes")
    for name, rate in best.items():
        print(f"{name:44s} {rate:6.2f} GCUPS")


def save(best: dict[str, float], path: Path) -> None:
    """Add rows to a file of results."""
    git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True).stdout.strip()
    path.parent.mkdir(exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        if is_new:
            rows.writerow(COLUMNS)
        for name, rate in best.items():
            rows.writerow([date.today(), commit, processor(), VECTOR_BYTES, name, f"{rate:.2f}"])


def processor() -> str:
    information = Path("/proc/cpuinfo")
    for line in information.read_text().splitlines() if information.exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
