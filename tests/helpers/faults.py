"""Calls of the system that fail, in a child process: write, read, fsync and flock, and a clock that jumps.

The library of faults.c is preloaded, so what fails is the same in Python and in htslib (but not in stdio, which calls
its own). It needs neither root nor a disk.
"""

import os
import subprocess
import sys
from pathlib import Path

from emulated_card.build import compile_library

SOURCE = Path(__file__).with_name("faults.c")


def fault(call: str, error: int, path: object = "/", allowed: int = 0) -> dict[str, str]:
    """Variables of a process in which a call fails on files with `path` in theirs, after `allowed` bytes or calls.

    call: write, read, fsync, flock, or clock, where `allowed` is the seconds that the wall clock jumps by.
    """
    library = compile_library("faults", [SOURCE], ("-ldl",))
    named = {"FAULT_CALL": call, "FAULT_ERRNO": str(error), "FAULT_PATH": str(path), "FAULT_ALLOWED": str(allowed)}
    return {"LD_PRELOAD": str(library), **named}


def start(*arguments: object, environment: dict[str, str] | None = None, **options) -> "subprocess.Popen[bytes]":
    """readwarp in a process of its own, its stderr in a pipe."""
    command = [sys.executable, "-m", "readwarp", *map(str, arguments)]
    variables = {**os.environ, **(environment or {})}
    return subprocess.Popen(command, env=variables, **{"stderr": subprocess.PIPE, **options})


def finish(process: "subprocess.Popen[bytes]", seconds: float = 60) -> tuple[int, str]:
    """Exit code and what was said on stderr."""
    _, said = process.communicate(timeout=seconds)
    return process.returncode, (said or b"").decode()
