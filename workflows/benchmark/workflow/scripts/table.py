"""Accuracy and cost of each tool and depth, as a table, with a plot of the two most important columns."""

import csv
import json
from contextlib import redirect_stderr
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot


def flat(values, prefix=""):
    """Nested names joined by underscores."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}_")
        else:
            yield prefix + name, value


def rows_of(accuracy, times):
    for path, measured in zip(map(Path, accuracy), map(Path, times), strict=True):
        tool, depth = path.stem.rsplit(".", 1)
        with measured.open() as file:
            cost = next(csv.DictReader(file, delimiter="\t"))
        row = {"tool": tool, "depth": depth, "seconds": cost["s"], "peak_mb": cost["max_rss"]}
        yield row | dict(flat(json.loads(path.read_text())))


def plot(rows, path):
    """One panel per depth and measure: bars by tool, labelled with their values."""
    measures = [name for name in ("correct", "snv_f1", "indel_f1") if name in rows[0]] + ["seconds"]
    depths = list(dict.fromkeys(row["depth"] for row in rows))
    size = 3.2 * len(measures), 2.2 * len(depths)
    figure, axes = pyplot.subplots(len(depths), len(measures), squeeze=False, figsize=size, layout="constrained")
    for line, depth in zip(axes, depths, strict=True):
        some = [row for row in rows if row["depth"] == depth]
        for panel, measure in zip(line, measures, strict=True):
            values = [float(row[measure]) for row in some]
            bars = panel.barh([row["tool"] for row in some], values, color="#3b7a8c")
            panel.bar_label(bars, [f"{value:.4g}" for value in values], padding=3, fontsize=8)
            panel.set_title(f"{measure.replace('_', ' ')}, {depth}", fontsize=9, loc="left")
            panel.spines[["top", "right"]].set_visible(False)
            panel.margins(x=0.25)
            panel.invert_yaxis()
            if measure != "seconds":
                panel.set_xlim(left=min(values) - 0.5 * (max(values) - min(values) + 1e-6))
    figure.savefig(path)


with open(snakemake.log[0], "w") as log, redirect_stderr(log):  # noqa: F821
    rows = list(rows_of(snakemake.input.accuracy, snakemake.input.times))  # noqa: F821
    with open(snakemake.output.table, "w", newline="") as file:  # noqa: F821
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)
    plot(rows, snakemake.output.plot)  # noqa: F821
