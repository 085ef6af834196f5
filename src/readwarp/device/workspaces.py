"""Workspaces of all cards in use: a batch borrows one, and with it the card, while it is in work.

They are made before the first batch and lent in turn, so that batches rotate through the cards and a faster card gets
more of them. On the CPU there are none, and borrowing costs nothing.

Memory is freed only when no thread uses it, even after an error or Ctrl-C: `close` stops each thread that has a
workspace at its next step on the card, and waits for it.
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
    """A pool of `number` workspaces of `capacity` bytes on each card."""

    def __init__(self, backend: Backend, number: int = 0, capacity: int = 0) -> None:
        """Allocate the memory. Raises the driver's error if a card has too little (`Backend.is_out_of_memory`)."""
        self._backend, self._free = backend, SimpleQueue[tuple[int, Any] | None]()  # None: closed
        self.of: dict[int, list[Any]] = {device: [] for device in backend.devices}
        self._is_closed = False
        self.start_counting()
        try:
            for device in backend.devices * number:  # none on the CPU
                from readwarp.device.memory import Workspace

                with backend.on(device):
                    made = Workspace(capacity)
                self._free.put((device, made))  # first: `close` waits for as many as are listed
                self.of[device].append(made)
        except BaseException:
            self.close()
            raise

    def _all(self) -> list[Any]:
        return [workspace for each in self.of.values() for workspace in each]

    def start_counting(self) -> None:
        """Count batches and time from here on, without the warm-up."""
        self._started, self._energy = time.perf_counter(), {device: _energy(device) for device in self.of}
        for workspace in self._all():
            workspace.batches = 0
            workspace.spans.clear()

    def close(self) -> None:
        """Free the memory once the threads that use it have stopped.

        A thread stops with a StoppedError at its next step on the card; `close` waits for that. If interrupted while
        waiting, it frees nothing.
        """
        if self._is_closed:
            return
        self._is_closed = True
        workspaces = self._all()
        for workspace in workspaces:
            workspace.stop()
        for _ in workspaces:
            self._free.get()
        for workspace in workspaces:
            workspace.close()
        self._free.put(None)

    @property
    def allocated(self) -> int:
        """Bytes taken on the card with the most."""
        return max((sum(w.allocated for w in each) for each in self.of.values()), default=0)

    @contextmanager
    def borrow(self) -> Iterator[int]:
        """Wait for a free workspace; bind it to the calling thread within the block, and yield its device.

        Do not nest. On the CPU the device is 0. The first borrowings, one after another, get each card once. Raises
        StoppedError once the workspaces are closed.
        """
        if self._backend.name == "cpu":
            yield 0
            return
        from readwarp.device import memory

        lent = self._free.get()
        try:
            if lent is None or self._is_closed:
                raise StoppedError("the run has ended")
            device, workspace = lent
            with self._backend.on(device):
                memory.bind(workspace)
                workspace.batches += 1
                yield device
        finally:
            memory.bind(None)
            self._free.put(lent)

    def facts(self, index_bytes: int = 0) -> list[dict[str, object]]:
        """Return each card's identity and its work since `start_counting`. index_bytes: of the index, on each card."""
        seconds = time.perf_counter() - self._started
        return [{**identity(device), **self._use_of(device, index_bytes, seconds)} for device in self.of]

    def _use_of(self, device: int, index_bytes: int, seconds: float) -> dict[str, object]:
        mine = self.of[device]
        busy = union(span for workspace in mine for span in workspace.spans)
        use: dict[str, object] = {
            "batches": sum(workspace.batches for workspace in mine),
            "workspaces": len(mine),
            "vram_planned_bytes": index_bytes + sum(workspace.allocated for workspace in mine),
            "vram_high_water_bytes": index_bytes + sum(workspace.high_water for workspace in mine),
            "bytes_up": index_bytes + sum(workspace.bytes_up for workspace in mine),
            "bytes_down": sum(workspace.bytes_down for workspace in mine),
            "busy_seconds": round(busy, 3),
            "busy_share": round(busy / seconds, 4),
        }
        at_first, free = describe(device).free, free_memory(describe(device).bus)
        if at_first is not None and free is not None:
            use["vram_taken_bytes"] = at_first - free  # includes CUDA's own, and what other programs have taken since
        before, now = self._energy[device], _energy(device)
        if before is not None and now is not None:
            use |= {"energy_joules": round(now - before, 1), "mean_watts": round((now - before) / seconds, 1)}
        return use


def identity(device: int) -> dict[str, object]:
    """Return number, name and driver of a device, and the form of its kernels."""
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
    """Return the total length covered by the intervals."""
    covered, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        covered += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return covered


def _energy(device: int) -> float | None:
    return energy(describe(device).bus)
