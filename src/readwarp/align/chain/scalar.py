"""Rules of the chain step, for CPU and GPU."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.anchors import query_of, reference_of, strand_of
from readwarp.align.places import share_half, turned
from readwarp.compiler.jit import scalar
from readwarp.config import ChainParameters, SeedParameters

START, STOP, QUERY_START, QUERY_STOP, STRAND, SCORE, COLUMNS = range(7)  # columns of a chain's int64 row
COLUMN_TYPES = (np.int64, np.int64, np.int32, np.int32, np.uint8, np.int32)  # types of these columns in `Chains`
LOOKBACK = 64  # earlier anchors to which an anchor may be linked
CLUSTER_CHAINS = 16  # maximum number per place
NOT_LINKED = -(1 << 30)
ANY = 1 << 30  # no limit


class LinkRules(NamedTuple):
    """Rules of links between anchors, by kind of read."""

    k: int
    max_gap: int
    max_step: int  # bases from anchor to anchor, on the read or on the reference
    gap_open: int  # cost of any gap
    steep: int  # bases of a gap that cost 1 each; further ones cost an eighth
    lookback: int  # earlier anchors to which an anchor may be linked, ...
    dense_lookback: int  # ... or, within `near` reference bases, this many
    near: int


class ChainLimits(NamedTuple):
    """Limits of chaining: see `config.ChainParameters`."""

    rules: LinkRules
    max_chains: int
    drop: int  # in 1/1024


class ChainLinks(NamedTuple):
    """The best chain that ends in each anchor."""

    scores: Annotated[ndarray, "int32 [anchors]"]  # negative: the anchor belongs to a chain
    parents: Annotated[ndarray, "int32 [anchors]"]  # the previous anchor of that chain, -1 none


def limits_of(seed: SeedParameters, parameters: ChainParameters) -> ChainLimits:
    rules = LinkRules(seed.k, parameters.max_gap, ANY, 3, 0, LOOKBACK, LOOKBACK, 0)
    return ChainLimits(rules, parameters.max_chains, round(1024 * parameters.drop))


@scalar
def gap_cost(gap, rules):
    """Return the cost of shifting the diagonal by `gap` bases."""
    return 0 if gap == 0 else rules.gap_open + min(gap, rules.steep) + (max(gap - rules.steep, 0) >> 3)


@scalar
def link(on_query, on_reference, rules):
    """Return what an anchor adds to an earlier one's chain at this distance: newly covered bases less the gap cost.

    NOT_LINKED where they cannot be linked.
    """
    gap, step = abs(on_reference - on_query), min(on_query, on_reference)
    if step <= 0 or step > rules.max_step or gap > rules.max_gap:
        return NOT_LINKED
    return min(rules.k, step) - gap_cost(gap, rules)


@scalar
def is_before(chains, row, score, strand, start, query):
    """Return whether a chain precedes the one in a row: higher score, then strand, reference start, query start."""
    if score != chains[row, SCORE]:
        return score > chains[row, SCORE]
    if strand != chains[row, STRAND]:
        return strand < chains[row, STRAND]
    if start != chains[row, START]:
        return start < chains[row, START]
    return query < chains[row, QUERY_START]


@scalar
def is_worth_extending(chains, row, length, drop):
    """Return whether a chain scores well compared with the best one (row 0), or covers another part of the read."""
    if chains[row, SCORE] * 1024 >= drop * chains[0, SCORE]:
        return True
    is_turned = chains[row, STRAND] != chains[0, STRAND]
    start, stop = turned(chains[row, QUERY_START], chains[row, QUERY_STOP], length, is_turned)
    return not share_half(start, stop, chains[0, QUERY_START], chains[0, QUERY_STOP])


@scalar
def cluster_from(anchors, start, length, contig_stop, limits):
    """Return (stop, read bases covered, whether all lie on one diagonal) of the linkable anchors from `start` on."""
    k, strand = limits.rules.k, strand_of(anchors[start])
    reference, query = reference_of(anchors[start]), query_of(anchors[start])
    stop, covered = start + 1, k
    on_one_diagonal = True
    while stop < anchors.size:
        step = reference_of(anchors[stop]) - reference
        if (
            strand_of(anchors[stop]) != strand
            or step > length + limits.rules.max_gap
            or reference + step >= contig_stop
        ):
            break
        query_step = query_of(anchors[stop]) - query
        on_one_diagonal &= step == query_step
        covered += min(k, query_step)
        reference, query = reference + step, query + query_step
        stop += 1
    return stop, covered, on_one_diagonal


@scalar
def have_one_place(anchors):
    """Return whether a cluster is one place of the read: its query starts increase.

    In a tandem repeat, the next copy begins at earlier read bases again, and its chain may hide that place.
    """
    rise = True
    for i in range(1, anchors.size):
        rise &= query_of(anchors[i]) > query_of(anchors[i - 1])
    return rise


@scalar
def copy_row(rows, source, target):
    """Copy a row, reading all columns before writing any, so that a card waits for its memory only once."""
    score, strand = rows[source, SCORE], rows[source, STRAND]
    start, stop = rows[source, START], rows[source, STOP]
    query_start, query_stop = rows[source, QUERY_START], rows[source, QUERY_STOP]
    rows[target, SCORE], rows[target, STRAND] = score, strand
    rows[target, START], rows[target, STOP] = start, stop
    rows[target, QUERY_START], rows[target, QUERY_STOP] = query_start, query_stop


@scalar
def insert(best, found, score, first, last, k):
    """Insert the chain from anchor `first` to anchor `last` among the best; return the number of chains."""
    row, strand = found, strand_of(first)
    start, query = reference_of(first), query_of(first)
    while row > 0 and is_before(best, row - 1, score, strand, start, query):
        row -= 1
    if row == best.shape[0]:
        return found
    for other in range(min(found, best.shape[0] - 1), row, -1):
        copy_row(best, other - 1, other)
    set_row(best, row, score, first, last, k)
    return min(found + 1, best.shape[0])


@scalar
def set_row(rows, row, score, first, last, k):
    """Write the chain from anchor `first` to anchor `last`."""
    rows[row, SCORE], rows[row, STRAND] = score, strand_of(first)
    rows[row, START], rows[row, STOP] = reference_of(first), reference_of(last) + k
    rows[row, QUERY_START], rows[row, QUERY_STOP] = query_of(first), query_of(last) + k


@scalar
def trace_back(links, last):
    """Mark the anchors of the chain that ends in anchor `last` as taken with negative scores; return (first, score)."""
    scores, parents = links
    first, score = last, scores[last]
    scores[last] = -score
    while parents[first] >= 0 and scores[parents[first]] > 0:
        first = parents[first]
        scores[first] = -scores[first]
    if parents[first] >= 0:
        score += scores[parents[first]]  # the chain from which it branches off
    return first, score


@scalar
def drop_weak(chains, found, length, drop):
    """Drop chains far below the best one that cover the same part of the read; return how many remain."""
    kept = min(found, 1)
    for row in range(1, found):
        if is_worth_extending(chains, row, length, drop):
            copy_row(chains, row, kept)
            kept += 1
    return kept
