"""Vector lanes compared with NumPy."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from readwarp.compiler import simd
from readwarp.compiler.jit import kernel


@kernel
def _apply(a, b, out):
    x, y = simd.load(a, 0), simd.load(b, 0)
    count = simd.VECTOR_BYTES // a.itemsize
    simd.store(out, 0, simd.add(x, y))
    simd.store(out, count, simd.subtract(x, y))
    simd.store(out, 2 * count, simd.maximum(x, y))
    simd.store(out, 3 * count, simd.plus(x, y))
    simd.store(out, 4 * count, simd.where_greater(x, y, x, simd.splat(a, 7)))
    simd.store(out, 5 * count, simd.where_equal(x, y, simd.splat(a, -1), y))


@kernel
def _bits(a, b, out):
    simd.store_greater(out, 1, simd.load(a, 0), simd.load(b, 0))


@kernel
def _eights(a, out):
    simd.store_eight(out, 3, simd.load_eight(a, 5))


@kernel
def _number(counter, out):
    for i in range(out.size):
        out[i] = simd.fetch_add(counter, 1, 2)


def test_threads_never_get_the_same_number():
    counter, outs = np.array([5, 7, 9]), np.zeros((4, 100_000), np.int64)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda out: _number(counter, out), outs))
    assert np.array_equal(np.sort(outs, None), 7 + 2 * np.arange(outs.size))
    assert counter.tolist() == [5, 7 + 2 * outs.size, 9]


@kernel
def _made(sizes, like, out):
    for k in range(sizes.size):
        array = simd.empty_vectors(sizes[k], like.dtype)
        array[:] = k
        out[k, 0], out[k, 1], out[k, 2] = array.ctypes.data % simd.VECTOR_BYTES, array.size, array.sum()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.float32, np.float64])
def test_arrays_of_vectors_begin_where_a_vector_may(dtype):
    sizes = np.array([0, 1, 3, 64, 1000, 7, 100])
    out = np.empty((sizes.size, 3), np.int64)
    _made(sizes, np.empty(0, dtype), out)
    assert out.tolist() == [[0, size, k * size] for k, size in enumerate(sizes.tolist())]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
def test_operations(dtype):
    count, limits = simd.lanes(dtype), np.iinfo(dtype)
    a, b = (np.random.default_rng(k).integers(limits.min, limits.max, count, dtype, endpoint=True) for k in (1, 2))
    b[::3] = a[::3]
    out = np.zeros(6 * count, dtype)
    _apply(a, b, out)
    wide_a, wide_b = a.astype(np.int64), b.astype(np.int64)
    expected = [
        np.clip(wide_a + wide_b, limits.min, limits.max), np.clip(wide_a - wide_b, limits.min, limits.max),
        np.maximum(a, b), (wide_a + wide_b).astype(dtype), np.where(a > b, a, 7), np.where(a == b, -1, b),
    ]  # fmt: skip
    assert out.reshape(6, count).tolist() == [row.tolist() for row in expected]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
def test_one_bit_per_lane(dtype):
    count = simd.lanes(dtype)
    a, b = (np.random.default_rng(k).integers(-5, 5, count, dtype) for k in (3, 4))
    out = np.zeros(max(1, count // 8) + 2, np.uint8)
    _bits(a, b, out)
    found = np.unpackbits(out[1:-1], bitorder="little")[:count]
    assert found.tolist() == (a > b).astype(int).tolist() and out[0] == out[-1] == 0


def test_eight_bytes():
    a, out = np.arange(20, dtype=np.uint8), np.zeros(12, np.uint8)
    _eights(a, out)
    assert out.tolist() == [0, 0, 0, *range(5, 13), 0]


@kernel
def _floats(a, b, c, symbols, codes, out):
    x, y, z = simd.load(a, 0), simd.load(b, 0), simd.load(c, 0)
    count = simd.VECTOR_BYTES // a.itemsize
    simd.store(out, 0, simd.fused(x, y, z))
    simd.store(out, count, simd.plus(x, y))
    wanted, found = simd.splat(symbols, -3), simd.load_bytes(codes, 1, symbols)
    simd.store(out, 2 * count, simd.where_equal(found, wanted, x, simd.splat(a, 0.1)))


@pytest.mark.parametrize(("dtype", "integer", "bits"), [(np.float32, np.int32, 12), (np.float64, np.int64, 27)])
def test_floats_are_rounded_once(dtype, integer, bits):
    """(1 + d)(1 + d) - (1 + 2 d) is d d, which a product rounded by itself would lose."""
    count, small = simd.lanes(dtype), 2.0**-bits
    a, c = np.full(count, 1 + small, dtype), np.full(count, -1 - 2 * small, dtype)
    codes, out = np.arange(-count // 2, count // 2 + 1).astype(np.int8), np.zeros(3 * count, dtype)
    codes[2] = -3
    _floats(a, a, c, np.empty(1, integer), codes, out)
    fused, total, chosen = out.reshape(3, count)
    assert fused.tolist() == [small * small] * count
    assert total.tolist() == [2 + 2 * small] * count
    assert chosen.tolist() == np.where(codes[1 : count + 1] == -3, a, dtype(0.1)).tolist()


@kernel
def _transposed(out, source, starts):
    simd.store_transposed(out, 3, source, starts)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_squares_are_transposed(dtype):
    count = simd.lanes(dtype)
    source, starts = np.arange(5 * count).astype(dtype), np.random.default_rng(6).integers(0, 4 * count, count)
    out = np.zeros(3 + count * count, dtype)
    _transposed(out, source, starts)
    assert out[3:].reshape(count, count).T.tolist() == [(start + np.arange(count)).tolist() for start in starts]
    assert not out[:3].any()
