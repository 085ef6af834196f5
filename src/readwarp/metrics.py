"""Counters, stage times and facts of a run, summed over threads; `--metrics` writes them as JSON."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Metrics:
    """Named counts, seconds and facts; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started = self._lapped = time.perf_counter()
        self.counts: dict[str, int] = {}
        self.seconds: dict[str, float] = {}
        self.phases: dict[str, float] = {}
        self.facts: dict[str, object] = {}

    def __repr__(self) -> str:
        return self.as_json().decode().rstrip()

    def __getstate__(self) -> dict[str, object]:  # a lock belongs to its process
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    def count(self, name: str, number: int = 1) -> None:
        with self._lock:
            self.counts[name] = self.counts.get(name, 0) + int(number)

    def note(self, **facts: object) -> None:
        """Set facts that are not summed: version, device, insert sizes."""
        with self._lock:
            self.facts.update(facts)

    def raise_to(self, name: str, number: int) -> None:
        """Raise a fact to this number if it is larger."""
        with self._lock:
            have = self.facts.get(name)
            self.facts[name] = max(number, have) if isinstance(have, int) else number

    def append(self, name: str, facts: list[dict[str, object]]) -> None:
        """Add entries to a list of facts."""
        if not facts:
            return
        with self._lock:
            had = self.facts.get(name, [])
            assert isinstance(had, list)
            self.facts[name] = had + facts

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        """Add the block's time to the stage's seconds, summed over threads. Errors name the stage."""
        started = time.perf_counter()
        try:
            yield
        except Exception as error:
            error.add_note(f"during {stage}")
            raise
        finally:
            spent = time.perf_counter() - started
            with self._lock:
                self.seconds[stage] = self.seconds.get(stage, 0.0) + spent

    def include(self, other: "Metrics") -> None:
        """Add the counts and seconds of `other`, which no thread may still change."""
        with self._lock:
            for mine, theirs in ((self.counts, other.counts), (self.seconds, other.seconds)):
                for name, value in theirs.items():
                    mine[name] = mine.get(name, 0) + value  # type: ignore[assignment]

    def lap(self, phase: str) -> None:
        """Add the wall time since the last lap, or since the start, to this phase of the run."""
        with self._lock:
            last, self._lapped = self._lapped, time.perf_counter()
            self.phases[phase] = self.phases.get(phase, 0.0) + self._lapped - last

    def as_dict(self) -> dict[str, object]:
        with self._lock:
            return {
                **self.facts,
                "wall_seconds": round(time.perf_counter() - self._started, 3),
                "phase_seconds": {k: round(v, 3) for k, v in self.phases.items()},
                "counts": dict(sorted(self.counts.items())),
                "stage_seconds": {k: round(v, 3) for k, v in sorted(self.seconds.items())},
            }

    def as_json(self) -> bytes:
        return (json.dumps(self.as_dict(), indent=2) + "\n").encode()
