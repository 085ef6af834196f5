"""Plot the alignments: where reads went, insert sizes, mismatches, duplicates."""

import math

from readwarp.report.alignments import Samples
from readwarp.report.drawing import NAMED, Axis
from readwarp.report.numbers import number_text
from readwarp.report.plot import Line, Plot, Plotter, caption
from readwarp.report.points import bin_points, end_of, mean, median, shares, total

MAPQ_BINS = ((0, 0), (1, 9), (10, 29), (30, 59), (60, 255))


def plot_reads(plotter: Plotter, samples: Samples) -> Plot | None:
    names = {"mapped": "mapped", "proper": "properly\npaired", "duplicates": "duplicates"}
    if all(a.long for a in samples.values()):  # none are marked
        del names["duplicates"]
    if not any(a.flagstat["paired"] for a in samples.values()):
        del names["proper"]
    values = {n: [a.flagstat[name] / max(1, a.flagstat["primary"]) for name in names] for n, a in samples.items()}
    texts = {}
    for number, row in values.items():
        parts = zip(row, names.values(), strict=True)
        texts[number] = ", ".join(f"{number_text(value, True)} {' '.join(name.split())}" for value, name in parts)
    axis = Axis("reads", (0, None), percent=True)
    return plotter.bars(caption("reads"), list(names.values()), values, (NAMED, axis), texts)


def plot_insert_sizes(plotter: Plotter, samples: Samples) -> Plot | None:
    paired = {number: a for number, a in samples.items() if total(a.insert_sizes)}
    end = max([1.0, *(end_of(a.insert_sizes, 0.997) for a in paired.values())])
    width = max(1, round(end / 100))
    lines = [Line(number, bin_points(shares(a.insert_sizes), width, end)) for number, a in paired.items()]
    texts = {number: f"median {number_text(median(a.insert_sizes) or 0)} bases" for number, a in paired.items()}
    x, y = Axis("insert size, bases", (0, end)), Axis(f"pairs per {width} bases", (0, None), percent=True)
    return plotter.lines(caption("insert-size"), lines, (x, y), texts, fill=True)


def plot_mapping_qualities(plotter: Plotter, samples: Samples) -> Plot | None:
    names = ["0", *(f"{low}-{high}" for low, high in MAPQ_BINS[1:-1]), "60 and up"]
    values = {}
    for number, a in samples.items():
        whole = max(1.0, total(a.mapping_qualities))
        values[number] = [sum(n for q, n in a.mapping_qualities if low <= q <= high) / whole for low, high in MAPQ_BINS]
    texts = {number: f"{number_text(row[0], True)} have MAPQ 0" for number, row in values.items()}
    axis = Axis("mapped reads", (0, None), percent=True)
    return plotter.bars(caption("mapq"), names, values, (NAMED, axis), texts)


def plot_mismatches(plotter: Plotter, samples: Samples) -> Plot | None:
    lines = [Line(number, a.mismatches) for number, a in samples.items()]
    texts = {
        n: f"{number_text(a.summary.get('error rate', 0), True)} of aligned bases"
        for n, a in samples.items()
        if a.mismatches
    }
    x, y = Axis("cycle", (0, None)), Axis("mismatches", (0, None), percent=True)
    return plotter.lines(caption("mismatches"), lines, (x, y), texts, fill=True)


def plot_duplicates(plotter: Plotter, samples: Samples) -> Plot | None:
    """Plot the share of duplicates expected with less or more sequencing of the same library.

    N of the library's C fragments are sequenced at random: C (1 - exp(-N / C)) of them are distinct (Lander and
    Waterman 1988), the others are duplicates. Samples without duplicates are left out.
    """
    lines, texts = [], {}
    for number, a in samples.items():
        reads, found = a.flagstat["mapped"], a.flagstat["duplicates"]
        sequenced = mean(a.depth) / (1 - found / reads) if 0 < found < reads else 0.0
        if sequenced == 0:
            continue
        size = library_size(1 - found / reads)
        points = [(sequenced * factor, 1 - unique_share(factor, size)) for factor in (n / 20 for n in range(1, 81))]
        lines.append(Line(number, [(0.0, 0.0), *points]))
        texts[number] = (
            f"{number_text(found / reads, True)} at depth {number_text(sequenced)}, "
            f"{number_text(1 - unique_share(2, size), True)} at twice that"
        )
    end = min((line.points[-1][0] for line in lines), default=None)
    axes = Axis("sequenced depth", (0, end)), Axis("duplicates", (0, None), percent=True)
    return plotter.lines(caption("duplicates"), lines, axes, texts, fill=True)


def unique_share(factor: float, size: float) -> float:
    """Return the unique share of `factor` times as much sequencing. size: library fragments, over those sequenced."""
    return size / factor * -math.expm1(-factor / size)


def library_size(unique: float) -> float:
    """Return the library size at which this share (0-1) of the current reads is unique, by bisection."""
    low, high = 1e-9, 1e9
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if unique_share(1, middle) < unique else (low, middle)
    return low
