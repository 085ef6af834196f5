"""Runs commands as `helpers.fuzz_server` does, with limits so low that small data make many windows, runs and blocks.

    python -m helpers.many_windows

Which they are does not matter to output. Unlike a test's own process this one has one thread, so that it may fork.
"""

from helpers import fuzz_server
from readwarp.align import budget
from readwarp.call.windows import resources
from readwarp.cohort import reading
from readwarp.finish import sort
from readwarp.stream import parts
from readwarp.structural import job as structural

LIMITS = (
    (resources, {"WINDOW": 300, "WIDEST_WINDOW": 2500, "LEAST_WINDOW": 200}),
    (structural, {"WINDOW": 1500}),
    (reading, {"WINDOW": 1500, "STRIP": 100}),
    (budget, {"MIN_SORT": 1 << 16, "SORT_SHARE": 1 << 60}),
    (sort, {"MIN_PIECE": 1 << 16}),
    (parts, {"BLOCK": 16}),
)

if __name__ == "__main__":
    for module, limits in LIMITS:
        for name, value in limits.items():
            assert hasattr(module, name)
            setattr(module, name, value)
    fuzz_server.serve()
