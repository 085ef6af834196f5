"""Runs commands of readwarp, each in a process forked from this one, in which everything is imported already.

    python -m helpers.fuzz_server

reads one job a line as JSON (see `Job` in `helpers.fuzzing`) and answers each with one line. First it does the jobs
marked `warm` in this process itself, so that later ones find the kernels loaded.
"""

import atexit
import contextlib
import faulthandler
import json
import os
import select
import signal
import sys
import time
import traceback
from importlib import import_module

from readwarp.cli import main
from readwarp.system import stopping

STDERR, STDOUT = ".stderr", ".stdout"


def serve() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        job = json.loads(line)
        answer = warm_up(job) if job["warm"] else do(job)
        answers.write(json.dumps(answer) + "\n")


def warm_up(job: dict) -> dict:
    os.chdir(job["folder"])
    for name in job["modules"]:
        import_module(name)
    with open(STDERR, "w") as out, contextlib.redirect_stderr(out), contextlib.redirect_stdout(out):
        code = main(job["arguments"])
    return {"code": code, "seconds": 0.0, "memory": 0}


def do(job: dict) -> dict:
    begin, child = time.monotonic(), os.fork()
    if child == 0:
        act(job)
    code, usage = wait(child, job["limit"])
    return {"code": code, "seconds": time.monotonic() - begin, "memory": usage.ru_maxrss << 10}


def wait(child: int, limit: float) -> tuple[int | None, object]:
    """Exit code (negative: the signal; None: it hung, and was killed with all its children) and use of resources."""
    ended = os.pidfd_open(child)
    hung = not select.select([ended], [], [], limit)[0]
    os.close(ended)
    if hung:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    return None if hung else os.waitstatus_to_exitcode(status), usage


def act(job: dict) -> None:
    """The child: run the command, or a check of its output."""
    os.setsid()
    os.chdir(job["folder"])
    for descriptor, name in ((1, STDOUT), (2, STDERR)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), descriptor)
    os.dup2(os.open(job["stdin"] or os.devnull, os.O_RDONLY), 0)
    faulthandler.enable()
    code = 1
    try:
        if job["check"]:
            module, _, name = job["check"].partition(":")
            getattr(import_module(module), name)(*job["arguments"])
            code = 0
        else:
            code = main(job["arguments"])
    except BaseException:
        traceback.print_exc()
    atexit._run_exitfuncs()
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.unraisablehook = stopping._send_again  # as in a command of its own
    serve()
