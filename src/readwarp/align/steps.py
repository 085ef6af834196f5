"""The steps from a batch of reads to its alignment records, in their order."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from readwarp.align import pair, records
from readwarp.batches import Alignments, Candidates, Chains, InsertSizes, ReadBatch, Scores, Segment, Status
from readwarp.config import MAX_READ_LENGTH, AlignParameters
from readwarp.device.backend import Backend
from readwarp.index import Index
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics
from readwarp.ragged import replace
from readwarp.rules.bases import unpack

SAMPLE_PAIRS = 256  # of the job that compiles the kernels
SEED, CHAIN, EXTEND = (f"readwarp.align.{step}" for step in ("seed", "chain", "extend"))


@dataclass(frozen=True, slots=True)
class PlacedIndex:
    """An index and where its arrays lie: the host's for planning and records, those of two backends for kernels."""

    host: Index
    backend: Backend  # the side that reads are extended on
    packed: np.ndarray  # of the reference, on that side
    seeding: Backend  # the side that seeds are looked up and chained on
    there: Index  # its arrays on that side
    contig_offsets: np.ndarray  # likewise


def place(index: Index, backend: Backend, seeds_on_host: bool = False) -> PlacedIndex:
    """The index on the backend's current device; made once, shared by all workers of that device.

    seeds_on_host: its seeds stay on the host and are looked up there, where a card has no room for them.
    """
    seeding = Backend("cpu") if seeds_on_host else backend
    there, reference = seeding.resident(index), backend.resident(index.reference)
    contig_offsets = index.reference.contig_offsets if seeds_on_host else reference.contig_offsets
    return PlacedIndex(index, backend, reference.packed, seeding, there, contig_offsets)


def align_batch(
    reads: ReadBatch,
    index: PlacedIndex,
    sizes: InsertSizes,
    parameters: AlignParameters,
    metrics: Metrics,
) -> Alignments:
    """Output rows of a batch: every read once as primary or unmapped, supplementary ones behind it."""
    backend = index.backend
    extend, reference, scoring = backend.step(EXTEND), index.host.reference, parameters.scoring
    with backend.frame():
        with metrics.time("seed"):
            there = on_side(reads, backend)
        chains = find_chains(reads, there, index, parameters, metrics)
        with metrics.time("pair"):
            planned = pair.plan_candidates(reads, chains, reference.contig_offsets, sizes, parameters.pair)
        with metrics.time("extend_score"):
            oriented = extend.orient(reads, there)
            planned_scores = score(extend, oriented, planned, index, parameters)
        with metrics.time("rescue"):
            rescued = pair.plan_rescue(reads, planned, planned_scores, reference, sizes, parameters)
        with metrics.time("extend_rescued"):
            rescued_scores = score(extend, oriented, rescued, index, parameters)
        with metrics.time("choose"):
            candidates, scores = pair.merge(planned, planned_scores, rescued, rescued_scores)
            scored = candidates, scores
            choices = records.choose(reads, scored, sizes, parameters, chains.repetitive, reference.contig_offsets)
        with metrics.time("extend_trace"):
            extensions = extend.trace(oriented, candidates, choices.candidate, index.packed, scoring, scores)
    with metrics.time("records"):
        alignments = records.build(reads, choices, extensions, reference, parameters)
    metrics.count("dp_cells", dp_cells(reads, candidates, scores, choices.candidate))
    metrics.count("chains", chains.score.size)
    metrics.count("candidates", len(planned))
    metrics.count("rescue_windows", len(rescued))
    metrics.count("traced", extensions.score.size)
    for step, done in (("chain", chains), ("extend_score", scores), ("extend_trace", extensions)):
        count_statuses(step, done.status, metrics)
    count_records(reads, alignments, metrics)
    return alignments


def on_side(reads: ReadBatch, backend: Backend) -> ReadBatch:
    """The reads with what kernels take of them on the backend's side."""
    return backend.to_device(reads, "bases", "read_offsets")


def find_chains(
    reads: ReadBatch, there: ReadBatch, index: PlacedIndex, parameters: AlignParameters, metrics: Metrics
) -> Chains:
    """Seeds looked up and chained on the side where the index is; the chains are on the host."""
    side = index.seeding
    mine = there if side == index.backend else reads
    with side.frame():
        with metrics.time("seed"):
            hits = side.step(SEED).find_seeds(mine, index.there, parameters.seed)
        with metrics.time("chain"):
            chains: Chains = side.step(CHAIN).chain_hits(
                mine, hits, index.contig_offsets, parameters.seed, parameters.chain
            )
            return chains


def score(extend, oriented, candidates: Candidates, index: PlacedIndex, parameters: AlignParameters) -> Scores:
    """Scores of the candidates, both on the host. extend: the step on its side, oriented: its reads."""
    if len(candidates) == 0:
        return Scores(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.uint8))
    scores: Scores = extend.score(oriented, candidates, index.packed, parameters.scoring)
    return scores


def train(
    batches: Iterable[ReadBatch], index: PlacedIndex, parameters: AlignParameters, metrics: Metrics
) -> InsertSizes:
    """The insert-size model of an input, from its first reads (`pair.training_pairs` pairs, cut by the caller)."""
    evidence = []
    with metrics.time("train"):
        for reads in batches:
            if (reads.segment == Segment.FIRST).any():
                with index.backend.frame():
                    chains = find_chains(reads, on_side(reads, index.backend), index, parameters, metrics)
                evidence.append(pair.orientations(reads, chains, index.host.reference.contig_offsets))
    return pair.fit(evidence, parameters.pair)


def warm_up(index: PlacedIndex, parameters: AlignParameters) -> None:
    """Compile every kernel: on pairs cut from the reference, half of them with a gap and a mate that needs rescue."""
    reads = sample_pairs(index.host)
    metrics = Metrics()
    sizes = train([reads], index, parameters, metrics)
    align_batch(reads, index, replace(sizes, low=1, high=1000), parameters, metrics)


def sample_pairs(index: Index) -> ReadBatch:
    """SAMPLE_PAIRS pairs of up to 120 bases, 300 apart, enough of a kind to fill the vector lanes."""
    window = sample_window(index.reference)
    length = min(120, window.size)
    forward, mate = window[:length], window[window.size - length :][::-1]
    reverse = np.where(mate > 3, mate, 3 - mate).astype(np.uint8)
    changed = reverse.copy()
    changed[7::15] = (changed[7::15] + 1) & 3
    gapped = np.concatenate([forward[: length // 2], forward[length // 2 + 1 :], forward[:1]])
    bases = np.tile(np.concatenate([forward, reverse, gapped, changed]), SAMPLE_PAIRS // 2)
    offsets = np.arange(2 * SAMPLE_PAIRS + 1, dtype=np.int64)
    return ReadBatch(
        number=0,
        source=0,
        bases=bases,
        qualities=np.full(bases.size, 30, np.uint8),
        read_offsets=offsets * length,
        names=np.full(2 * SAMPLE_PAIRS, ord("a"), np.uint8),
        name_offsets=offsets,
        tags=np.empty(0, np.uint8),
        tag_offsets=np.zeros(2 * SAMPLE_PAIRS + 1, np.int64),
        segment=np.tile(np.array([Segment.FIRST, Segment.LAST], np.uint8), SAMPLE_PAIRS),
        read_group=np.full(2 * SAMPLE_PAIRS, -1, np.int32),
    )


def sample_window(reference: Reference) -> np.ndarray:
    """Up to 300 bases of the longest contig, without N if one of 64 places has such."""
    contig = int(np.argmax(np.diff(reference.contig_offsets)))
    first, last = (int(offset) for offset in reference.contig_offsets[contig : contig + 2])
    window = np.empty(min(300, last - first), np.uint8)
    for place in range(64):
        start = first + (last - first - window.size) * place // 64
        unpack(reference.packed, start, start + window.size, window)
        if window.max() < 4:
            break
    return window


def dp_cells(reads: ReadBatch, candidates: Candidates, scores: Scores, traced: np.ndarray) -> int:
    """Cells of dynamic programming: read by window of the candidates that needed it, once more for those traced."""
    cells = np.diff(reads.read_offsets)[candidates.read] * (candidates.window_stop - candidates.window_start)
    cells[scores.status != Status.OK] = 0
    return int(cells.sum() + cells[traced].sum())


def count_records(reads: ReadBatch, alignments: Alignments, metrics: Metrics) -> None:
    """What became of the reads."""
    primary = (alignments.flag & 0x900) == 0
    mapped = primary & ((alignments.flag & 0x4) == 0)
    metrics.count("reads", len(reads))
    metrics.count("bases", int(reads.read_offsets[-1]))
    metrics.count("mapped", int(mapped.sum()))
    metrics.count("proper", int((mapped & ((alignments.flag & 0x2) != 0)).sum()))
    metrics.count("supplementary", int((~primary).sum()))
    metrics.count("reads_too_long", int((np.diff(reads.read_offsets) > MAX_READ_LENGTH).sum()))


def count_statuses(step: str, status: np.ndarray, metrics: Metrics) -> None:
    """Every item that a kernel could not do, or did without dynamic programming."""
    seen = np.bincount(status, minlength=len(Status))
    for kind in Status:
        if kind > Status.OK and seen[kind]:
            metrics.count(f"{step}_{kind.name.lower()}", int(seen[kind]))
