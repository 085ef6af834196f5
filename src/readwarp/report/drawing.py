"""Describe a picture: what `svg.py` draws, and the values that the page's script shows under the pointer, as JSON.

Up to MAX_COLOURS samples have a colour each. For more samples a picture shows the median and the spread, so its size
does not grow with their number.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

MAX_COLOURS = 8  # samples with a colour of their own


class Axis(NamedTuple):
    label: str = ""
    limits: tuple[float | None, float | None] = (None, None)
    log: bool = False
    percent: bool = False  # values are shares, shown as percent
    ticks: Mapping[float, str] = {}


NAMED = Axis()  # of named categories


class Series(NamedTuple):
    """Line or bars in one colour. With `base`, it fills from there to y: the spread of many samples."""

    name: str
    colour: int  # 0-7, of the page's colours
    x: Sequence[float]  # ascending; for bars, the index of the category
    y: Sequence[float]
    base: Sequence[float] = ()
    dash: bool = False
    opacity: float = 1.0
    fill: bool = False  # shade between a line and 0
    is_mark: bool = False  # draw a short stroke at each value, among bars
    legend: str = ""  # name in the picture; samples are in the page's legend


class Picture(NamedTuple):
    """Picture of lines, or of bars at places 0, 1, ... of x: `bars` stand, `rows` lie, the first one on top."""

    kind: str  # lines | bars | rows
    x: Axis
    y: Axis
    series: Sequence[Series]
    places: Sequence[str] = ()  # labels of x, shared by all series, where numbers are not enough

    @property
    def is_wide(self) -> bool:
        return self.kind == "lines" and bool(self.places)


def counts_in(picture: Picture) -> bool:
    """Return whether y is a count, so that a tick between two whole numbers would be meaningless."""
    return not picture.y.percent and all(y == int(y) for series in picture.series for y in (*series.y, *series.base))


def as_json(picture: Picture) -> dict[str, Any]:
    """Return the values for the page's script, with five digits."""
    x, y = (_axis_json(axis, *limits) for axis, limits in zip(picture[1:3], find_limits(picture), strict=True))
    series = [
        {
            name: _short(value) if name in ("x", "y", "base") else value
            for name, value in one._asdict().items()
            if value or name == "colour"
        }
        for one in picture.series
    ]
    return {"kind": picture.kind, "places": list(picture.places), "x": x, "y": y, "series": series}


def _axis_json(axis: Axis, low: float, high: float) -> dict[str, Any]:
    ticks = [[place, text] for place, text in axis.ticks.items()]
    return {"label": axis.label, "range": [low, high], "log": axis.log, "percent": axis.percent, "ticks": ticks}


def _short(values: Sequence[float]) -> list[float]:
    rounded = (round(v, 4 - math.floor(math.log10(abs(v)))) if v else 0 for v in values)
    return [int(value) if value == int(value) else value for value in rounded]


def find_limits(picture: Picture) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the limits of x and y; y includes 0, and has room above."""
    xs = [x for series in picture.series for x in (series.x[0], series.x[-1]) if not picture.x.log or x > 0]
    low, high = min(xs), max(xs)
    if picture.kind != "lines":
        low, high = min(0, low) - 0.6, high + 0.6
    x = _either(picture.x.limits, (low, high if high > low else low + 1))
    tops = [
        value
        for series in picture.series
        for place, value in zip(series.x, series.y, strict=True)
        if picture.kind != "lines" or x[0] <= place <= x[1]
    ]
    room = 1.16 if picture.kind != "lines" else 1.06
    y = _either(picture.y.limits, (0.0, room * max([*tops, 0]) or 1.0))
    return x, y


def _either(given: tuple[float | None, float | None], found: tuple[float, float]) -> tuple[float, float]:
    low, high = (b if a is None else a for a, b in zip(given, found, strict=True))
    return float(low), float(high)


def spread_of(rows: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return minimum, first quartile, median, third and maximum of each column of `rows` (a row for each sample)."""
    found: list[list[float]] = np.quantile(rows, (0, 0.25, 0.5, 0.75, 1), axis=0).tolist()
    return found


def spread_series(x: Sequence[float], rows: Sequence[Sequence[float]], is_mark: bool) -> list[Series]:
    """Return the median of many samples, the range of half of them, and that of all."""
    low, first, middle, third, high = spread_of(rows)
    return [
        Series("all samples", 0, x, high, low, opacity=0.18, legend="all samples"),
        Series("half of them", 0, x, third, first, opacity=0.4, legend="half of them"),
        Series("median", 0, x, middle, is_mark=is_mark, legend="median"),
    ]


def thin_out(values: Sequence[float], limit: int) -> list[float]:
    """Thin the values evenly to at most `limit`, with the first and the last."""
    if len(values) <= limit:
        return list(values)
    return [values[round(number * (len(values) - 1) / (limit - 1))] for number in range(limit)]


def tick_places(low: float, high: float, most: int = 7, least: float = 0.0) -> list[float]:
    """Return round numbers (1, 2 or 5 times a power of 10) from low to high, at most `most`, at least `least` apart."""
    size = 10.0 ** math.floor(math.log10((high - low) / most))
    step = max(least, next(size * factor for factor in (1, 2, 5, 10) if (high - low) / (size * factor) < most))
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten from low to high, with 2 and 5 times these if there are few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if len(powers) <= 3 else (1,)
    return [f * 10.0**p for p in powers for f in factors if low <= f * 10.0**p <= high]
