"""A model of the time per read base on cores alone and beside a card, in which the slowest part decides.

    cores alone      max(their threads' time / threads, lock)
    beside a card    max(the host's time / threads, lock, clocks / (multiprocessors * clock rate))

The lock is Python's: one thread of a process has it at a time. A card also has a single start-up time.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SideSpeed:
    """Nanoseconds per read base on one side."""

    threads: float  # CPU time of all threads
    lock: float  # longest time that one process holds Python's lock

    def seconds(self, threads: int) -> float:
        """Return the seconds per read base."""
        return 1e-9 * max(self.threads / threads, self.lock)


@dataclass(frozen=True, slots=True)
class CommandWork:
    """Costs of a command."""

    cores: SideSpeed  # without a card
    host: SideSpeed  # beside one
    clocks: float  # of a multiprocessor, per read base


def min_bases(work: CommandWork, threads: int, speed: float, start: float) -> int | None:
    """Return the read bases from which a card is faster; None if it never is.

    speed: multiprocessors times clock rate of the card in 1/s; 0 if unknown, in which case the host decides. start:
    seconds that the card takes before the first read.
    """
    on_card = work.clocks / speed if speed else 0.0
    saved = work.cores.seconds(threads) - max(work.host.seconds(threads), on_card)
    return int(start / saved) if saved > 0 else None
