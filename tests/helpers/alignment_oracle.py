"""The recurrence of readwarp.pairwise in plain Python, re-scoring of CIGARs, and pairs to test with."""

import numpy as np

from readwarp.pairwise.pairs import Costs, Pairs
from readwarp.pairwise.scalar import GLOBAL, LOCAL, SEMIGLOBAL

NEVER = -(10**9)


def gain(one, other, costs):
    """Score a pair: N is 4 in queries and 5 in targets, and costs 1 at most."""
    if one == other:
        return costs[0]
    return -min(costs[1], 1) if one == 4 or other == 5 else -costs[1]


def best(query, target, costs, mode):
    """(score, query stop, target stop) of the best alignment: smallest target stop, then query stop, on ties."""
    _, _, gap_open, gap_extend, bonus = costs
    n, m = len(query), len(target)
    H = [[0 if mode == LOCAL or j == 0 else -(gap_open + j * gap_extend) for j in range(n + 1)]]
    E = [NEVER] * (n + 1)
    found = (0, 0, 0) if mode == LOCAL else (-NEVER, 0, 0) if mode == GLOBAL and m > 0 else (-H[0][n], 0, n)
    for i in range(1, m + 1):
        left = bonus if mode == LOCAL else 0 if mode == SEMIGLOBAL else -(gap_open + i * gap_extend)
        H.append([left])
        if i == 1 and mode == LOCAL:
            H[0][0] = bonus
        F = NEVER
        for j in range(1, n + 1):
            E[j] = max(E[j] - gap_extend, H[i - 1][j] - gap_open - gap_extend)
            opened = H[i][j - 1] - gap_open - gap_extend if j > 1 or mode != LOCAL else NEVER
            F = max(F - gap_extend, opened)
            M = H[i - 1][j - 1] + gain(query[j - 1], target[i - 1], costs)
            H[i].append(max(M, E[j], F, 0 if mode == LOCAL else NEVER))
            if mode == LOCAL:
                value = M + bonus if j == n else H[i][j]
                if value > 0:
                    found = min(found, (-value, i, j))
            elif j == n and (mode == SEMIGLOBAL or i == m):
                found = min(found, (-H[i][j], i, j))
    if n == 0 and mode == GLOBAL:
        return H[m][0], 0, m
    return -found[0], found[2], found[1]


def rescored(query, target, query_start, target_start, cigar, costs):
    """(score, edit distance, query stop, target stop) by walking the CIGAR."""
    _, _, gap_open, gap_extend, _ = costs
    score = edits = 0
    for run in cigar:
        length, operation = int(run) >> 4, int(run) & 15
        if operation == 0:
            for _ in range(length):
                equal = query[query_start] == target[target_start]
                score += gain(query[query_start], target[target_start], costs)
                edits += not equal
                query_start, target_start = query_start + 1, target_start + 1
        else:
            score -= gap_open + length * gap_extend
            edits += length
            query_start += length if operation == 1 else 0
            target_start += length if operation == 2 else 0
    return score, edits, query_start, target_start


def packed(queries, targets):
    """Lists of code sequences as Pairs."""
    return Pairs(*_joined(queries), *_joined(targets))


def _joined(sequences):
    lengths = np.array([len(s) for s in sequences], np.int64)
    codes = np.array([code for s in sequences for code in s], np.uint8)
    return codes, np.cumsum(lengths) - lengths, lengths


def related(rng, target, letters=4, edits=6):
    """A part of the target with a few substitutions, insertions and deletions."""
    codes = list(target)
    for _ in range(rng.integers(0, edits)):
        place, size = rng.integers(0, len(codes) + 1), rng.integers(1, 4)
        kind = rng.integers(0, 3)
        if kind == 0:
            del codes[place : place + size]
        elif kind == 1:
            codes[place:place] = rng.integers(0, letters, size).tolist()
        elif place < len(codes):
            codes[place] = int(rng.integers(0, letters))
    start = rng.integers(0, len(codes) + 1)
    return codes[start : rng.integers(start, len(codes) + 1)]


def random_pairs(rng, number, longest, letters=4):
    targets = [rng.integers(0, letters, rng.integers(0, longest + 1)).tolist() for _ in range(number)]
    return [related(rng, target, letters) for target in targets], targets


def random_costs(rng, mode):
    match, mismatch, gap_open = int(rng.integers(1, 4)), int(rng.integers(0, 6)), int(rng.integers(0, 8))
    bonus = int(rng.integers(0, 8)) if mode == LOCAL else 0
    return Costs(match, mismatch, gap_open, int(rng.integers(1, 3)), bonus)
