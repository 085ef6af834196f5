"""Smith-Waterman on one core: pairs of 150 x 230 bases, readwarp and parasail in the same run.

    python benchmarks/pairwise.py [--pairs N] [--save]

Prints a table of 10^9 cells per second of processor time (GCUPS; all cells of the 150 x 230 matrix are counted, best of
several rounds that alternate) and with --save adds its rows to benchmarks/results/pairwise.csv. "Kernel" is the vector
recurrence alone (`lanes.py`); "pairs" is `cpu.score_pairs` and `cpu.trace_pairs`: sorting, transposition, ends, CIGARs.
"""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import parasail

from rates import Contest, best_rates, report, save
from readwarp.compiler.jit import kernel
from readwarp.compiler.simd import empty_vectors, lanes
from readwarp.pairwise import cpu
from readwarp.pairwise.groups import score_sorted
from readwarp.pairwise.lanes import VECTORS, Group, score_group, set_top_row, trace_group
from readwarp.pairwise.pairs import Costs, Ends, Pairs, Scheme
from readwarp.pairwise.scalar import LOCAL

QUERY, TARGET = 150, 230
SCHEME = Scheme(Costs(1, 4, 6, 1), LOCAL)
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
        query, target = (rng.integers(0, 4, length * max(8, count)).astype(np.int8) for length in (QUERY, TARGET))
        H, E = (empty_vectors(QUERY * count, np.dtype(dtype)) for _ in range(2))
        group = Group(QUERY, TARGET, query, target, H, E, np.empty(0, dtype), np.empty(0, dtype))
        directions, found = np.empty(QUERY * TARGET * max(8, count) // 2, np.uint8), np.empty(VECTORS * count, dtype)

        bits, cells = 8 * np.dtype(dtype).itemsize, 40 * QUERY * TARGET * count
        contests[f"kernel: score and end, {bits} bits"] = partial(score_often, group, SCHEME, found), cells
        contests[f"kernel: directions of all cells, {bits} bits"] = (
            partial(trace_often, group, SCHEME, directions),
            cells,
        )
    return contests


@kernel
def score_often(group, scheme, found):
    """Score 40 times, so that the cost of a call from Python does not count."""
    for _ in range(40):
        set_top_row(group, scheme)
        score_group(group, 0, scheme, found)


@kernel
def trace_often(group, scheme, directions):
    for _ in range(40):
        set_top_row(group, scheme)
        trace_group(group, QUERY, TARGET, scheme, directions)


def whole(pairs: Pairs) -> dict[str, Contest]:
    cells, order = len(pairs) * QUERY * TARGET, np.arange(len(pairs))
    ends = Ends(*(np.zeros(len(pairs), np.int32) for _ in range(3)))

    def score_16_bits() -> None:
        score_sorted(pairs, order, SCHEME, np.int16, ends)

    def with_traceback() -> None:
        cpu.trace_pairs(pairs, SCHEME, cpu.score_pairs(pairs, SCHEME))

    return {
        "pairs: score and end, 8 bits": (lambda: cpu.score_pairs(pairs, SCHEME), cells),
        "pairs: score and end, 16 bits": (score_16_bits, cells),
        "pairs: score, then traceback in the band": (with_traceback, cells),
    }


def peer(pairs: Pairs) -> dict[str, Contest]:
    letters = np.frombuffer(b"ACGT", np.uint8)
    queries = [bytes(row).decode() for row in letters[pairs.queries.reshape(-1, QUERY)]]
    targets = [bytes(row).decode() for row in letters[pairs.targets.reshape(-1, TARGET)]]
    matrix = parasail.matrix_create("ACGT", SCHEME.costs.match, -SCHEME.costs.mismatch)
    cells = len(queries) * QUERY * TARGET

    def all_of(align: Callable[..., object]) -> Callable[[], object]:
        return lambda: [align(q, t, 7, 1, matrix) for q, t in zip(queries, targets, strict=True)]

    return {
        "parasail sw_striped_8": (all_of(parasail.sw_striped_8), cells),
        "parasail sw_striped_16": (all_of(parasail.sw_striped_16), cells),
        "parasail sw_trace_striped_16": (all_of(parasail.sw_trace_striped_16), cells),
    }


if __name__ == "__main__":
    main()
