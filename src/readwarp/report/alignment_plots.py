"""Plots of the alignments: where reads went, insert sizes, depth, and what goes wrong along a read."""

from collections.abc import Mapping

from readwarp.report.alignments import AlignmentStatistics
from readwarp.report.drawing import MAX_COLOURS, Axis, Line
from readwarp.report.numbers import number_text
from readwarp.report.plot import Caption, Plot, Plotter
from readwarp.report.points import Points, bin_points, cumulative, end_of, mean, median, share_from, shares, total

Samples = Mapping[int, AlignmentStatistics]  # by the sample's number
MAX_CONTIGS = 26  # shown
MAPQ_BINS = ((0, 0), (1, 9), (10, 29), (30, 59), (60, 255))


def reads(plotter: Plotter, samples: Samples) -> Plot | None:
    names = {"mapped": "mapped", "proper": "properly\npaired", "duplicates": "duplicates"}
    if not any(a.flagstat["paired"] for a in samples.values()):
        del names["proper"]
    values = {n: [a.flagstat[name] / max(1, a.flagstat["primary"]) for name in names] for n, a in samples.items()}
    texts = {}
    for number, row in values.items():
        parts = zip(row, names.values(), strict=True)
        texts[number] = ", ".join(f"{number_text(value, True)} {' '.join(name.split())}" for value, name in parts)
    note = (
        "Share of all reads. Few mapped reads point to another species, a wrong reference or adapters; many duplicates "
        "mean that there was little DNA to begin with, and that depth was paid for twice."
    )
    axis = Axis("reads", (0, None), percent=True)
    return plotter.bars(Caption("reads", "Mapped, paired, duplicate", note), list(names.values()), values, axis, texts)


def insert_sizes(plotter: Plotter, samples: Samples) -> Plot | None:
    end = max(1.0, *(end_of(a.insert_sizes, 0.997) for a in samples.values()))
    width = max(1, round(end / 100))
    lines = [Line(number, bin_points(shares(a.insert_sizes), width, end)) for number, a in samples.items()]
    texts = {number: f"median {number_text(median(a.insert_sizes) or 0)} bases" for number, a in samples.items()}
    note = (
        "Length of the sequenced fragments, from end to end. One smooth peak is usual; a peak below the read length "
        "means adapters in the reads, two peaks mean two libraries."
    )
    x, y = Axis("insert size, bases", (0, end)), Axis(f"pairs in {width} bases", (0, None), percent=True)
    return plotter.lines(Caption("insert-size", "Insert size", note), lines, x, y, texts, fill=True)


def mapping_qualities(plotter: Plotter, samples: Samples) -> Plot | None:
    names = ["0", *(f"{low}-{high}" for low, high in MAPQ_BINS[1:-1]), "60 and up"]
    values = {}
    for number, a in samples.items():
        whole = max(1.0, total(a.mapping_qualities))
        values[number] = [sum(n for q, n in a.mapping_qualities if low <= q <= high) / whole for low, high in MAPQ_BINS]
    texts = {number: f"{number_text(row[0], True)} have MAPQ 0" for number, row in values.items()}
    note = (
        "How certain the position of a read is, duplicates left out: 60 is the most certain, 0 means that another "
        "position fits as well. Repeats always leave some reads uncertain."
    )
    axis = Axis("mapped reads", (0, None), percent=True)
    return plotter.bars(Caption("mapq", "Mapping quality", note), names, values, axis, texts)


def depth(plotter: Plotter, samples: Samples) -> Plot | None:
    lines = [Line(number, shares(a.depth)) for number, a in samples.items()]
    texts = {number: f"mean {number_text(mean(a.depth))}" for number, a in samples.items()}
    note = (
        f"Bases of {covered_place(samples)} at each depth; duplicates left out, overlapping mates counted once. A peak "
        "around the mean is usual; many at 0 mean that parts were not sequenced, or cannot be mapped with short reads."
    )
    x, y = depth_axis(samples), Axis("bases", (0, None), percent=True)
    return plotter.lines(Caption("depth", "Depth", note), lines, x, y, texts, fill=True)


def cumulative_depth(plotter: Plotter, samples: Samples) -> Plot | None:
    lines = [Line(number, cumulative(a.depth)) for number, a in samples.items()]
    texts = {n: f"{number_text(share_from(a.depth, 20), True)} at depth 20 or more" for n, a in samples.items()}
    where = covered_place(samples)
    note = f"The share of {where} with at least this depth. Heterozygous variants need a depth of about 20."
    x, y = depth_axis(samples), Axis("bases", (0, 1.02), percent=True)
    return plotter.lines(Caption("cumulative", "Covered at least", note), lines, x, y, texts, fill=True)


def depth_axis(samples: Samples) -> Axis:
    return Axis("depth", (0, max(4.0, *(end_of(a.depth, 0.995) for a in samples.values()))))


def covered_place(samples: Samples) -> str:
    """What the depth is of: `the reference`, or `the intervals of FILE`."""
    titles = {a.depth_title.partition(": ")[0].removeprefix("Depth of ") for a in samples.values()}
    return titles.pop() if len(titles) == 1 else "the reference or the targets"


def contigs(plotter: Plotter, samples: Samples) -> Plot | None:
    """Reads per base of the longest contigs; those no longer than a hundredth of the longest are left out."""
    if all(len(a.contigs) == 1 for a in samples.values()):
        return None
    lengths = {name: length for a in samples.values() for name, length, _ in a.contigs}
    longest = sorted(lengths, key=lambda name: -lengths[name])[:MAX_CONTIGS]
    names = [name for name in lengths if name in longest and lengths[name] * 100 > lengths[longest[0]]]
    values = {}
    for number, a in samples.items():
        mean = sum(mapped for *_, mapped in a.contigs) / max(1, sum(length for _, length, _ in a.contigs))
        found = {name: mapped / length / mean for name, length, mapped in a.contigs if length and mean}
        values[number] = [found.get(name, 0.0) for name in names]
    texts = {n: f"{number_text(min(row))} to {number_text(max(row))} of the mean" for n, row in values.items()}
    note = (
        "Mapped reads per base, relative to the mean of all contigs: 1 is usual, X and Y of a man have one half, and "
        "the mitochondrial genome has many times as much."
    )
    x = Axis("reads per base, relative to the mean", (0, None))
    return plotter.bars(Caption("contigs", "Depth by contig", note), names, values, x, texts, horizontal=True)


def qualities(plotter: Plotter, samples: Samples) -> Plot | None:
    lines = first_and_last(plotter, {n: (a.quality_first, a.quality_last) for n, a in samples.items()})
    texts = {number: f"mean {a.summary.get('average quality', 0):.1f}" for number, a in samples.items()}
    note = (
        "Mean base quality of each cycle, in the order of sequencing: 20 means 1 error in 100 bases, 30 means 1 in "
        "1,000. A slow decline is usual, and last reads are lower; a sudden drop is a fault of the machine."
    )
    y = Axis("mean quality", (0, None))
    return plotter.lines(Caption("quality", "Base quality", note), lines, Axis("cycle", (0, None)), y, texts)


def mismatches(plotter: Plotter, samples: Samples) -> Plot | None:
    lines = [Line(number, a.mismatches) for number, a in samples.items()]
    texts = {n: f"{number_text(a.summary.get('error rate', 0), True)} of aligned bases" for n, a in samples.items()}
    note = (
        "Bases that differ from the reference at each cycle. The sample's own variants account for about 0.1 %; a rise "
        "towards the end is usual, and peaks at the first cycles come from primers or adapters."
    )
    x, y = Axis("cycle", (0, None)), Axis("mismatches", (0, None), percent=True)
    return plotter.lines(Caption("mismatches", "Mismatches", note), lines, x, y, texts, fill=True)


def gc_contents(plotter: Plotter, samples: Samples) -> Plot | None:
    lines = first_and_last(plotter, {n: (shares(a.gc_first), shares(a.gc_last)) for n, a in samples.items()})
    texts = {number: f"median {number_text(median(a.gc_first) or 0)} %" for number, a in samples.items()}
    note = (
        "Share of G and C in each read. One peak near the genome's mean (human: 41 %) is usual; a second one means DNA "
        "of another species, or adapters."
    )
    x, y = Axis("G and C, percent", (0, 100)), Axis("reads", (0, None), percent=True)
    return plotter.lines(Caption("gc", "GC content", note), lines, x, y, texts)


def first_and_last(plotter: Plotter, samples: Mapping[int, tuple[Points, Points]]) -> list[Line]:
    """Lines of first and last reads; for many samples, the first only."""
    lines = []
    for number, (first, last) in samples.items():
        both = bool(last) and len(plotter.names) <= MAX_COLOURS
        lines.append(Line(number, first or last, "first reads" if both else ""))
        if first and both:
            lines.append(Line(number, last, "last reads", "dashed"))
    return lines
