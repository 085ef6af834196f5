"""Plot figures of long reads alone: lengths, quality and identity of whole reads, parts, phase blocks."""

import math
from collections.abc import Mapping

from readwarp.report.alignments import Samples
from readwarp.report.drawing import Axis
from readwarp.report.long_reads import LongReads
from readwarp.report.numbers import count_text, number_text
from readwarp.report.plot import Line, Plot, Plotter, caption
from readwarp.report.points import Points, bin_points, mean, median, n50, quantile, share_from, shares, total
from readwarp.report.variants import VariantStatistics

BINS = 20  # bins of lengths per factor of ten
IDENTITY_BINS = 60  # shown
MAX_PARTS = 4  # shown by number


def plot_lengths(plotter: Plotter, samples: Samples) -> Plot | None:
    """Plot reads and their bases for one sample; the bases for several."""
    lines, texts = [], {}
    for number, a in samples.items():
        if not a.long:
            continue
        bases = [(x, x * y) for x, y in a.lengths]
        lines.append(Line(number, in_factors(bases), "bases" if plotter.is_alone else ""))
        if plotter.is_alone:
            lines.append(Line(number, in_factors(a.lengths), "reads", True))
        texts[number] = (
            f"N50 {n50(a.lengths) or 0:,.0f} bases, mean {mean(a.lengths):,.0f}, longest {a.lengths[-1][0]:,.0f}; "
            f"{total(bases):,.0f} bases in {count_text(total(a.lengths), 'read')}"
        )
    what = "bases and reads" if plotter.is_alone else "bases"
    axes = Axis("read length, bases", log=True), Axis(what, (0, None), percent=True)
    return plotter.lines(caption("lengths", what=what), lines, axes, texts)


def in_factors(points: Points) -> Points:
    """Return shares of y in bins of log10 x, with an empty bin on either side; the x of a bin is its middle."""
    bins: dict[int, float] = {}
    for x, y in shares(points):
        number = math.floor(BINS * math.log10(max(x, 1.0)))
        bins[number] = bins.get(number, 0.0) + y
    places = range(min(bins) - 1, max(bins) + 2) if bins else ()
    return [(10 ** ((number + 0.5) / BINS), bins.get(number, 0.0)) for number in places]


def plot_read_qualities(plotter: Plotter, samples: Samples) -> Plot | None:
    found = {number: a.long.points("quality") for number, a in samples.items() if a.long and a.long.quality}
    end = max((points[-1][0] for points in found.values()), default=0.0) + 1.5
    lines = [Line(number, bin_points(shares(points), 1, end)) for number, points in found.items()]
    texts = {
        n: f"median Q{median(points) or 0:.1f}; {number_text(share_from(points, 20), True)} have Q20 or more"
        for n, points in found.items()
    }
    axes = Axis("mean quality of the read", (0, end)), Axis("reads", (0, None), percent=True)
    return plotter.lines(caption("read-qualities"), lines, axes, texts, fill=True)


def plot_identity(plotter: Plotter, samples: Samples) -> Plot | None:
    found = {number: a.long.points("identity") for number, a in samples.items() if a.long and a.long.identity}
    if not found:
        return None
    low = min(quantile(points, 0.01) or 0.0 for points in found.values())
    step = next(step for step in (0.05, 0.1, 0.2, 0.5, 1, 2) if step * IDENTITY_BINS >= 100 - low or step == 2)
    low = max(0.0, step * math.floor((low - step) / step))
    lines = []
    for number, points in found.items():
        moved = [(max(0.0, x - low), y) for x, y in shares(points)]
        lines.append(Line(number, [(low + x, y) for x, y in bin_points(moved, step, 100 - low + 2 * step)]))
    texts = {n: f"median {median(points) or 0:.2f}\N{NO-BREAK SPACE}%" for n, points in found.items()}
    axes = Axis("identity, percent", (low, 100)), Axis(f"reads per {step:g} %", (0, None), percent=True)
    return plotter.lines(caption("identity"), lines, axes, texts, fill=True)


def plot_parts(plotter: Plotter, samples: Samples) -> Plot | None:
    """Plot the number of alignments into which reads are split."""
    names = [*map(str, range(1, MAX_PARTS)), f"{MAX_PARTS} and more"]
    values = {number: parts_of(a.long) for number, a in samples.items() if a.long and a.long.parts}
    texts = {
        n: f"{number_text(1 - row[0], True)} of the mapped reads have supplementary alignments, "
        f"{samples[n].flagstat['supplementary']:,} in total"
        for n, row in values.items()
    }
    axes = Axis("alignments per read"), Axis("mapped reads", (0, None), percent=True)
    return plotter.bars(caption("parts"), names, values, axes, texts)


def parts_of(long: LongReads) -> list[float]:
    counts = [0.0] * MAX_PARTS
    for parts, reads in shares(long.points("parts")):
        counts[min(int(parts), MAX_PARTS) - 1] += reads
    return counts


def plot_blocks(plotter: Plotter, samples: Mapping[int, VariantStatistics]) -> Plot | None:
    """Plot the share of the phased genome in blocks of each length."""
    found = {number: v.blocks for number, v in samples.items() if v.blocks.are_long}
    lines = [Line(n, in_factors([(x, x * y) for x, y in blocks.lengths])) for n, blocks in found.items()]
    texts = {
        n: f"N50 {blocks.n50:,.0f} bases, longest {blocks.longest:,.0f}, {count_text(total(blocks.lengths), 'block')}; "
        f"{number_text(blocks.share, True)} of the heterozygous SNVs are phased"
        for n, blocks in found.items()
    }
    axes = Axis("block length, bases", log=True), Axis("bases in blocks", (0, None), percent=True)
    return plotter.lines(caption("phase-blocks"), lines, axes, texts, fill=True)
