"""Plot the reads by cycle: base quality, composition, GC, adapters."""

from collections.abc import Mapping

from readwarp.report.alignments import Samples
from readwarp.report.drawing import Axis
from readwarp.report.numbers import number_text
from readwarp.report.plot import Line, Plot, Plotter, caption
from readwarp.report.points import Points, median, share_from, shares, total


def by_cycle(samples: Samples) -> Samples:
    """Return the samples of short reads: cycles of long reads are not comparable."""
    return {number: a for number, a in samples.items() if not a.long}


def plot_qualities(plotter: Plotter, samples: Samples) -> Plot | None:
    lines = first_and_last(plotter, {n: (a.quality_first, a.quality_last) for n, a in samples.items()})
    texts = {}
    for number, a in by_cycle(samples).items():
        known = sorted(a.quality_bases.items())
        q20, q30 = (number_text(share_from(known, low), True) for low in (20, 30))
        texts[number] = f"mean {a.summary.get('average quality', 0):.1f}; Q20 {q20}, Q30 {q30} of the bases"
    axes = Axis("cycle", (0, None)), Axis("mean quality", (0, None))
    return plotter.lines(caption("quality"), lines, axes, texts)


def plot_quality_bases(plotter: Plotter, samples: Samples) -> Plot | None:
    known = {n: {float(q): float(b) for q, b in a.quality_bases.items()} for n, a in samples.items()}
    qualities = sorted({q for found in known.values() for q in found})
    if not qualities:
        return None
    values = {n: [found.get(q, 0.0) / max(1.0, sum(found.values())) for q in qualities] for n, found in known.items()}
    texts = {
        n: f"{number_text(sum(s for q, s in zip(qualities, row, strict=True) if q >= 30), True)} >= Q30"
        for n, row in values.items()
    }
    names, axis = [f"{q:g}" for q in qualities], Axis("bases", (0, None), percent=True)
    return plotter.bars(caption("quality-bases"), names, values, (Axis("base quality"), axis), texts)


def plot_contents(plotter: Plotter, samples: Samples) -> Plot | None:
    """Plot a line for each base for one sample; the share of G and C for several."""
    strong = {
        n: [(x, y + z) for (x, y), (_, z) in zip(a.contents["G"], a.contents["C"], strict=True)]
        for n, a in by_cycle(samples).items()
    }
    texts = {
        n: f"GC {number_text(total(points) / max(1, len(points)), True)} on average" for n, points in strong.items()
    }
    axes = Axis("cycle", (0, None)), Axis("bases", (0, None), percent=True)
    if plotter.is_alone:
        ((number, a),) = samples.items()
        lines = [Line(number, points, base) for base, points in a.contents.items()]
        return plotter.lines(caption("contents", what="each base"), lines, axes, texts)
    lines = [Line(n, points) for n, points in strong.items()]
    return plotter.lines(caption("contents", what="G and C together"), lines, axes, texts)


def plot_adapters(plotter: Plotter, samples: Samples) -> Plot | None:
    """Plot the share of pairs whose fragment ended before a cycle: from there on, their reads are adapter."""
    lines, texts = [], {}
    for number, a in samples.items():
        pairs, cycles = total(a.insert_sizes), int(a.summary.get("maximum length", 0))
        if not pairs or not cycles:
            continue
        short, points = 0.0, []
        sizes = {int(size): n for size, n in a.insert_sizes}
        for cycle in range(1, cycles + 1):
            short += sizes.get(cycle - 1, 0.0)
            points.append((float(cycle), short / pairs))
        lines.append(Line(number, points))
        texts[number] = f"{number_text(points[-1][1], True)} of pairs contain adapter read-through"
    top = max((line.points[-1][1] for line in lines), default=0.0)
    axes = Axis("cycle", (0, None)), Axis("pairs", (0, max(0.01, 1.08 * top)), percent=True)
    return plotter.lines(caption("adapters"), lines, axes, texts, fill=True)


def plot_gc_contents(plotter: Plotter, samples: Samples) -> Plot | None:
    known = {n: (a.long.points("gc"), []) if a.long else (a.gc_first, a.gc_last) for n, a in samples.items()}
    lines = first_and_last(plotter, {n: (shares(first), shares(last)) for n, (first, last) in known.items()})
    texts = {number: f"median {number_text(median(first) or 0)} %" for number, (first, _) in known.items()}
    axes = Axis("G and C, percent", (0, 100)), Axis("reads", (0, None), percent=True)
    return plotter.lines(caption("gc"), lines, axes, texts)


def first_and_last(plotter: Plotter, samples: Mapping[int, tuple[Points, Points]]) -> list[Line]:
    """Return lines of first and second reads; for many samples, only the first."""
    lines = []
    for number, (first, last) in samples.items():
        both = bool(last) and not plotter.is_crowd
        lines.append(Line(number, first or last, "read 1" if both else ""))
        if first and both:
            lines.append(Line(number, last, "read 2", True))
    return lines
