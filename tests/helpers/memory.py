"""The memory of a command: what all its processes have at a time, pages that they share once."""

import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PAUSE = 0.02  # seconds between two looks


class Ended(NamedTuple):
    code: int
    peak: int  # bytes, the largest sum of the processes' proportional sets (PSS) that was seen
    errors: str


def watch(command: Sequence[object]) -> Ended:
    """Run a command to its end."""
    peak = 0
    with subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(_share_of, _family(process.pid))))
            time.sleep(PAUSE)
        assert process.stderr is not None
        return Ended(process.returncode, peak, process.stderr.read())


def _family(root: int) -> list[int]:
    """A process and all its descendants."""
    found = [root]
    for pid in found:
        with suppress(OSError):  # it has ended
            for task in Path(f"/proc/{pid}/task").iterdir():
                found.extend(map(int, (task / "children").read_text().split()))
    return found


def _share_of(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return 0
