"""Share a card between worker processes: the first one owns it and computes for the others.

While it computes, questions wait, and all waiting questions become one batch. So launches do not grow with the number
of processes, and the others need no context on the card.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.likelihoods.pairhmm.given import Given, SumGiven, join
from readwarp.ragged import offsets_of

PER_BASE, PER_PAIR = 40, 64  # upper bounds in bytes on the card, see `cuda.run`


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
            if self._is_full(error):
                self._compute_apart(questions)
            else:
                for question in questions:
                    question.sums.set_exception(error)
            return
        bounds = offsets_of([len(question.given.places) for question in questions])[1:-1]
        for question, sums in zip(questions, np.split(found, bounds), strict=True):
            question.sums.set_result(sums)

    def _compute_apart(self, questions: list[RequestedPairs]) -> None:
        """Compute questions singly that did not fit together; one too large even alone gets no sums from the card."""
        if len(questions) == 1:
            self.left += 1
            questions[0].sums.set_result(np.full(len(questions[0].given.places), np.nan))
        else:
            for question in questions:
                self._compute([question])
