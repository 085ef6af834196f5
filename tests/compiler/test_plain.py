"""With a Numba that has moved what `readwarp.compiler` builds upon, kernels compute the same: Numba compiles them."""

import os
import runpy
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core.postproc import PostProcessor

from readwarp.compiler import codegen, internals, jit
from readwarp.compiler.jit import kernel
from readwarp.errors import UsageError

STUB = """
import sys
from importlib.machinery import PathFinder


class Changed:
    def find_spec(self, name, path=None, target=None):
        if name != {module!r}:
            return None
        spec = PathFinder.find_spec(name, path)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            exec({change!r}, vars(module))

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Changed())
"""
CHANGES = {
    "a class has another name": ("numba.core.codegen", "CodeLibraryOfCPUs = CPUCodeLibrary; del CPUCodeLibrary"),
    "a method takes one argument more": (
        "numba.core.dispatcher",
        """
class _FunctionCompiler(_FunctionCompiler):
    def _compile_cached(self, args, return_type):
        return True, self._compile_core(args, return_type, "a reason")

    def _compile_core(self, args, return_type, reason):
        return super()._compile_core(args, return_type)
""",
    ),
}
PROGRAM = """
from typing import NamedTuple

import numpy as np

from readwarp.compiler import simd
from readwarp.compiler.jit import kernel, scalar


class Rows(NamedTuple):
    values: np.ndarray
    offsets: np.ndarray


@scalar
def doubled(value):
    return 2 * value


@kernel
def sums(rows, out):
    simd.store(out, 0, simd.add(simd.load(rows.values, 0), simd.splat(rows.values, doubled(3))))
    return doubled(rows.offsets[1]), rows.values[1:]


values = np.arange(64, dtype=np.int16)
values.flags.writeable = False
out = np.zeros(64, np.int16)
first, rest = sums(Rows(values, np.arange(4)), out)
lanes = simd.lanes(np.int16)
assert (out[:lanes] == values[:lanes] + 6).all() and not out[lanes:].any()
assert first == 2 and rest.tolist() == values[1:].tolist()
"""


@pytest.fixture(params=CHANGES)
def changed(request, tmp_path):
    """The environment of a process whose Numba is another one."""
    module, change = CHANGES[request.param]
    (tmp_path / "sitecustomize.py").write_text(STUB.format(module=module, change=change))
    (tmp_path / "program.py").write_text(PROGRAM)
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    return os.environ | {"PYTHONPATH": path, "READWARP_CACHE": str(tmp_path / "cache")}


def test_kernels_compute_the_same(changed, tmp_path):
    done = subprocess.run([sys.executable, tmp_path / "program.py"], env=changed, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("lacks what readwarp builds upon") == 1


@pytest.mark.parametrize("changed", ["a class has another name"], indirect=True)
def test_processes_that_compile_say_why_they_do_not(changed, tmp_path):
    command = [sys.executable, "-m", "readwarp.compiler.worker", str(tmp_path), "2", str(os.getpid())]
    rows = "readwarp.rules.bases:complement\ti8\nreadwarp.rules.bases:absent\ti8\n"
    done = subprocess.run(command, input=rows, env=changed, capture_output=True, text=True)
    row, _, reason = done.stdout.partition("\t")
    assert (row, reason.count("\n"), done.returncode) == ("0", 1, 0), done.stderr
    assert "CPUCodeLibrary" in reason


def test_a_member_that_is_gone_is_noticed(monkeypatch):
    monkeypatch.delattr(PostProcessor, "_insert_var_dels")
    with pytest.raises(ImportError, match=r"has no PostProcessor._insert_var_dels$"):
        runpy.run_path(internals.__file__)


@pytest.fixture
def unwarned(monkeypatch):
    monkeypatch.setattr(jit, "_plain_reasons", [])


def test_code_that_cannot_be_loaded(monkeypatch, unwarned, caplog):
    def lacking(code, name):
        raise ImportError(f"kernel {name}: not in this version of Numba: NRT_new")

    monkeypatch.setattr(jit, "load", lacking)
    for each in (kernel(lambda x: x + 1), kernel(lambda x: x + 1)):
        assert each(np.float32(1)) == 2 and each(np.arange(3)).tolist() == [1, 2, 3]
    (warning,) = caplog.messages
    assert warning.startswith(f"Numba {numba.__version__} lacks what readwarp builds upon (kernel ")
    assert "NRT_new" in warning


def test_faults_of_kernels_and_users_stay_theirs(monkeypatch, unwarned, caplog):
    wrong = kernel(lambda x: x.nothing)
    with pytest.raises(numba.TypingError, match="nothing"):
        wrong(1)

    def refuse(dispatcher, signature):
        raise UsageError("unknown level")

    monkeypatch.setattr(codegen, "compile_kernel", refuse)
    with pytest.raises(UsageError):
        kernel(lambda x: x)(1)
    assert not caplog.messages


def test_ours_goes_on_where_it_can(unwarned):
    """Plain Numba's functions stay apart from our parts, whichever come first."""
    half = kernel(lambda x: x // 2)
    quarter, eighth = kernel(lambda x: half(half(x))), kernel(lambda x: half(half(half(x))))
    assert quarter._compile_plainly("i8", ImportError("moved"))(40) == 10
    assert eighth(40) == 5 and half(5) == 2
    assert eighth._compile_plainly("i8", ImportError("moved"))(80) == 10
    assert {type(made).__name__ for made in half._dispatchers.values()} == {"KernelPart", "CPUDispatcher"}
