"""Launches lay out parameters as numba-cuda does, and arrays on a card are seen as those of NumPy."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("numba_cuda")
from readwarp.device.card_array import CardArray
from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.memory import Workspace, current

pytestmark = pytest.mark.cards


class Batch(NamedTuple):
    """What kernels get: an array, a number and a batch in a batch."""

    values: Any
    factor: Any
    inner: Any


@cuda_kernel
def describe(batch, matrix, small, large, share, is_set, out):
    """The sizes of what it is given, and an item of each."""
    if cuda.grid(1) == 0:
        out[0], out[1], out[2] = batch.values.size, batch.values[2], batch.factor
        out[3], out[4] = batch.inner[0].size, batch.inner[0][1]
        out[5], out[6], out[7] = matrix.shape[0], matrix.shape[1], matrix[1, 2]
        out[8], out[9], out[10], out[11] = small, large, 8 * share, 1 if is_set else 0
        matrix[2, 3] = 77


VALUES, INNER, MATRIX = (
    np.arange(5, 12, dtype=np.int16),
    np.array([1.5, -4]),
    np.arange(12, dtype=np.uint64).reshape(3, 4),
)


@pytest.mark.parametrize("small", [np.int8(-7), np.uint8(249), np.int16(-7), np.uint16(9), np.int32(-7), np.uint32(9)])
@pytest.mark.parametrize("share", [0.375, np.float32(0.375), np.float64(0.375)])
@pytest.mark.parametrize("large", [-(1 << 40), np.int64(-(1 << 40)), np.uint64(1 << 63)])
def test_kernels_get_what_they_are_given(small, share, large):
    with current().frame() as workspace:
        given = Batch(VALUES, np.int32(-3), (INNER,)), MATRIX
        batch, matrix, out = (*workspace.on_card(given), workspace.empty(12, np.int64))
        describe[1, 32, workspace.stream](batch, matrix, small, large, share, True, out)
        found, changed = workspace.download(out, matrix)
    wanted = [7, 7, -3, 2, -4, 3, 4, 6, int(small), int(np.array(large).astype(np.int64)), 3, 1]
    assert found.tolist() == wanted
    assert changed[2, 3] == 77 and changed.ravel()[:-1].tolist() == MATRIX.ravel()[:-1].tolist()


def test_each_type_has_a_kernel_of_its_own():
    """Numbers of the same bytes mean other numbers to each."""
    with current().frame() as workspace:
        batch = workspace.on_card(Batch(VALUES, np.int32(-3), (INNER,)))
        for small, wanted in ((np.uint8(200), 200), (np.int8(-56), -56)):
            matrix, out = workspace.on_card((MATRIX, np.zeros(12, np.int64)))
            describe[1, 32, workspace.stream](batch, matrix, small, 1, 1.0, False, out)
            assert out.copy_to_host()[8] == wanted


@pytest.mark.parametrize("given", ["text", None, np.zeros(3), np.float16(1)])
def test_what_kernels_do_not_take(given):
    workspace = current()
    with workspace.frame(), pytest.raises(TypeError, match="kernels for cards take"):
        describe[1, 32, workspace.stream](given, given, 1, 1, 1.0, True, given)


@settings(max_examples=60)
@given(
    st.data(), st.sampled_from([np.uint8, np.int32, np.float64]), st.lists(st.integers(0, 5), min_size=1, max_size=3)
)
def test_a_view_shows_what_numpy_shows(data, dtype, shape):
    host = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    with current().frame() as workspace:
        there = workspace.upload(host)
        for _ in range(data.draw(st.integers(0, 3))):
            rows = slice(*(data.draw(st.none() | st.integers(-6, 6)) for _ in range(2)))
            host, there = host[rows], there[rows]
            if host.ndim > 1 and len(host) and data.draw(st.booleans()):
                row = data.draw(st.integers(-len(host), len(host) - 1))
                host, there = host[row], there[row]
        assert isinstance(there, CardArray)
        assert (there.shape, there.ndim, there.size, there.nbytes) == (host.shape, host.ndim, host.size, host.nbytes)
        assert len(there) == len(host)
        assert there.strides == np.zeros(host.shape, dtype).strides or not host.size
        assert there.copy_to_host().tolist() == host.tolist()
        assert there.reshape(host.size).copy_to_host().tolist() == host.ravel().tolist()
        if host.size:
            assert np.asarray(cuda.as_cuda_array(there).copy_to_host()).tolist() == host.tolist()


def test_a_row_beyond_the_last_is_refused():
    with current().frame() as workspace, pytest.raises(IndexError):
        workspace.upload(np.zeros((2, 3)))[2]


def test_a_batch_is_one_copy_up_and_one_down():
    emulated_card = pytest.importorskip("emulated_card")
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, 99, size).astype(t) for size, t in ((700, np.int64), (0, np.int32), (31, np.uint8))]
    workspace, before = Workspace(1 << 16), emulated_card.counts()
    with workspace.frame():
        batch = Batch(columns[0], 5, tuple(columns[1:]))
        there = workspace.on_card(batch)
        assert type(there) is Batch and there.factor == 5
        back = workspace.download(there.values, *there.inner)
    after = emulated_card.counts()
    assert [after[name] - before[name] for name in ("copies_up", "copies_down", "waits")] == [1, 1, 1]
    assert [each.tolist() for each in back] == [each.tolist() for each in columns]
