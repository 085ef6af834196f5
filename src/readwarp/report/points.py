"""Summarise distributions as points (x, y), x ascending: y counts the items at x, such as the bases at each depth."""

import math
from bisect import bisect_left
from collections.abc import Collection, Sequence
from itertools import accumulate

Points = Sequence[tuple[float, float]]


def total(points: Collection[tuple[float, float]]) -> float:
    return sum(y for _, y in points)


def mean(points: Collection[tuple[float, float]]) -> float:
    """Return the mean of x, weighted by y; 0 without points. The order of the points does not matter."""
    weight = total(points)
    return sum(x * y for x, y in points) / weight if weight else 0.0


def quantile(points: Points, share: float) -> float | None:
    """Return the lowest x with at least this share of y at or below it; None where all y are 0."""
    wanted, below = share * total(points), 0.0
    for x, y in points:
        below += y
        if below >= wanted > 0:
            return x
    return None


def median(points: Points) -> float | None:
    return quantile(points, 0.5)


def n50(points: Points) -> float | None:
    """Return N50: pieces of this length and longer have half of all bases; x: lengths, y: pieces."""
    bases = [(-x, x * y) for x, y in reversed(points)]
    found = median(bases)
    return None if found is None else -found


def end_of(points: Points, share: float) -> float:
    """Return the end of an axis: the x below which this share of y lies, plus a tenth to show the end of the slope."""
    return 1.1 * (quantile(points, share) or 0.0)


def share_from(points: Points, low: float) -> float:
    """Return the share of y where x is at least `low`."""
    whole = total(points)
    return sum(y for x, y in points if x >= low) / whole if whole else 0.0


def shares(points: Points) -> Points:
    """Divide y by its sum; empty where all y are 0."""
    whole = total(points)
    return [(x, y / whole) for x, y in points] if whole else []


def cumulative(points: Points, places: Sequence[float]) -> Points:
    """Return the share of y at each of the places and above."""
    whole, below = total(points) or 1.0, list(accumulate((y for _, y in points), initial=0.0))
    return [(place, 1 - below[bisect_left(points, place, key=lambda point: point[0])] / whole) for place in places]


def bin_points(points: Points, width: float, end: float) -> Points:
    """Sum y in bins of x from 0 to `end`; the x of a bin is its middle."""
    bins = [0.0] * math.ceil(end / width)
    for x, y in points:
        if x < end:
            bins[int(x / width)] += y
    return [((number + 0.5) * width, y) for number, y in enumerate(bins)]
