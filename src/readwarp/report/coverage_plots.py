"""Plot the depth: distribution, along the genome, by contig, by target."""

from collections.abc import Sequence
from itertools import accumulate, groupby

from readwarp.report.alignments import Samples
from readwarp.report.drawing import NAMED, Axis
from readwarp.report.numbers import number_text
from readwarp.report.plot import Line, Plot, Plotter, brief, caption
from readwarp.report.points import bin_points, cumulative, end_of, mean, share_from, total

UNITS = ((", Mb", 1e6, 1e6), (", kb", 1e5, 1e3), ("", 0, 1))  # of positions: suffix, least range, bases per unit
MAX_CONTIGS = 26  # shown by name
MAX_TARGETS = 40  # shown by name
MAX_DEPTHS = 400  # shown one by one


def plot_depth(plotter: Plotter, samples: Samples) -> Plot | None:
    x, width = depth_axis(samples)
    end = x.limits[1] or 0.0
    lines = []
    for number, a in samples.items():
        whole = max(1.0, total(a.depth))
        bins = bin_points(a.depth, width, end)
        lines.append(Line(number, [(place - 0.5, bases / whole) for place, bases in bins]))
    texts = {number: f"mean {number_text(mean(a.depth))}" for number, a in samples.items()}
    y = Axis("bases" if width == 1 else f"bases per {width} depths", (0, None), percent=True)
    return plotter.lines(caption("depth", where=describe_place(samples)), lines, (x, y), texts, fill=True)


def plot_cumulative_depth(plotter: Plotter, samples: Samples) -> Plot | None:
    x, width = depth_axis(samples)
    places = [float(place) for place in range(0, int(x.limits[1] or 0) + 1, width)]
    lines = [Line(number, cumulative(a.depth, places)) for number, a in samples.items()]
    texts = {n: f"{number_text(share_from(a.depth, 20), True)} at depth 20 or more" for n, a in samples.items()}
    axes = x, Axis("bases", (0, 1.02), percent=True)
    return plotter.lines(caption("cumulative", where=describe_place(samples)), lines, axes, texts, fill=True)


def depth_axis(samples: Samples) -> tuple[Axis, int]:
    """Return the axis, and the depths per point."""
    end = max(4.0, *(end_of(a.depth, 0.995) for a in samples.values()))
    width = -(-int(end) // MAX_DEPTHS) or 1
    return Axis("depth", (0, end)), width


def describe_place(samples: Samples) -> str:
    """Describe where the depth is measured: `the reference`, or `the intervals of FILE`."""
    titles = {a.depth_title.partition(": ")[0].removeprefix("Depth of ") for a in samples.values()}
    return titles.pop() if len(titles) == 1 else "the reference or the targets"


def plot_contigs(plotter: Plotter, samples: Samples) -> Plot | None:
    """Plot reads per base of the longest contigs; those no longer than a hundredth of the longest are left out."""
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
    return plotter.bars(caption("contigs"), names, values, (NAMED, x), texts, kind="rows")


def plot_along(plotter: Plotter, samples: Samples) -> Plot | None:
    """Plot the mean depth of equal bins along the long contigs.

    Samples on a reference other than the first sample's are left out.
    """
    first = next(iter(samples.values())).along
    bins = [row[:3] for row in first]
    alike = {number: a.along for number, a in samples.items() if [row[:3] for row in a.along] == bins}
    kept = long_contigs(bins)
    shown = [number for number, (name, _, _) in enumerate(bins) if name in kept]
    if len(shown) < 3:
        return None
    begin = dict(zip(kept, accumulate(kept.values(), initial=0), strict=False))
    whole = sum(kept.values())
    unit, _, scale = next(row for row in UNITS if whole >= row[1]) if len(kept) == 1 else UNITS[-1]
    xs = [(begin[bins[n][0]] + (bins[n][1] + bins[n][2]) / 2) / scale for n in shown]
    lines = [Line(number, [(x, rows[n][3]) for x, n in zip(xs, shown, strict=True)]) for number, rows in alike.items()]
    places = [f"{name}:{start + 1:,}-{stop:,}" for name, start, stop in (bins[n] for n in shown)]
    ticks = {begin[name] + size / 2: brief(name) for name, size in kept.items()} if len(kept) > 1 else {}
    end = max(a_share([row[3] for row in rows], 0.99) for rows in alike.values())
    x = Axis("contig" if ticks else f"position in {next(iter(kept))}{unit}", (0, whole / scale), ticks=ticks)
    texts = {number: describe_bins([rows[n][3] for n in shown]) for number, rows in alike.items()}
    y = Axis("mean depth", (0, max(1.0, 1.5 * end)))
    width = bins[0][2] - bins[0][1]
    return plotter.lines(caption("along", width=f"{width:,}"), lines, (x, y), texts, fill=True, places=places)


def long_contigs(bins: Sequence[tuple[str, int, int]]) -> dict[str, int]:
    """Return the bases of contigs of at least a fiftieth of the genome or of the longest contig."""
    sizes = {name: sum(stop - start for _, start, stop in rows) for name, rows in groupby(bins, lambda row: row[0])}
    limit = min(sum(sizes.values()), max(sizes.values(), default=0)) / 50
    return {name: size for name, size in sizes.items() if size >= limit}


def describe_bins(means: list[float]) -> str:
    low, middle, high = (number_text(a_share(means, share)) for share in (0.05, 0.5, 0.95))
    return f"median {middle}; 90 % of the bins between {low} and {high}"


def a_share(values: list[float], share: float) -> float:
    """Return the value below which this share of the values is."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def plot_targets(plotter: Plotter, samples: Samples) -> Plot | None:
    """Plot the mean depth of each target in genome order; samples with other targets are left out."""
    first = next((a.targets for a in samples.values() if a.targets), [])
    places = [row[:4] for row in first]
    alike = {number: a.targets for number, a in samples.items() if [row[:4] for row in a.targets] == places}
    if not first:
        return None
    values = {number: [row[4] for row in rows] for number, rows in alike.items()}
    names = [own or f"{name}:{start + 1:,}-{stop:,}" for name, start, stop, own in places]
    texts = {n: f"{sum(row[5] >= 0.95 for row in rows):,} of {len(rows):,} covered" for n, rows in alike.items()}
    if len(names) <= MAX_TARGETS:
        return plotter.bars(
            caption("targets"), names, values, (NAMED, Axis("mean depth", (0, None))), texts, kind="rows"
        )
    lines = [Line(number, [(float(n), mean) for n, mean in enumerate(row, 1)]) for number, row in values.items()]
    axes = Axis("target", (0, None)), Axis("mean depth", (0, None))
    return plotter.lines(caption("targets"), lines, axes, texts, fill=True, places=names)
