"""Mutated files given to commands: how a case is made, run in a process of its own, and judged."""

import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from helpers.fuzz_server import STDERR, STDOUT
from helpers.processes import environment_with_tests

LIMIT = 30.0  # seconds of a case; they take hundredths
MEMORY = 2 << 30  # bytes of a case's peak
REFUSED = (2, 3)  # exit codes of bad input
CLAIM = re.compile(r"readwarp-[0-9a-f-]{36}\.\d+\.lock")  # of a card: it stays, and its holder is who has locked it
MOST = 10  # faults until a campaign ends
SAME = "helpers.fuzz_checks:same_contents"
UNFIT = ("Traceback", "internal error", "[Errno", "[E::", "[W::", "Error:", "Fatal Python error")


class Mutator(random.Random):
    """Chance, and mutations of bytes that need no knowledge of their format."""

    def bytes(self, data: bytes) -> bytes:
        """One to three bytes changed, lost, doubled or moved; or the end cut off."""
        out = bytearray(data)
        for _ in range(self.choice((1, 1, 1, 2, 3))):
            self.choice((self._flip, self._flip, self._set, self._drop, self._double, self._cut, self._number))(out)
        return bytes(out)

    def _flip(self, data: bytearray) -> None:
        if data:
            data[self.randrange(len(data))] ^= 1 << self.randrange(8)

    def _set(self, data: bytearray) -> None:
        if data:
            data[self.randrange(len(data))] = self.choice((0, 1, 9, 10, 13, 32, 34, 44, 58, 0x7F, 0x80, 0xFF))

    def _drop(self, data: bytearray) -> None:
        place = self.randrange(len(data) + 1)
        del data[place : place + self.choice((1, 1, 2, 4, 30, 1000))]

    def _double(self, data: bytearray) -> None:
        place = self.randrange(len(data) + 1)
        data[place:place] = data[place : place + self.choice((1, 1, 2, 4, 30, 1000))]

    def _cut(self, data: bytearray) -> None:
        del data[self.randrange(len(data) + 1) :]

    def _number(self, data: bytearray) -> None:
        """A number of two or four bytes at its limits."""
        if len(data) >= 4:
            place = self.randrange(len(data) - 3)
            data[place : place + 4] = self.integer().to_bytes(4, "little")

    def integer(self) -> int:
        """An unsigned number of 32 bits, most often one that somebody has not thought of."""
        near = self.choice((0, 1, 1 << 7, 1 << 8, 1 << 15, 1 << 16, 1 << 28, 1 << 29, 1 << 31, 1 << 32))
        return self.choice((near + self.randrange(-4, 5), self.getrandbits(32), self.randrange(1 << 10))) % (1 << 32)


@dataclass(frozen=True)
class Case:
    """A command and the files it is given."""

    what: str  # was done to the files, for the message
    files: Mapping[str, bytes | Path]  # by name; a path is a file to link to, with its time as it is
    arguments: Sequence[str]
    damaged: str | None = None  # the file that an error must name; None: any
    # "module:function" and its arguments, run in the folder after success; it fails by an exception
    checks: Sequence[tuple[str, Sequence[str]]] = ()
    allowed: Sequence[int] = (0, *REFUSED)
    stdin: str | None = None  # the file that is read from stdin


@dataclass(frozen=True)
class Outcome:
    code: int | None  # negative: a signal; None: it hung
    seconds: float
    memory: int  # bytes at the peak
    said: str  # on stderr
    left: frozenset[str] = field(default_factory=frozenset)  # files that are there afterwards and were not before


class Server:
    """A running `helpers.fuzz_server`, with a temporary folder of its own."""

    def __init__(self, folder: Path, module: str = "helpers.fuzz_server", **variables: str):
        self.folder, self._module = folder, module
        self.scratch = folder / "tmp"
        self.scratch.mkdir(parents=True)
        self._environment = environment_with_tests(TMPDIR=str(self.scratch), **variables)
        self._start()

    def _start(self) -> None:
        command = [sys.executable, "-m", self._module]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self._environment
        )

    def close(self) -> None:
        self._process.communicate(timeout=60)

    def warm_up(self, folder: Path, arguments: Sequence[object], modules: Sequence[str] = ()) -> None:
        """Run a command whose kernels later ones need, and import the modules that they need."""
        answer = self._ask(folder, arguments, warm=True, modules=modules)
        assert answer["code"] == 0, (folder / STDERR).read_text()

    def prepare(self, folder: Path, arguments: Sequence[object]) -> None:
        """Run a command in a process of its own, however long it takes: what it compiles is on disk."""
        assert self._ask(folder, arguments, limit=None)["code"] == 0, (folder / STDERR).read_text()

    def run(self, folder: Path, case: Case, limit: float = LIMIT) -> Outcome:
        before = _files(folder)
        answer = self._ask(folder, case.arguments, limit=limit, stdin=case.stdin)
        said = (folder / STDERR).read_text(errors="replace")
        mine = {name for name in _files(self.scratch) if not CLAIM.fullmatch(name)}
        left = {*(_files(folder) - before - {STDERR, STDOUT}), *(f"$TMPDIR/{name}" for name in mine)}
        for path in self.scratch.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return Outcome(answer["code"], answer["seconds"], answer["memory"], said, frozenset(left))

    def check(self, folder: Path, check: str, arguments: Sequence[object]) -> str | None:
        """What a check of outputs found; None if all is well."""
        answer = self._ask(folder, arguments, check=check)
        lines = (folder / STDERR).read_text(errors="replace").splitlines()
        return None if answer["code"] == 0 else f"exit {answer['code']}: {' / '.join(lines[-3:])}"

    def _ask(self, folder: Path, arguments: Sequence[object], **options: object) -> dict[str, Any]:
        job = {"folder": str(folder), "arguments": [str(a) for a in arguments]}
        job |= {"warm": False, "modules": (), "check": "", "limit": LIMIT, "stdin": None} | options
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the server of {job} died"
        return json.loads(line)


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def judge(case: Case, outcome: Outcome) -> list[str]:
    """What was handled badly, but for the contents of outputs."""
    if outcome.code is None:
        return ["hangs"]
    faults = []
    if outcome.memory > MEMORY:
        faults.append(f"takes {outcome.memory >> 20} MiB")
    if outcome.code not in case.allowed:
        faults.append(f"exit code {outcome.code}")
    lines = [line for line in outcome.said.splitlines() if line.strip()]
    errors = [line for line in lines if not line.startswith("readwarp: ") or "error:" in line]
    if any(word in outcome.said for word in UNFIT if word != "Error:") or len(errors) > (outcome.code != 0):
        faults.append("says what it should not")
    if outcome.code:
        last = lines[-1] if lines else ""
        if not last.startswith("readwarp: error: "):
            faults.append("no error message")
        elif case.damaged and case.damaged not in last:
            faults.append(f"the message does not name {case.damaged}")
        if outcome.left:
            faults.append(f"leaves {', '.join(sorted(outcome.left))}")
    elif strange := [name for name in outcome.left if "partial" in name or "lock" in name or "TMPDIR" in name]:
        faults.append(f"leaves {', '.join(strange)}")
    return faults


def try_case(server: Server, folder: Path, case: Case) -> list[str]:
    """Run a case in a new folder -> what was handled badly, with what was said."""
    return _try(server, folder, case)[1]


def try_on_both(server: Server, folder: Path, case: Case) -> list[str]:
    """Run a case on the CPU and beside a card -> what either handled badly, and in what the card's differs."""
    folder.mkdir()
    (cpu, faults), (card, others) = (
        _try(server, folder / side, replace(case, arguments=(*case.arguments, "--no-pg", "--device", side)))
        for side in ("cpu", "cuda")
    )
    faults += others
    if (cpu.code, cpu.said) != (card.code, card.said):
        faults += [
            f"on the CPU, exit {cpu.code}: {cpu.said.strip()}",
            f"on a card, exit {card.code}: {card.said.strip()}",
        ]
    elif cpu.code == 0:
        output = case.arguments[case.arguments.index("-o") + 1]
        problem = server.check(folder / "cuda", SAME, [output, folder / "cpu" / output])
        faults += [problem] if problem else []
    return faults


def _try(server: Server, folder: Path, case: Case) -> tuple[Outcome, list[str]]:
    folder.mkdir()
    for name, content in case.files.items():
        if isinstance(content, Path):
            (folder / name).hardlink_to(content)
        else:
            (folder / name).write_bytes(content)
    outcome = server.run(folder, case)
    faults = judge(case, outcome)
    if outcome.code == 0:
        found = ((check, server.check(folder, check, arguments)) for check, arguments in case.checks)
        faults += [f"{check}: {problem}" for check, problem in found if problem]
    return outcome, [*faults, outcome.said.strip()[-600:]] if faults else []


def campaign(
    config: pytest.Config,
    server: Server,
    folder: Path,
    name: str,
    make: Callable[[Mutator], Case],
    share: float = 1.0,
    attempt: Callable[[Server, Path, Case], list[str]] = try_case,
) -> None:
    """Cases of one kind: --fuzz-cases of them, times `share`. Fails with all that were handled badly, at most MOST."""
    seed, count, bad = config.option.fuzz_seed, max(1, round(config.option.fuzz_cases * share)), []
    for number in range(count):
        case = make(Mutator(f"{seed} {name} {number}"))
        own = folder / f"{name}-{number}"
        if faults := attempt(server, own, case):
            command = f"readwarp {' '.join(map(str, case.arguments))}"
            bad.append("\n    ".join([f"{own}: {case.what}: {command}", *faults]))
        else:
            shutil.rmtree(own)
        if len(bad) == MOST:
            break
    assert not bad, f"--fuzz-seed {seed}: {len(bad)} of {number + 1} cases handled badly\n" + "\n".join(bad)
