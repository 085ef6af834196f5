"""Pack pairs and their sequences for a card, and complete its sums on the host."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.likelihoods.pairhmm import ReadRows, cpu
from readwarp.call.likelihoods.pairhmm.pairs import (
    PairSums,
    PairTraits,
    PairWork,
    Pass,
    are_enough,
    items_of,
    log_probabilities,
    solve,
    sum_in_turn,
)
from readwarp.call.likelihoods.pairhmm.scalar import FLOAT32
from readwarp.ragged import concatenate, offsets_of, ranges, replace, take


class Given(NamedTuple):
    """Pairs and sequences for a card."""

    reads: ReadRows
    haplotypes: Annotated[ndarray, "uint8 [bases]"]
    places: Annotated[ndarray, "int64 [pairs, 4]"]  # start and length of the read, start and length of the haplotype
    is_narrow: Annotated[ndarray, "bool [pairs]"]  # starts in float32


SumGiven = Callable[[Given], ndarray]  # float64 [pairs]: negative if computed in float64, NaN if the card lacks it


def log_likelihoods_by(
    sum_given: SumGiven,
    reads: ReadRows,
    haplotypes: ndarray,
    haplotype_offsets: ndarray,
    pair_read: ndarray,
    pair_haplotype: ndarray,
) -> tuple[ndarray, ndarray]:
    """Compute log10 P of pairs; see the step's contract. sum_given: a card's function; the host adds sums it lacks."""
    sequences = reads, haplotypes, haplotype_offsets
    items = items_of(*sequences)

    def engine(work: PairWork) -> PairSums:
        return add_missing(sum_given(pack(sequences, items, work)), work, partial(cpu.sum_pairs, *sequences))

    return solve(items, pair_read, pair_haplotype, engine, partial(log_probabilities, *sequences))


def pack(sequences: tuple[ReadRows, ndarray, ndarray], items: PairTraits, work: PairWork) -> Given:
    """Pack each sequence that occurs, once."""
    reads, haplotypes, haplotype_offsets = sequences
    used_reads, row = np.unique(work.read, return_inverse=True)
    used, column = np.unique(work.haplotype, return_inverse=True)
    packed, starts = take(reads, "reads", used_reads), offsets_of(items.sizes[used])[column]
    places = find_places(items, work, packed.offsets[row], starts)
    return Given(packed, haplotypes[ranges(haplotype_offsets, used)], places, work.is_narrow)


def find_places(items: PairTraits, work: PairWork, read_starts: ndarray, haplotype_starts: ndarray) -> ndarray:
    """Return Given.places."""
    return np.stack(
        (read_starts, items.lengths[work.read], haplotype_starts, items.sizes[work.haplotype]), axis=1, dtype=np.int64
    )


def join(several: Sequence[Given]) -> Given:
    """Join the pairs of all, in order."""
    if len(several) == 1:
        return several[0]
    rows, columns = offsets_of([g.reads.bases.size for g in several]), offsets_of([g.haplotypes.size for g in several])
    starts = np.zeros((len(several), 4), np.int64)
    starts[:, 0], starts[:, 2] = rows[:-1], columns[:-1]
    return Given(
        concatenate([each.reads for each in several], "reads"),
        np.concatenate([each.haplotypes for each in several]),
        np.concatenate([each.places + start for each, start in zip(several, starts, strict=True)]),
        np.concatenate([each.is_narrow for each in several]),
    )


def add_missing(found: ndarray, work: PairWork, sum_on_host: Pass) -> PairSums:
    """Return the sums of pairs, by `sum_on_host` where the card has none. found: the result of a SumGiven."""
    is_missing = np.isnan(found)
    is_wide, value = np.signbit(found) | ~work.is_narrow, np.abs(found)
    small = ~is_wide & ~is_missing & ~are_enough(value, work.cells, FLOAT32.min_per_cell)
    on_host = small | is_missing
    is_wide |= small
    left = np.flatnonzero(on_host)
    if left.size:
        rest = take(work, "pairs", left)
        sums = sum_in_turn(sum_on_host, replace(rest, is_narrow=rest.is_narrow & is_missing[left]))
        value[left], is_wide[left] = sums.value, sums.is_wide
    return PairSums(value, is_wide, on_host)
