"""Align the pieces between anchors with the pairwise engine, in global mode, where kernels run.

A card aligns many small pieces at once, a thread or a few for each. A large one would keep the others waiting, so it is
aligned on the host's lanes, with the same result.
"""

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.extend.steps import ENGINE, STEP, Oriented
from readwarp.align.long.breaks import fits
from readwarp.align.long.cut import CutChains
from readwarp.align.places import Genome
from readwarp.device.backend import Backend
from readwarp.pairwise.pairs import Ends, Pairs, Scheme, Traces
from readwarp.pairwise.scalar import LETTERS
from readwarp.ragged import concatenate, empty, offsets_of, take

MAX_CELLS_ON_CARD = 1 << 16  # cells in the table of a piece


class PieceSequences(NamedTuple):
    """Reads and reference on the host, and their bases where kernels run."""

    reads: Oriented
    genome: Genome
    backend: Backend
    bases: Any  # uint8: oriented reads
    packed: Any  # uint8: reference


class SidePieces(NamedTuple):
    """Pieces that one side aligns."""

    rows: ndarray  # int64 [pairs]: numbers of the pieces
    pairs: Pairs
    engine: ModuleType


def parts_of(sequences: PieceSequences, cut: CutChains) -> list[SidePieces]:
    """Assign the pieces whose tables are not too large. Data on a card stays until the caller's frame ends."""
    (reads, genome, backend, bases, packed), small = sequences, fits(cut)
    on_card = small & (cut.query_length * cut.reference_length <= MAX_CELLS_ON_CARD) & (backend.name == "cuda")
    sides = ((on_card, backend, bases, packed), (small & ~on_card, Backend("cpu"), reads.bases, genome.packed))
    parts = []
    for mine, side, queries, targets in sides:
        rows = np.flatnonzero(mine)
        if rows.size:
            spans = cut.query_start[rows], cut.query_length[rows]
            windows = cut.reference_start[rows], cut.reference_length[rows]
            pairs = side.step(STEP).windows_of(queries, spans, targets, windows)
            parts.append(SidePieces(rows, pairs, side.step(ENGINE)))
    return parts


def score_pieces(parts: list[SidePieces], number: int, scheme: Scheme) -> Ends:
    """Score all `number` pieces; those in no part get 0."""
    ends = empty(Ends, {"pairs": number}, np.zeros)
    for rows, pairs, engine in parts:
        for column, found in zip(ends, engine.score_pairs(pairs, scheme), strict=True):
            column[rows] = found
    return ends


def trace_pieces(parts: list[SidePieces], scheme: Scheme, ends: Ends, is_break: ndarray) -> Traces:
    """Align the pieces; those where a chain breaks have no runs."""
    traced, rows = [empty(Traces, {"pairs": 0, "operations": 0})], [np.empty(0, np.int64)]
    traced[0].cigar_offsets[0] = 0
    for mine, pairs, engine in parts:
        kept = np.flatnonzero(~is_break[mine])
        rows.append(mine[kept])
        traced.append(engine.trace_pairs(take(pairs, "pairs", kept), scheme, take(ends, "pairs", rows[-1]), LETTERS))
    order = np.argsort(np.concatenate(rows))
    traces = take(concatenate(traced, "pairs"), "pairs", order)
    runs = np.zeros(is_break.size, np.int64)
    runs[np.concatenate(rows)[order]] = np.diff(traces.cigar_offsets)
    return traces._replace(cigar_offsets=offsets_of(runs))
