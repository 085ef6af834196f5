"""What Python gives a kernel and gets back."""

import sys
import threading
from typing import NamedTuple

import numpy as np
import pytest

from readwarp.compiler.jit import kernel


class Pair(NamedTuple):
    values: np.ndarray
    scale: float


class Nested(NamedTuple):
    pairs: tuple[Pair, Pair]
    cube: np.ndarray
    last: int


@kernel
def weighed(nested, sign, number, grid):
    """A number of every argument."""
    (first, second), cube, last = nested
    total = 0.0
    for k in range(first.values.size):
        total += first.values[k] * first.scale + second.values[k] * second.scale
    for i in range(cube.shape[0]):
        for j in range(cube.shape[1]):
            total += cube[i, j, i] + grid[i, j]
    return (total if sign else -total), np.float32(number), last


@kernel
def nothing():
    return 7


@kernel
def count(number, steps):
    for _ in range(steps):
        number = number * 6364136223846793005 + 1
    return number


@pytest.mark.parametrize("sign", [True, np.bool_(False)])
@pytest.mark.parametrize("number", [np.float32(0.5), np.uint8(200), np.int64(-3), 2.5])
def test_arguments_of_every_kind_arrive(sign, number):
    steps = np.arange(20, dtype=np.int16)
    pairs = Pair(steps[::3], 0.5), Pair(np.ones(7, np.uint8), 2)
    given = (
        Nested(pairs, np.arange(27.0).reshape(3, 3, 3), 1 << 40),
        sign,
        number,
        np.ones((3, 3), np.uint32, order="F"),
    )
    assert weighed(*given) == weighed.py_func(*given)


def test_no_arguments():
    assert nothing() == 7


def test_arrays_are_given_back():
    values, cube = np.ones(3), np.ones((2, 2, 2))
    given = Nested((Pair(values, 1.0), Pair(values, 1.0)), cube, 0), True, 1.0, np.ones((2, 2))
    before = sys.getrefcount(values), sys.getrefcount(cube)
    for _ in range(100):
        weighed(*given)
    assert (sys.getrefcount(values), sys.getrefcount(cube)) == before


def test_other_threads_run_meanwhile():
    count(1, 1)  # compiled
    thread = threading.Thread(target=count, args=(1, 1 << 28))
    thread.start()
    assert thread.is_alive(), "this thread had to wait"
    thread.join()
