"""A card that several worker processes share: the first process has it, and computes for them what they ask it.

While it computes, questions wait, and all that wait, of several windows, are one batch for the card. So launches do
not grow with the number of processes, and none of them needs a context on the card.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.pairhmm.given import Given, SumGiven, join
from readwarp.ragged import offsets_of

PER_BASE, PER_PAIR = 40, 64  # bytes on the card, at most: `cuda.run`


class Asked(NamedTuple):
    """Pairs, and what their sums will be."""

    given: Given
    sums: Future[ndarray]

    @property
    def size(self) -> int:
        """Bytes on the card."""
        return PER_BASE * (self.given.reads.bases.size + self.given.haplotypes.size) + PER_PAIR * len(self.given.places)


class SharedCard:
    """Answers several threads, each of which asks for a process. For what does not fit, the answer is: not here."""

    def __init__(
        self,
        sum_given: SumGiven,
        borrow: Callable[[], AbstractContextManager[object]],
        is_full: Callable[[BaseException], bool],
        room: int,
    ) -> None:
        """borrow: a workspace of so many bytes. is_full: whether an error says that they were too few."""
        self._sum_given, self._borrow, self._is_full, self._room = sum_given, borrow, is_full, room
        self._turn, self._waiting = Lock(), deque[Asked]()
        self.questions = self.batches = self.left = 0  # left to the host: questions that do not fit alone

    def answer(self, given: Given) -> ndarray:
        """Sums of the pairs. Raises what the card does."""
        own = Asked(given, Future())
        self._waiting.append(own)
        with self._turn:
            self.questions += 1
            while not own.sums.done():  # another thread may have had it in its turn
                self._compute(self._take())
        return own.sums.result()

    def _take(self) -> list[Asked]:
        """Those that wait, as far as there is room for them, and one in any case."""
        taken = [self._waiting.popleft()]
        room = self._room - taken[0].size
        while self._waiting and self._waiting[0].size <= room:
            taken.append(self._waiting.popleft())
            room -= taken[-1].size
        return taken

    def _compute(self, questions: list[Asked]) -> None:
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

    def _compute_apart(self, questions: list[Asked]) -> None:
        """They did not fit together; one that does not fit alone has no sums on the card."""
        if len(questions) == 1:
            self.left += 1
            questions[0].sums.set_result(np.full(len(questions[0].given.places), np.nan))
        else:
            for question in questions:
                self._compute([question])
