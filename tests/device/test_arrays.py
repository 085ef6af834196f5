"""Arrays of other libraries, used without a copy: by DLPack on the host, by the CUDA Array Interface on a card."""

import numpy as np
import pytest

from helpers.other_libraries import HostArray, OnCard
from readwarp import Ragged
from readwarp.device.arrays import check_places, is_foreign, is_on_card, on_card, on_host, ragged_of
from readwarp.errors import UsageError

CODES = np.array([0, 1, 2, 3, 4, 1], np.uint8)


def test_host_arrays_are_not_copied():
    assert on_host(CODES, "x") is CODES
    assert np.shares_memory(on_host(HostArray(CODES), "x"), CODES)
    assert on_host([1, 2], "x").tolist() == [1, 2]
    assert is_foreign(HostArray(CODES)) and not is_foreign(CODES) and not is_foreign([CODES])


@pytest.mark.cards
def test_arrays_of_a_card_are_not_copied():
    from readwarp.device import cuda_driver
    from readwarp.device.memory import resident

    other, three = OnCard(CODES), np.array([3], np.uint8)
    view = on_card(other, "x")
    assert is_on_card(other) and is_on_card(view) and on_card(view, "x") is view
    cuda_driver.fill(other.memory.address, three.ctypes.data, 1)
    assert view.copy_to_host().tolist() == [3, *CODES[1:].tolist()]
    assert on_host(other, "x").tolist() == view.copy_to_host().tolist()
    with pytest.raises(UsageError, match="x: an array on a card must be contiguous"):
        on_card(OnCard(CODES, strides=(2,), shape=(3,)), "x")
    assert resident(CODES).copy_to_host().tolist() == CODES.tolist()


def test_an_array_of_a_card_without_the_interface_is_refused():
    with pytest.raises(UsageError, match="needs the CUDA Array Interface"):
        on_host(HostArray(CODES, device=2), "reads")


@pytest.mark.cards
@pytest.mark.parametrize("wrap", [np.asarray, HostArray, OnCard])
def test_ragged(wrap):
    found = ragged_of(Ragged(wrap(CODES), wrap(np.array([0, 2, 2, 6], np.int32))), "reads")
    assert on_host(found.values, "x").tolist() == CODES.tolist() and len(found) == 3
    assert found.offsets.tolist() == [0, 2, 2, 6] and found.offsets.dtype == np.int64
    assert is_on_card(found.values) == (wrap is OnCard)


@pytest.mark.cards
def test_axes_of_an_array_on_a_card():
    assert ragged_of(OnCard(CODES), "x").offsets.tolist() == [0, 6]
    rows = ragged_of(OnCard(CODES.reshape(3, 2)), "x")
    assert rows.offsets.tolist() == [0, 2, 4, 6] and on_host(rows.values, "x").tolist() == CODES.tolist()
    assert ragged_of(OnCard(np.empty((2, 0), np.uint8)), "x").offsets.tolist() == [0, 0, 0]
    assert ragged_of(CODES, "x") is None and ragged_of(["ACGT"], "x") is None
    with pytest.raises(UsageError, match="one axis"):
        ragged_of(OnCard(CODES.reshape(1, 2, 3)), "x")


@pytest.mark.parametrize(
    ("values", "offsets", "reason"),
    [
        (CODES.astype(np.int64), [0, 6], "values of a Ragged are uint8 codes"),
        (CODES.reshape(2, 3), [0, 6], "values of a Ragged are uint8 codes"),
        (CODES, [0.0, 6.0], "offsets of a Ragged are integers"),
        (CODES, np.empty(0, np.int64), "offsets of a Ragged are integers"),
        (CODES, [0, 5], "rise from 0 to the number of its values, 6"),
        (CODES, [1, 6], "rise from 0"),
        (CODES, [0, 4, 3, 6], "rise from 0"),
    ],
)
def test_a_ragged_that_is_none(values, offsets, reason):
    with pytest.raises(UsageError, match=f"reads: .*{reason}"):
        ragged_of(Ragged(values, offsets), "reads")


@pytest.mark.cards
def test_places():
    check_places("host", False, CODES, Ragged(CODES, [0, 6]), "ACGT", None)
    check_places("device", True, OnCard(CODES))
    with pytest.raises(UsageError, match="'disk': not one of host, device"):
        check_places("disk", True)
    with pytest.raises(UsageError, match='output="device" needs'):
        check_places("device", False)
    for given in (OnCard(CODES), Ragged(OnCard(CODES), [0, 6])):
        with pytest.raises(UsageError, match="arrays on a card need"):
            check_places("host", False, given)
