"""Smith-Waterman on one core: pairs of 150 x 230 bases, readwarp against parasail in the same run.

    python benchmarks/pairwise.py [--pairs N] [--save]

Prints a table of 10^9 cells per second of processor time (GCUPS; all cells of the 150 x 230 matrix are counted, best of
several rounds that alternate) and with --save adds its rows to benchmarks/results/pairwise.csv. "Kernel" is the vector
recurrence alone (`lanes.py`); "pairs" is `cpu.score_pairs` and `cpu.trace_pairs`: sorting, transposition, ends, CIGARs.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import parasail

from rates import Contest, best_rates, report, save
from readwarp.device.simd import lanes
from readwarp.pairwise import cpu
from readwarp.pairwise.groups import score_sorted
from readwarp.pairwise.lanes import score_group, trace_group
from readwarp.pairwise.pairs import Ends, Pairs
from readwarp.pairwise.scalar import LOCAL

QUERY, TARGET = 150, 230
COSTS = (1, 4, 6, 1, 0)
RESULTS = Path(__file__).parent / "results" / "pairwise.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=6400)
    parser.add_argument("--save", action="store_true", help="add rows to benchmarks/results/pairwise.csv")
    options = parser.parse_args()
    contests = {**kernels(), **whole(simulated(options.pairs)), **peer(simulated(400))}
    best = best_rates(contests)
    report(best)
    if options.save:
        save(best, RESULTS)


def simulated(number: int) -> Pairs:
    """Reads of 150 bases with 2 % substitutions, one in five with an indel, in windows of 230."""
    rng = np.random.default_rng(1)
    targets = rng.integers(0, 4, (number, TARGET)).astype(np.uint8)
    queries = targets[:, 40 : 40 + QUERY].copy()
    errors = rng.random(queries.shape) < 0.02
    queries[errors] = rng.integers(0, 4, errors.sum())
    for row in range(0, number, 5):
        place, size = rng.integers(10, QUERY - 20), rng.integers(1, 6)
        queries[row, place : QUERY - size] = queries[row, place + size :]
    lengths = np.full(number, QUERY), np.full(number, TARGET)
    starts = np.arange(number) * QUERY, np.arange(number) * TARGET
    return Pairs(queries.ravel(), starts[0], lengths[0], targets.ravel(), starts[1], lengths[1])


def kernels() -> dict[str, Contest]:
    contests: dict[str, Contest] = {}
    for dtype in (np.int8, np.int16):
        count, rng = lanes(dtype), np.random.default_rng(2)
        query = rng.integers(0, 4, QUERY * count).astype(dtype)
        target = rng.integers(0, 4, TARGET * count).astype(dtype)
        H, none = np.full(QUERY * count, np.iinfo(dtype).min, dtype), np.empty(0, dtype)
        space, found = H.copy(), np.empty(8 * count, dtype)
        directions = np.empty(QUERY * TARGET * max(8, count) // 2, np.uint8)
        remaining = np.zeros(count, dtype)

        def score(q=query, t=target, H=H, E=space, n=none, r=remaining, found=found):
            for _ in range(40):
                score_group(q, t, QUERY, TARGET, 0, H, E, r, COSTS, n, n, LOCAL, found)

        def trace(q=query, t=target, H=H, E=space, n=none, directions=directions):
            for _ in range(40):
                trace_group(q, t, QUERY, TARGET, QUERY, TARGET, H, E, COSTS, n, n, LOCAL, directions)

        bits, cells = 8 * np.dtype(dtype).itemsize, 40 * QUERY * TARGET * count
        contests[f"kernel: score and end, {bits} bits"] = score, cells
        contests[f"kernel: directions of all cells, {bits} bits"] = trace, cells
    return contests


def whole(pairs: Pairs) -> dict[str, Contest]:
    cells, order = len(pairs) * QUERY * TARGET, np.arange(len(pairs))
    like, ends = np.empty(lanes(np.int16), np.int16), Ends(*(np.zeros(len(pairs), np.int32) for _ in range(3)))

    def score_16_bits() -> None:
        score_sorted(pairs, order, COSTS, cpu.NO_MATRIX, LOCAL, like, *ends)

    def with_traceback() -> None:
        cpu.trace_pairs(pairs, COSTS, LOCAL, cpu.score_pairs(pairs, COSTS, LOCAL))

    return {
        "pairs: score and end, 8 bits": (lambda: cpu.score_pairs(pairs, COSTS, LOCAL), cells),
        "pairs: score and end, 16 bits": (score_16_bits, cells),
        "pairs: score, then traceback in the band": (with_traceback, cells),
    }


def peer(pairs: Pairs) -> dict[str, Contest]:
    letters = np.frombuffer(b"ACGT", np.uint8)
    queries = [bytes(row).decode() for row in letters[pairs.queries.reshape(-1, QUERY)]]
    targets = [bytes(row).decode() for row in letters[pairs.targets.reshape(-1, TARGET)]]
    matrix, cells = parasail.matrix_create("ACGT", COSTS[0], -COSTS[1]), len(queries) * QUERY * TARGET

    def all_of(align: Callable[..., object]) -> Callable[[], object]:
        return lambda: [align(q, t, 7, 1, matrix) for q, t in zip(queries, targets, strict=True)]

    return {
        "parasail sw_striped_8": (all_of(parasail.sw_striped_8), cells),
        "parasail sw_striped_16": (all_of(parasail.sw_striped_16), cells),
        "parasail sw_trace_striped_16": (all_of(parasail.sw_trace_striped_16), cells),
    }


if __name__ == "__main__":
    main()
