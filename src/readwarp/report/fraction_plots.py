"""Plot calls by fractions: allele fractions, and damage of the library."""

from collections.abc import Mapping

from readwarp.report.drawing import Axis
from readwarp.report.libraries import CONTEXTS, SUBSTITUTIONS
from readwarp.report.numbers import count_text, number_text
from readwarp.report.plot import Line, Plot, Plotter, caption
from readwarp.report.variants import QUALITY_BINS, VariantStatistics

Samples = Mapping[int, VariantStatistics]  # by the sample's number


def plot_fractions(plotter: Plotter, samples: Samples) -> Plot | None:
    """Plot calls that pass, by AF on a logarithmic axis."""
    lines, texts = list[Line](), {}
    for number, v in samples.items():
        counts = v.genotypes.fractions
        if v.library is None or not counts:
            continue
        bins = range(min(counts) - 1, max(counts) + 2)
        lines.append(Line(number, [(10 ** ((b + 0.5) / QUALITY_BINS), float(counts[b])) for b in bins]))
        least = number_text(v.library.threshold, True)
        texts[number] = f"{count_text(counts.total(), 'ALT allele')} with P(real) >= {least}"
    x, y = Axis("fraction of the molecules", (None, 1), log=True), Axis("alleles", (0, None))
    return plotter.lines(caption("fractions"), lines, (x, y), texts)


def plot_damage(plotter: Plotter, samples: Samples) -> Plot | None:
    """Plot the rates of 96 contexts, in both orientations."""
    lines, texts = list[Line](), {}
    for number, v in samples.items():
        if v.library is None or not v.library.damage:
            continue
        sides = list(zip(*v.library.damage, strict=True))
        for name, rates, dash in zip(("F1R2", "F2R1"), sides, (False, True), strict=True):
            if plotter.is_alone or not dash:
                lines.append(Line(number, list(enumerate(rates)), name if plotter.is_alone else "", dash))
        most = max(range(len(CONTEXTS)), key=lambda row: max(side[row] for side in sides))
        rate = max(side[most] for side in sides)
        texts[number] = f"at most {number_text(1e6 * rate)} per million bases, at {CONTEXTS[most]}"
    ticks = {16.0 * row: change for row, change in enumerate(SUBSTITUTIONS)}
    x, y = Axis("context", ticks=ticks), Axis("reads that show it", (0, None), percent=True)
    return plotter.lines(caption("damage"), lines, (x, y), texts, places=CONTEXTS)
