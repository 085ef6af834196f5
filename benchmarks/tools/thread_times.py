"""Run a readwarp command and write the CPU seconds of its threads: thread_times.py OUT.json COMMAND [ARGUMENT ...]

{"threads": {name: seconds, ...}, "process": seconds, "children": seconds}; those of a pool have numbers at their ends.
"""

import json
import resource
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from readwarp.cli import main

times: Counter[str] = Counter()
lock = threading.Lock()
run_thread = threading.Thread.run


def timed_run(thread: threading.Thread) -> None:
    try:
        run_thread(thread)
    finally:
        with lock:
            times[thread.name] += time.thread_time()


threading.Thread.run = timed_run  # type: ignore[method-assign]
code = 0
try:
    code = main(sys.argv[2:]) or 0
except SystemExit as end:
    code = end.code if isinstance(end.code, int) else 1
finally:
    times["main"] = time.thread_time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = {"process": time.process_time(), "children": children.ru_utime + children.ru_stime}
    with suppress(OSError):
        Path(sys.argv[1]).write_text(json.dumps({"threads": times, **used}))
sys.exit(code)
