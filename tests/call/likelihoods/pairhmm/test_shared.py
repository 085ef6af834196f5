"""A card that several threads, or the processes they stand for, share gives each what it would have alone."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from time import sleep

import numpy as np
import pytest

from helpers.hmm_oracle import all_with_status, random_read
from readwarp.call.likelihoods.pairhmm import cpu
from readwarp.call.likelihoods.pairhmm.given import SharedCard, log_likelihoods_by
from readwarp.rules.statuses import Status

NUMBER = 5


class FullError(Exception):
    pass


def sum_on_card(given):
    from readwarp.call.likelihoods.pairhmm import cuda

    return cuda.sum_given(given)


def some(rng):
    haplotypes = [rng.integers(0, 4, size) for size in (170, 90, 260)]
    haplotypes[1][4] = 4
    return [random_read(rng, length, haplotypes[2], unknown=0.1) for length in rng.integers(8, 200, 9)], haplotypes


def ask_together(shared, inputs):
    """What each gets of (values, status), where all wait before the first is answered."""
    compare = partial(log_likelihoods_by, shared.answer)
    with ThreadPoolExecutor(NUMBER) as pool:
        with shared._turn:
            waiting = [pool.submit(all_with_status, *each, compare) for each in inputs]
            while len(shared._waiting) < len(inputs):
                sleep(0.001)
        return [future.result() for future in waiting]


@pytest.fixture
def inputs():
    rng = np.random.default_rng(9)
    return [some(rng) for _ in range(NUMBER)]


@pytest.mark.cards
@pytest.mark.parametrize(("room", "batches"), [(1 << 30, 1), (1, NUMBER)])
def test_questions_that_wait_are_one_batch_if_there_is_room(inputs, room, batches):
    shared = SharedCard(sum_on_card, nullcontext, lambda error: False, room)
    found = ask_together(shared, inputs)
    for each, (values, status) in zip(inputs, found, strict=True):
        assert values.tobytes() == all_with_status(*each, cpu.log_likelihoods)[0].tobytes()
        assert not status.any()
    assert (shared.questions, shared.batches) == (NUMBER, batches)


@pytest.mark.cards
@pytest.mark.parametrize("most", [0, 30])
def test_what_does_not_fit_together_is_tried_alone_and_then_left_to_the_host(inputs, most):
    def sum_few(given):
        if len(given.places) > most:
            raise FullError
        return sum_on_card(given)

    shared = SharedCard(sum_few, nullcontext, lambda error: isinstance(error, FullError), 1 << 30)
    for each, (values, status) in zip(inputs, ask_together(shared, inputs), strict=True):
        assert values.tobytes() == all_with_status(*each, cpu.log_likelihoods)[0].tobytes()
        assert set(status.ravel()) == {Status.OK if most else Status.TOO_LONG}
    assert (shared.batches, shared.left) == (1 + NUMBER, 0 if most else NUMBER)


def test_all_that_wait_hear_of_an_error(inputs):
    def fail(given):
        raise OSError("the card is gone")

    shared = SharedCard(fail, nullcontext, lambda error: False, 1 << 30)
    for each in inputs:
        with pytest.raises(OSError, match="gone"):
            all_with_status(*each, partial(log_likelihoods_by, shared.answer))
