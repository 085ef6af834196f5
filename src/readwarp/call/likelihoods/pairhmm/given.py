"""Pack pairs and their sequences for a card, complete its sums on the host, and share it between worker processes.

The process that owns the card computes for the others. While it does, questions wait, and all waiting questions become
one batch. So launches do not grow with the number of processes, and the others need no context on the card.
"""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from functools import partial
from threading import Lock
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.likelihoods.pairhmm import ReadRows, cpu, pairs
from readwarp.call.likelihoods.pairhmm.scalar import FLOAT32
from readwarp.ragged import concatenate, offsets_of, ranges, replace, take

PER_BASE, PER_PAIR = 40, 64  # upper bounds in bytes on the card, see `cuda.run`


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
    items = pairs.items_of(*sequences)

    def engine(work: pairs.PairWork) -> pairs.PairSums:
        return add_missing(sum_given(pack(sequences, items, work)), work, partial(cpu.sum_pairs, *sequences))

    return pairs.solve(items, pair_read, pair_haplotype, engine, partial(pairs.log_probabilities, *sequences))


def pack(sequences: tuple[ReadRows, ndarray, ndarray], items: pairs.PairTraits, work: pairs.PairWork) -> Given:
    """Pack each sequence that occurs, once."""
    reads, haplotypes, haplotype_offsets = sequences
    used_reads, row = np.unique(work.read, return_inverse=True)
    used, column = np.unique(work.haplotype, return_inverse=True)
    packed, starts = take(reads, "reads", used_reads), offsets_of(items.sizes[used])[column]
    places = find_places(items, work, packed.offsets[row], starts)
    return Given(packed, haplotypes[ranges(haplotype_offsets, used)], places, work.is_narrow)


def find_places(
    items: pairs.PairTraits, work: pairs.PairWork, read_starts: ndarray, haplotype_starts: ndarray
) -> ndarray:
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


def add_missing(found: ndarray, work: pairs.PairWork, sum_on_host: pairs.Pass) -> pairs.PairSums:
    """Return the sums of pairs, by `sum_on_host` where the card has none. found: the result of a SumGiven."""
    is_missing = np.isnan(found)
    is_wide, value = np.signbit(found) | ~work.is_narrow, np.abs(found)
    small = ~is_wide & ~is_missing & ~pairs.are_enough(value, work.cells, FLOAT32.min_per_cell)
    on_host = small | is_missing
    is_wide |= small
    left = np.flatnonzero(on_host)
    if left.size:
        rest = take(work, "pairs", left)
        sums = pairs.sum_in_turn(sum_on_host, replace(rest, is_narrow=rest.is_narrow & is_missing[left]))
        value[left], is_wide[left] = sums.value, sums.is_wide
    return pairs.PairSums(value, is_wide, on_host)


class RequestedPairs(NamedTuple):
    """Pairs, and a future of their sums."""

    given: Given
    sums: Future[ndarray]

    @property
    def size(self) -> int:
        """Return the bytes needed on the card."""
        return PER_BASE * (self.given.reads.bases.size + self.given.haplotypes.size) + PER_PAIR * len(self.given.places)


class SharedCard:
    """Card that answers several threads, each on behalf of a process; it declines what does not fit."""

    def __init__(
        self,
        sum_given: SumGiven,
        borrow: Callable[[], AbstractContextManager[object]],
        is_full: Callable[[BaseException], bool],
        room: int,
    ) -> None:
        """Set up the queue. borrow: lends a workspace of that many bytes. is_full: recognizes errors of a full card."""
        self._sum_given, self._borrow, self._is_full, self._room = sum_given, borrow, is_full, room
        self._turn, self._waiting = Lock(), deque[RequestedPairs]()
        self.questions = self.batches = self.left = 0  # left to the host: questions that do not fit alone

    def answer(self, given: Given) -> ndarray:
        """Return the sums of the pairs. Raises the card's errors."""
        own = RequestedPairs(given, Future())
        self._waiting.append(own)
        with self._turn:
            self.questions += 1
            while not own.sums.done():  # another thread may have computed it in its turn
                self._compute(self._take())
        return own.sums.result()

    def _take(self) -> list[RequestedPairs]:
        """Take the waiting questions that fit together, and at least one."""
        taken = [self._waiting.popleft()]
        room = self._room - taken[0].size
        while self._waiting and self._waiting[0].size <= room:
            taken.append(self._waiting.popleft())
            room -= taken[-1].size
        return taken

    def _compute(self, questions: list[RequestedPairs]) -> None:
        self.batches += 1
        try:
            with self._borrow():
                found = self._sum_given(join([question.given for question in questions]))
        except Exception as error:
            if not self._is_full(error):
                for question in questions:
                    question.sums.set_exception(error)
            elif len(questions) == 1:  # too large even alone: no sums from the card
                self.left += 1
                questions[0].sums.set_result(np.full(len(questions[0].given.places), np.nan))
            else:
                for question in questions:
                    self._compute([question])
            return
        bounds = offsets_of([len(question.given.places) for question in questions])[1:-1]
        for question, sums in zip(questions, np.split(found, bounds), strict=True):
            question.sums.set_result(sums)
