"""Extend ends on the CPU, one after the other."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.long.ends.scalar import E_OPENS, F_OPENS, FROM_E, FROM_F, MAX_ROWS, UNREACHED, Corners, Ended
from readwarp.compiler.jit import kernel, scalar
from readwarp.pairwise.pairs import Costs
from readwarp.pairwise.scalar import gain_of_bases
from readwarp.ragged import empty
from readwarp.rules.bases import reference_code
from readwarp.rules.cigar import DELETION, INSERTION, MATCH, push_run


class EndSpace(NamedTuple):
    """Working memory for one end."""

    H: Annotated[ndarray, "int32 [columns]"]  # one row; column j at j - i + band + 1
    F: Annotated[ndarray, "int32 [columns]"]
    directions: Annotated[ndarray, "uint8 [cells]"]
    runs: Annotated[ndarray, "uint32 [runs]"]


def extend_ends(bases: ndarray, corners: Corners, packed: ndarray, costs: Costs, band: int, drop: int) -> Ended:
    """Extend the ends. `costs.bonus` is for the read's last base. An end that gains nothing has no runs."""
    number, columns = len(corners), 2 * band + 3
    most = int(np.minimum(corners.query_length, MAX_ROWS).max(initial=0))
    space = empty(EndSpace, {"columns": columns, "cells": most * columns, "runs": 2 * most + band + 1})
    room = int((2 * np.minimum(corners.query_length, MAX_ROWS) + band + 1).sum())
    ended = empty(Ended, {"ends": number, "runs": room})
    ended.run_offsets[0] = 0
    extend_all(bases, corners, packed, costs, (band, drop), space, ended)
    return ended._replace(runs=ended.runs[: ended.run_offsets[-1]])


@kernel
def extend_all(bases, corners, packed, costs, limits, space, ended):
    row = np.int64(0)
    for end in range(corners.query.size):
        score, i, j = fill(bases, corners, end, packed, costs, limits, space)
        ended.score[end], ended.on_query[end], ended.on_reference[end] = score, i, j
        number = walk(space, i, j, limits[0])
        is_forward = corners.step[end] > 0
        for k in range(number):
            ended.runs[row + k] = space.runs[number - 1 - k if is_forward else k]
        row += number
        ended.run_offsets[end + 1] = row


@scalar
def fill(bases, corners, end, packed, costs, limits, space):
    """Return (best score without bonus, rows, columns); leave the directions of all cells up to there in `space`."""
    (band, drop), (H, F, directions, _) = limits, space
    _, _, gap_open, gap_extend, bonus = costs
    query, reference = corners.query[end], corners.reference[end]
    step = np.int64(corners.step[end])
    width, length = 2 * band + 3, corners.reference_length[end]
    for at in range(width):
        j = at - band - 1
        H[at] = 0 if j == 0 else (-gap_open - j * gap_extend if 0 < j <= min(band, length) else UNREACHED)
        F[at] = UNREACHED
    best = best_score = best_row = best_column = np.int64(0)
    for i in range(1, min(corners.query_length[end], MAX_ROWS) + 1):
        base = bases[query + (i - 1) * step]
        highest = E = np.int64(UNREACHED)
        last, left = bonus if i == corners.query_length[end] else 0, np.int64(UNREACHED)
        for at in range(1, width - 1):
            j = i + at - band - 1
            cell = (i - 1) * width + at
            directions[cell] = 0
            if j < 0 or j > length:
                H[at] = F[at] = UNREACHED
                left = np.int64(UNREACHED)
                continue
            above, opened = np.int64(F[at + 1] - gap_extend), np.int64(H[at + 1] - gap_open - gap_extend)
            f, direction = max(above, opened), F_OPENS if opened >= above else 0
            E, opened = np.int64(E - gap_extend), np.int64(left - gap_open - gap_extend)
            if opened >= E:
                E, direction = opened, direction | E_OPENS
            h = np.int64(UNREACHED)
            if j > 0:
                other = reference_code(packed, reference + (j - 1) * step)
                h = np.int64(H[at]) + gain_of_bases(base, other, costs)
            if h < E:
                h, direction = E, direction | FROM_E
            if f > h:
                h, direction = f, (direction | FROM_F) & ~FROM_E
            H[at], F[at] = max(h, UNREACHED), max(f, UNREACHED)
            left, directions[cell] = h, direction
            highest = max(highest, h)
            if h + last > best:
                best, best_score, best_row, best_column = np.int64(h + last), h, np.int64(i), np.int64(j)
        if highest < best - drop:
            break
    return best_score, best_row, best_column


@scalar
def walk(space, i, j, band):
    """Walk from a cell back to the corner; write the runs, last one first, and return their number."""
    width = 2 * band + 3
    number, state = 0, MATCH
    while i > 0 or j > 0:
        operation = DELETION
        if i > 0:
            direction = space.directions[(i - 1) * width + j - i + band + 1]
            if state == MATCH:
                state = DELETION if direction & FROM_E else INSERTION if direction & FROM_F else MATCH
            operation = state
            if operation == MATCH:
                i, j = i - 1, j - 1
            elif operation == DELETION:
                state, j = MATCH if direction & E_OPENS else DELETION, j - 1
            else:
                state, i = MATCH if direction & F_OPENS else INSERTION, i - 1
        else:
            j -= 1
        number = push_run(space.runs, 0, number, operation, 1)
    return number
