"""Kernels are compiled as one piece: what Numba makes of their parts."""

import gc
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.core import codegen, target_extension, types
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.runtime import _nrt_python, rtsys

from readwarp.compiler.codegen import compile_kernel
from readwarp.compiler.loader import load
from readwarp.compiler.parts import CPU, KernelPart
from readwarp.compiler.shortcuts import SHORTCUTS
from readwarp.compiler.signature import signature_of

CONTEXT = cpu_target.target_context


class Compiled:
    """As `kernel`, without a cache."""

    def __init__(self, py_func):
        self.py_func = py_func
        self.dispatcher = KernelPart(py_func, targetoptions={"nopython": True, "nogil": True, "error_model": "numpy"})
        self.loaded = {}
        self._numba_type_ = types.Dispatcher(self.dispatcher)

    def __call__(self, *arguments):
        signature = signature_of(arguments)
        if signature not in self.loaded:
            self.loaded[signature] = load(compile_kernel(self.dispatcher, signature), self.py_func.__name__)
        return self.loaded[signature](*arguments)


compiled = Compiled


class Rows(NamedTuple):
    values: np.ndarray
    offsets: np.ndarray


@compiled
def put(out, place, value):
    out[place] = value
    return place + 1


@compiled
def put_all(out):
    place = put(out, 0, 65)
    place = put(out, place, 66)
    return put(out, place, place)


@compiled
def row(rows, k):
    return rows.values[rows.offsets[k] : rows.offsets[k + 1]]


@compiled
def row_sum(rows, k):
    total = 0
    for value in rows.values[rows.offsets[k] : rows.offsets[k + 1]]:
        total += value
    return total


@compiled
def sums(rows):
    out = np.zeros(rows.offsets.size - 1, np.int64)
    for k in range(out.size):
        out[k] = row_sum(rows, k) + row(rows, k).size
    return out


@compiled
def copy_of(values, order):
    return values[order]


@compiled
def set_slice(out, values):
    out[1:] = values[1:] + values[:-1]


@compiled
def clear(out, stop):
    out[:stop] = 0
    out[1:] = 7
    return out.size


@compiled
def size_of_part(values, stop):
    return row_size(Rows(values[:stop], values), 1)


@compiled
def row_size(rows, k):
    return rows.offsets[k] - rows.values.size


@compiled
def squares(count):
    """What Numba inlines: a list that becomes an array, and a function within the function."""

    def square(k):
        return k * k

    return np.array([square(k) + 1 for k in range(count)]) - np.ones(count)


@compiled
def refuse(value):
    if value < 0:
        raise ValueError("below zero")
    return value


@compiled
def refuse_first(values):
    return refuse(values[0])


def rows():
    return Rows(np.arange(10), np.array([0, 3, 3, 10]))


def test_constants_and_callers_make_no_variants():
    """One part for all constants; no machine code, no entry for Python, no wrappers."""
    out = np.zeros(3, np.uint8)
    assert put_all(out) == 3
    np.testing.assert_array_equal(out, [65, 66, 2])
    (made,) = put.dispatcher.overloads.values()
    defined = [f.name for f in made.library.module.functions if not f.is_declaration]
    assert defined == [made.fndesc.llvm_func_name], "no wrappers, and nothing of other functions"


def test_a_part_is_not_compiled_again_for_python():
    put_all(np.zeros(3, np.uint8))
    out = np.zeros(1, np.uint8)
    before = list(put.dispatcher.overloads.values())
    assert put(out, 0, 7) == 1 and out[0] == 7
    assert list(put.dispatcher.overloads.values()) == before


@pytest.mark.parametrize("ours_first", [False, True])
def test_functions_that_numba_compiles_may_call_ours(ours_first):
    half = Compiled(lambda values: values[: values.size // 2])
    doubled = Compiled(lambda values: half(values) * 2)

    @numba.njit
    def of_others(values):
        return doubled(values).sum() + half(values)[0]

    calls = [lambda: doubled(np.arange(8)).sum(), lambda: of_others(np.arange(8))]
    for call in calls if ours_first else calls[::-1]:
        assert call() == 12


@pytest.mark.parametrize(
    ("function", "arguments", "counts"),
    [
        (put, lambda: (np.zeros(1, np.uint8), 0, 1), False),
        (row_sum, lambda: (rows(), 2), True),  # an iterator of an array holds it
        (sums, lambda: (rows(),), True),
        (row, lambda: (rows(), 2), True),  # returns a view
        (copy_of, lambda: (np.arange(4), np.array([3, 1])), True),
        (set_slice, lambda: (np.zeros(4), np.arange(4.0)), True),
        (clear, lambda: (np.ones(4), 2), False),
        (size_of_part, lambda: (np.arange(4), 2), False),
        (refuse_first, lambda: (np.ones(1),), False),
    ],
)
def test_references_are_counted_where_they_are_made(function, arguments, counts):
    """Nothing is freed too early or never, whichever function counts; and those that only look do not."""
    expected = function.py_func(*arguments())
    function(*arguments())
    given = arguments()
    _nrt_python.memsys_enable_stats()
    gc.collect()
    before = rtsys.get_allocation_stats()
    for _ in range(3):
        np.testing.assert_array_equal(function(*given), expected)
    del given
    gc.collect()
    after = rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free
    text = str(next(iter(function.dispatcher.overloads.values())).library.module)
    assert ("@NRT_incref" in text or "@NRT_decref" in text) == counts


def test_a_view_outlives_the_array_it_shows():
    gc.freeze()  # what other tests have left in this process, which takes long to go through
    try:
        for _ in range(100):
            view = row(rows(), 2)
            gc.collect()
            np.testing.assert_array_equal(view, np.arange(3, 10))
    finally:
        gc.unfreeze()


def test_errors_of_inner_functions_reach_python():
    assert refuse_first(np.ones(1)) == 1
    with pytest.raises(ValueError, match="below zero"):
        refuse_first(-np.ones(1))


def test_what_numba_inlines_is_inlined():
    np.testing.assert_array_equal(squares(5), squares.py_func(5))


def test_garbage_collection_and_numba_are_left_as_they_were():
    fresh = compiled(lambda x: x + 1)
    assert fresh(1) == 2 and gc.isenabled()
    assert CONTEXT.codegen()._library_class is codegen.JITCodeLibrary
    assert target_extension.dispatcher_registry[CPU] is CPUDispatcher
    assert not any(getattr(owner, name) is ours for owner, name, ours in SHORTCUTS)
    fails = compiled(lambda x: x.nothing)
    with pytest.raises(numba.TypingError):
        fails(1)
    assert gc.isenabled() and CONTEXT.codegen()._library_class is codegen.JITCodeLibrary
