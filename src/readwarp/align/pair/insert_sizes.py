"""Insert-size models of one input."""

from typing import NamedTuple

import numpy as np

from readwarp.align.batches import Chains
from readwarp.align.insert_models import InsertModels, InsertSizes
from readwarp.align.places import contig_of, outer_distance
from readwarp.compiler.jit import kernel
from readwarp.config import PairParameters
from readwarp.errors import UsageError
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.ragged import replace

MIN_PAIRS = 25
MAX_INSERT = 10_000  # pairs further apart say nothing about the library
MAX_GIVEN = 1_000_000  # for --insert-size: each distance up to it has an entry in a table
DEFAULT = InsertSizes(mean=400.0, deviation=150.0, low=1, high=1000, pairs=0, other_orientations=0)
FIRST = int(Segment.FIRST)


class InsertEvidence(NamedTuple):
    """Confident pairs of some reads, in read order."""

    distances: np.ndarray  # int32 [confident pairs], outer distances; 0: orientation other than forward-reverse
    groups: np.ndarray  # int32 [confident pairs], read groups; -1: none


@kernel
def is_confident(r, length, chains):
    """Return whether the best chain of read r covers half of it and scores more than 5/4 of the next one."""
    first, last = chains.chain_offsets[r], chains.chain_offsets[r + 1]
    if first == last or 2 * chains.score[first] < length:
        return False
    return last - first == 1 or 10 * chains.score[first + 1] < 8 * chains.score[first]


@kernel
def measure_pairs(reads, chains, contig_offsets, out):
    """Write first reads and outer distances (0: not forward-reverse) of confident pairs to `out`; return the number."""
    found = 0
    read_offsets, start = reads.read_offsets, chains.reference_start
    for r in range(reads.segment.size - 1):
        if reads.segment[r] != FIRST:
            continue
        a, b = chains.chain_offsets[r], chains.chain_offsets[r + 1]
        length_a, length_b = read_offsets[r + 1] - read_offsets[r], read_offsets[r + 2] - read_offsets[r + 1]
        if not is_confident(r, length_a, chains) or not is_confident(r + 1, length_b, chains):
            continue
        if contig_of(contig_offsets, start[a]) != contig_of(contig_offsets, start[b]):
            continue
        v_a, v_b = start[a] - chains.query_start[a], start[b] - chains.query_start[b]
        if abs(v_a - v_b) > MAX_INSERT:
            continue
        distance = outer_distance(chains.strand[a], v_a, length_a, v_b, length_b)
        out[found, 0], out[found, 1] = r, distance if chains.strand[a] != chains.strand[b] and distance > 0 else 0
        found += 1
    return found


def collect_evidence(reads: ReadBatch, chains: Chains, contig_offsets: np.ndarray) -> InsertEvidence:
    """Collect the confident pairs of a batch."""
    out = np.empty((len(reads) // 2 + 1, 2), np.int32)
    found = out[: measure_pairs(reads, chains, contig_offsets, out)]
    return InsertEvidence(found[:, 1].copy(), reads.read_group[found[:, 0]])


def fit_groups(evidence: list[InsertEvidence], parameters: PairParameters) -> InsertModels:
    """Fit a model to all these pairs and, if they are of several read groups, one to each that has MIN_PAIRS."""
    groups = np.unique(np.concatenate([np.empty(0, np.int32), *(e.groups for e in evidence)])).tolist()
    own = dict[int, InsertSizes]()
    for group in groups if len(groups) > 1 else ():
        model = fit([InsertEvidence(e.distances[e.groups == group], e.groups) for e in evidence], parameters)
        if group >= 0 and model.pairs:
            own[group] = model
    return InsertModels(fit(evidence, parameters), own)


def fit(evidence: list[InsertEvidence], parameters: PairParameters) -> InsertSizes:
    """Fit the model of these pairs; the default if they are fewer than MIN_PAIRS."""
    distances = np.sort(np.concatenate([np.empty(0, np.int64), *(e.distances for e in evidence)]))
    others, distances = int((distances == 0).sum()), distances[distances > 0]
    if distances.size < MIN_PAIRS:
        return replace(DEFAULT, other_orientations=others)
    q1, q3 = (int(distances[int(share * distances.size)]) for share in (0.25, 0.75))
    spread = q3 - q1
    inner = distances[(distances >= q1 - 2 * spread) & (distances <= q3 + 2 * spread)]
    n = inner.size
    total, squares = int(inner.sum()), int((inner * inner).sum())  # integers: same on every machine
    mean = total / n
    deviation = max(1.0, ((n * squares - total * total) / (n * n)) ** 0.5)
    low = min(q1 - 3 * spread, int(mean - parameters.deviations * deviation))
    high = max(q3 + 3 * spread, int(mean + parameters.deviations * deviation + 1))
    return InsertSizes(mean, deviation, max(1, low), high, distances.size, others)


def given(mean: float, deviation: float | None = None, high: int | None = None, low: int | None = None) -> InsertSizes:
    """Return the model of option -I (as in bwa: mean[,deviation[,high[,low]]]); limits default to 4 deviations."""
    deviation = max(1.0, 0.1 * mean) if deviation is None else deviation
    if not all(abs(value) <= MAX_GIVEN for value in (mean, deviation, high or 0, low or 0)):
        raise UsageError(f"--insert-size: {MAX_GIVEN:,} bases at most")
    high = int(mean + 4 * deviation + 0.5) if high is None else high
    high, low = min(high, MAX_GIVEN), max(1, int(mean - 4 * deviation + 0.5)) if low is None else low
    if mean <= 0 or deviation <= 0 or not 0 < low <= high:
        raise UsageError("--insert-size needs mean > 0, deviation > 0 and 0 < low <= high")
    return InsertSizes(float(mean), float(deviation), low, high, 0, 0)
