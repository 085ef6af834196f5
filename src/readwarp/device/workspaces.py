"""The workspaces of all cards in use: a batch borrows one, and with it the card, for as long as it is worked on.

They are taken at once, before the first batch, and lent in turn, so that batches go round the cards and a faster card
gets more of them. On the CPU there are none, and borrowing costs nothing.

Memory may only go when no thread uses it any more, also after an error or Ctrl-C: `close` stops those that have a
workspace at their next step on the card, and waits for them.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

from readwarp.device.backend import Backend, describe
from readwarp.device.driver import energy, free_memory, read_driver
from readwarp.device.lanes import form_of
from readwarp.errors import StoppedError


class Workspaces:
    """`number` workspaces of `capacity` bytes on each card."""

    def __init__(self, backend: Backend, number: int = 0, capacity: int = 0) -> None:
        """Takes the memory. Raises what the driver raises when a card has not so much (`Backend.is_out_of_memory`)."""
        self._backend, self._free = backend, SimpleQueue[tuple[int, Any] | None]()  # None: closed
        self.of: dict[int, list[Any]] = {device: [] for device in backend.devices}
        self._is_closed = False
        self.start_counting()
        if backend.name == "cpu":
            return
        try:
            self._take(number, capacity)
        except BaseException:
            self.close()
            raise

    def _take(self, number: int, capacity: int) -> None:
        from readwarp.device.memory import Workspace

        for _ in range(number):
            for device in self._backend.devices:
                with self._backend.on(device):
                    made = Workspace(capacity)
                self._free.put((device, made))  # first: `close` takes as many back as are listed
                self.of[device].append(made)

    def start_counting(self) -> None:
        """What was done so far, to warm up, is not counted as batches, nor as time."""
        self._started, self._energy = time.perf_counter(), {device: _energy(device) for device in self.of}
        for workspace in (workspace for each in self.of.values() for workspace in each):
            workspace.batches = 0
            workspace.spans.clear()

    def close(self) -> None:
        """Give the memory back, when the threads that use it have stopped.

        Each does so with a StoppedError at its next step on the card: what it is at, on the host or there, is waited
        for. Interrupted while it waits, it frees nothing.
        """
        if self._is_closed:
            return
        self._is_closed = True
        workspaces = [workspace for each in self.of.values() for workspace in each]
        for workspace in workspaces:
            workspace.stop()
        for _ in workspaces:
            self._free.get()
        for workspace in workspaces:
            workspace.close()
        self._free.put(None)

    @property
    def allocated(self) -> int:
        """Bytes taken on each card (on the one where they are most)."""
        return max((sum(w.allocated for w in each) for each in self.of.values()), default=0)

    @contextmanager
    def borrow(self) -> Iterator[int]:
        """Inside, the calling thread works on the device given, with a workspace of its own; waits until one is free.

        Not to be nested. On the CPU the device is 0. Right after the start, as many borrowings as there are cards, one
        behind the other, are on each card once. Raises StoppedError once the workspaces are closed.
        """
        if self._backend.name == "cpu":
            yield 0
            return
        lent = self._free.get()
        try:
            if lent is None or self._is_closed:
                raise StoppedError("the run has ended")
            with self._lend(*lent):
                yield lent[0]
        finally:
            self._free.put(lent)

    @contextmanager
    def _lend(self, device: int, workspace: Any) -> Iterator[None]:
        from readwarp.device import memory

        with self._backend.on(device):
            memory.bind(workspace)
            workspace.batches += 1
            try:
                yield
            finally:
                memory.bind(None)

    def facts(self, index_bytes: int = 0) -> list[dict[str, object]]:
        """What each card is and did since `start_counting`; index_bytes: what lies there besides them."""
        seconds = time.perf_counter() - self._started
        return [{**identity(device), **self._done(device, index_bytes, seconds)} for device in self.of]

    def _done(self, device: int, index_bytes: int, seconds: float) -> dict[str, object]:
        mine = self.of[device]
        busy = union(span for workspace in mine for span in workspace.spans)
        said: dict[str, object] = {
            "batches": sum(workspace.batches for workspace in mine),
            "workspaces": len(mine),
            "vram_planned_bytes": index_bytes + sum(workspace.allocated for workspace in mine),
            "vram_high_water_bytes": index_bytes + sum(workspace.high_water for workspace in mine),
            "bytes_up": index_bytes + sum(workspace.bytes_up for workspace in mine),
            "bytes_down": sum(workspace.bytes_down for workspace in mine),
            "busy_seconds": round(busy, 3),
            "busy_share": round(busy / seconds, 4),
        }
        at_first, free = describe(device).free, free_memory(describe(device))
        if at_first is not None and free is not None:
            said["vram_taken_bytes"] = at_first - free  # with CUDA's own, and what other programs have taken meanwhile
        before, now = self._energy[device], _energy(device)
        if before is not None and now is not None:
            said |= {"energy_joules": round(now - before, 1), "mean_watts": round((now - before) / seconds, 1)}
        return said


def identity(device: int) -> dict[str, object]:
    """Number, name and driver of a device, and the form of the kernels it gets."""
    known, driver = describe(device), read_driver()
    major, minor = known.compute_capability
    return {
        "device": device,
        "name": known.name,
        "driver": None if isinstance(driver, str) else driver.version,
        "compute_capability": f"{major}.{minor}",
        "kernel_form": form_of(known.compute_capability).name,
    }


def union(spans: Iterable[tuple[float, float]]) -> float:
    """The length of what is covered by at least one of the intervals."""
    covered, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        covered += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return covered


def _energy(device: int) -> float | None:
    return energy(describe(device))
