"""How long work takes on cores alone and beside a card, by read base: a model, in which what takes longest decides.

    cores alone      max(their threads' time / threads, lock)
    beside a card    max(the host's time / threads, lock, clocks / (multiprocessors * clock rate))

The lock is Python's: one thread of a process has it at a time. A card also has to be started, once.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Side:
    """Nanoseconds for each read base."""

    threads: float  # CPU time of all of them
    lock: float  # the longest time in which one process holds Python's lock

    def seconds(self, threads: int) -> float:
        """For each read base."""
        return 1e-9 * max(self.threads / threads, self.lock)


@dataclass(frozen=True, slots=True)
class Work:
    """What a command costs."""

    cores: Side  # without a card
    host: Side  # beside one
    clocks: float  # of a multiprocessor, for each read base


def min_bases(work: Work, threads: int, speed: float, start: float) -> int | None:
    """Read bases from which on a card is faster; None if it never is.

    speed: multiprocessors times clocks a second of the card; 0 if they are not known, and then the host decides.
    start: seconds that the card takes before the first read.
    """
    on_card = work.clocks / speed if speed else 0.0
    saved = work.cores.seconds(threads) - max(work.host.seconds(threads), on_card)
    return int(start / saved) if saved > 0 else None
