"""Counters and stage times of one run, added up over threads."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Metrics:
    """Named counts and named seconds; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started = time.perf_counter()
        self.counts: dict[str, int] = {}
        self.seconds: dict[str, float] = {}

    def count(self, name: str, number: int = 1) -> None:
        with self._lock:
            self.counts[name] = self.counts.get(name, 0) + int(number)

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        """Add the time the block takes to the seconds of the stage (summed over threads)."""
        started = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - started
            with self._lock:
                self.seconds[stage] = self.seconds.get(stage, 0.0) + spent

    def as_dict(self) -> dict[str, object]:
        return {
            "wall_seconds": round(time.perf_counter() - self._started, 3),
            "counts": dict(sorted(self.counts.items())),
            "stage_seconds": {k: round(v, 3) for k, v in sorted(self.seconds.items())},
        }

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(self.as_dict(), indent=2) + "\n")
