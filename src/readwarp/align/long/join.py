"""Join the end before a chain, its runs and pieces, and the end after it to one CIGAR, gaps leftmost."""

import numpy as np

from readwarp.align.long.cut import PIECE
from readwarp.compiler.jit import kernel, scalar
from readwarp.rules.bases import reference_code
from readwarp.rules.cigar import DELETION, INSERTION, MATCH


@scalar
def add_run(cigar, first, row, run):
    """Append a run to a CIGAR that begins at `first`, or lengthen its last one; return the new end."""
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
    """Move each gap between two runs of M left as far as the score stays equal, keeping one base of M before it."""
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
