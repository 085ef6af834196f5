"""CPU seconds of the threads of two readwarp commands: thread_times.py OUT.json CORES ROUNDS PART ... --- WHOLE ...

The first command runs once, so that what is imported and loaded once is not measured, then both run ROUNDS times, all in
this process. Writes {"part": [lanes, ...], "whole": [lanes, ...]} with the lanes of each round:

    {"threads": {name: seconds, ...}, "process": seconds, "workers": seconds, "programs": seconds, "waited": seconds}

"waited" is the time for which threads could have run, but others were on the cores (schedstat of proc(5)).
Threads of a pool have numbers at their ends. Workers are worker processes, and programs all others. The commands are
planned as if they had CORES threads (larger batches, processes instead of threads); 0: as many as they have. For
profilers, `part` and `whole` are on the stack of the main thread, and at the beginning of the other threads' names.
"""

import json
import os
import resource
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from readwarp.cli import main
from readwarp.stream import plan, processes

lock = threading.Lock()
times: Counter[str] = Counter()  # of what runs now
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
        with lock:
            times[thread.name.partition(" ")[2]] += time.thread_time()
            times["waited"] += waited()


def waited() -> float:
    """Seconds of this thread."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed_wait(worker: processes.Worker) -> int:
    """One after another, when all is done."""
    before = children()
    code = wait(worker)
    times["workers"] += children() - before
    return code


def serve_behind(*given: Any) -> None:
    """A worker leaves the cores to this process, so that nobody waits for one while it holds Python's lock."""
    os.nice(19)
    serve(*given)


def plan_for(cores: int) -> None:
    usual_batch, plan.FEW_WORKERS = plan.usual_batch, 0
    plan.usual_batch = lambda _: usual_batch(cores)


def measure(run: Any, arguments: list[str]) -> dict[str, Any]:
    global phase
    phase = run.__name__
    times.clear()
    started = time.thread_time(), time.process_time(), children(), waited()
    if code := run(arguments):
        sys.exit(code)
    times["main"] = time.thread_time() - started[0]
    process, others, workers = time.process_time() - started[1], children() - started[2], times.pop("workers", 0.0)
    lost = times.pop("waited", 0.0) + waited() - started[3]
    threads = dict(times)
    return {"threads": threads, "process": process, "workers": workers, "programs": others - workers, "waited": lost}


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
