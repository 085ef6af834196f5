"""Outcomes of the items of a kernel."""

from enum import IntEnum


class Status(IntEnum):
    """Outcome of one item of a kernel; all but OK and UNGAPPED are counted and reported."""

    OK = 0
    UNGAPPED = 1  # solved without dynamic programming, and proven optimal
    TOO_LONG = 2  # longer than the step's limit
    CAPACITY = 3  # did not fit the step's working memory
    OVERFLOW = 4  # score beyond the lane width
