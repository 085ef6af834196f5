"""How a process gets emulated cards: options as text, a child's environment, the compiled library."""

import ctypes
import os
import subprocess
import sys

import pytest

from emulated_card import environment
from emulated_card.build import compile_library
from emulated_card.options import Options

pytestmark = pytest.mark.cards


def test_a_child_process_has_the_cards_and_the_sitecustomize_that_was_there(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("print('mine too')\n")
    given = environment("8.0:32M,7.5:32M", seed=3)
    script = "import ctypes; n = ctypes.c_int(); c = ctypes.CDLL('libcuda.so.1'); c.cuInit(0); "
    script += "c.cuDeviceGetCount(ctypes.byref(n)); print(n.value)"
    given["PYTHONPATH"] += os.pathsep + str(tmp_path)
    assert subprocess.check_output([sys.executable, "-c", script], env=given, text=True) == "mine too\n2\n"


def test_options_travel_as_text():
    options = Options("9.0:8G,7.5:512M", checks="written,races", seed=4, fail="cuMemAlloc:3:2", lose="1:5:46")
    assert Options.parsed(str(options)) == options
    assert options.each_card() == [(9, 0, 8 << 30), (7, 5, 512 << 20)]
    assert (options.check_flags(), options.faults(), options.losses()) == (3, [("cuMemAlloc", 3, 2)], [(1, 5, 46)])
    with pytest.raises(TypeError):
        Options.parsed("9.0:8G;speed=3")


def test_a_library_is_compiled_once_and_errors_of_the_compiler_are_told(tmp_path):
    source = tmp_path / "one.c"
    source.write_text(f"int one(void) {{ return 1; }} /* {tmp_path} */")
    made = compile_library("one", [source])
    when = made.stat().st_mtime_ns
    assert (compile_library("one", [source]), made.stat().st_mtime_ns) == (made, when)
    assert ctypes.CDLL(str(made)).one() == 1
    source.write_text("int one(void) { return nothing; }")
    with pytest.raises(RuntimeError, match="nothing"):
        compile_library("one", [source])
