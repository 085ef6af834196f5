"""What kernels compute on the card, against plain Python: warps, atomics, memory, flow of control, shapes of grids."""

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_ptx import inline, raw
from numba import uint64

from cards import HAS_GPU
from emulated_card.kernels import load_ptx
from emulated_card.ptx import UnknownPtx
from readwarp.device.jit import cuda

pytestmark = pytest.mark.gpu
FULL = 0xFFFFFFFF
quick = settings(max_examples=15, deadline=None)


def launched(kernel, grid, block, *arrays, shared: int = 0) -> list[np.ndarray]:
    """The arrays as the kernel leaves them."""
    there = [cuda.to_device(array) if isinstance(array, np.ndarray) else array for array in arrays]
    kernel[grid, block, 0, shared](*there)
    return [array.copy_to_host() for array in there if not np.isscalar(array)]


# Warps.

SHUFFLES = {"up": 0, "down": 31, "bfly": 31, "idx": 31}


def shuffled(mode: str, lane: int, by: int, clamp: int) -> tuple[int, int]:
    """The lane that the value comes from, and whether it is within the segment (PTX ISA manual, shfl.sync)."""
    by, last, segment = by & 31, clamp & 31, clamp >> 8 & 31
    most, least = (lane & segment) | (last & ~segment & 31), lane & segment
    source = {"up": lane - by, "down": lane + by, "bfly": lane ^ by, "idx": least | (by & ~segment & 31)}[mode]
    is_within = source >= most if mode == "up" else source <= most
    return (source, 1) if is_within else (lane, 0)


@pytest.mark.parametrize("mode", SHUFFLES)
def test_shuffles_of_all_widths(mode):
    ptx = f".reg .pred p; shfl.sync.{mode}.b32 a|p, a, b, c, -1; selp.b32 c, 1, 0, p; mov.b64 d, {{a, c}};"
    shuffle = inline(ptx, 64, (32, 32, 32))

    @cuda.jit
    def kernel(distances, clamps, out):
        lane = cuda.threadIdx.x
        for i in range(distances.size):
            out[i, lane] = shuffle(
                1000 + lane, distances[i] if mode != "idx" else (distances[i] * lane) & 31, clamps[i]
            )

    cases = [(by, (32 - width) << 8 | SHUFFLES[mode]) for by, width in product((0, 1, 3, 16, 31), (32, 16, 8, 2, 1))]
    distances, clamps = (np.array(column, np.int64) for column in zip(*cases, strict=True))
    found = launched(kernel, 1, 32, distances, clamps, np.zeros((len(cases), 32), np.uint64))[2]
    for (by, clamp), row in zip(cases, found.tolist(), strict=True):
        sources = [shuffled(mode, lane, by * lane if mode == "idx" else by, clamp) for lane in range(32)]
        assert row == [is_within << 32 | 1000 + source for source, is_within in sources], (by, hex(clamp))


def test_votes_of_groups_and_of_all():
    @cuda.jit
    def kernel(flags, out):
        lane = cuda.threadIdx.x
        half = 0xFFFF << (lane & 16)  # each half of the warp votes by itself, with the same instruction
        out[0, lane] = cuda.ballot_sync(FULL, flags[lane])
        out[1, lane] = cuda.ballot_sync(half, flags[lane])
        out[2, lane] = cuda.all_sync(half, flags[lane])
        out[3, lane] = cuda.any_sync(half, flags[lane])
        out[4, lane] = cuda.eq_sync(half, flags[lane])

    for low, high in product((0, 0x1234, 0xFFFF), repeat=2):
        bits = low | high << 16
        flags = np.array([bits >> i & 1 for i in range(32)], np.bool_)
        found = launched(kernel, 1, 32, flags, np.zeros((5, 32), np.int64))[1] & FULL
        own = [low] * 16 + [high] * 16
        assert found[0].tolist() == [bits] * 32
        assert found[1].tolist() == [low] * 16 + [high << 16] * 16
        assert found[2].tolist() == [mine == 0xFFFF for mine in own]
        assert found[3].tolist() == [mine != 0 for mine in own]
        assert found[4].tolist() == [mine in (0, 0xFFFF) for mine in own]


def test_votes_of_those_that_are_there():
    @cuda.jit
    def kernel(out):
        lane = cuda.threadIdx.x
        if lane % 3 == 0:
            out[lane] = cuda.activemask()
        else:
            out[lane] = cuda.ballot_sync(0xB6DB6DB6, lane & 1)  # the lanes that come here

    found = launched(kernel, 1, 32, np.zeros(32, np.int64))[0] & FULL
    thirds = sum(1 << i for i in range(0, 32, 3))
    odd = sum(1 << i for i in range(1, 32, 2)) & ~thirds
    assert found.tolist() == [thirds if i % 3 == 0 else odd for i in range(32)]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("add.u32", lambda v: sum(v)), ("min.u32", lambda v: min(v)), ("max.u32", lambda v: max(v)),
        ("min.s32", lambda v: min(v, key=np.int32)), ("max.s32", lambda v: max(v, key=np.int32)),
        ("and.b32", np.bitwise_and.reduce), ("or.b32", np.bitwise_or.reduce), ("xor.b32", np.bitwise_xor.reduce),
    ],
)  # fmt: skip
def test_reductions_of_a_warp(operation, expected):
    reduce = inline(f"redux.sync.{operation} d, a, b;", 32, (32, 32))

    @cuda.jit
    def kernel(values, out):
        lane = cuda.threadIdx.x
        out[0, lane] = reduce(values[lane], FULL, 0)
        out[1, lane] = reduce(values[lane], 0xFF << (lane & 24), 0)

    values = np.random.default_rng(4).integers(0, 1 << 32, 32, np.uint32)
    found = launched(kernel, 1, 32, values, np.zeros((2, 32), np.uint64))[1]
    whole = np.uint32(int(expected(values.astype(np.uint64) if "add" in operation else values)) & FULL)
    assert found[0].tolist() == [whole] * 32
    for part in range(0, 32, 8):
        chosen = values[part : part + 8]
        wanted = int(expected(chosen.astype(np.uint64) if "add" in operation else chosen)) & FULL
        assert found[1, part : part + 8].tolist() == [wanted] * 8


# Atomics.


@cuda.jit
def _counted(values, sums, highest, lowest, taken, locks):
    shared = cuda.shared.array(4, np.int32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if t < 4:
        shared[t] = 0
    cuda.syncthreads()
    cuda.atomic.add(shared, values[i] & 3, 1)
    cuda.atomic.add(sums, values[i] & 3, values[i])
    cuda.atomic.max(highest, values[i] & 1, values[i])
    cuda.atomic.min(lowest, values[i] & 1, values[i])
    before = cuda.atomic.exch(taken, cuda.blockIdx.x, i + 1)
    if before == 0:
        cuda.atomic.add(locks, 0, 1)
    if cuda.atomic.cas(locks, 1 + (values[i] & 7), 0, i + 1) == 0:
        cuda.atomic.add(locks, 9, 1)
    cuda.syncthreads()
    if t < 4:
        cuda.atomic.add(sums, 4 + t, shared[t])


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_atomics_of_many_blocks(dtype):
    values = np.random.default_rng(5).integers(0, 1000, 6 * 96).astype(dtype)
    if np.issubdtype(dtype, np.signedinteger):
        values -= 500
    limits = np.iinfo(dtype)
    start = np.full(2, limits.min, dtype), np.full(2, limits.max, dtype)
    _, sums, highest, lowest, taken, locks = launched(
        _counted, 6, 96, values, np.zeros(8, dtype), *start, np.zeros(6, dtype), np.zeros(10, np.int32)
    )
    kinds, parity = values & 3, values & 1
    assert sums[:4].tolist() == [values[kinds == k].sum() for k in range(4)]
    assert sums[4:].tolist() == [(kinds == k).sum() for k in range(4)]
    assert highest.tolist() == [values[parity == k].max() for k in (0, 1)]
    assert lowest.tolist() == [values[parity == k].min() for k in (0, 1)]
    assert locks[0] == 6 and all((taken - 1).astype(np.int64) // 96 == np.arange(6))
    winners = locks[1:9].astype(np.int64) - 1
    assert locks[9] == 8 and (values[winners] & 7).tolist() == list(range(8))


BITWISE = {
    np.bitwise_and: cuda.jit(device=True)(lambda array, value: cuda.atomic.and_(array, 0, value)),
    np.bitwise_or: cuda.jit(device=True)(lambda array, value: cuda.atomic.or_(array, 0, value)),
    np.bitwise_xor: cuda.jit(device=True)(lambda array, value: cuda.atomic.xor(array, 0, value)),
}


@pytest.mark.parametrize("function", BITWISE)
def test_atomics_of_bits(function):
    atomic = BITWISE[function]

    @cuda.jit
    def kernel(values, out):
        atomic(out, values[cuda.grid(1)])

    values = np.random.default_rng(6).integers(0, 1 << 32, 128, np.uint32) | np.uint32(0x10)
    start = np.array([FULL if function is np.bitwise_and else 0], np.uint32)
    assert launched(kernel, 2, 64, values, start)[1] == function.reduce(values)


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
    """Collatz's sequences: loops of different lengths, branches in them, and three ways to leave."""
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
    with pytest.raises(UnknownPtx, match=rf"kernel.*: line {line}: {re.escape(name)}"):
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
