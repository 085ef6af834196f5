"""Link records that change the same molecules, and count events near each other. See the package's text."""

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.likelihoods.batches import Likelihoods
from readwarp.call.likelihoods.evidence import NOTHING
from readwarp.compiler.jit import kernel
from readwarp.config import FractionParameters
from readwarp.formats.variants.calls import Calls
from readwarp.ragged import replace
from readwarp.somatic.fractions import APART, LIKELY, MOST, REACH, TOGETHER
from readwarp.somatic.fractions.annotations import TalliedAlleles
from readwarp.somatic.fractions.filters import CLUSTERED
from readwarp.somatic.fractions.shortlist import doubts_of


def link_records(sites: Sites, likelihoods: Likelihoods, place: ndarray, records: TalliedAlleles) -> ndarray:
    """Return the first record on the same molecules as each record, -1 if it is alone (int64 [records]).

    place: int64 [sites], the region of each, in order. Only records of one region are linked.
    """
    first = np.arange(records.site.size)
    marks = np.zeros(int(likelihoods.read.max(initial=-1)) + 1, np.int8)
    link(sites, likelihoods, place, records, marks, first)
    return np.where(np.bincount(first, minlength=first.size)[first] > 1, first, -1)


@kernel
def link(sites, likelihoods, place, records, marks, first):
    """Give each record the `first` of the nearest earlier one that most of the same reads show. marks: 0 [reads]."""
    for row in range(first.size):
        site = records.site[row]
        for before in range(row - 1, -1, -1):
            other = records.site[before]
            if place[other] != place[site]:
                break
            gap = sites.begin[site] - sites.begin[other] - sites.deleted[records.allele[before]]
            if other != site and gap < APART and are_together(sites, likelihoods, records, (before, row), marks):
                first[row] = first[before]
                break


@kernel
def are_together(sites, likelihoods, records, pair, marks):
    """Return whether most reads that show either record, and are informative for both, show both."""
    allele = likelihoods.allele
    one, other = records.site[pair[0]], records.site[pair[1]]
    mine = records.allele[pair[0]] - sites.allele_offsets[one]
    its = records.allele[pair[1]] - sites.allele_offsets[other]
    for k in range(likelihoods.pair_offsets[one], likelihoods.pair_offsets[one + 1]):
        marks[likelihoods.read[k]] = 0 if allele[k] == NOTHING else 2 if allele[k] == mine else 1
    both = either = 0
    for k in range(likelihoods.pair_offsets[other], likelihoods.pair_offsets[other + 1]):
        if marks[likelihoods.read[k]] and allele[k] != NOTHING:
            both += marks[likelihoods.read[k]] == 2 and allele[k] == its
            either += marks[likelihoods.read[k]] == 2 or allele[k] == its
    for k in range(likelihoods.pair_offsets[one], likelihoods.pair_offsets[one + 1]):
        marks[likelihoods.read[k]] = 0
    return both > 1 and both >= TOGETHER * either


def count_events(calls: Calls, parameters: FractionParameters) -> Calls:
    """Add ECNT, and the filter that uses it, to the `calls` of one contig, sorted by position."""
    if len(calls) == 0:
        return calls
    is_likely = (np.prod(1 - doubts_of(calls), axis=1) >= LIKELY) & ~calls.annotations["PON"]
    event, stop = calls.phase_set.max(axis=1), calls.position + [len(reference) for reference, *_ in calls.alleles]
    rows = np.flatnonzero(is_likely)
    rows = rows[np.argsort(event[rows], kind="stable")]
    before, after = rows[:-1], rows[1:]
    _, number, size = np.unique(event[rows], return_inverse=True, return_counts=True)
    is_near = (size[number] <= MOST)[1:] | (calls.position[after] <= stop[before])
    is_one = (event[before] == event[after]) & (event[after] >= 0) & is_near
    counted = np.sort(np.delete(calls.position[rows], np.flatnonzero(is_one) + 1))
    low, high = calls.position - REACH, calls.position + REACH
    events = np.searchsorted(counted, high, side="right") - np.searchsorted(counted, low)
    is_failed = (events > parameters.max_events) & parameters.is_somatic
    filters = [
        (*own, CLUSTERED) if fails else own for own, fails in zip(calls.filters, is_failed.tolist(), strict=True)
    ]
    return replace(calls, annotations={**calls.annotations, "ECNT": events}, filters=filters)
