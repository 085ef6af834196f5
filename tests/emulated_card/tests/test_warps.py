"""What threads of a warp do together, and atomics, on the card, compared with plain Python."""

from itertools import product

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
from emulated_card.tests.checked_launches import launched
from emulated_card.tests.cuda import cuda
from emulated_card.tests.inline_ptx import inline

pytestmark = pytest.mark.gpu
FULL = 0xFFFFFFFF


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
