"""A command starts fast: it loads what its work needs, and no more. benchmarks/start.py measures the time."""

import json
import subprocess
import sys

import pytest

from helpers.cards import HAS_GPU, without_cards

LOADED = """
import json, sys
from readwarp.cli import main
code = main(sys.argv[1:])
print(json.dumps(sorted(sys.modules)))
sys.exit(code)
"""
# What other commands, reports, terminals and cards need
UNWANTED = {
    "Bio",
    "asyncio",
    "dnaio",
    "jinja2",
    "matplotlib",
    "multiprocessing",
    "numba.cuda",
    "rich",
    "shtab",
    "tomllib",
}
MOST = 900  # modules, most of them NumPy's and those of Python


def modules_of(*arguments: object) -> set[str]:
    """The modules that a process has loaded at the end of a command, on a machine without a card."""
    command = [sys.executable, "-c", LOADED, *map(str, arguments)]
    done = subprocess.run(command, env=without_cards(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def alignments(reference, mates, tmp_path_factory):
    """A sorted BAM file; its modules are those of `align`."""
    out = tmp_path_factory.mktemp("start") / "out.bam"
    return out, modules_of("align", reference, *mates, "-o", out, "--sort", "coordinate", "--write-index", "-q")


@pytest.mark.skipif(HAS_GPU, reason="here is a card")
@pytest.mark.parametrize("command", ["align", "call"])
def test_a_command_loads_no_more_than_it_needs(reference, alignments, tmp_path, command):
    made, loaded = alignments
    if command == "call":
        loaded = modules_of("call", reference, made, "-o", tmp_path / "out.vcf.gz", "-q")
    found = {name for name in loaded if name in UNWANTED or name.split(".")[0] in UNWANTED}
    assert not found and len(loaded) <= MOST, (sorted(found), len(loaded))


def test_a_process_for_samtools_loads_only_pysam():
    """`run` with a report needs eight of them."""
    code = "import sys, readwarp.formats.common.tool, pysam.samtools; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    ours = {name for name in loaded if name.startswith("readwarp.")}
    assert ours <= {"readwarp.formats", "readwarp.formats.common", "readwarp.formats.common.tool", "readwarp.version"}
    assert "numpy" not in loaded
