"""Errors between threads: a right kernel is clean under all seeds, a wrong one is found and reported."""

from collections.abc import Callable

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
from emulated_card import HAS_GPU
from emulated_card.tests.checked_launches import SEEDS, found_by, is_clean, moved
from emulated_card.tests.cuda import cuda

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(HAS_GPU, reason="about the emulated card")]
FULL = 0xFFFFFFFF


# Races.


def reversed_by(meet) -> Callable:
    """A block reverses its values in shared memory; the threads meet as asked between writing and reading."""

    @cuda.jit
    def kernel(values, out):
        shared = cuda.shared.array(64, np.int64)
        t, n = cuda.threadIdx.x, cuda.blockDim.x
        shared[t] = values[cuda.grid(1)]
        meet()
        out[cuda.grid(1)] = shared[n - 1 - t]

    return kernel


_by_block = reversed_by(cuda.jit(device=True)(lambda: cuda.syncthreads()))
_by_warp = reversed_by(cuda.jit(device=True)(lambda: cuda.syncwarp()))
_not_at_all = reversed_by(cuda.jit(device=True)(lambda: None))


def test_races_in_shared_memory(checked):
    values = np.arange(128)
    assert is_clean(checked, ("races",), _by_block, 2, 64, values, np.zeros_like(values))
    assert is_clean(checked, ("races",), _by_warp, 4, 32, values, np.zeros_like(values))
    for kernel, threads in ((_by_warp, 64), (_not_at_all, 64), (_not_at_all, 32)):
        for seed in SEEDS:
            checked("races", seed=seed)
            (told, *_) = found_by(kernel, 128 // threads, threads, values, np.zeros_like(values))
            assert told.startswith("race: ") and "of shared byte" in told and "with no barrier between them" in told


def test_a_race_of_two_writers_and_of_a_reader_that_comes_first(checked):
    @cuda.jit
    def written_twice(out, apart):
        shared = cuda.shared.array(64, np.int32)
        t = cuda.threadIdx.x
        shared[t if apart else t & 31] = t
        cuda.syncthreads()
        out[t] = shared[t & 31]

    @cuda.jit
    def written_over(out, meets):
        shared = cuda.shared.array(64, np.int32)
        t = cuda.threadIdx.x
        shared[t] = t
        cuda.syncthreads()
        seen = shared[63 - t]
        if meets:
            cuda.syncthreads()
        shared[t] = seen
        cuda.syncthreads()
        out[t] = shared[t]

    for kernel in (written_twice, written_over):
        for seed in SEEDS:
            checked("races", seed=seed)
            assert found_by(kernel, 1, 64, np.zeros(64, np.int64), True) == []
            (told, *_) = found_by(kernel, 1, 64, np.zeros(64, np.int64), False)
            assert told.startswith("race: ") and "of shared byte" in told  # in either order


def test_a_write_to_what_others_have_read(checked):
    @cuda.jit
    def kernel(out, by):
        shared = cuda.shared.array(64, np.int32)
        t = cuda.threadIdx.x
        shared[t] = t
        cuda.syncthreads()
        if t < 32:
            out[t] = shared[t + by]
        else:
            shared[t] = 7

    for seed in SEEDS:
        checked("races", seed=seed)
        assert found_by(kernel, 1, 64, np.zeros(64, np.int64), 0) == []
    checked("races")  # the reading warp comes first
    (told, *_) = found_by(kernel, 1, 64, np.zeros(64, np.int64), 32)
    assert told.startswith("race: ") and "write of shared byte 384 by thread 32 of block 0 meets thread 0" in told


@cuda.jit
def _summed(values, out):
    shared = cuda.shared.array(1, np.int64)
    if cuda.threadIdx.x == 0:
        shared[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(shared, 0, values[cuda.grid(1)])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(out, 0, shared[0])


def test_atomics_are_no_race(checked):
    values = np.arange(192)
    assert is_clean(checked, ("races", "written"), _summed, 3, 64, values, np.zeros(1, np.int64))


def test_races_between_blocks(checked):
    @cuda.jit
    def plain(out, place):
        out[cuda.blockIdx.x * place] = 1  # by one thread

    @cuda.jit
    def read(values, out):
        i = cuda.grid(1)
        out[i] = values[0]
        if i == values[1]:
            values[0] = 7

    @cuda.jit
    def set_first(out):
        if cuda.grid(1) == 0:
            out[0] = 0  # another block may have added already
        cuda.atomic.add(out, 0, 1)

    for seed in SEEDS:
        checked("races", seed=seed)
        assert found_by(plain, 4, 1, np.zeros(4, np.int64), 1) == []
        (told, *_) = found_by(plain, 4, 1, np.zeros(4, np.int64), 0)
        assert told.startswith("race: ") and "write of byte 0 of array 0 by thread 0 of block" in told
        checked("races", seed=seed)
        assert found_by(read, 4, 32, np.array([1, 1000]), np.zeros(128, np.int64)) == []
        (told, *_) = found_by(read, 4, 32, np.array([1, 50]), np.zeros(128, np.int64))
        assert told.startswith("race: ") and "of the same launch" in told
        assert seed or "write of byte 0 of array 0 by thread 18 of block 1 meets" in told
        checked("races", seed=seed)
        assert found_by(set_first, 1, 1, np.zeros(1, np.int64)) == []
        (told, *_) = found_by(set_first, 4, 1, np.zeros(1, np.int64))
        assert told.startswith("race: ")


def test_two_launches_are_no_race(checked):
    checked("races")
    values, out = cuda.to_device(np.arange(64)), cuda.to_device(np.zeros(64, np.int64))
    assert found_by(moved, 2, 32, values, out, 0) == []
    assert found_by(moved, 1, 64, out, values, 0) == []


# Barriers and shuffles.


def test_barriers_that_not_all_come_to(checked):
    @cuda.jit
    def left(out, most):
        t = cuda.threadIdx.x
        if t >= most:
            return
        cuda.syncthreads()
        out[t] = t

    @cuda.jit
    def parted(out, half):
        t = cuda.threadIdx.x
        if t < half:
            out[t] = 1
            cuda.syncthreads()
            out[t] += 1
        else:
            cuda.syncthreads()
            out[t] = 3

    @cuda.jit
    def skipped(out, most):
        t = cuda.threadIdx.x
        if t < most:
            cuda.syncthreads()
        out[t] = t

    cases = (left, 64, 63), (left, 64, 32), (parted, 64, 32), (parted, 64, 7), (skipped, 64, 32), (skipped, 64, 20)
    for kernel, right, wrong in cases:
        for seed in SEEDS:
            checked(seed=seed)
            assert found_by(kernel, 1, 64, np.zeros(64, np.int64), right) == []
            (told, *_) = found_by(kernel, 1, 64, np.zeros(64, np.int64), wrong)
            assert told.startswith("barrier: ") and "block 0" in told


def test_shuffles_that_not_all_come_to(checked):
    @cuda.jit
    def kernel(out, most):
        t = cuda.threadIdx.x
        if t < most:
            out[t] = cuda.shfl_xor_sync(FULL, t, 1)
        else:
            out[t] = cuda.shfl_xor_sync(FULL, t, 2)

    for seed in SEEDS:
        checked(seed=seed)
        assert found_by(kernel, 1, 32, np.zeros(32, np.int64), 32) == []
        (told, *_) = found_by(kernel, 1, 32, np.zeros(32, np.int64), 20)
        assert told.startswith("divergent: ") and "of warp 0 in block 0 wait for others of their warp" in told


def test_a_shuffle_from_a_thread_that_is_gone(checked):
    @cuda.jit
    def kernel(out, most, by):
        t = cuda.threadIdx.x
        if t >= most:
            return
        out[t] = cuda.shfl_down_sync((1 << most) - 1, t, by)

    checked()
    assert found_by(kernel, 1, 32, np.zeros(32, np.int64), 24, 0) == []
    (told, *_) = found_by(kernel, 1, 32, np.zeros(32, np.int64), 24, 8)
    assert (
        told.startswith("shuffle: ") and "thread 16 in block 0 takes the value of thread 24, which is not there" in told
    )


# The order of blocks, warps and threads.


@pytest.mark.parametrize(
    ("grid", "block", "unit"), [(8, 1, 1), (1, 256, 32), (1, 32, 1)], ids=["blocks", "warps", "threads"]
)
def test_what_depends_on_the_order_differs_by_seed(checked, grid, block, unit):
    @cuda.jit
    def last(out):
        out[0] = cuda.grid(1) // unit

    def winner(seed: int) -> int:
        checked(seed=seed)
        out = cuda.to_device(np.zeros(1, np.int64))
        last[grid, block](out)
        return int(out.copy_to_host()[0])

    assert winner(0) == winner(0) == grid * block // unit - 1  # as they come
    assert len({winner(seed) for seed in range(1, 40)}) > 3


def test_branches_are_taken_in_either_order(checked):
    @cuda.jit
    def kernel(out):
        if cuda.threadIdx.x & 1:
            out[0] = 1
        else:
            out[0] = 2

    def winner(seed: int) -> int:
        checked(seed=seed)
        out = cuda.to_device(np.zeros(1, np.int64))
        kernel[1, 2](out)
        return int(out.copy_to_host()[0])

    assert {winner(seed) for seed in range(1, 20)} == {1, 2}
