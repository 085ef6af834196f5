"""Plots of the alignments: where reads went, insert sizes, depth, and what goes wrong along a read."""

from collections.abc import Mapping

from readwarp.report.alignments import AlignmentStatistics
from readwarp.report.drawing import MAX_COLOURS, Axis, Line
from readwarp.report.numbers import number_text
from readwarp.report.plot import Plot, Plotter, caption
from readwarp.report.points import Points, bin_points, cumulative, end_of, mean, median, share_from, shares, total

Samples = Mapping[int, AlignmentStatistics]  # by the sample's number
MAX_CONTIGS = 26  # shown
MAPQ_BINS = ((0, 0), (1, 9), (10, 29), (30, 59), (60, 255))


def plot_reads(plotter: Plotter, samples: Samples) -> Plot | None:
    names = {"mapped": "mapped", "proper": "properly\npaired", "duplicates": "duplicates"}
    if not any(a.flagstat["paired"] for a in samples.values()):
        del names["proper"]
    values = {n: [a.flagstat[name] / max(1, a.flagstat["primary"]) for name in names] for n, a in samples.items()}
    texts = {}
    for number, row in values.items():
        parts = zip(row, names.values(), strict=True)
        texts[number] = ", ".join(f"{number_text(value, True)} {' '.join(name.split())}" for value, name in parts)
    axis = Axis("reads", (0, None), percent=True)
    return plotter.bars(caption("reads"), list(names.values()), values, axis, texts)


def plot_insert_sizes(plotter: Plotter, samples: Samples) -> Plot | None:
    end = max(1.0, *(end_of(a.insert_sizes, 0.997) for a in samples.values()))
    width = max(1, round(end / 100))
    lines = [Line(number, bin_points(shares(a.insert_sizes), width, end)) for number, a in samples.items()]
    texts = {number: f"median {number_text(median(a.insert_sizes) or 0)} bases" for number, a in samples.items()}
    x, y = Axis("insert size, bases", (0, end)), Axis(f"pairs in {width} bases", (0, None), percent=True)
    return plotter.lines(caption("insert-size"), lines, x, y, texts, fill=True)


def plot_mapping_qualities(plotter: Plotter, samples: Samples) -> Plot | None:
    names = ["0", *(f"{low}-{high}" for low, high in MAPQ_BINS[1:-1]), "60 and up"]
    values = {}
    for number, a in samples.items():
        whole = max(1.0, total(a.mapping_qualities))
        values[number] = [sum(n for q, n in a.mapping_qualities if low <= q <= high) / whole for low, high in MAPQ_BINS]
    texts = {number: f"{number_text(row[0], True)} have MAPQ 0" for number, row in values.items()}
    axis = Axis("mapped reads", (0, None), percent=True)
    return plotter.bars(caption("mapq"), names, values, axis, texts)


def plot_depth(plotter: Plotter, samples: Samples) -> Plot | None:
    lines = [Line(number, shares(a.depth)) for number, a in samples.items()]
    texts = {number: f"mean {number_text(mean(a.depth))}" for number, a in samples.items()}
    x, y = depth_axis(samples), Axis("bases", (0, None), percent=True)
    return plotter.lines(caption("depth", where=describe_place(samples)), lines, x, y, texts, fill=True)


def plot_cumulative_depth(plotter: Plotter, samples: Samples) -> Plot | None:
    lines = [Line(number, cumulative(a.depth)) for number, a in samples.items()]
    texts = {n: f"{number_text(share_from(a.depth, 20), True)} at depth 20 or more" for n, a in samples.items()}
    x, y = depth_axis(samples), Axis("bases", (0, 1.02), percent=True)
    return plotter.lines(caption("cumulative", where=describe_place(samples)), lines, x, y, texts, fill=True)


def depth_axis(samples: Samples) -> Axis:
    return Axis("depth", (0, max(4.0, *(end_of(a.depth, 0.995) for a in samples.values()))))


def describe_place(samples: Samples) -> str:
    """What the depth is of: `the reference`, or `the intervals of FILE`."""
    titles = {a.depth_title.partition(": ")[0].removeprefix("Depth of ") for a in samples.values()}
    return titles.pop() if len(titles) == 1 else "the reference or the targets"


def plot_contigs(plotter: Plotter, samples: Samples) -> Plot | None:
    """Reads per base of the longest contigs; those no longer than a hundredth of the longest are left out."""
    if all(len(a.contigs) < 2 for a in samples.values()):
        return None
    lengths = {name: length for a in samples.values() for name, length, _ in a.contigs}
    longest = sorted(lengths, key=lambda name: -lengths[name])[:MAX_CONTIGS]
    names = [name for name in lengths if name in longest and lengths[name] * 100 > lengths[longest[0]]]
    values = {}
    for number, a in samples.items():
        usual = sum(mapped for *_, mapped in a.contigs) / max(1, sum(length for _, length, _ in a.contigs))
        found = {name: mapped / length / usual for name, length, mapped in a.contigs if length and usual}
        values[number] = [found.get(name, 0.0) for name in names]
    texts = {n: f"{number_text(min(row))} to {number_text(max(row))} of the mean" for n, row in values.items()}
    x = Axis("reads per base, relative to the mean", (0, None))
    return plotter.bars(caption("contigs"), names, values, x, texts, horizontal=True)


def plot_qualities(plotter: Plotter, samples: Samples) -> Plot | None:
    lines = first_and_last(plotter, {n: (a.quality_first, a.quality_last) for n, a in samples.items()})
    texts = {number: f"mean {a.summary.get('average quality', 0):.1f}" for number, a in samples.items()}
    y = Axis("mean quality", (0, None))
    return plotter.lines(caption("quality"), lines, Axis("cycle", (0, None)), y, texts)


def plot_mismatches(plotter: Plotter, samples: Samples) -> Plot | None:
    lines = [Line(number, a.mismatches) for number, a in samples.items()]
    texts = {n: f"{number_text(a.summary.get('error rate', 0), True)} of aligned bases" for n, a in samples.items()}
    x, y = Axis("cycle", (0, None)), Axis("mismatches", (0, None), percent=True)
    return plotter.lines(caption("mismatches"), lines, x, y, texts, fill=True)


def plot_gc_contents(plotter: Plotter, samples: Samples) -> Plot | None:
    lines = first_and_last(plotter, {n: (shares(a.gc_first), shares(a.gc_last)) for n, a in samples.items()})
    texts = {number: f"median {number_text(median(a.gc_first) or 0)} %" for number, a in samples.items()}
    x, y = Axis("G and C, percent", (0, 100)), Axis("reads", (0, None), percent=True)
    return plotter.lines(caption("gc"), lines, x, y, texts)


def first_and_last(plotter: Plotter, samples: Mapping[int, tuple[Points, Points]]) -> list[Line]:
    """Lines of first and last reads; for many samples, the first only."""
    lines = []
    for number, (first, last) in samples.items():
        both = bool(last) and len(plotter.names) <= MAX_COLOURS
        lines.append(Line(number, first or last, "first reads" if both else ""))
        if first and both:
            lines.append(Line(number, last, "last reads", "dashed"))
    return lines
