"""Values to test instructions on, edge cases and random ones, as bits; and how results are compared."""

import math
from collections.abc import Callable
from itertools import product as pairs

import numpy as np

from emulated_card.tests.exact_numbers import F16, Format
from emulated_card.tests.inline_ptx import ALL

SPREAD = 512  # random values beside the edges
EDGES = [0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, ALL, ALL - 1, 0x8000, 0x7FFF, 0x80008000,
         0x80000000, 0x7FFFFFFF, 1 << 63, (1 << 63) - 1, 0xFFFF, 0xFFFFFFFF, 0x5555555555555555,
         0xFEDCBA9876543210]  # fmt: skip
COMPARISONS = {
    "eq": int.__eq__,
    "ne": int.__ne__,
    "lt": int.__lt__,
    "le": int.__le__,
    "gt": int.__gt__,
    "ge": int.__ge__,
}
TYPES = [f"{letter}{bits}" for letter in "us" for bits in (16, 32, 64)]


def integers(seed: int) -> np.ndarray:
    """uint64 [3, values], every pair of edges among the first."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, ALL, (3, len(EDGES) ** 2 + SPREAD), np.uint64, endpoint=True)
    values >>= rng.integers(0, 64, values.shape, np.uint64)
    values[:2, : len(EDGES) ** 2] = np.array(list(pairs(EDGES, EDGES)), np.uint64).T
    return values


def equal(a: int, b: int) -> bool:
    return a == b


def typed(name: str, value: int) -> int:
    """An operand's bits as a number of the type."""
    bits = int(name[1:])
    value &= (1 << bits) - 1
    return value - (value >> bits - 1 << bits) if name[0] == "s" else value


def numbers(form: Format, seed: int) -> np.ndarray:
    """Bits of all kinds of numbers: zeros, subnormals, ties, the largest, infinities, NaN, close and random ones."""
    rng = np.random.default_rng(seed)
    one, top = form.of_float(1.0), (1 << form.bits - 1) - 1
    infinite = form.of_float(math.inf)
    edges = [
        0,
        1,
        2,
        3,
        (1 << form.fraction) - 1,
        1 << form.fraction,
        one,
        one + 1,
        one - 1,
        infinite - 1,
        infinite,
        top,
    ]
    edges += [form.of_float(v) for v in (2.0, 0.5, 1.5, 2.5, 1024.0, 2048.0, 65504.0, 32767.0, 3.0)]
    edges += [edge | 1 << form.bits - 1 for edge in edges]
    values = rng.integers(0, (1 << form.bits) - 1, (3, len(edges) ** 2 + SPREAD), np.uint64, endpoint=True)
    near = rng.random(values.shape) < 0.5  # exponents beside that of 1, where sums cancel and round
    spread = rng.integers(0, min(40, infinite >> form.fraction) << form.fraction, values.shape, np.uint64)
    values = np.where(
        near,
        (spread + np.uint64(one - (12 << form.fraction)))
        | values >> np.uint64(form.bits - 1) << np.uint64(form.bits - 1),
        values,
    )
    values &= np.uint64((1 << form.bits) - 1)
    values[:2, : len(edges) ** 2] = np.array(list(pairs(edges, edges)), np.uint64).T
    values[2, : len(edges) ** 2 : 2] = rng.choice(np.array(edges, np.uint64), len(range(0, len(edges) ** 2, 2)))
    return values


def paired(seed: int) -> np.ndarray:
    first, last = numbers(F16, seed), numbers(F16, seed + 1)
    order = np.random.default_rng(seed).permutation(first.shape[1])
    return first | last[:, order] << np.uint64(16)


def tied() -> np.ndarray:
    """Pairs of halves: a * b is midway between two halves, and c is too small for a float's bits."""
    rng = np.random.default_rng(2)
    a, b = rng.integers(1 << 10, 1 << 11, (2, 400_000))
    middle = np.where(a * b < 1 << 21, a * b % 1024 == 512, a * b % 2048 == 1024)
    a, b = a[middle], b[middle]
    least = rng.integers(0, 64, len(a)) | rng.integers(0, 2, len(a)) << 15
    halves = np.array([a - 1024 | 18 << 10, b - 1024 | 20 << 10, least], np.uint64)
    return halves | np.roll(halves, 1, 1) << np.uint64(16)


def alike(form: Format) -> Callable[[int, int], bool]:
    """Equal, or both NaN, whatever their bits."""
    return lambda a, b: a == b or (math.isnan(form.value(a)) and math.isnan(form.value(b)))


def alike_halves(a: int, b: int) -> bool:
    return alike(F16)(a & 0xFFFF, b & 0xFFFF) and alike(F16)(a >> 16, b >> 16)
