"""What kernels compute on the card, compared with plain Python: memory, control flow, grids; unknown instructions."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("numba_cuda")
from numba import uint64

from emulated_card import HAS_GPU
from emulated_card.kernels import load_ptx
from emulated_card.ptx import UnknownPtxError
from emulated_card.tests.checked_launches import launched
from emulated_card.tests.cuda import cuda
from emulated_card.tests.inline_ptx import inline, raw

pytestmark = pytest.mark.gpu
quick = settings(max_examples=15)


# Memory.


def test_local_and_shared_arrays():
    @cuda.jit
    def kernel(values, out):
        own = cuda.local.array(8, np.int32)
        fixed = cuda.shared.array((2, 64), np.int16)
        grown = cuda.shared.array(0, np.int64)
        t = cuda.threadIdx.x
        for i in range(8):
            own[i] = values[t, i]
        fixed[t & 1, t] = own[values[t, 0] & 7]
        grown[63 - t] = own[values[t, 1] & 7]
        cuda.syncthreads()
        other = (t + 17) & 63
        out[t] = fixed[other & 1, other] + 1000 * grown[63 - other] + own[t & 7] * 1_000_000

    values = np.random.default_rng(7).integers(0, 100, (64, 8)).astype(np.int32)
    found = launched(kernel, 1, 64, values, np.zeros(64, np.int64), shared=512)[1]
    for t in range(64):
        o = values[(t + 17) & 63]
        assert found[t] == o[o[0] & 7] + 1000 * o[o[1] & 7] + values[t, t & 7] * 1_000_000


def test_constant_arrays():
    letters, wide = np.frombuffer(b"MIDNSHP=X", np.uint8), np.arange(-3, 5, dtype=np.int32) * 100_000

    @cuda.jit
    def kernel(places, out):
        i = cuda.grid(1)
        out[i] = letters[places[i]] + wide[places[i] & 7]

    places = np.random.default_rng(9).integers(0, letters.size, 64)
    found = launched(kernel, 2, 32, places, np.zeros(64, np.int64))[1]
    assert found.tolist() == (letters[places] + wide[places & 7].astype(np.int64)).tolist()


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.float32, np.float64]
)
def test_items_of_all_types(dtype):
    @cuda.jit
    def kernel(values, wide, back):
        i = cuda.grid(1)
        wide[i] = values[i]  # signed ones get the sign
        back[i] = values[values.size - 1 - i]

    values = np.random.default_rng(8).integers(0, 256, 64 * np.dtype(dtype).itemsize).astype(np.uint8).view(dtype)
    values = np.nan_to_num(values) if dtype in (np.float32, np.float64) else values
    wide = np.float64 if dtype in (np.float32, np.float64) else np.int64
    _, found, back = launched(kernel, 2, 32, values, np.zeros(64, wide), np.zeros(64, dtype))
    assert found.tolist() == values.astype(wide).tolist() and back.tolist() == values[::-1].tolist()


def test_vectors_of_two_and_four():
    add = raw(  # of the address of four words: their sum, which takes the place of the last two
        ".reg .b32 w, x, y, z; .reg .b64 l; ld.global.v4.u32 {w, x, y, z}, [$1]; add.u32 w, w, x; add.u32 y, y, z; "
        "add.u32 w, w, y; st.global.v2.u32 [$1+8], {w, w}; cvt.u64.u32 $0, w;"
    )
    from numba.cuda.extending import intrinsic

    @intrinsic
    def address_of(typing_context, array, index):
        from numba.core import cgutils, types

        def codegen(context, builder, signature, arguments):
            made = context.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.ptrtoint(builder.gep(made.data, [arguments[1]]), cgutils.intp_t)

        return types.uint64(array, types.int64), codegen

    @cuda.jit
    def kernel(values, out):
        i = cuda.grid(1)
        out[i] = add(address_of(values, 4 * i), 0, 0)

    values = np.arange(64, dtype=np.uint32) ** 2
    after, found = launched(kernel, 1, 16, values, np.zeros(16, np.int64))
    sums = values.reshape(16, 4).sum(1)
    assert found.tolist() == sums.tolist()
    assert after.reshape(16, 4)[:, 2:].tolist() == [[total, total] for total in sums]


def test_strides_and_axes():
    @cuda.jit
    def kernel(values, out):
        i, j, k = cuda.grid(3)
        if i < values.shape[0] and j < values.shape[1] and k < values.shape[2]:
            out[k, j, i] = values[i, j, k]

    whole = cuda.to_device(np.arange(9 * 8 * 14).reshape(9, 8, 14))
    part = whole[1:8, ::2, 1::3]
    out = cuda.to_device(np.zeros((5, 4, 7), np.int64))
    kernel[(2, 2, 3), (4, 2, 2)](part, out)
    assert (out.copy_to_host() == whole.copy_to_host()[1:8, ::2, 1::3].T).all()


# The flow of control.


@cuda.jit
def _walked(starts, limits, out):
    """Collatz sequences: loops of different lengths, branches in them, and three ways to leave."""
    i = cuda.grid(1)
    if i >= starts.size or starts[i] == 0:
        return
    value, steps, odd = starts[i], 0, 0
    while value != 1:
        if value & 1:
            odd += 1
            if odd == limits[i]:
                break
            value = 3 * value + 1
        else:
            value >>= 1
            if value % 5 == 0:
                continue
        steps += 1
    inner = 0
    for j in range(value & 7):
        for k in range(j):
            if (j + k) % 3 == 1:
                continue
            inner += k
    out[i] = steps * 1_000_000 + odd * 1000 + inner


def walked(value: int, limit: int) -> int:
    if value == 0:
        return -1
    steps = odd = 0
    while value != 1:
        if value & 1:
            odd += 1
            if odd == limit:
                break
            value = 3 * value + 1
        else:
            value >>= 1
            if value % 5 == 0:
                continue
        steps += 1
    inner = sum(k for j in range(value & 7) for k in range(j) if (j + k) % 3 != 1)
    return steps * 1_000_000 + odd * 1000 + inner


@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 9)), min_size=1, max_size=150), st.sampled_from([32, 64, 96])
)
@quick
def test_divergent_loops(cases, threads):
    starts, limits = (np.array(column, np.int64) for column in zip(*cases, strict=True))
    found = launched(_walked, 150 // threads + 1, threads, starts, limits, np.full(len(cases), -1, np.int64))[2]
    assert found.tolist() == [walked(*case) for case in cases]


@cuda.jit
def _scanned(values, out):
    """Prefix sums of a block, with barriers in a loop."""
    sums = cuda.shared.array(1024, np.int32)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    sums[t] = values[cuda.grid(1)]
    step = 1
    while step < n:
        cuda.syncthreads()
        added = sums[t - step] if t >= step else 0
        cuda.syncthreads()
        sums[t] += added
        step *= 2
    out[cuda.grid(1)] = sums[t]


@pytest.mark.parametrize("threads", [1, 2, 31, 32, 33, 63, 64, 100, 256, 511, 1023, 1024])
def test_blocks_of_any_size_and_barriers_in_loops(threads):
    values = np.random.default_rng(threads).integers(-100, 100, 3 * threads).astype(np.int32)
    found = launched(_scanned, 3, threads, values, np.zeros_like(values))[1]
    assert (found.reshape(3, threads) == values.reshape(3, threads).cumsum(1)).all()


@pytest.mark.parametrize(
    ("grid", "block"), [((3,), (50,)), ((2, 3), (8, 5)), ((2, 2, 3), (3, 4, 5)), ((1, 1, 4), (2, 1, 64))]
)
def test_coordinates(grid, block):
    @cuda.jit
    def kernel(out):
        block = cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)
        thread = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
        row = out[block, thread]
        row[0], row[1], row[2] = cuda.blockIdx.x, cuda.blockIdx.y, cuda.blockIdx.z
        row[3], row[4], row[5] = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
        row[6], row[7] = cuda.laneid, cuda.gridDim.z * 100 + cuda.blockDim.z

    found = launched(kernel, grid, block, np.full((int(np.prod(grid)), int(np.prod(block)), 8), -1, np.int64))[0]
    x, y, z = (*grid, 1, 1)[:3]
    for number, rows in enumerate(found.tolist()):
        for thread, row in enumerate(rows):
            b, (width, height, depth) = (number % x, number // x % y, number // x // y), (*block, 1, 1)[:3]
            at = thread % width, thread // width % height, thread // width // height
            assert row == [*b, *at, thread % 32, z * 100 + depth]


# What is not known.


@pytest.mark.skipif(HAS_GPU, reason="what only the emulated card does not know")
@pytest.mark.parametrize(
    "ptx",
    ["bfind.u32 d, a;", "add.sat.s32 d, a, b;", "add.cc.u32 d, a, b;", "max.NaN.f32 d, a, b;", "div.full.f32 d, a, b;",
     "ex2.approx.f32 d, a;", "cvt.rz.f32.s32 d, a;", "max.relu.s16x2 d, a, b;", "mov.u32 d, %smid;",
     "shf.l.clamp.b32 d, a, b, a;",
     "add.bf16x2 d, a, b;", "ld.global.u32 d, [a];", "shfl.up.b32 d, a, b, 0;", "prmt.b32.f4e d, a, b, a;"],
)  # fmt: skip
def test_an_unknown_instruction_is_named_with_its_line(ptx):
    unknown, name = inline(ptx, 32, (32, 32)), ptx.split()[0]

    def kernel(out):
        out[0] = unknown(1, 2, 0)

    text, _ = cuda.compile_ptx(kernel, (uint64[::1],))
    (line,) = (number for number, line in enumerate(text.split("\n"), 1) if name in line)
    with pytest.raises(UnknownPtxError, match=rf"kernel.*: line {line}: {re.escape(name)}"):
        load_ptx(text)


@pytest.mark.skipif(HAS_GPU, reason="what only the emulated card does not know")
def test_a_kernel_with_an_unknown_instruction_is_not_launched(capfd):
    unknown = inline("bfind.u32 d, a;", 32, (32,))

    @cuda.jit
    def kernel(out):
        out[0] = unknown(1, 2, 0)

    with pytest.raises(Exception, match="INVALID_PTX"):
        launched(kernel, 1, 1, np.zeros(1, np.uint64))
    assert "bfind.u32 is not known to the emulated card" in capfd.readouterr().err
