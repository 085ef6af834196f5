"""Make a plot of the page, of one sample or many: a picture, a summary in words, and its numbers as a table."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from statistics import median
from typing import NamedTuple

import numpy as np

from readwarp.report.drawing import MAX_COLOURS, Axis, Picture, Series, spread_series, thin_out
from readwarp.report.numbers import number_text

MAX_TABLE_ROWS, MAX_SPREAD_PLACES = 60, 160
MAX_NAME = 30  # letters of a name at an axis


class Line(NamedTuple):
    """Line of a sample, in its colour. `name` tells lines of one sample apart (first reads, second reads)."""

    sample: int
    points: Sequence[tuple[float, float]]
    name: str = ""
    dash: bool = False


class Caption(NamedTuple):
    id: str  # id of the figure on the page
    title: str
    note: str  # how to read it


class Plot(NamedTuple):
    caption: Caption
    summary: str  # content of the picture in words
    picture: Picture
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left_out: int = 0  # places of the picture without a row


def caption(name: str, **words: object) -> Caption:
    """Return a caption of captions.toml, with these words filled in."""
    texts = _captions()[name]
    return Caption(name, texts["title"], texts["note"].format_map(words))


@cache
def _captions() -> dict[str, dict[str, str]]:
    import tomllib

    return tomllib.loads(resources.files("readwarp.report").joinpath("captions.toml").read_text())


class Plotter:
    """Maker of the plots of one report, in which samples keep their order and colours."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names

    @property
    def is_alone(self) -> bool:
        return len(self.names) == 1

    @property
    def is_crowd(self) -> bool:
        """Return whether there are more samples than colours."""
        return len(self.names) > MAX_COLOURS

    def lines(
        self,
        caption: Caption,
        lines: Sequence[Line],
        axes: tuple[Axis, Axis],
        texts: Mapping[int, str],
        fill: bool = False,
        places: Sequence[str] = (),
    ) -> Plot | None:
        """Plot lines; None without points. `lines` may leave out samples. `texts`: each sample's lines in words.

        places: labels of x, where numbers are not enough; then all lines have the same x.
        """
        lines = [line for line in lines if line.points]
        if not lines:
            return None
        (x, y), xs = axes, sorted({place for line in lines for place, _ in line.points})
        picture = Picture("lines", x, y, self._series(lines, xs, fill), places)
        low, high = (edge if limit is None else limit for limit, edge in zip(x.limits, (xs[0], xs[-1]), strict=True))
        inside = [place for place in xs if low <= place <= high]
        shown = thin_out(inside, MAX_TABLE_ROWS)
        columns = {self._title(line): [dict(line.points).get(place) for place in shown] for line in lines}
        named = dict(zip(xs, places, strict=True)) if places else x.ticks
        head, rows = self._table(x.label, [named.get(v) or number_text(v) for v in shown], columns, y.percent)
        return Plot(caption, self._summarise(texts), picture, head, rows, len(inside) - len(shown))

    def _series(self, lines: Sequence[Line], xs: Sequence[float], fill: bool) -> list[Series]:
        if self.is_crowd:
            places = thin_out(xs, MAX_SPREAD_PLACES)
            return spread_series(places, [interpolate(line.points, places) for line in lines], is_mark=False)
        out = []
        for number, line in enumerate(lines):
            x, y = zip(*line.points, strict=True)
            colour = number if self.is_alone else line.sample
            name = line.name if self.is_alone else self._title(line)
            out.append(Series(name, colour, x, y, dash=line.dash, fill=fill and len(lines) == 1, legend=line.name))
        return out

    def bars(
        self,
        caption: Caption,
        categories: Sequence[str],
        values: Mapping[int, Sequence[float]],
        axes: tuple[Axis, Axis],
        texts: Mapping[int, str],
        kind: str = "bars",
    ) -> Plot | None:
        """Plot bars, if any. values[number of the sample][category]. `texts`: what each sample's bars show, in words.

        axes: of the categories, with ticks if not all of them are to be named, and of the values.
        """
        if not values:
            return None
        (x, axis), xs = axes, [float(number) for number in range(len(categories))]
        if not x.ticks:
            x = x._replace(ticks=dict(zip(xs, map(brief, categories), strict=True)))
        if self.is_crowd:
            series = spread_series(xs, list(values.values()), is_mark=True)
        else:
            series = [
                Series("" if self.is_alone else self.names[sample], sample, xs, row) for sample, row in values.items()
            ]
        columns = {self.names[sample]: row for sample, row in values.items()}
        flat = [category.replace("\n", " ") for category in categories]
        head, rows = self._table(x.label, flat, columns, axis.percent)
        return Plot(caption, self._summarise(texts), Picture(kind, x, axis, series, flat), head, rows)

    def _title(self, line: Line) -> str:
        own = "" if self.is_alone and line.name else self.names[line.sample]
        return ", ".join(filter(None, (own, line.name)))

    def _table(
        self, label: str, places: Sequence[str], columns: Mapping[str, Sequence[float | None]], percent: bool
    ) -> tuple[list[str], list[list[str]]]:
        """Make a column for each sample; for many samples, their median, minimum and maximum."""
        if self.is_crowd:
            known = [sorted(v for v in row if v is not None) or [0.0] for row in zip(*columns.values(), strict=True)]
            columns = {"median": [median(row) for row in known]}
            columns |= {"minimum": [row[0] for row in known], "maximum": [row[-1] for row in known]}
        rows = [
            [place, *("" if v is None else number_text(v, percent) for v in row)]
            for place, *row in zip(places, *columns.values(), strict=True)
        ]
        return [label, *columns], rows

    def _summarise(self, texts: Mapping[int, str]) -> str:
        """Summarise all samples: `NA12878 441; HG002 350`; for many, only as much as the plot shows."""
        if self.is_alone:
            return next(iter(texts.values()), "")
        if self.is_crowd:
            return f"{len(texts)} samples: their median, the range of the middle half, and the range of all"
        return "; ".join(f"{self.names[sample]} {text}" for sample, text in texts.items())


def brief(name: str) -> str:
    """Shorten a name at an axis; a long one keeps its ends."""
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME // 2 - 1]}…{name[-MAX_NAME // 2 :]}"


def interpolate(points: Sequence[tuple[float, float]], places: Sequence[float]) -> list[float]:
    """Interpolate the y of a line at ascending places; 0 beyond its ends."""
    x, y = zip(*points, strict=True)
    found: list[float] = np.interp(places, x, y, left=0, right=0).tolist()
    return found
