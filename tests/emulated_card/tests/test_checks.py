"""Checks of single accesses on the emulated card: a right kernel passes, a wrong one is reported with its place."""

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
import emulated_card
from emulated_card import HAS_GPU
from emulated_card.tests.checked_launches import found_by, moved
from emulated_card.tests.cuda import cuda
from emulated_card.tests.inline_ptx import raw

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(HAS_GPU, reason="about the emulated card")]


# Bounds.


def test_bounds_of_reads(checked):
    checked()
    values, out = np.arange(64), np.zeros(32, np.int64)
    for by in (0, 32):
        assert found_by(moved, 1, 32, values, out, by) == []
    (told, *_) = found_by(moved, 1, 32, values, out, 33)
    assert told.startswith("bounds: ") and "moved" in told
    assert "read of 8 bytes at byte 512 of array 0, which has 512, by thread 31 of block 0" in told


def test_bounds_before_the_begin(checked):
    @cuda.jit
    def kernel(values, out, by):
        out[cuda.grid(1)] = values[np.uint64(cuda.grid(1)) - np.uint64(by)]  # without a sign Numba does not wrap it

    checked()
    middle = cuda.to_device(np.arange(96))[32:64]
    assert found_by(kernel, 1, 32, middle, np.zeros(32, np.int64), 0) == []
    (told, *_) = found_by(kernel, 1, 32, middle, np.zeros(32, np.int64), 1)
    assert told.startswith("bounds: ") and "read of 8 bytes at byte -8 of array 0" in told and "by thread 0 of" in told


def test_bounds_of_writes_and_of_the_neighbour_in_one_block_of_memory(checked):
    @cuda.jit
    def fill(out, many):
        i = cuda.grid(1)
        if i < many:
            out[i] = i

    checked()
    block = cuda.to_device(np.zeros(96, np.int32))
    first, last = block[:40], block[40:]
    assert found_by(fill, 2, 32, first, 40) == []
    (told, *_) = found_by(fill, 2, 32, first, 41)
    assert told.startswith("bounds: ")
    assert "write of 4 bytes at byte 160 of array 0, which has 160, by thread 8 of block 1" in told
    assert last.copy_to_host().tolist() == [0] * 56  # it did not get through


def test_bounds_of_two_axes_and_of_slices_with_gaps(checked):
    @cuda.jit
    def kernel(values, out, row, column):
        i = cuda.threadIdx.x
        if i == 0:
            out[0] = values[row, column]

    def told(values, row, column) -> list[str]:
        checked()
        return found_by(kernel, 1, 32, values, np.zeros(1, np.int64), row, column)

    whole = cuda.to_device(np.arange(80).reshape(8, 10))
    part = whole[1:7:2, 2:9:3]  # rows 1, 3, 5; columns 2, 5, 8
    for row in range(3):
        for column in range(3):
            assert told(part, row, column) == []
    assert told(whole, 7, 9) == []
    assert "at byte 640 of array 0, which has 640" in told(whole, 7, 10)[0]
    assert "bounds" in told(part, 3, 0)[0]  # after the last row
    assert "bounds" in told(part, 0, 3)[0]  # of the whole array's row 2, or of the gap in row 1
    assert "bounds" in told(part, 2, 3)[0]


def test_bounds_of_shared_and_local_memory(checked):
    @cuda.jit
    def shared(out, by):
        array, other = cuda.shared.array(32, np.int32), cuda.shared.array(32, np.int64)
        t = cuda.threadIdx.x
        array[t + by] = t
        other[t] = t
        cuda.syncthreads()
        out[t] = array[t] + other[31 - t]

    @cuda.jit
    def local(out, by):
        array = cuda.local.array(8, np.int32)
        for i in range(8):
            array[i + by] = i
        out[cuda.threadIdx.x] = array[out.size & 7]

    for kernel, space in ((shared, "shared"), (local, "local")):
        checked()
        assert found_by(kernel, 1, 32, np.zeros(32, np.int64), 0) == []
        (told, *_) = found_by(kernel, 1, 32, np.zeros(32, np.int64), 1)
        assert told.startswith("bounds: ") and f"write of 4 bytes beyond an array in {space} memory" in told


def test_bounds_of_dynamic_shared_memory(checked):
    @cuda.jit
    def kernel(out):
        array = cuda.shared.array(0, np.int64)
        array[cuda.threadIdx.x] = 1
        out[cuda.threadIdx.x] = array[cuda.threadIdx.x]

    checked()
    assert found_by(kernel, 1, 32, np.zeros(32, np.int64), shared=256) == []
    (told, *_) = found_by(kernel, 1, 32, np.zeros(32, np.int64), shared=248)
    assert told.startswith("bounds: ") and "by thread 31 of block 0" in told


# Memory that was never written.


def test_never_written_memory(checked):
    def told(values, out) -> list[str]:
        checked("written")
        return found_by(moved, 1, 32, values, out, 0)

    fresh = cuda.device_array(64, np.int64)
    out = cuda.device_array(32, np.int64)
    (first, *_) = told(fresh, out)
    assert (
        first.startswith("never written: ") and "at byte 0 of array 0, which were never written, by thread 0" in first
    )
    fresh[:31].copy_to_device(np.arange(31))
    assert "at byte 248 of array 0, which were never written, by thread 31" in told(fresh, out)[0]
    fresh[31:32].copy_to_device(np.arange(1))
    assert told(fresh, out) == []
    assert told(out, cuda.device_array(32, np.int64)) == []  # a kernel wrote it
    del fresh, out
    again = cuda.device_array(64, np.int64)  # where something was written before, maybe
    assert "never written: " in told(again, cuda.device_array(32, np.int64))[0]


def test_never_written_memory_is_not_looked_for_unasked(checked):
    checked("races")
    assert found_by(moved, 1, 32, cuda.device_array(32, np.int64), np.zeros(32, np.int64), 0) == []


# Alignment.


def test_misaligned_scalars_and_vectors(checked):
    from numba.core import cgutils, types
    from numba.cuda.extending import intrinsic

    @intrinsic
    def address_of(typing_context, array):
        def codegen(context, builder, signature, arguments):
            made = context.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.ptrtoint(made.data, cgutils.intp_t)

        return types.uint64(array), codegen

    word = raw("add.u64 $0, $1, $2; .reg .b32 t; ld.global.u32 t, [$0]; cvt.u64.u32 $0, t;")
    pair = raw("add.u64 $0, $1, $2; .reg .b32 t, u; ld.global.v2.u32 {t, u}, [$0]; cvt.u64.u32 $0, u;")

    @cuda.jit
    def of_words(values, out, by):
        out[0] = word(address_of(values), by, 0)

    @cuda.jit
    def of_pairs(values, out, by):
        out[0] = pair(address_of(values), by, 0)

    for kernel, right, wrong, size in (
        (of_words, 4, 2, 4),
        (of_words, 8, 7, 4),
        (of_pairs, 8, 4, 8),
        (of_pairs, 16, 12, 8),
    ):
        checked()
        assert found_by(kernel, 1, 1, np.arange(64, dtype=np.uint8), np.zeros(1, np.int64), right) == []
        (told, *_) = found_by(kernel, 1, 1, np.arange(64, dtype=np.uint8), np.zeros(1, np.int64), wrong)
        assert told.startswith("misaligned: ") and f"read of {size} bytes at byte {wrong} of array 0" in told


# Whose memory it is.


def test_an_array_of_another_card(checked):
    checked()
    with cuda.gpus[1]:
        there = cuda.to_device(np.arange(32))
    with cuda.gpus[0]:
        here = cuda.to_device(np.zeros(32, np.int64))
        moved[1, 32](here, here, 0)
        with pytest.raises(Exception, match="INVALID_VALUE"):
            moved[1, 32](there, here, 0)
    (told,) = emulated_card.findings()
    assert told.startswith("other card: ") and "moved" in told and "which lies on card 1" in told


def test_memory_that_another_stream_works_on(checked):
    def told(waits: bool) -> list[str]:
        checked()
        first, last, ready = cuda.stream(), cuda.stream(), cuda.event()
        values, out = cuda.to_device(np.arange(64)), cuda.to_device(np.zeros(64, np.int64))
        cuda.synchronize()
        moved[2, 32, first](values, out, 0)
        ready.record(first)
        if waits:
            ready.wait(last)
        moved[2, 32, last](out, values, 0)
        cuda.synchronize()
        return emulated_card.findings()

    assert told(waits=True) == []
    found = told(waits=False)
    assert found and all(line.startswith("unordered: ") for line in found)


# What a finding does.


def test_a_launch_that_is_found_wrong_fails_as_on_a_card(checked):
    checked()
    emulated_card.set_checks(0)
    values, out = cuda.to_device(np.arange(64)), cuda.to_device(np.zeros(32, np.int64))
    moved[1, 32](values, out, 33)
    with pytest.raises(Exception, match="LAUNCH_FAILED"):
        cuda.synchronize()
    with pytest.raises(Exception, match="LAUNCH_FAILED"):
        out.copy_to_host()  # nothing works any more
    emulated_card.heal()
    moved[1, 32](values, out, 32)
    assert out.copy_to_host().tolist() == list(range(32, 64))
