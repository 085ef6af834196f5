"""The cards of a job: missing memory, and work that does not fit."""

import pytest

from readwarp.device.backend import Backend
from readwarp.errors import MemoryBudgetError
from readwarp.metrics import Metrics
from readwarp.stream.cards import Cards, open_cards
from readwarp.stream.plan import CardPlan

GB, MB = 1 << 30, 1 << 20
CARD = Backend("cuda", (0,))


def plan(room: int) -> CardPlan:
    if room < 64 * MB:
        raise MemoryBudgetError("64M are needed")
    return CardPlan(4, min(GB, room // 4))


class OutOfMemoryError(RuntimeError):
    pass


OutOfMemoryError.__module__ = "numba.cuda.cudadrv.driver"


def test_a_card_that_has_less_gets_half(monkeypatch, caplog):
    """Other processes took the memory between the plan and the first batch."""
    tried, metrics = [], Metrics()

    def full(self, backend, planned, *others):
        tried.append(planned.device_bytes)
        if len(tried) < 3:
            raise OutOfMemoryError("Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")

    monkeypatch.setattr(Cards, "__init__", full)
    open_cards(CARD, plan, 8 * GB, lambda *_: None, metrics)
    assert tried[1] <= tried[0] // 2 and tried[2] <= tried[1] // 2
    assert metrics.counts == {"vram_halved": 2}
    assert "the GPU has less free memory than the planned" in caplog.text


def test_a_full_card_ends_with_the_minimum(monkeypatch):
    def full(self, *others):
        raise OutOfMemoryError("Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")

    monkeypatch.setattr(Cards, "__init__", full)
    with pytest.raises(MemoryBudgetError, match="64M are needed"):
        open_cards(CARD, plan, 8 * GB, lambda *_: None, Metrics())
