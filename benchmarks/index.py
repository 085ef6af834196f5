"""Time, memory and size of building an index, compared with minimap2 -d and bwa index.

    index.py REF.fa [-t THREADS]        appends to results/index.csv

Each tool runs in its own process, on a copy of the reference in a temporary folder; wall seconds and peak resident
memory are those of the process. Kernels are compiled beforehand.
"""

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results" / "index.csv"
COLUMNS = [
    *("date", "reference", "bases", "tool", "threads", "seconds"),
    *("peak_mb", "peak_bytes_per_base", "disk_bytes_per_base"),
]
SMALL = ">warm\n" + "ACGGTCATTGCAGGACTTAC" * 50 + "\n"


def measured(command: list[str]) -> tuple[float, float]:
    """Run a command and return (wall seconds, peak MB)."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    return time.perf_counter() - started, usage.ru_maxrss / 1e3


def bases_of(path: Path) -> int:
    return sum(len(line.strip()) for line in path.open() if not line.startswith(">"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path)
    parser.add_argument("-t", "--threads", default="2")
    parser.add_argument("--tools", nargs="+", default=["readwarp", "minimap2", "bwa"])
    options = parser.parse_args()
    readwarp = str(Path(sys.executable).with_name("readwarp"))
    with tempfile.TemporaryDirectory() as folder:
        reference, warm = Path(folder, "ref.fa"), Path(folder, "warm.fa")
        shutil.copy(options.reference, reference)
        warm.write_text(SMALL)
        commands = {
            "readwarp": ([readwarp, "index", "-t", options.threads, str(reference)], ["ref.fa.rwx"]),
            "minimap2": (["minimap2", "-x", "sr", "-t", options.threads, "-d", f"{reference}.mmi", str(reference)],
                         ["ref.fa.mmi"]),
            "bwa": (["bwa", "index", str(reference)], [f"ref.fa.{end}" for end in ("amb", "ann", "bwt", "pac", "sa")]),
        }  # fmt: skip
        measured([readwarp, "index", str(warm)])
        bases, rows = bases_of(reference), []
        for tool in options.tools:
            command, files = commands[tool]
            seconds, peak = measured(command)
            size = sum(Path(folder, name).stat().st_size for name in files)
            rows.append([date.today(), options.reference.name, bases, tool, options.threads, f"{seconds:.2f}",
                         f"{peak:.0f}", f"{1e6 * peak / bases:.2f}", f"{size / bases:.3f}"])  # fmt: skip
            print(*rows[-1])
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([COLUMNS, *rows] if new else rows)


if __name__ == "__main__":
    main()
