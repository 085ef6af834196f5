"""The cards of a job: what lies on each for all its work, workspaces lent to one item at a time, and what does not fit.

On the CPU nothing is taken or lent, and nothing is cut.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Generic, TypeVar

from readwarp.device.backend import Backend
from readwarp.device.workspaces import Workspaces
from readwarp.metrics import Metrics
from readwarp.stream.halving import Divisible, Halving
from readwarp.stream.plan import FREE_SHARE, CardPlan, readable

logger = logging.getLogger("readwarp")
T = TypeVar("T")  # an item of work
P = TypeVar("P")  # what lies on a card
U = TypeVar("U")
Place = Callable[[Backend, CardPlan | None], P]  # puts on the backend's current device what all items need there
PlanCard = Callable[[int], CardPlan]  # within a budget of bytes


class Cards(Generic[T, P]):
    """`place` is called once for each card, and for the host when an item needs it."""

    def __init__(self, backend: Backend, planned: CardPlan | None, items: Divisible[T], place: Place[P]) -> None:
        """Takes all the memory that was planned for each card. Raises what the driver raises where one has less."""
        self.backend, self.planned, self._place = backend, planned, place
        self._halving = Halving(items, backend.is_out_of_memory)
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
        """Give all memory back, when the threads that use it have stopped (`Workspaces.close`)."""
        self.workspaces.close()
        self._free()

    def _free(self) -> None:
        for device, placed in self._placed.items():
            self.backend.release(device, placed)
        self._placed.clear()

    def warm_up(self, work: Callable[[P], object]) -> None:
        """Compile the kernels of `work`, and load them onto every card, before several threads need them."""
        for _ in self._placed:
            with self.borrow() as placed, self.backend.as_far_as_it_fits():
                work(placed)
        self.workspaces.start_counting()

    @contextmanager
    def borrow(self) -> Iterator[P]:
        """What lies on the card that the calling thread works on inside, with a workspace of its own."""
        with self.workspaces.borrow() as device:
            yield self._placed[device]

    @cached_property
    def on_host(self) -> P:
        """What kernels of the CPU take instead."""
        return self._place(Backend("cpu"), None)

    def work(self, item: T, work: Callable[[T, P], U], count: Callable[[str, int], None]) -> list[U]:
        """[work(item, what lies there)] on a card; in parts where it does not fit, by the CPU what cannot be cut."""

        def on_card(part: T) -> U:
            with self.borrow() as placed:
                return work(part, placed)

        return self._halving(item, on_card, lambda part: work(part, self.on_host), count)

    def facts(self) -> list[dict[str, object]]:
        """What each card is and did."""
        return self.workspaces.facts(self.planned.index_bytes) if self.planned else []


def open_cards(
    backend: Backend, plan: PlanCard, vram: int | None, items: Divisible[T], place: Place[P], metrics: Metrics
) -> Cards[T, P]:
    """Cards with all the memory taken that `plan` says within a budget of bytes: `vram`, or what is free.

    Half of it where a card has less than was planned. Raises MemoryBudgetError when that is too little.
    """
    if backend.name == "cpu":
        return Cards(backend, None, items, place)
    room = vram or backend.free_memory(FREE_SHARE)
    while True:
        planned = plan(room)
        try:
            return Cards(backend, planned, items, place)
        except Exception as error:
            if not backend.is_out_of_memory(error):
                raise
        logger.warning("the GPU has not the %s that were planned: trying half", readable(planned.device_bytes))
        metrics.count("vram_halved")
        room = planned.device_bytes // 2
