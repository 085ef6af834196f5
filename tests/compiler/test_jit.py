"""What we tell Numba: options, and the types of batches."""

import os
import subprocess
import sys
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba import njit

from helpers.caches import forget_folders
from readwarp.call.likelihoods.pairhmm.penalties import penalize
from readwarp.compiler import kernel_cache
from readwarp.compiler.jit import kernel, listen, scalar
from readwarp.compiler.signature import key_of, signature_of


@pytest.mark.cards
def test_numba_cuda_is_found_where_python_runs_no_pth_files():
    """As by PYTHONPATH: numba.cuda would be Numba's own, which is another."""
    code = f"import sys; sys.path = {sys.path}; from readwarp.device.cuda_jit import cuda; print(cuda.__file__)"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True)
    assert "numba_cuda" in done.stdout, done.stderr


PENALIZE = "u1[:],i8[:],i8[:],i8,(u1[:,:],u1[:]),(u1[:],u1[:])"


class Batch(NamedTuple):
    values: np.ndarray
    more: np.ndarray


@pytest.fixture
def fresh_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("READWARP_CACHE", str(tmp_path))
    forget_folders()
    yield tmp_path
    forget_folders()


@scalar
def double(value):
    return 2 * value


@kernel
def first(batch, plain):
    return double(batch.values[0]) + batch.more[0] + plain[0]


@kernel
def make(size, fail):
    if fail:
        raise ValueError("no room")
    return Batch(np.zeros(size, np.int32), np.ones(size)), size


def test_a_read_only_array_compiles_nothing_anew():
    """Batches from files and mapped memory are read-only, others are not. One compilation serves both."""
    values, fixed, news = np.array([1, 2]), np.array([3, 4]), []
    fresh = kernel(first.py_func)
    fixed.setflags(write=False)
    with listen(lambda *about: news.append(about)):
        found = [fresh(Batch(a, b), b) for a in (values, fixed) for b in (values, fixed)]
    assert found == [4, 8, 8, 12]
    assert [name.rpartition(":")[2] for name, *_ in news] == ["first", "first"]
    assert news[0][1] == f"{__name__}:Batch(i8[:],i8[:]),i8[:]"


def test_arrays_tuples_and_errors_come_back():
    made, size = make(3, False)
    assert (type(made), size) == (Batch, 3)
    assert (made.values.dtype, made.values.tolist(), made.more.tolist()) == (np.int32, [0] * 3, [1] * 3)
    with pytest.raises(ValueError, match="no room"):
        make(3, True)


def test_constants_come_back():
    """Of branches that return other constants, as Numba makes them one type only where they meet."""
    found = kernel(lambda n: (0, False, n) if n < 3 else (1, True, n))
    assert (found(2), found(3)) == ((0, False, 2), (1, True, 3))
    assert kernel(lambda n: (0, n))(2) == (0, 2)


WARM = """
import sys
import numpy as np
from readwarp.call.likelihoods.pairhmm.penalties import gap_penalties
print(gap_penalties(np.zeros(30, np.uint8), np.array([0, 30]))[0].sum(), "numba" in sys.modules)
{more}
"""
MORE = """
import numba
print(numba.njit(lambda n: np.zeros(n).sum() + n)(3))
from readwarp.call.likelihoods.pairhmm.penalties import penalize
from readwarp.compiler import kernel_cache
from readwarp.compiler.jit import kernel
print(kernel(lambda n: np.ones(n).sum())(4))
"""


def test_a_warm_start_does_without_numba_and_numba_works_after_it(fresh_cache):
    def run(code):
        environment = os.environ | {"READWARP_CACHE": str(fresh_cache)}
        return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)

    assert run(WARM.format(more="")).stdout.split()[1] == "True"
    assert run(WARM.format(more=MORE)).stdout.split()[1:] == ["False", "3.0", "4.0"]


def test_numbas_own_functions_are_as_ever():
    """What a user compiles in the same process, before and after us, is made by Numba's own rules."""
    before = njit(lambda n: np.arange(n).sum())
    assert before(4) == 6
    assert first(Batch(np.array([1]), np.array([2])), np.array([3])) == 7
    after = njit(lambda n: np.arange(n).sum() + np.zeros(3).size)
    assert (before(5), before(np.int8(5)), after(4)) == (10, 10, 9)


def test_a_damaged_file_is_compiled_again(fresh_cache):
    """Cut short, changed, of another version, empty."""
    code = penalize.compile(PENALIZE)
    (path,) = fresh_cache.rglob("*.kernel")
    whole = path.read_bytes()
    assert kernel_cache.find(penalize.name, PENALIZE) == code
    for damaged in (whole[:-10], whole[:-10] + b"0123456789", b"readwarp kernel 0" + whole[17:], whole[:40], b""):
        path.write_bytes(damaged)
        assert kernel_cache.find(penalize.name, PENALIZE) is None
    news = []
    with listen(lambda *about: news.append(about)):
        assert penalize.compile(PENALIZE).needs == code.needs
    assert len(news) == 2 and kernel_cache.find(penalize.name, PENALIZE)


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        (np.zeros(3, ">i4"), "byte order"),
        (np.frombuffer(bytes(33), np.uint8)[1:].view(np.int32), "aligned"),
        (np.array(["a"]), "numbers"),
        ("text", "not str"),
        (None, "not NoneType"),
    ],
)
def test_what_kernels_do_not_take(argument, reason):
    with pytest.raises(TypeError, match=reason):
        double(argument)


SIGNATURES = {
    "i8": 3,
    "u8": 1 << 63,
    "f8": 1.5,
    "b1": True,
    "u1": np.uint8(3),
    "i4[:]": np.zeros(3, np.int32),
    "f8[:,:]": np.zeros((2, 3)),
    "f8[:,:]F": np.zeros((2, 3), order="F"),
    "u2[:]A": np.zeros(8, np.uint16)[::2],
    "b1[:,:,:]": np.zeros((1, 2, 3), bool),
    "()": (),
    "(i8,(f4,u1[:]))": (1, (np.float32(1), np.zeros(3, np.uint8))),
    f"{__name__}:Batch(i8[:],f8[:,:])": Batch(np.zeros(3, np.int64), np.zeros((3, 3))),
}


@pytest.mark.parametrize(("text", "value"), SIGNATURES.items())
def test_signatures(text, value):
    """As text, and read back as the type that Numba itself gives to the value."""
    from readwarp.compiler.codegen import types_of

    assert signature_of([value, value]) == f"{text},{text}"
    assert types_of(f"{text},i8") == [numba.typeof(value), numba.int64]


def test_equal_keys_have_equal_signatures():
    values = [*SIGNATURES.values(), np.int64(3), 2.5, False, np.zeros(0, np.int32), np.zeros((1, 4))]
    for a in values:
        for b in values:
            assert key_of(a) != key_of(b) or signature_of([a]) == signature_of([b])
