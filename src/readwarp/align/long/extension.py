"""Long reads extended on the CPU: cut into pieces, which go through the pairwise engine, and joined to alignments."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.anchors import query_of, reference_of
from readwarp.align.extend.cpu import Oriented, costs_of, unpack_windows
from readwarp.align.extend.scalar import reference_code
from readwarp.align.long.cut import PIECE, Cut, cut_chains
from readwarp.align.long.ends import Corners, Ended, extend_ends
from readwarp.align.places import Genome
from readwarp.batches import Extensions, LongChains
from readwarp.config import LongExtendParameters, Scoring
from readwarp.device.jit import kernel, scalar
from readwarp.pairwise import cpu as pairwise
from readwarp.pairwise.pairs import Costs, Pairs, Scheme, Traces
from readwarp.pairwise.scalar import GLOBAL
from readwarp.ragged import offsets_of
from readwarp.rules.cigar import DELETION, INSERTION, MATCH


class Laid(NamedTuple):
    """Chains on their oriented reads."""

    start: Annotated[ndarray, "int64 [chains]"]  # of the read in the oriented bases
    query_start: Annotated[ndarray, "int64 [chains]"]  # of the first anchor, on the oriented read
    query_stop: Annotated[ndarray, "int64 [chains]"]
    query_length: Annotated[ndarray, "int64 [chains]"]  # of the read
    reference_start: Annotated[ndarray, "int64 [chains]"]
    reference_stop: Annotated[ndarray, "int64 [chains]"]


def extend(
    reads: Oriented,
    chains: LongChains,
    read: ndarray,
    index: tuple[Genome, int],
    scoring: Scoring,
    parameters: LongExtendParameters,
) -> Extensions:
    """The alignments of chains, gaps leftmost. `read` (int64 [chains]): whose chain each is; index: genome and k."""
    genome, k = index
    costs, laid = costs_of(scoring), lay(reads, chains, read, k)
    cut = cut_chains(reads.bases, laid.start, chains, k, genome.packed, costs)
    traces = trace_pieces(reads.bases, cut, genome.packed, costs)
    ended = extend_ends(reads.bases, corners_of(laid, genome), genome.packed, costs, parameters.band, parameters.drop)
    return join((reads.bases, genome.packed), laid, cut, traces, ended, costs)


def lay(reads: Oriented, chains: LongChains, read: ndarray, k: int) -> Laid:
    anchors, offsets = chains.anchors, chains.anchor_offsets
    first, last = anchors[offsets[:-1]], anchors[offsets[1:] - 1]
    strand = (first >> np.uint64(63)).astype(np.int64)
    columns = np.empty((4, first.size), np.int64)
    place_anchors(first, last, k, columns)
    query_start, query_stop, reference_start, reference_stop = columns
    length = reads.offsets[read + 1] - reads.offsets[read]
    start = reads.offsets[read] + strand * reads.offsets[-1]
    return Laid(start, query_start, query_stop, length, reference_start, reference_stop)


@kernel
def place_anchors(first, last, k, columns):
    for chain in range(first.size):
        columns[0, chain], columns[1, chain] = query_of(first[chain]), query_of(last[chain]) + k
        columns[2, chain], columns[3, chain] = reference_of(first[chain]), reference_of(last[chain]) + k


def trace_pieces(bases: ndarray, cut: Cut, packed: ndarray, costs: Costs) -> Traces:
    offsets = offsets_of(cut.reference_length)
    targets = np.empty(offsets[-1], np.uint8)
    unpack_windows(packed, cut.reference_start, offsets, targets)
    pairs = Pairs(bases, cut.query_start, cut.query_length, targets, offsets[:-1], cut.reference_length)
    scheme = Scheme(costs._replace(bonus=0), GLOBAL)
    return pairwise.trace_pairs(pairs, scheme, pairwise.score_pairs(pairs, scheme))


def corners_of(laid: Laid, genome: Genome) -> Corners:
    """Of the end before each chain, and of that after it."""
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
    sequences: tuple[ndarray, ndarray], laid: Laid, cut: Cut, traces: Traces, ended: Ended, costs: Costs
) -> Extensions:
    """What is before each chain, its runs with their pieces, and what is after it. sequences: oriented, packed."""
    bases, packed = sequences
    number = laid.start.size
    before, after = (ended.on_query[side::2] for side in (0, 1))
    reference_before, reference_after = (ended.on_reference[side::2] for side in (0, 1))
    room = int(cut.runs.size + traces.cigar.size + ended.runs.size)
    cigar, offsets = np.empty(room, np.uint32), np.zeros(number + 1, np.int64)
    query_start, reference_start = laid.query_start - before, laid.reference_start - reference_before
    score, edits = np.empty(number, np.int32), np.empty(number, np.int32)
    parts = (cut.run_offsets, cut.runs), (traces.cigar_offsets, traces.cigar), (ended.run_offsets, ended.runs)
    join_runs(parts, cigar, offsets)
    put_left((bases, laid.start + query_start), (packed, reference_start), offsets, cigar)
    score_runs((bases, laid.start + query_start), (packed, reference_start), (offsets, cigar), costs, (score, edits))
    return Extensions(
        score=score,
        query_start=query_start.astype(np.int32),
        query_stop=(laid.query_stop + after).astype(np.int32),
        reference_start=reference_start,
        reference_stop=laid.reference_stop + reference_after,
        edit_distance=edits,
        cigar=cigar[: offsets[-1]],
        cigar_offsets=offsets,
        status=np.zeros(number, np.uint8),
    )


@scalar
def add_run(cigar, first, row, run):
    """Add a run to a CIGAR that begins at `first`, or lengthen its last one; returns its end."""
    if row > first and (cigar[row - 1] ^ run) & 15 == 0:
        cigar[row - 1] += run >> 4 << 4
        return row
    cigar[row] = run
    return row + 1


@kernel
def join_runs(parts, cigar, offsets):
    (run_offsets, runs), (trace_offsets, traces), (end_offsets, ends) = parts
    row = np.int64(0)
    for chain in range(offsets.size - 1):
        first = row
        for i in range(end_offsets[2 * chain], end_offsets[2 * chain + 1]):
            row = add_run(cigar, first, row, ends[i])
        for i in range(run_offsets[chain], run_offsets[chain + 1]):
            if runs[i] & 15 == PIECE:
                piece = np.int64(runs[i] >> 4)
                for j in range(trace_offsets[piece], trace_offsets[piece + 1]):
                    row = add_run(cigar, first, row, traces[j])
            else:
                row = add_run(cigar, first, row, runs[i])
        for i in range(end_offsets[2 * chain + 1], end_offsets[2 * chain + 2]):
            row = add_run(cigar, first, row, ends[i])
        offsets[chain + 1] = row


@kernel
def put_left(queries, references, offsets, cigar):
    """Move each gap between two runs of M as far to the left as scores as much, but one base of M stays before it."""
    (bases, query_starts), (packed, reference_starts) = queries, references
    for chain in range(offsets.size - 1):
        q, r = query_starts[chain], reference_starts[chain]
        for i in range(offsets[chain], offsets[chain + 1]):
            operation, length = cigar[i] & 15, np.int64(cigar[i] >> 4)
            if operation == MATCH:
                q, r = q + length, r + length
                continue
            if offsets[chain] < i < offsets[chain + 1] - 1:
                most = np.int64(cigar[i - 1] >> 4) - 1 if cigar[i - 1] & 15 == MATCH else np.int64(0)
                most = most if cigar[i + 1] & 15 == MATCH else np.int64(0)
                moved = np.int64(0)
                while moved < most:
                    if operation == INSERTION:
                        is_alike = bases[q - 1 - moved] == bases[q + length - 1 - moved]
                    else:
                        is_alike = reference_code(packed, r - 1 - moved) == reference_code(
                            packed, r + length - 1 - moved
                        )
                    if not is_alike:
                        break
                    moved += 1
                cigar[i - 1] -= np.uint32(moved << 4)
                cigar[i + 1] += np.uint32(moved << 4)
                q, r = q - moved, r - moved
            q, r = q + length * (operation == INSERTION), r + length * (operation == DELETION)


@kernel
def score_runs(queries, references, alignments, costs, out):
    """Score and edit distance of each alignment."""
    (bases, query_starts), (packed, reference_starts), (offsets, cigar) = queries, references, alignments
    scores, edit_distances = out
    for chain in range(offsets.size - 1):
        q, r, score, edits = query_starts[chain], reference_starts[chain], np.int64(0), np.int64(0)
        for i in range(offsets[chain], offsets[chain + 1]):
            operation, length = cigar[i] & 15, np.int64(cigar[i] >> 4)
            if operation == MATCH:
                different = np.int64(0)
                for j in range(length):
                    different += bases[q + j] != reference_code(packed, r + j)
                score += (length - different) * costs.match - different * costs.mismatch
                edits, q, r = edits + different, q + length, r + length
                continue
            score -= costs.gap_open + length * costs.gap_extend
            edits += length
            q, r = q + length * (operation == INSERTION), r + length * (operation == DELETION)
        scores[chain], edit_distances[chain] = score, edits
