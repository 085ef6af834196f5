"""The table of the kernels that each command needs, which `python tests/compiler/test_manifest.py` makes anew."""

import inspect
import re
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helpers.kernel_scenarios import COMMANDS, QUICK, Scene, names_of, run_all, run_commands
from readwarp import cli
from readwarp.compiler import manifest
from readwarp.compiler.jit import Kernel, kernel_of
from readwarp.compiler.manifest import ManifestEntry
from readwarp.compiler.signature import class_of

REAL = Path(__file__).resolve().parents[2] / "test_data" / "na12878_chr21"
WITHOUT_KERNELS = """
    --help --help-all --verbose --quiet --no-progress --log --metrics --output --force --no-pg --title --statistics
    --threads --memory --vram --device --batch-bases --file-list --read-group --read-group-id --sample --library
    --phred33 --input-reference
"""  # options that say where, how much, or what is told of it
DEFAULTS = {"standard", "card", "none", "never", "local", "tsv"}  # where an option has a choice
UNTOLD = "compile", "completion", "doctor"  # commands that call kernels for themselves, or none


@pytest.mark.parametrize("entry", manifest.entries(), ids=lambda entry: entry.kernel)
def test_kernels_are_as_recorded(entry):
    """They exist, and have the parameters, and their classes the fields, that the table says."""
    kernel = kernel_of(entry.kernel)
    assert isinstance(kernel, Kernel)
    parts, classes = split(entry.signature)
    assert len(parts) == len(inspect.signature(kernel.py_func).parameters)
    for name, fields in classes:
        assert fields == len(class_of(name)._fields), name
    assert not re.search(r"\][FA]", entry.signature), "the signature depends on the shape: a single row is C-contiguous"


def split(signature: str) -> tuple[list[str], list[tuple[str, int]]]:
    """The arguments, and the named tuples among them and their fields: names, numbers of fields."""
    parts, classes, depth = [""], [], 0
    for letter in signature:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    parts = [part for part in parts if part]
    for part in parts:
        name, opened, fields = part.partition("(")
        if opened:
            inner, deeper = split(fields[:-1])
            classes += [(name, len(inner)), *deeper] if name else deeper
    return parts, classes


@pytest.mark.parametrize("command", [command for command in cli.COMMANDS if command not in UNTOLD])
def test_scenarios_have_all_options(command):
    """An option that is new belongs in a scenario of tests/helpers/kernel_scenarios.py, whose kernels are recorded."""
    words, every = words_of([text for text in COMMANDS if text.startswith(command)]), words_of(COMMANDS)
    parser = cli.build_parser([command])._subparsers._group_actions[0].choices[command]
    options = [action for action in parser._actions if action.option_strings]
    known = words | set(WITHOUT_KERNELS.split())
    assert [option.dest for option in options if known.isdisjoint(option.option_strings)] == []
    assert {choice for option in options for choice in option.choices or ()} <= every | DEFAULTS


def words_of(texts: Iterable[str]) -> set[str]:
    words = {word for text in texts for word in text.split()}
    return words | {f"-{letter}" for word in words if re.fullmatch("-[A-Za-z0-9]{2,}", word) for letter in word[1:]}


def test_jobs_prepare_what_they_call(tmp_path):
    """Some of the scenarios, on little data."""
    assert unforeseen(run_commands(tmp_path, REAL, QUICK)) == {}


@pytest.mark.slow
def test_commands_call_what_the_table_says(tmp_path):
    """With all of their options, nothing else, and all of it. After a change: python tests/compiler/test_manifest.py"""
    scenes = run_all(tmp_path, REAL)
    assert unforeseen(scenes) == {}
    assert names_of(scenes) == {(entry.kernel, entry.signature): entry.commands for entry in manifest.entries()}


def unforeseen(scenes: list[Scene]) -> dict[str, list[str]]:
    """The kernels that are compiled after the beginning, by scenario."""
    rows = {(entry.kernel, entry.signature): entry.commands for entry in manifest.entries()}
    late: dict[str, list[str]] = {}
    for scene in scenes:
        if names := [key[0] for key in scene.called if not rows.get(key, set()) & scene.prepared]:
            late[scene.text] = names
    return late


def record() -> None:
    """Write the table. Seconds are those of compiling a kernel here, alone; those of a row that is kept stay."""
    with tempfile.TemporaryDirectory() as folder:
        called = names_of(run_all(Path(folder), REAL))
    known = {(entry.kernel, entry.signature): entry.seconds for entry in manifest.entries()}
    manifest.write(
        [
            ManifestEntry(*key, known.get(key) or seconds_of(*key), frozenset(names))
            for key, names in sorted(called.items())
        ]
    )


def seconds_of(name: str, signature: str) -> float:
    begin = time.process_time()
    kernel_of(name).make(signature)
    return time.process_time() - begin


if __name__ == "__main__":
    record()
