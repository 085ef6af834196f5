"""CPU seconds of the threads of two readwarp commands: thread_times.py OUT.json CORES ROUNDS PART ... --- WHOLE ...

The first command runs once, so that what is imported and loaded once is not measured, then both run ROUNDS times, all in
this process. Writes {"part": [lanes, ...], "whole": [lanes, ...]} with the lanes of each round:

    {"threads": {name: [seconds, waited], ...}, "process": seconds, "workers": seconds, "programs": seconds}

`waited` are seconds for which the thread could have run, but others were on the cores (schedstat of proc(5)).
Threads of a pool have numbers at their ends. Workers are worker processes, and programs all others. The commands are
planned as if they had CORES threads (larger batches, processes instead of threads, more compressed ahead); 0: as many as
they have. For profilers, `part` and `whole` are on the stack of the main thread, and at the beginning of the other threads' names.
"""

import json
import os
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any

from readwarp.cli import main
from readwarp.formats.common import bgzf
from readwarp.formats.reads import stream
from readwarp.stream import plan, processes

Spent = tuple[float, float]  # seconds at work, and for which the thread waited for a core

lock = threading.Lock()
threads: dict[str, Spent] = {}  # of what runs now
workers = 0.0  # seconds, likewise
phase = "start"
start_thread, run_thread = threading.Thread.start, threading.Thread.run
wait, serve = processes.Worker.wait, processes.serve


def start_named(thread: threading.Thread) -> None:
    thread.name = f"{phase} {thread.name}"
    start_thread(thread)


def timed_run(thread: threading.Thread) -> None:
    try:
        run_thread(thread)
    finally:
        add(thread.name.partition(" ")[2], (0.0, 0.0))


def add(name: str, since: Spent) -> None:
    """What this thread has spent since then; threads may have the name of one that has ended."""
    with lock:
        had, now = threads.get(name, (0.0, 0.0)), spent()
        threads[name] = had[0] + now[0] - since[0], had[1] + now[1] - since[1]


def spent() -> Spent:
    """By this thread."""
    return time.thread_time(), int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed_wait(worker: processes.Worker) -> int:
    """One after another, when all is done."""
    global workers
    before = children()
    code = wait(worker)
    workers += children() - before
    return code


def serve_behind(*given: Any) -> None:
    """A worker leaves the cores to this process, so that nobody waits for one while it holds Python's lock."""
    os.nice(19)
    serve(*given)


def plan_for(cores: int) -> None:
    batch, helpers, ahead = plan.usual_batch(cores), stream.helpers_of(cores), bgzf.groups_ahead(cores)
    plan.usual_batch, plan.FEW_WORKERS, plan.FEW_THREADS = lambda *_: batch, 0, 0
    stream.helpers_of, bgzf.groups_ahead = lambda _: helpers, lambda _: ahead


def measure(run: Any, arguments: list[str]) -> dict[str, Any]:
    global phase, workers
    phase, workers = run.__name__, 0.0
    threads.clear()
    started, process, others = spent(), time.process_time(), children()
    if code := run(arguments):
        sys.exit(code)
    add("main", started)
    process, others = time.process_time() - process, children() - others
    return {"threads": dict(threads), "process": process, "workers": workers, "programs": others - workers}


def part(arguments: list[str]) -> int:
    return main(arguments)


def whole(arguments: list[str]) -> int:
    return main(arguments)


out, cores, rounds, *commands = sys.argv[1:]
end = commands.index("---")
if int(cores):
    plan_for(int(cores))
main(commands[:end])
threading.Thread.start, threading.Thread.run = start_named, timed_run  # type: ignore[method-assign]
processes.Worker.wait, processes.serve = timed_wait, serve_behind  # type: ignore[method-assign]
found: dict[str, list[dict[str, Any]]] = {"part": [], "whole": []}
for _ in range(int(rounds)):
    found["part"].append(measure(part, commands[:end]))
    found["whole"].append(measure(whole, commands[end + 1 :]))
Path(out).write_text(json.dumps(found))
