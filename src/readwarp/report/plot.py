"""A plot of the page, of one sample or many: SVG, what it shows in words, and its numbers as a table."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from readwarp.report.drawing import MAX_COLOURS, Axis, Line, draw_bars, draw_lines, thin_out
from readwarp.report.numbers import number_text

MAX_TABLE_ROWS = 24


class Caption(NamedTuple):
    id: str  # of the figure on the page
    title: str
    note: str  # how to read it


class Plot(NamedTuple):
    caption: Caption
    summary: str  # what the picture shows, in words
    svg: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def caption(name: str, **words: object) -> Caption:
    """A caption of captions.toml, with these words filled in."""
    texts = _captions()[name]
    return Caption(name, texts["title"], texts["note"].format_map(words))


@cache
def _captions() -> dict[str, dict[str, str]]:
    return tomllib.loads(resources.files("readwarp.report").joinpath("captions.toml").read_text())


class Plotter:
    """Makes the plots of one report; samples have the same order and colours in all of them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names

    def lines(
        self,
        caption: Caption,
        lines: Sequence[Line],
        x: Axis,
        y: Axis,
        texts: Mapping[int, str],
        fill: bool = False,
    ) -> Plot | None:
        """None without points. `lines` may leave out samples. `texts`: what the lines of each sample show, in words."""
        lines = [line for line in lines if line.points]
        if not lines:
            return None
        svg = draw_lines(caption.id, lines, len(self.names), x, y, fill)
        xs = np.unique([place for line in lines for place, _ in line.points])
        low, high = (edge if limit is None else limit for limit, edge in zip(x.limits, xs[[0, -1]], strict=True))
        xs = thin_out(xs[(xs >= low) & (xs <= high)], MAX_TABLE_ROWS)
        columns = {self._title(line): list(map(dict(line.points).get, xs.tolist())) for line in lines}
        head, rows = self._table(x.label, [x.ticks.get(v) or number_text(v) for v in xs], columns, y.percent)
        return Plot(caption, self._summarise(texts), svg, head, rows)

    def bars(
        self,
        caption: Caption,
        categories: Sequence[str],
        values: Mapping[int, Sequence[float]],
        axis: Axis,
        texts: Mapping[int, str],
        horizontal: bool = False,
    ) -> Plot | None:
        """None without samples. values[number of the sample][category]. `texts`: what its bars show, in words."""
        if not values:
            return None
        svg = draw_bars(caption.id, categories, values, len(self.names), axis, horizontal)
        columns = {self.names[sample]: row for sample, row in values.items()}
        flat = [category.replace("\n", " ") for category in categories]
        head, rows = self._table("", flat, columns, axis.percent)
        return Plot(caption, self._summarise(texts), svg, head, rows)

    def _title(self, line: Line) -> str:
        own = self.names[line.sample] if len(self.names) > 1 or not line.name else ""
        return ", ".join(filter(None, (own, line.name)))

    def _table(
        self, label: str, places: Sequence[str], columns: Mapping[str, Sequence[float | None]], percent: bool
    ) -> tuple[list[str], list[list[str]]]:
        """A column for each sample; for many samples, their median, minimum and maximum."""
        if len(self.names) > MAX_COLOURS:
            known = [[v for v in row if v is not None] or [0.0] for row in zip(*columns.values(), strict=True)]
            columns = {"median": [float(np.median(row)) for row in known]}
            columns |= {"minimum": [min(row) for row in known], "maximum": [max(row) for row in known]}
        rows = [
            [place, *("" if v is None else number_text(v, percent) for v in row)]
            for place, *row in zip(places, *columns.values(), strict=True)
        ]
        return [label, *columns], rows

    def _summarise(self, texts: Mapping[int, str]) -> str:
        """One sentence for all samples: `NA12878 441; HG002 350`; for many, only what the plot shows of them."""
        if len(self.names) == 1:
            return next(iter(texts.values()), "")
        if len(self.names) > MAX_COLOURS:
            return f"{len(texts)} samples: their median, the range of half of them, and that of all"
        return "; ".join(f"{self.names[sample]} {text}" for sample, text in texts.items())
