"""Plot molecules by UMI: the pairs or single reads of each, from metrics.json."""

from readwarp.report.drawing import Axis
from readwarp.report.numbers import count_text, number_text
from readwarp.report.plot import Plot, Plotter, caption
from readwarp.report.runs import Runs

SIZES = (*((size, size) for size in range(1, 11)), (11, 20), (21, 50), (51, 100), (101, None))  # first and last


def plot_families(plotter: Plotter, samples: Runs) -> Plot | None:
    """Plot the share of molecules by their number of pairs or single reads."""
    values, texts = {}, {}
    for number, facts in samples.items():
        families = {int(size): float(molecules) for size, molecules in facts.get("family_sizes", {}).items()}
        if not (molecules := sum(families.values())):
            continue
        values[number] = [
            sum(n for size, n in families.items() if first <= size <= (last or size)) / molecules
            for first, last in SIZES
        ]
        mean = sum(size * n for size, n in families.items()) / molecules
        alone = number_text(values[number][0], True)
        texts[number] = f"{count_text(molecules, 'molecule')} (mean family size {mean:.2f}; {alone} singletons)"
    names = [str(first) if first == last else f"{first}-{last}" if last else f"{first} and up" for first, last in SIZES]
    axes = Axis("family size: pairs or single reads of a molecule"), Axis("molecules", (0, None), percent=True)
    return plotter.bars(caption("families"), names, values, axes, texts)
