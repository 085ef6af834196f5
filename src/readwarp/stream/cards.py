"""The cards of a job: shared data on each card, a workspace per batch, and a fallback for batches that do not fit.

On the CPU nothing is allocated and nothing is cut.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Generic, TypeVar

from readwarp.device.backend import Backend
from readwarp.device.workspaces import Workspaces
from readwarp.metrics import Metrics
from readwarp.stream.halving import Halving, Reads
from readwarp.stream.plan import FREE_SHARE, CardPlan, readable

logger = logging.getLogger("readwarp")
P = TypeVar("P")  # shared data on a card
U = TypeVar("U")
Place = Callable[[Backend, CardPlan | None], P]  # puts it on the backend's current device
PlanCard = Callable[[int], CardPlan]  # for a budget of bytes


class Cards(Generic[P]):
    """Cards, with the shared data that `place` makes once per card, and once on the host if a batch needs that."""

    def __init__(self, backend: Backend, planned: CardPlan | None, place: Place[P]) -> None:
        """Allocate the planned memory of all cards. Raises the driver's error if a card has less."""
        self.backend, self.planned, self._place = backend, planned, place
        self._halving = Halving(backend.is_out_of_memory)
        self._placed: dict[int, P] = {}
        try:
            for device in backend.devices or (0,):
                with backend.on(device):
                    self._placed[device] = place(backend, planned)
            number, capacity = (planned.workspaces, planned.capacity) if planned else (0, 0)
            self.workspaces = Workspaces(backend, number, capacity)
        except BaseException:
            self._free()
            raise

    def close(self) -> None:
        """Free all memory, once the threads that use it have stopped (`Workspaces.close`)."""
        self.workspaces.close()
        self._free()

    def _free(self) -> None:
        for placed in self._placed.values():
            self.backend.release(placed)
        self._placed.clear()

    def warm_up(self, work: Callable[[P], object]) -> None:
        """Compile the kernels of `work` and load them onto each card before several threads need them."""
        for _ in self._placed:
            with self.borrow() as placed, self.backend.as_far_as_it_fits():
                work(placed)
        self.workspaces.start_counting()

    @contextmanager
    def borrow(self) -> Iterator[P]:
        """Work on a card, with a workspace of its own, within the block; yield the card's shared data."""
        with self.workspaces.borrow() as device:
            yield self._placed[device]

    @cached_property
    def on_host(self) -> P:
        """Return the shared data for CPU kernels."""
        return self._place(Backend("cpu"), None)

    def work(self, batch: Reads, work: Callable[[Reads, P], U], count: Callable[[str, int], None]) -> list[U]:
        """Return [work(batch, shared data)], in parts if the batch does not fit; on the CPU if it cannot be cut."""

        def on_card(part: Reads) -> U:
            with self.borrow() as placed:
                return work(part, placed)

        return self._halving(batch, on_card, lambda part: work(part, self.on_host), count)

    def facts(self) -> list[dict[str, object]]:
        """Return identity and statistics of each card."""
        return self.workspaces.facts(self.planned.index_bytes) if self.planned else []


def open_cards(backend: Backend, plan: PlanCard, vram: int | None, place: Place[P], metrics: Metrics) -> Cards[P]:
    """Open cards with memory allocated by `plan` for a budget of bytes: `vram`, or the free memory.

    If a card has less than planned, half of it is tried. Raises MemoryBudgetError if that is too little.
    """
    if backend.name == "cpu":
        return Cards(backend, None, place)
    room = vram or backend.free_memory(FREE_SHARE)
    while True:
        planned = plan(room)
        try:
            return Cards(backend, planned, place)
        except Exception as error:
            if not backend.is_out_of_memory(error):
                raise
        logger.warning("the GPU has less free memory than the planned %s: trying half", readable(planned.device_bytes))
        metrics.count("vram_halved")
        room = planned.device_bytes // 2
