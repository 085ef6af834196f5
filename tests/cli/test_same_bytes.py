"""Promise 1 of docs/design.md: output does not depend on threads, batches, memory, nor on how the reference is cut.

The commands of `helpers.windowed_cases` run in a process in which windows, runs and blocks are small
(`helpers.many_windows`). Each is run in WAYS and has to write what it writes on one thread. Which options
there are, the parsers say: one that no case has is named in UNTOUCHED, with the reason.
"""

import argparse
import gzip
import json
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pysam
import pytest
from pysam import bcftools

from helpers.fuzzing import Server
from helpers.windowed_cases import CASES
from helpers.windowed_samples import PLACES, make_samples
from readwarp.cli import COMMANDS, build_parser

ONE = "-t 1"
ALIGN_WAYS = ("-t 2 --batch-bases 7001", "-t 4", "-t 9 --memory 500M", "-t 33 --batch-bases 3000", "-t 1 --memory 400M")
CALL_WAYS = (
    "-t 2",
    "-t 4 --batch-bases 70001",
    "-t 9 --memory 1G",
    "-t 33",
    "-t 1 --memory 132M",
    "-t 1 --batch-bases 20000",
)
THREADS = ("-t 2", "-t 4", "-t 9", "-t 33")
HOST_WAYS = (*THREADS, "-t 4 --memory 500M", "-t 1 --memory 400M")
WAYS = {
    "align": ALIGN_WAYS,
    "run": tuple(way for way in ALIGN_WAYS if "33" not in way),
    "call": CALL_WAYS,
    "genotype": ("-t 2", "-t 4 --memory 200M", "-t 9", "-t 33 --memory 1G", "-t 1 --memory 180M"),
    "consensus": (*THREADS, "-t 2 --memory 200M"),
    **dict.fromkeys(("index", "merge"), HOST_WAYS),
    **dict.fromkeys(("panel", "pairwise", "report"), THREADS),
}


HAS_PG = ("align", "run", "merge", "consensus")
ON_DEVICE = ("align", "run", "call", "pairwise")
TOLD = ("--metrics", "--log", "--quiet", "--verbose", "--no-progress")
UNTOUCHED = {  # options that no case has
    **dict.fromkeys(("--help", "--help-all"), "end the command"),
    "--force": "says only whether an output is replaced",
    "--file-list": "names inputs that could as well be arguments",
    **dict.fromkeys(TOLD, "about messages; metrics are compared wherever there are any"),
    "--device": "tests/gpu",
    "--vram": "tests/gpu",
    "--bgzf": "tests/gpu",
}


def options_of(command: str) -> dict[str, tuple[str, ...]]:
    """The longest name of each option -> all of its names."""
    parser = build_parser([command])
    choices = next(a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    listed = [tuple(action.option_strings) for action in choices[command]._actions if action.option_strings]
    return {max(names, key=len): names for names in listed}


def words_of(command: str) -> set[str]:
    """All words of the cases of a command, with the options that each way and each run adds."""
    own = [case.arguments.split() for case in CASES.values() if case.command == command]
    given = {word for words in own for word in words}
    given |= {word for way in WAYS[command] for word in way.split()} if own else set()
    return given | ({"--no-pg"} if own and command in HAS_PG else set())


def test_every_option_is_in_a_case():
    """`run` hands on what align and call have, all alike, so that their cases do for it."""
    writing = [name for name in COMMANDS if name not in ("doctor", "compile", "completion")]
    assert set(WAYS) == set(writing)
    handed_on = {name for command in ("align", "call") for name in options_of(command)}
    missing, used = [], set[str]()
    for command in writing:
        words = words_of(command)
        for name, names in options_of(command).items():
            if words.intersection(names) or (command == "run" and name in handed_on):
                continue
            used.add(name)
            missing += [f"{command} {name}"] if name not in UNTOUCHED else []
    assert missing == []
    assert used == set(UNTOUCHED)


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("windows")
    server = Server(folder, "helpers.many_windows")
    make_samples(folder, server.warm_up)
    yield server
    server.close()


@cache
def run(server: Server, name: str, way: str) -> dict[str, object]:
    """The outputs of a case, by name."""
    out = Path(mkdtemp(dir=server.folder))
    words = [*CASES[name].words(out), *way.split()]
    words += ["--no-pg"] * (words[0] in HAS_PG) + ["--device", "cpu"] * (words[0] in ON_DEVICE)
    server.warm_up(server.folder, [*words, "-q"])
    found = {}
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        content = content_of(path)
        if content is not None:
            found[str(path.relative_to(out))] = content
    rmtree(out)
    return found


def content_of(path: Path) -> object:
    """What has to be the same: of texts all but what names the command, of metrics the counts. None: nothing."""
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if kind == "json":
        counts = json.loads(path.read_text()).get("counts", {})
        return {key: value for key, value in counts.items() if "windows" not in key and "batches" not in key}
    if kind in ("tbi", "csi", "bai", "crai"):  # of bytes that are compared, or not
        return None
    if kind in ("vcf", "bcf"):
        if kind == "bcf":
            text = bcftools.view("--no-version", str(path))
        else:
            text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()
        return [line for line in text.splitlines() if not line.startswith("##readwarpCommand")]
    if kind in ("bam", "cram"):
        with pysam.AlignmentFile(str(path), check_sq=False) as file:
            if "PG" in file.header:
                return {key: value for key, value in file.header.items() if key != "PG"}, [str(r) for r in file]
    return [line for line in path.read_bytes().splitlines() if kind != "sam" or not line.startswith(b"@PG")]


def check(server: Server, name: str, ways: Iterable[str]) -> None:
    whole = run(server, name, ONE)
    assert any(len(content) > 10 for content in whole.values())
    for way in ways:
        found = run(server, name, way)
        assert found.keys() == whole.keys()
        for file, content in found.items():
            assert content == whole[file], f"{name} {way}: {file}"


@pytest.mark.xdist_group("same_bytes")
@pytest.mark.parametrize("number", range(len(CASES)), ids=list(CASES))
def test_another_way(number, server):
    """Another one for each case."""
    name = list(CASES)[number]
    ways = WAYS[CASES[name].command]
    check(server, name, [ways[number % len(ways)]])


@pytest.mark.slow
@pytest.mark.xdist_group("same_bytes")
@pytest.mark.parametrize("name", CASES)
def test_all_ways(name, server):
    check(server, name, WAYS[CASES[name].command])


BORDERS = {"one": (1, 701, 702, 2503, 4100, 6001), "two": (1, 1300, 3001), "repeats": (1, 555, 1100)}


def parts_of(names: Iterable[str]) -> Iterator[str]:
    """Regions that make up the reference, in order."""
    for name in names:
        bounds = sorted({*BORDERS.get(name, (1,)), len(PLACES[name]) + 1})
        for first, stop in pairwise(bounds):
            yield f"{name}:{first}-{stop - 1}"


@pytest.mark.xdist_group("same_bytes")
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.is_cut])
def test_regions_make_up_the_whole(name, server):
    """By -r; what lies next to a border is called as it is within."""

    def records_in(way: str) -> list[str]:
        outputs = run(server, name, way)
        (lines,) = (content for file, content in outputs.items() if file != "metrics.json")
        return [line for line in lines if line[0] != "#"]

    parts = [line for part in parts_of(PLACES) for line in records_in(f"{ONE} -r {part}")]
    assert parts == records_in(ONE)
