"""The table of the kernels that each command needs, which `python tests/device/test_manifest.py` makes anew."""

import sys
import tempfile
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helpers.kernel_scenarios import call_all
from readwarp.device import kernel_cache, manifest
from readwarp.device.jit import Kernel
from readwarp.device.manifest import Entry

BYTES_PER_SECOND = 50_000  # of machine code that are compiled
REAL = Path(__file__).resolve().parents[2] / "test_data" / "na12878_chr21"


@pytest.mark.parametrize("entry", manifest.entries(), ids=lambda entry: entry.kernel)
def test_kernels_exist(entry):
    module, _, name = entry.kernel.partition(":")
    assert isinstance(attrgetter(name)(import_module(module)), Kernel)


@pytest.mark.slow
def test_commands_call_what_the_table_says(tmp_path):
    """With all of their options, nothing else, and all of it. After a change: python tests/device/test_manifest.py"""
    called, _ = call_all(tmp_path, REAL)
    known = {(entry.kernel, entry.signature): entry.commands for entry in manifest.entries()}
    assert called.keys() - known.keys() == set()
    assert known.keys() - called.keys() == set()
    assert {key: names for key, names in called.items() if names != known[key]} == {}


def record() -> None:
    """Write the table. Seconds of kernels that came from the cache stay, or are guessed from the size of the code."""
    earlier = {(entry.kernel, entry.signature): entry.seconds for entry in manifest.entries()}
    with tempfile.TemporaryDirectory() as folder:
        called, seconds = call_all(Path(folder), REAL)
    guessed = {key: len(kernel_cache.find(*key).object_code) / BYTES_PER_SECOND for key in called}
    spent = guessed | earlier | seconds
    manifest.write([Entry(*key, spent[key], frozenset(names)) for key, names in called.items()])


if __name__ == "__main__":
    record()
