"""Draw a picture as SVG in the page's colours. The page's script adds values under the pointer, and zoom."""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from readwarp.report.drawing import Axis, Picture, Series, counts_in, find_limits, log_ticks, tick_places
from readwarp.report.html import Html, element
from readwarp.report.numbers import number_text, tick_text

WIDTH, HEIGHT = 420, 260  # size of the picture, in its own units
WIDE = 880
TOP, BOTTOM = 30, 44  # around the plot
LEFT, RIGHT = 52, 14
LETTER = 7.0  # typical width of a letter in a narrow figure, where text is largest
EDGE = 2  # around the plot, so that lines along its edges are whole
ROW = 19  # height of a category of horizontal bars with one sample
GROUP = 0.8  # share of a category's place taken by its bars
MANY_DIGITS = 1e6  # numbers from here on leave room for three ticks only


class Frame(NamedTuple):
    """Place of the plot, and of values in it."""

    width: float
    height: float
    left: float
    x: Callable[[float], float]
    y: Callable[[float], float]

    @property
    def right(self) -> float:
        return self.width - RIGHT

    @property
    def bottom(self) -> float:
        return self.height - BOTTOM


def draw(picture: Picture, width: int = WIDTH) -> Html:
    """Draw the <svg> element. It names the edges of the plot for the page's script."""
    frame, is_lying = make_frame(picture, width), picture.kind == "rows"
    along, up = find_limits(picture)
    parts = [*_grid(frame, picture.y, up, not is_lying, counts_in(picture))]
    if picture.kind == "lines":
        ticks = element("g", _grid(frame, picture.x, along, False, False), class_="ticks")
        parts += [ticks, draw_lines(picture, frame)]
    else:
        parts += [*_categories(frame, picture.x, is_lying), *draw_bars(picture, frame)]
    return element(
        "svg",
        [*parts, *_labels(picture, frame), *_legend(picture, frame)],
        viewBox=_numbers(0, 0, frame.width, frame.height),
        xmlns="http://www.w3.org/2000/svg",
        data_edges=_numbers(frame.left, frame.right, TOP, frame.bottom),
        class_="broad" if width == WIDE else None,
    )


def make_frame(picture: Picture, width: float) -> Frame:
    height, left = float(HEIGHT), float(LEFT)
    (low, high), (bottom, top) = find_limits(picture)
    if picture.kind == "rows":
        side = sum(not series.base for series in picture.series)
        height = TOP + BOTTOM + len(picture.places) * ROW * max(1.0, 0.65 * min(side, 8))
        left = 16 + LETTER * max(map(len, picture.x.ticks.values()))
    elif not picture.y.percent:
        left = max(left, 14 + LETTER * max(len(tick_text(v)) for v in tick_places(bottom, top)))
    across = (left, width - RIGHT), (low, high) if picture.kind != "rows" else (bottom, top)
    down = (height - BOTTOM, TOP), (bottom, top) if picture.kind != "rows" else (high, low)
    log = picture.x.log
    return Frame(width, height, left, _scale(*across, log), _scale(*down, False))


def _scale(to: tuple[float, float], of: tuple[float, float], log: bool) -> Callable[[float], float]:
    start, stop = map(math.log10, of) if log else of

    def place(value: float) -> float:
        at = math.log10(max(value, 1e-12)) if log else value
        return to[0] + (at - start) / (stop - start) * (to[1] - to[0])

    return place


def _n(value: float) -> str:
    """Format a coordinate with one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def _numbers(*values: float) -> str:
    return " ".join(map(_n, values))


def _place(x: float, y: float, width: float, height: float) -> dict[str, str]:
    return {"x": _n(x), "y": _n(y), "width": _n(width), "height": _n(height)}


def _text(x: float, y: float, text: str, anchor: str = "middle", class_: str | None = None) -> Html:
    lines = text.split("\n")
    spans = [element("tspan", line, x=_n(x), dy="1.15em" if n else None) for n, line in enumerate(lines)]
    return element("text", text if len(lines) == 1 else spans, x=_n(x), y=_n(y), text_anchor=anchor, class_=class_)


def _path(points: Iterable[tuple[float, float]], **attributes: object) -> Html:
    places = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
    return element("path", d=f"M{places}", **attributes)


def _grid(frame: Frame, axis: Axis, limits: tuple[float, float], upright: bool, counts: bool) -> Iterable[Html]:
    """Draw lines and texts at the ticks: of y if upright, otherwise of x. counts: ticks are whole numbers."""
    place = frame.y if upright else frame.x
    for value in _ticks(place, limits, axis, 1.0 if counts else 0.0):
        at = place(value)
        text = axis.ticks.get(value) or (f"{100 * value:g} %" if axis.percent else tick_text(float(f"{value:.6g}")))
        ends = ((frame.left, at), (frame.right, at)) if upright else ((at, TOP), (at, frame.bottom))
        yield _path(ends, class_="grid")
        yield _text(frame.left - 6, at + 4, text, "end") if upright else _text(at, frame.bottom + 18, text)


def _ticks(place: Callable[[float], float], limits: tuple[float, float], axis: Axis, least: float) -> list[float]:
    low, high = limits
    if axis.ticks:
        kept: list[float] = []
        for value in axis.ticks:  # ticks that have room
            gap = LETTER * (len(axis.ticks[value]) + 1.5)
            if low <= value <= high and (not kept or place(value) - place(kept[-1]) >= gap):
                kept.append(value)
        return kept
    if axis.log:
        return log_ticks(low, high)
    most = 7 if high < MANY_DIGITS else 3  # long numbers need room
    return tick_places(low, high, most, least)


def _categories(frame: Frame, axis: Axis, lying: bool) -> Iterable[Html]:
    last = -1e9
    for number, text in axis.ticks.items():
        if lying:
            yield _text(frame.left - 6, frame.y(number) + 4, text.replace("\n", " "), "end")
            continue
        half = LETTER / 2 * max(map(len, text.split("\n")))
        if frame.x(number) - half > last + 3:
            last = frame.x(number) + half
            yield _text(frame.x(number), frame.bottom + 17, text)


def _labels(picture: Picture, frame: Frame) -> Iterable[Html]:
    """Draw labels; that of the upright axis is above it, where it need not be rotated."""
    upright, along = (picture.x, picture.y) if picture.kind == "rows" else (picture.y, picture.x)
    yield _path(((frame.left, frame.bottom), (frame.right, frame.bottom)), class_="edge")
    if upright.label:
        yield _text(0, 14, upright.label, "start", "soft")
    if along.label:
        yield _text((frame.left + frame.right) / 2, frame.height - 6, along.label, class_="soft")


def _legend(picture: Picture, frame: Frame) -> Iterable[Html]:
    """Draw the legend at the top right."""
    named = {series.legend: series for series in reversed(picture.series) if series.legend}
    at = frame.right
    for name, series in named.items():
        at -= LETTER * len(name)
        text = _text(at, 14, name, "start")
        at -= 26
        colour = f"stroke: var(--series-{series.colour + 1})"
        wide = 7 if series.base else 2
        attributes = {"stroke_opacity": series.opacity if series.base else None, "stroke_width": wide}
        dash = "5 3" if series.dash else None
        line = _path(((at, 10), (at + 20, 10)), style=colour, stroke_dasharray=dash, fill="none", **attributes)
        yield element("g", line, text, class_="key", data_key=name)
        at -= 12


def draw_lines(picture: Picture, frame: Frame) -> Html:
    """Draw the lines in an <svg> of their own, which cuts off what lies beyond the plot."""
    box = frame.left, TOP - EDGE, frame.right - frame.left, frame.bottom - TOP + 2 * EDGE
    groups = [
        element("g", list(_draw_line(series, frame)), data_key=series.legend or None) for series in picture.series
    ]
    return element("svg", groups, class_="plot", preserveAspectRatio="none", viewBox=_numbers(*box), **_place(*box))


def _draw_line(series: Series, frame: Frame) -> Iterable[Html]:
    points = [(frame.x(x), frame.y(y)) for x, y in zip(series.x, series.y, strict=True)]
    paint = f"var(--series-{series.colour + 1})"
    if series.base or series.fill:
        floor = series.base or [0.0] * len(points)
        back = [(x, frame.y(y)) for (x, _), y in zip(points, floor, strict=True)]
        opacity = series.opacity if series.base else 0.15
        yield _path([*points, *back[::-1]], style=f"fill: {paint}", fill_opacity=opacity)
    if not series.base:
        dash = "5 3" if series.dash else None
        yield _path(points, style=f"stroke: {paint}", fill="none", stroke_width=1.8, stroke_dasharray=dash)


def draw_bars(picture: Picture, frame: Frame) -> Iterable[Html]:
    """Draw bars from 0, side by side for several samples; spreads and marks overlap each other."""
    lying = picture.kind == "rows"
    standing = [series for series in picture.series if not series.base and not series.is_mark]
    labels = [number_text(y, picture.y.percent) for series in standing for y in series.y]
    width = LETTER * (max(map(len, labels), default=0) + 1) * len(labels)
    has_labels = len(standing) <= 2 if lying else width <= frame.right - frame.left
    for series in picture.series:
        is_alone, parts = series not in standing, list[Html]()
        width = GROUP * 0.6 if is_alone else GROUP / len(standing)
        shift = 0.0 if is_alone else (standing.index(series) - (len(standing) - 1) / 2) * width
        for number, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
            floor = series.base[number] if series.base else y if series.is_mark else 0.0
            parts.append(_bar(frame, lying, (x + shift, width * 0.92), (floor, y), series))
            if has_labels and not is_alone:
                label = number_text(y, picture.y.percent)
                at = (frame.x(y) + 4, frame.y(x + shift) + 4) if lying else (frame.x(x + shift), frame.y(y) - 4)
                parts.append(_text(*at, label, "start" if lying else "middle"))
        yield element("g", parts, data_key=series.legend or None)


def _bar(frame: Frame, lying: bool, across: tuple[float, float], ends: tuple[float, float], series: Series) -> Html:
    """Draw a bar. across: middle and width; ends: where the bar begins and ends."""
    middle, width = across
    place, length = (frame.y, frame.x) if lying else (frame.x, frame.y)
    sides = sorted((place(middle - width / 2), place(middle + width / 2)))
    tips = sorted(map(length, ends))
    if series.is_mark:
        tips = [tips[0] - 1.2, tips[0] + 1.2]
    (left, right), (top, bottom) = (tips, sides) if lying else (sides, tips)
    paint = "var(--ink)" if series.is_mark else f"var(--series-{series.colour + 1})"
    opacity = series.opacity if series.opacity < 1 else None
    box = _place(left, top, right - left, bottom - top)
    return element("rect", style=f"fill: {paint}", fill_opacity=opacity, **box)
