"""Items, loops and references, whose code is not Numba's, do as Python does."""

import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core import types
from numba.core.datamodel import default_manager

from readwarp.compiler.codegen import compile_kernel
from readwarp.compiler.jit import kernel

INTEGERS = [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64]


@kernel
def get(values, place):
    return values[place]


@kernel
def put(values, place, value):
    values[place] = value
    return values[place]


@kernel
def get_of_grid(grid, row, column):
    return grid[row, column]


@kernel
def put_into_grid(grid, row, column, value):
    grid[row, column] = value


@kernel
def numbers(start, stop, out):
    count = 0
    for number in range(start, stop):
        out[count] = number
        count += 1
    for number in range(stop):
        out[count] = number
        count += 1
    for number in range(stop, start, -3):
        out[count] = number
        count += 1
    return count


@kernel
def parts(values, start, stop):
    return values[start:stop], values[start:], values[:stop], values[:]


class Rows(NamedTuple):
    values: np.ndarray
    offsets: np.ndarray


@kernel
def longest(rows):
    """A variable that holds other arrays again and again."""
    best = rows.values[:0]
    for k in range(rows.offsets.size - 1):
        row = rows.values[rows.offsets[k] : rows.offsets[k + 1]]
        if row.size > best.size:
            best = row
    return best, rows


@pytest.mark.parametrize("integer", INTEGERS)
@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.float32, np.float64, np.bool_])
def test_items(integer, kind):
    values = np.arange(7).astype(kind)
    for place in (0, 3, 6) if integer(0).dtype.kind == "u" else (0, 3, 6, -1, -7):
        assert get(values, integer(place)) == values[place]
        assert put(values, integer(place), integer(1)) == kind(1) == values[place]


@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_items_of_grids(order):
    """Those in C order by our own code, others by Numba's."""
    grid = np.arange(60, dtype=np.int16).reshape(6, 10)[:, ::2] if order == "A" else np.zeros((6, 5), np.int16, order)
    for row, column in ((0, 0), (5, 4), (-1, 2), (3, -5), (-6, -1)):
        put_into_grid(grid, row, column, row * 10 + column)
        assert get_of_grid(grid, row, np.int32(column)) == grid[row, column] == row * 10 + column
    assert get_of_grid(grid, np.uint8(5), 4) == grid[5, 4]


@given(st.integers(-20, 20), st.integers(-20, 20))
def test_loops(start, stop):
    out, expected = np.zeros(200, np.int64), np.zeros(200, np.int64)
    assert numbers(start, stop, out) == numbers.py_func(start, stop, expected)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("integer", [np.int32, np.uint8, np.uint64])
def test_loops_of_other_integers(integer):
    out, expected = np.zeros(200, np.int64), np.zeros(200, np.int64)
    assert numbers(integer(3), integer(9), out) == numbers.py_func(3, 9, expected)
    np.testing.assert_array_equal(out, expected)


@given(st.integers(-9, 9), st.integers(-9, 9))
def test_slices(start, stop):
    values = np.arange(6, dtype=np.int16)
    for made, expected in zip(parts(values, start, stop), parts.py_func(values, start, stop), strict=True):
        np.testing.assert_array_equal(made, expected)
        assert made.strides == expected.strides
        assert made.size == 0 or np.shares_memory(made, values)


def test_references_of_variables_that_change():
    rows = Rows(np.arange(10), np.array([0, 2, 6, 6, 10]))
    for _ in range(3):
        row, given_back = longest(rows)
        np.testing.assert_array_equal(row, [2, 3, 4, 5])
        assert given_back.values is rows.values
    before = sys.getrefcount(rows.values)
    del row, given_back
    assert sys.getrefcount(rows.values) < before


def test_an_item_takes_few_instructions():
    """Numba's own code for it has about thirty, and a copy of the array's description."""
    compile_kernel(get.dispatcher, "u1[:],i8")
    code = str(get.dispatcher.overloads[(types.uint8[::1], types.int64)].library.module)
    assert code.count("getelementptr") <= 2 and code.count("alloca") <= 1


BOUNDS = """
import numpy as np
from readwarp.compiler.jit import kernel
@kernel
def get(values, place):
    return values[place]
try:
    get(np.zeros(3), 3)
except IndexError as error:
    print(error)
"""


def test_bounds_are_checked_on_demand():
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1"}
    done = subprocess.run([sys.executable, "-c", BOUNDS], env=environment, capture_output=True, text=True)
    assert done.stdout.startswith("index is out of bounds"), done.stderr


def test_fields_of_loops_are_those_that_are_set():
    assert default_manager[types.range_iter64_type]._fields == ("iter", "stop", "step", "count")
