"""Extend long reads: cut chains into pieces, align these with the pairwise engine, and join the results."""

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.batches import Extensions, LongChains
from readwarp.align.extend.steps import costs_of
from readwarp.align.long.breaks import break_chains, find_breaks
from readwarp.align.long.clip import AlignedSpans, CigarRuns, clip_ends, score_runs
from readwarp.align.long.cut import PIECE, CutChains, LaidAlignments, cut_chains, lay
from readwarp.align.long.ends.scalar import Corners, Ended
from readwarp.align.long.gaps import GapCosts, put_left, unite_gaps
from readwarp.align.long.pieces import PieceSequences, parts_of, score_pieces, trace_pieces
from readwarp.align.places import Genome
from readwarp.compiler.jit import kernel
from readwarp.config import LongExtendParameters, Scoring
from readwarp.pairwise.pairs import Costs, Scheme, Traces
from readwarp.pairwise.scalar import GLOBAL
from readwarp.ragged import empty
from readwarp.rules.cigar import push_run

ENDS = "readwarp.align.long.ends"


class Extended(NamedTuple):
    """Alignments in the order of their chains, with the chain of each."""

    extensions: Extensions
    chain: ndarray  # int64 [extensions]; a chain that breaks has several


def extend(
    sequences: PieceSequences,
    chains: LongChains,
    read: ndarray,
    k: int,
    scoring: Scoring,
    parameters: LongExtendParameters,
) -> Extended:
    """Align the chains, gaps leftmost. read (int64 [chains]): read of each chain."""
    (reads, genome, backend, bases, packed), costs = sequences, costs_of(scoring)
    laid = lay(reads, chains, read, k)
    cut = cut_chains(reads.bases, laid.start, chains, k, genome.packed, costs)
    pieces, scheme = parts_of(sequences, cut), Scheme(costs._replace(bonus=0), GLOBAL)
    ends = score_pieces(pieces, cut.query_start.size, scheme)
    is_break = find_breaks(laid, read, cut, ends.score, costs, parameters.max_drop)
    laid, cut, chain = break_chains(laid, cut, is_break)
    traces = trace_pieces(pieces, scheme, ends, is_break)
    corners, (band, drop) = corners_of(laid, genome), (parameters.band, parameters.drop)
    ended = backend.step(ENDS).extend_ends(bases, corners, packed, costs, band, drop)
    long = parameters.long_gap_open, parameters.long_gap_extend, parameters.max_gap_cost
    scores = costs, GapCosts(scoring.gap_open, scoring.gap_extend, *long)
    return Extended(join((reads.bases, genome.packed), laid, cut, traces, ended, scores), chain)


def corners_of(laid: LaidAlignments, genome: Genome) -> Corners:
    """Return the corners of the end before each chain, and of the end after it."""
    contig = np.searchsorted(genome.contig_offsets, laid.reference_start, side="right") - 1
    low, high = genome.contig_offsets[contig], genome.contig_offsets[contig + 1]
    both = (
        (laid.start + laid.query_start - 1, laid.start + laid.query_stop),
        (laid.query_start, laid.query_length - laid.query_stop),
        (laid.reference_start - 1, laid.reference_stop),
        (laid.reference_start - low, high - laid.reference_stop),
        (np.full(low.size, -1, np.int8), np.full(low.size, 1, np.int8)),
    )
    return Corners(*(np.stack(columns, axis=1).ravel() for columns in both))


def join(
    sequences: tuple[ndarray, ndarray],
    laid: LaidAlignments,
    cut: CutChains,
    traces: Traces,
    ended: Ended,
    scores: tuple[Costs, GapCosts],
) -> Extensions:
    """Join whole alignments, clipped to their best stretch. sequences: oriented bases, packed reference."""
    (bases, packed), (costs, gaps) = sequences, scores
    number = laid.start.size
    before, after = (ended.on_query[side::2] for side in (0, 1))
    reference_before, reference_after = (ended.on_reference[side::2] for side in (0, 1))
    room = int(cut.runs.size + traces.cigar.size + ended.runs.size)
    runs = empty(CigarRuns, {"alignments": number, "runs": room})
    runs.offsets[0] = 0
    spans = AlignedSpans(
        laid.query_start - before,
        laid.query_stop + after,
        laid.query_length,
        laid.reference_start - reference_before,
        laid.reference_stop + reference_after,
        np.empty(number, np.int32),
        np.empty(number, np.int32),
    )
    parts = (cut.run_offsets, cut.runs), (traces.cigar_offsets, traces.cigar), (ended.run_offsets, ended.runs)
    join_runs(parts, runs.cigar, runs.offsets)
    starts = laid.start + spans.query_start, spans.reference_start
    unite_gaps(sequences, starts, costs, gaps, runs.offsets, runs.cigar)
    put_left((bases, laid.start + spans.query_start), (packed, spans.reference_start), runs.offsets, runs.cigar)
    score_runs(sequences, laid.start, spans, costs, gaps, runs)
    made = clip_ends(runs, costs.bonus, spans)
    return Extensions(
        score=spans.score,
        query_start=spans.query_start.astype(np.int32),
        query_stop=spans.query_stop.astype(np.int32),
        reference_start=spans.reference_start,
        reference_stop=spans.reference_stop,
        edit_distance=spans.edits,
        cigar=runs.cigar[:made],
        cigar_offsets=runs.offsets,
        status=np.zeros(number, np.uint8),
    )


@kernel
def join_runs(parts, cigar, offsets):
    """Join the end before each chain, its runs and pieces, and the end after it to one CIGAR."""
    (run_offsets, runs), (trace_offsets, traces), (end_offsets, ends) = parts
    row = np.int64(0)
    for chain in range(offsets.size - 1):
        first = row
        for i in range(end_offsets[2 * chain], end_offsets[2 * chain + 1]):
            row = push_run(cigar, first, row, ends[i] & 15, ends[i] >> 4)
        for i in range(run_offsets[chain], run_offsets[chain + 1]):
            if runs[i] & 15 == PIECE:
                piece = np.int64(runs[i] >> 4)
                for j in range(trace_offsets[piece], trace_offsets[piece + 1]):
                    row = push_run(cigar, first, row, traces[j] & 15, traces[j] >> 4)
            else:
                row = push_run(cigar, first, row, runs[i] & 15, runs[i] >> 4)
        for i in range(end_offsets[2 * chain + 1], end_offsets[2 * chain + 2]):
            row = push_run(cigar, first, row, ends[i] & 15, ends[i] >> 4)
        offsets[chain + 1] = row
