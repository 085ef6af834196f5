"""Lines and bars as SVG for a page: drawn by matplotlib, coloured by the page's CSS variables.

Up to MAX_COLOURS samples have a colour each. Of more samples the page shows the median and the spread, so that its size
does not grow with their number.
"""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from readwarp.report.numbers import number_text, tick_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_COLOURS = 8  # samples with a colour of their own
SIZE = (5.3, 3.3)  # inches; SVG counts 72 points in one
INK, SOFT, GRID = "#010101", "#020202", "#030303"  # stand for the CSS variables of VARIABLES
COLOURS = [f"#0401{number:02x}" for number in range(MAX_COLOURS)]
VARIABLES = {INK: "ink", SOFT: "soft", GRID: "grid", **{c: f"series-{n + 1}" for n, c in enumerate(COLOURS)}}
DASHES = {"": "solid", "dashed": (0, (4, 2.2))}
STYLE: dict[Any, Any] = {
    "font.size": 10.5,
    "svg.fonttype": "none",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "path.simplify_threshold": 0.3,
}


class Line(NamedTuple):
    """One line of a sample, in its colour. `name` tells lines of one sample apart (first reads, last reads)."""

    sample: int
    points: Sequence[tuple[float, float]]
    name: str = ""
    dash: str = ""


class Axis(NamedTuple):
    label: str
    limits: tuple[float | None, float | None] = (None, None)
    log: bool = False
    percent: bool = False  # values are shares, shown as percent
    ticks: Mapping[float, str] = {}


def draw_lines(name: str, lines: Sequence[Line], samples: int, x: Axis, y: Axis, fill: bool = False) -> str:
    """SVG of lines; `fill` shades below a single line. `name` keeps identifiers of the SVG apart from others."""
    with rc_context({**STYLE, "svg.hashsalt": name}):
        figure, axes = _make_figure()
        if samples > MAX_COLOURS:
            _draw_spread(axes, lines)
        else:
            several = samples > 1
            for number, line in enumerate(lines):
                colour = COLOURS[line.sample if several else number]
                xs, ys = np.array(line.points, dtype=np.float64).T
                label = line.name if line.sample == lines[0].sample else None
                axes.plot(xs, ys, color=colour, linewidth=1.7, linestyle=DASHES[line.dash], label=label or None)
                if fill and len(lines) == 1:
                    axes.fill_between(xs, ys, color=colour, alpha=0.15, linewidth=0)
            if any(line.name for line in lines):
                legend = axes.legend(fontsize=9.5, handlelength=2.2)
                for handle in legend.get_lines() if several else ():
                    handle.set_color(INK)
        _finish(axes, x, y)
        return _to_svg(figure)


def draw_bars(
    name: str,
    categories: Sequence[str],
    values: Mapping[int, Sequence[float]],
    samples: int,
    axis: Axis,
    horizontal: bool = False,
) -> str:
    """SVG of bars, the first category on the left or on top; values[sample][category].

    Of more than MAX_COLOURS samples: a box plot of each category.
    """
    bars = 1 if samples > MAX_COLOURS else len(values)  # of one category
    places, width = np.arange(len(categories)), 0.8 / bars
    none = Axis("")
    x, y = (axis, none) if horizontal else (none, axis)
    draw: Callable[..., Any]
    with rc_context({**STYLE, "svg.hashsalt": name, "axes.grid.axis": "x" if horizontal else "y"}):
        if horizontal:
            height = 0.9 + len(categories) * (0.21 if bars == 1 else 0.09 + 0.15 * bars)
            figure, axes = _make_figure((SIZE[0], height), left=0.2 + 0.078 * max(map(len, categories)))
            draw, set_ticks, padding, has_labels = axes.barh, axes.set_yticks, 3, bars <= 3
        else:
            figure, axes = _make_figure()
            draw, set_ticks, padding, has_labels = axes.bar, axes.set_xticks, 2, bars * len(categories) <= 8
        if samples > MAX_COLOURS:
            _draw_boxes(axes, np.array(list(values.values()), dtype=np.float64), horizontal)
        else:
            for number, (sample, row) in enumerate(values.items()):
                drawn = draw(places - 0.4 + width * (number + 0.5), row, width * 0.92, color=COLOURS[sample])
                if has_labels:
                    axes.bar_label(drawn, [number_text(v, axis.percent) for v in row], padding=padding, fontsize=9)
        set_ticks(places, categories)
        axes.tick_params(axis="y" if horizontal else "x", length=0)
        _finish(axes, x, y)
        if horizontal:
            axes.set_ylim(len(categories) - 0.4, -0.6)
        return _to_svg(figure)


def thin_out(values: np.ndarray, limit: int) -> np.ndarray:
    """At most `limit` of the values, evenly spread, with the first and the last."""
    return np.take(values, np.unique(np.linspace(0, values.size - 1, limit).astype(int)))


def _make_figure(size: tuple[float, float] = SIZE, left: float = 0.62) -> tuple[Figure, "Axes"]:
    """An empty figure; `left`: inches for the labels of the y axis."""
    figure = Figure(figsize=size)
    width, height = size
    return figure, figure.add_axes(
        (left / width, 0.54 / height, (width - left - 0.24) / width, (height - 0.84) / height)
    )


def _finish(axes: "Axes", x: Axis, y: Axis) -> None:
    """Labels, limits and ticks. The label of the y axis is above it, where it need not be rotated."""
    if x.log:
        axes.set_xscale("log")
    axes.set_xlabel(x.label)
    axes.set_title(y.label, loc="left", fontsize=10, color=SOFT, pad=7)
    for axis, wanted, limits in ((axes.xaxis, x, axes.set_xlim), (axes.yaxis, y, axes.set_ylim)):
        low, high = wanted.limits
        if low == 0 and high is None:  # room for the line's width, and for labels of bars
            high = max((1.16 if axes.patches else 1.08) * axis.get_data_interval()[1], 1e-9)
        limits(low, high)
        if wanted.ticks:
            axis.set_ticks(list(wanted.ticks), list(wanted.ticks.values()))
            axis.set_ticks([], minor=True)
        elif wanted.percent:
            axis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
        elif wanted.label and not wanted.log:
            axis.set_major_locator(MaxNLocator("auto", integer=axis.get_data_interval()[1] > 5, steps=[1, 2, 5, 10]))
            axis.set_major_formatter(lambda value, _: tick_text(value))
        elif wanted.log:
            axis.set_major_formatter(lambda value, _: f"{value:,g}")


def _draw_spread(axes: "Axes", lines: Sequence[Line]) -> None:
    """The median of all samples, the range of half of them, and that of all."""
    columns = [np.array(line.points).T for line in lines]
    places = thin_out(np.unique(np.concatenate([xs for xs, _ in columns])), 160)
    rows = [np.interp(places, xs, ys, left=0, right=0) for xs, ys in columns]
    bottom, low, middle, high, top = np.percentile(rows, (0, 25, 50, 75, 100), axis=0)
    axes.fill_between(places, bottom, top, color=COLOURS[0], alpha=0.14, linewidth=0, label="all samples")
    axes.fill_between(places, low, high, color=COLOURS[0], alpha=0.32, linewidth=0, label="half of them")
    axes.plot(places, middle, color=COLOURS[0], linewidth=1.7, label="median")
    axes.legend(fontsize=9.5)


def _draw_boxes(axes: "Axes", values: Any, horizontal: bool = False) -> None:
    line = {"color": INK, "linewidth": 1}
    axes.boxplot(
        values,
        positions=range(values.shape[1]),
        orientation="horizontal" if horizontal else "vertical",
        widths=0.5,
        patch_artist=True,
        boxprops={"facecolor": COLOURS[0], "edgecolor": COLOURS[0], "alpha": 0.5},
        medianprops=line,
        whiskerprops=line,
        capprops=line,
        flierprops={"marker": "o", "markersize": 3, "markeredgecolor": SOFT, "markerfacecolor": "none"},
    )


def _to_svg(figure: Figure) -> str:
    """The <svg> element: no size, the page's fonts, coordinates with one decimal, identifiers only where used."""
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(
        r"<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>|<!--.*?-->", "", text, flags=re.DOTALL
    )
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r"<[^>]*>", _slim, text)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, f"var(--{variable})")
    return re.sub(r"\s*\n\s*", "\n", text).strip()


def _slim(tag: "re.Match[str]") -> str:
    """The tag without fonts and sizes, which the page sets, and without further decimals and rotations by 0."""
    text = re.sub(r"(\d\.\d)\d+", r"\1", tag[0])
    text = re.sub(r"font: ?([\d.]+px) [^;\"]*", r"font-size: \1", text)
    text = re.sub(r" ?font-family: ?[^;\"]*;?| transform=\"rotate\(-0 [^)]*\)\"", "", text)
    return re.sub(r' (width|height|version)="[^"]*"', "", text) if text.startswith("<svg") else text
