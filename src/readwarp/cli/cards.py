"""The cards of an align job: the plan of their memory, the index on each of them, and the workspaces of batches."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

from readwarp.align import pipeline
from readwarp.cli.budget import planned_batches, planned_card
from readwarp.config import AlignParameters, Resources
from readwarp.device.backend import Backend
from readwarp.device.workspaces import Workspaces, identity
from readwarp.index import Index
from readwarp.metrics import Metrics
from readwarp.stream.plan import CardPlan, Plan, readable

logger = logging.getLogger("readwarp")


class Cards:
    """What lies on the cards in use while batches are aligned; on the CPU it is the index alone."""

    def __init__(self, index: Index, backend: Backend, planned: CardPlan | None) -> None:
        """Takes all the memory that was planned for each card."""
        self.index, self.backend, self.planned = index, backend, planned
        self._placed: dict[int, pipeline.PlacedIndex] = {}
        try:
            for device in backend.devices or (0,):
                with backend.on(device):
                    on_host = planned is not None and planned.seeding == "cpu"
                    self._placed[device] = pipeline.place(index, backend, on_host)
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

    def warm_up(self, parameters: AlignParameters) -> None:
        """Compile every kernel, and load it onto every card, before several threads need it."""
        for _ in self._placed:
            with self.borrowed() as placed, self.backend.as_far_as_it_fits():
                pipeline.warm_up(placed, parameters, self.backend)
        self.workspaces.start_counting()

    @contextmanager
    def borrowed(self) -> Iterator[pipeline.PlacedIndex]:
        """The index on the card that the calling thread works on inside, with a workspace of its own."""
        with self.workspaces.borrowed() as device:
            yield self._placed[device]

    @cached_property
    def on_host(self) -> pipeline.PlacedIndex:
        """The index for kernels of the CPU."""
        return pipeline.place(self.index, Backend("cpu"))

    def note(self, metrics: Metrics) -> None:
        """Say what the cards did, as gpu in metrics.json: one entry for each card."""
        if self.planned:
            said = self.workspaces.facts(self.planned.index_bytes)
            metrics.append("gpu", [{"command": "align", **each, "seeding": self.planned.seeding} for each in said])


def open_cards(
    resources: Resources, index: Index, backend: Backend, sort_bytes: int, metrics: Metrics
) -> tuple[Plan, Cards]:
    """The plan, and cards with all its memory taken; half the memory where a card has less than was planned.

    Raises MemoryBudgetError when that is too little for a batch.
    """
    while True:
        planned = planned_batches(resources, index, backend, sort_bytes)
        card = planned_card(resources, planned, index, backend)
        if card is None:
            return planned, Cards(index, backend, None)
        try:
            cards = Cards(index, backend, card)
        except Exception as error:
            if not backend.is_out_of_memory(error):
                raise
            logger.warning("the GPU has not the %s that were planned: trying half", readable(card.device_bytes))
        else:
            say(card, backend)
            return replace(planned, batch_bases=card.batch_bases), cards
        metrics.count("vram_halved")
        resources = replace(resources, vram=card.device_bytes // 2)


def say(card: CardPlan, backend: Backend) -> None:
    """One line for each card."""
    seeding = "on the card" if card.seeding == "cuda" else "on the CPU (the index does not fit beside the batches)"
    for device in backend.devices:
        known = identity(device)
        logger.info(
            "cuda:%d (%s, kernels %s): %d batches of %s bases in flight, %s planned, seeding %s",
            *(device, known["name"], known["kernel_form"], card.workspaces, f"{card.batch_bases:,}"),
            *(readable(card.device_bytes), seeding),
        )
