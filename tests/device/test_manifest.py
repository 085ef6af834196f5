"""The table of the kernels that each command needs, which `python tests/device/test_manifest.py` makes anew."""

import sys
import tempfile
import time
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helpers.kernel_scenarios import call_all
from readwarp.device import manifest
from readwarp.device.jit import Kernel
from readwarp.device.manifest import Entry

REAL = Path(__file__).resolve().parents[2] / "test_data" / "na12878_chr21"


@pytest.mark.parametrize("entry", manifest.entries(), ids=lambda entry: entry.kernel)
def test_kernels_exist(entry):
    module, _, name = entry.kernel.partition(":")
    assert isinstance(attrgetter(name)(import_module(module)), Kernel)


@pytest.mark.slow
def test_commands_call_what_the_table_says(tmp_path):
    """With all of their options, nothing else, and all of it. After a change: python tests/device/test_manifest.py"""
    called = call_all(tmp_path, REAL)
    known = {(entry.kernel, entry.signature): entry.commands for entry in manifest.entries()}
    assert called.keys() - known.keys() == set()
    assert known.keys() - called.keys() == set()
    assert {key: names for key, names in called.items() if names != known[key]} == {}


def record() -> None:
    """Write the table. Seconds are those of compiling each kernel here, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        called = call_all(Path(folder), REAL)
    manifest.write([Entry(*key, seconds_of(*key), frozenset(names)) for key, names in sorted(called.items())])


def seconds_of(name: str, signature: str) -> float:
    module, _, path = name.partition(":")
    begin = time.process_time()
    attrgetter(path)(import_module(module)).make(signature)
    return time.process_time() - begin


if __name__ == "__main__":
    record()
