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
from types import SimpleNamespace
from numba.cuda import codegen, dispatcher
from numba.cuda.cudadrv import devices
from readwarp.device.cuda_jit import cuda_kernel

card = SimpleNamespace(compute_capability=(9, 0), id=0)
dispatcher.get_current_device = lambda: card
devices.get_context = lambda *_: SimpleNamespace(device=card)
dispatcher._Kernel.bind = lambda kernel: kernel._codelibrary.get_cubin(cc=(9, 0))

from compiled.compile import types_of
from compiled.kernels import KERNELS

for name in sys.argv[1:]:
    kernel = next(kernel for kernel in KERNELS if kernel.name == name)
    compiled = kernel.compiled_by()
    compiled.compile(tuple(types_of(kernel.arguments)))
    print(name, compiled.stats.cache_hits.total(), sep="=")
"""
NAMES = (
    "scan sum_tiles",
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
from types import SimpleNamespace
from numba.cuda import codegen, dispatcher, types
from numba.cuda.cudadrv import devices
from readwarp.device.cuda_jit import cuda_kernel

card = SimpleNamespace(compute_capability=(9, 0), id=0)
dispatcher.get_current_device = lambda: card
devices.get_context = lambda *_: SimpleNamespace(device=card)
dispatcher._Kernel.bind = lambda kernel: kernel._codelibrary.get_cubin(cc=(9, 0))

def made(number):
    def store(out):
        out[0] = number
    store.__module__ = "readwarp.device.memory"
    return cuda_kernel(store).dispatcher

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
    compiled = kernel.compile((types.int64[::1],))
    is_right = f"{number};" in compiled._codelibrary.get_asm_str()
    print("kept" if kernel.stats.cache_hits.total() else "new", "right" if is_right else "wrong")
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

    first, second = tmp_path.glob("cache/**/*.card")
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())  # says what it is for
    second.write_bytes(content[:-1])
    assert closures(("", FIRST, SECOND)) == ["new right", "new right"]
    for path in (first, second):
        path.chmod(0o666)  # others may have written it
    assert closures(("", FIRST, SECOND)) == ["new right", "new right"]
