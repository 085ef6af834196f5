"""The next process finds kernels for cards on disk, also those made by factories. No card is needed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba_cuda")
pytestmark = pytest.mark.cards
BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
COMPILE = """
import sys
from readwarp.compiler import jit
from readwarp.compiler.levels import card_level

from compiled.compile import signature_of
from compiled.kernels import KERNELS

level, told = card_level((9, 0)), []
with jit.listen(lambda *news: told.append(news)):
    for name in sys.argv[1:]:
        kernel = next(kernel for kernel in KERNELS if kernel.name == name)
        made, signature = kernel.compiled_by(), signature_of(kernel)
        jit.obtain(made.name, signature, level, lambda: made.make(signature, level))
        print(name, int(not told), sep="=")
        told.clear()
"""
NAMES = (
    "scan add_up",
    "pairwise score s16x2 x 4",
    "pairwise score half2 x 10",
    "pairwise trace x 8",
    "pairhmm float32 x 8",
)


def test_the_next_process_compiles_nothing(tmp_path):
    path = f"{BENCHMARKS}:{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "READWARP_CACHE": str(tmp_path), "PYTHONPATH": path}
    for hits in (0, 1):
        command = [sys.executable, "-c", COMPILE, *NAMES]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == [f"{name}={hits}" for name in NAMES]


CLOSURES = """
import os
import sys
import time
from pathlib import Path
from readwarp.compiler import jit
from readwarp.compiler.levels import card_level
from readwarp.device.cuda_jit import cuda_kernel
from readwarp.device.launch import kernel_factory

level, signature, told = card_level((9, 0)), "i8[:]", []

def store(number):
    def store(out):
        out[0] = number
    return cuda_kernel(store)

store.__module__ = "readwarp.device.memory"
made = kernel_factory(store)

def wait_for(path):
    while not path.exists():
        time.sleep(0.01)

def in_turn(*own):
    '''Files get their names in the turns of this process, once the other one has looked what is there, too.'''
    replace, waiting = os.replace, list(own)
    def replace_in_turn(*names):
        (notes / f"ready {own}").touch()
        while len(list(notes.glob("ready *"))) < 2:
            time.sleep(0.01)
        if waiting:
            wait_for(notes / f"done {waiting[0] - 1}")
        replace(*names)
        if waiting:
            (notes / f"done {waiting.pop(0)}").touch()
    os.replace = replace_in_turn
    return waiting

notes, turns, numbers = Path(sys.argv[1]), [*map(int, sys.argv[2].split())], sys.argv[3:]
rest = in_turn(*turns) if turns else []
for number in numbers:
    kernel = made(int(number))
    with jit.listen(lambda *news: told.append(news)):
        code = jit.obtain(kernel.name, signature, level, lambda: kernel.make(signature, level))
    is_right = f"{number};".encode() in code.object_code
    print("new" if told else "kept", "right" if is_right else "wrong")
    told.clear()
for turn in rest:
    (notes / f"done {turn}").touch()
"""
FIRST, SECOND = "4040", "1010"


@pytest.fixture
def closures(tmp_path):
    """closures((turns, number ...) ...): what processes that compile closures of one function, at once, say of each."""
    script, notes = tmp_path / "script.py", tmp_path / "notes"
    script.write_text(CLOSURES)
    notes.mkdir()
    (notes / "done 0").touch()
    environment = {**os.environ, "READWARP_CACHE": str(tmp_path / "cache")}

    def start(*each):
        commands = ([sys.executable, script, notes, *given] for given in each)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        running = [subprocess.Popen(command, env=environment, **pipes) for command in commands]
        ended = [process.communicate() for process in running]
        assert not any(process.returncode for process in running), ended
        return [line for printed, _ in ended for line in printed.splitlines()]

    return start


def test_two_processes_that_compile_at_once_never_get_each_others_code(closures, tmp_path):
    """One process names its first file and its last, and the other all of its own in between.

    With an index of numbered files, as numba-cuda has it, the second closure's number then has the first one's code.
    """
    assert closures(("1 4", FIRST), ("2 3", SECOND)) == ["new right", "new right"]
    assert closures(("", FIRST, SECOND)) == ["kept right", "kept right"]

    first, second = tmp_path.glob("cache/**/*.kernel")
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())  # says what it is for
    second.write_bytes(content[:-1])
    assert closures(("", FIRST, SECOND)) == ["new right", "new right"]
    for path in (first, second):
        path.chmod(0o666)  # others may have written it
    assert closures(("", FIRST, SECOND)) == ["new right", "new right"]
