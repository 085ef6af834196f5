"""Wall time, processor time and peak memory of a shell command with all its processes; rows of a table of results."""

import csv
import os
import platform
import re
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

INTERVAL = 0.05  # seconds between two looks at the memory


@dataclass(frozen=True, slots=True)
class Usage:
    seconds: float
    cpu_seconds: float
    peak_mb: int  # of all processes together


def measured(command: str) -> Usage:
    """Run a bash command line; ends the program if it fails.

    Memory is the largest sum of the resident sets of the command's processes that was seen, and at least the peak of
    the largest one, which the kernel keeps.
    """
    started = time.perf_counter()
    process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", command])
    seen, done = [0], threading.Event()
    watcher = threading.Thread(target=_watch, args=(process.pid, seen, done))
    watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    done.set()
    watcher.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        sys.exit(f"failed: {command}")
    peak = max(seen[0], usage.ru_maxrss << 10)
    return Usage(round(seconds, 2), round(usage.ru_utime + usage.ru_stime, 2), peak >> 20)


CIRCUMSTANCES = ("date", "commit", "machine")
Row = dict[str, object]


def circumstances() -> tuple[object, str, str]:
    """The values of the columns CIRCUMSTANCES now."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, errors="replace").stdout.strip()
    return date.today(), commit, f"{platform.machine()} {os.cpu_count()} cpus"


def version(tool: str, argument: str = "--version") -> str:
    """What a tool says its version is; for a name such as readwarp, the one beside this Python if there is one."""
    beside = Path(sys.executable).parent / tool
    command = [beside if beside.exists() else tool, *argument.split()]
    said = subprocess.run(command, capture_output=True, text=True, errors="replace")
    found = re.search(r"\d+\.\d[\w.+-]*", said.stdout) or re.search(r"\d+\.\d[\w.+-]*", said.stderr)
    return found[0].rstrip(".") if found else ""


def show(row: Row) -> None:
    shown = {key: value for key, value in row.items() if key not in CIRCUMSTANCES}
    print("  ".join(f"{key} {value}" for key, value in shown.items()), flush=True)


def append(rows: Sequence[Row], path: Path, columns: Sequence[str]) -> None:
    """Add rows to a CSV file."""
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(rows)


def _watch(root: int, seen: list[int], done: threading.Event) -> None:
    while not done.wait(INTERVAL):
        seen[0] = max(seen[0], sum(map(_resident, _family(root))))


def _family(root: int) -> list[int]:
    """The process and all its descendants."""
    found = [root]
    for pid in found:
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                found.extend(map(int, (task / "children").read_text().split()))
        except OSError:  # ended meanwhile
            continue
    return found


def _resident(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
