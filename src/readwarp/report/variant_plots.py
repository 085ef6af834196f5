"""Plot the calls: kinds, qualities, what the filters removed; of calls by fractions AF and damage."""

from collections import Counter
from collections.abc import Mapping

from readwarp.report.drawing import NAMED, Axis
from readwarp.report.libraries import CONTEXTS, SUBSTITUTIONS
from readwarp.report.numbers import count_text, number_text, ratio
from readwarp.report.plot import Line, Plot, Plotter, caption
from readwarp.report.points import end_of, mean, shares
from readwarp.report.variants import QUALITY_BINS, VariantStatistics, balance_points

Samples = Mapping[int, VariantStatistics]  # by the sample's number
FOLDED = {"T>C": "A>G", "T>G": "A>C", "T>A": "A>T", "G>A": "C>T", "G>C": "C>G", "G>T": "C>A"}  # on the other strand
CHANGES = {"C>T": "C>T\nts", "A>G": "A>G\nts", "C>A": "C>A", "C>G": "C>G", "A>C": "A>C", "A>T": "A>T"}
MAX_LENGTH = 20  # indel lengths shown one by one


def plot_types(plotter: Plotter, samples: Samples) -> Plot | None:
    values = {n: [v.snvs, v.insertions, v.deletions] for n, v in samples.items()}
    names = ["SNVs", "insertions", "deletions"]
    for name, text in (("MNPs", "MNVs"), ("others", "other")):
        if any(v.summary.get(name) for v in samples.values()):
            names.append(text)
            for number, v in samples.items():
                values[number].append(v.summary.get(name, 0))
    texts = {
        n: ", ".join(map(count_text, row, ("SNV", "insertion", "deletion")))
        + f" in {count_text(samples[n].summary['records'], 'record')}"
        for n, row in values.items()
    }
    return plotter.bars(caption("types"), names, values, (NAMED, Axis("ALT alleles", (0, None))), texts)


def plot_substitutions(plotter: Plotter, samples: Samples) -> Plot | None:
    values = {}
    for number, v in samples.items():
        folded: Counter[str] = Counter()
        for change, calls in v.substitutions.items():
            folded[FOLDED.get(change, change)] += calls
        whole = max(1, folded.total())
        values[number] = [folded[change] / whole for change in CHANGES]
    texts = {n: f"Ts/Tv {ratio(v.transitions, v.transversions)}" for n, v in samples.items()}
    axis = Axis("SNVs", (0, None), percent=True)
    return plotter.bars(caption("substitutions"), list(CHANGES.values()), values, (NAMED, axis), texts)


def plot_indel_lengths(plotter: Plotter, samples: Samples) -> Plot | None:
    """Plot a bar for each length; there is no length 0."""
    if not any(v.indel_lengths for v in samples.values()):
        return None
    lengths = [length for length in range(-MAX_LENGTH, MAX_LENGTH + 1) if length]
    values = {}
    for number, v in samples.items():
        counts = Counter[int]()
        for length, alleles in v.indel_lengths.items():
            counts[max(-MAX_LENGTH, min(MAX_LENGTH, length))] += alleles
        values[number] = [float(counts[length]) for length in lengths]
    names = [f"\N{MINUS SIGN}{-length}" if length < 0 else f"+{length}" for length in lengths]
    names[0], names[-1] = f"≤ {names[0]}", f"≥ {names[-1]}"
    texts = {
        n: f"{count_text(v.insertions, 'insertion')}, {count_text(v.deletions, 'deletion')}" for n, v in samples.items()
    }
    shown = {float(n): name for n, name in enumerate(names) if lengths[n] == -1 or lengths[n] % 5 == 0}
    x = Axis("length, bases", ticks=shown)
    return plotter.bars(caption("indels"), names, values, (x, Axis("ALT alleles", (0, None))), texts)


def plot_balance(plotter: Plotter, samples: Samples) -> Plot | None:
    is_alone, lines = plotter.is_alone, []
    samples = {number: v for number, v in samples.items() if v.library is None}  # any balance is normal in a mixture
    for number, v in samples.items():
        snvs, indels = (shares(balance_points(c)) for c in (v.genotypes.balance_snvs, v.genotypes.balance_indels))
        lines.append(Line(number, snvs, "SNVs" if is_alone else ""))
        if is_alone:
            lines.append(Line(number, indels, "indels", True))
    texts = {number: f"mean {number_text(v.genotypes.mean_balance, True)}" for number, v in samples.items()}
    x, y = Axis("reads with the ALT allele", (0, 1), percent=True), Axis("calls", (0, None), percent=True)
    return plotter.lines(
        caption("balance", calls="calls" if is_alone else "calls of SNVs"), lines, (x, y), texts, fill=True
    )


def plot_quality(plotter: Plotter, samples: Samples) -> Plot | None:
    is_alone, lines = plotter.is_alone, []
    bins = [b for v in samples.values() for b in (*v.genotypes.quality_passed, *v.genotypes.quality_failed)] or [0]
    for number, v in samples.items():
        passed, failed = v.genotypes.quality_passed, v.genotypes.quality_failed
        whole = max(1, passed.total() + failed.total())
        for name, counts, dash in (("passed", passed, False), ("filtered", failed, True))[: 2 if is_alone else 1]:
            points = [
                (10 ** ((b + 0.5) / QUALITY_BINS), counts[b] / whole) for b in range(min(bins) - 1, max(bins) + 2)
            ]
            lines.append(Line(number, points if counts else [], name if is_alone else "", dash))
    texts = {n: f"{v.genotypes.passed:,} pass, {v.genotypes.failed:,} fail" for n, v in samples.items()}
    x, y = Axis("QUAL", log=True), Axis("calls", (0, None), percent=True)
    return plotter.lines(caption("qual"), lines, (x, y), texts)


def plot_depth(plotter: Plotter, samples: Samples) -> Plot | None:
    counts = {number: v.genotypes.depth for number, v in samples.items()}
    lines = [Line(n, shares([(float(d), c[d]) for d in range(max(c, default=0) + 1)])) for n, c in counts.items()]
    end = max(1.1, *(end_of(sorted(c.items()), 0.995) for c in counts.values()))
    texts = {number: f"mean {number_text(mean(c.items()))}" for number, c in counts.items()}
    x, y = Axis("depth at calls", (0, end)), Axis("calls", (0, None), percent=True)
    return plotter.lines(caption("call-depth"), lines, (x, y), texts, fill=True)


def plot_filters(plotter: Plotter, samples: Samples) -> Plot | None:
    order = Counter[str]()
    for v in samples.values():
        order.update(v.genotypes.filters)
    names = ["PASS", *sorted((name for name in order if name != "PASS"), key=lambda name: -order[name])][:12]
    values = {n: [float(v.genotypes.filters[name]) for name in names] for n, v in samples.items()}
    texts = {n: f"{v.genotypes.passed:,} pass, {v.genotypes.failed:,} fail" for n, v in samples.items()}
    x = Axis("calls", (0, None))
    return plotter.bars(caption("filters"), names, values, (NAMED, x), texts, kind="rows")


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
