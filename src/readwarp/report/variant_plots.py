"""Plots of the calls: what they are, how certain, and what the filters removed."""

from collections import Counter
from collections.abc import Mapping

from readwarp.report.plot import Caption, Plot, Plotter
from readwarp.report.plots import Axis, Line, number_text
from readwarp.report.variants import BALANCE_BINS, QUALITY_BINS, VariantStatistics

Variants = Mapping[int, VariantStatistics]  # by the sample's number
FOLDED = {"T>C": "A>G", "T>G": "A>C", "T>A": "A>T", "G>A": "C>T", "G>C": "C>G", "G>T": "C>A"}  # on the other strand
CHANGES = {"C>T": "C>T\nts", "A>G": "A>G\nts", "C>A": "C>A", "C>G": "C>G", "A>C": "A>C", "A>T": "A>T"}
LONGEST = 20  # indel lengths shown one by one


def kinds(plotter: Plotter, of: Variants) -> list[Plot]:
    plots = [types(plotter, of), substitutions(plotter, of)]
    if any(v.indel_lengths for v in of.values()):
        plots.append(indel_lengths(plotter, of))
    return plots


def types(plotter: Plotter, of: Variants) -> Plot:
    values = {n: [v.summary.get("SNPs", 0), v.insertions, v.deletions] for n, v in of.items()}
    names = ["SNVs", "insertions", "deletions"]
    for name, text in (("MNPs", "MNVs"), ("others", "other")):
        if any(v.summary.get(name) for v in of.values()):
            names.append(text)
            for number, v in of.items():
                values[number].append(v.summary.get(name, 0))
    texts = {n: f"{row[0]:,} SNVs, {row[1]:,} insertions, {row[2]:,} deletions" for n, row in values.items()}
    note = (
        "Calls that pass all filters. A human genome has about 4 million SNVs and 0.8 million short indels, with as "
        "many insertions as deletions or slightly fewer."
    )
    return plotter.bars(Caption("types", "Variants by type", note), names, values, Axis("calls", (0, None)), texts)


def substitutions(plotter: Plotter, of: Variants) -> Plot:
    values = {}
    for number, v in of.items():
        folded: Counter[str] = Counter()
        for change, calls in v.substitutions.items():
            folded[FOLDED.get(change, change)] += calls
        whole = max(1, folded.total())
        values[number] = [folded[change] / whole for change in CHANGES]
    texts = {n: f"Ts/Tv {ts_tv(v)}" for n, v in of.items()}
    note = (
        "Both strands together; ts marks transitions. The ratio of transitions to transversions (Ts/Tv) is about 2.0 "
        "to 2.1 in a whole human genome and near 3 in exons; errors pull it towards 0.5."
    )
    axis = Axis("SNVs", (0, None), percent=True)
    title = "Substitutions"
    return plotter.bars(Caption("substitutions", title, note), list(CHANGES.values()), values, axis, texts)


def indel_lengths(plotter: Plotter, of: Variants) -> Plot:
    lines = []
    for number, v in of.items():
        counts = Counter({length: 0 for length in range(-LONGEST, LONGEST + 1) if length})
        for length, calls in v.indel_lengths.items():
            counts[max(-LONGEST, min(LONGEST, length))] += calls
        whole = max(1, counts.total())
        lines.append(Line(number, [(float(length), n / whole) for length, n in sorted(counts.items())]))
    texts = {n: f"{v.insertions:,} insertions, {v.deletions:,} deletions" for n, v in of.items()}
    note = (
        f"Deletions left, insertions right; {LONGEST} stands for {LONGEST} and more. Most are short; in coding "
        "regions, multiples of three stand out."
    )
    ends = {-20.0: "≤ -20", 20.0: "≥ 20"}
    ticks = {float(n): ends.get(float(n), str(n)) for n in range(-20, 21, 10)}
    x, y = Axis("length, bases", ticks=ticks), Axis("insertions and deletions", (0, None), percent=True)
    return plotter.lines(Caption("indels", "Indel lengths", note), lines, x, y, texts, fill=True)


def evidence(plotter: Plotter, of: Variants) -> list[Plot]:
    plots = []
    if any(v.genotypes.balance_snvs for v in of.values()):
        plots.append(balance(plotter, of))
    if any(v.genotypes.quality_passed for v in of.values()):
        plots.append(quality(plotter, of))
    if any(v.genotypes.depth for v in of.values()):
        plots.append(depth(plotter, of))
    plots.append(filters(plotter, of))
    return plots


def balance(plotter: Plotter, of: Variants) -> Plot:
    lines, texts = [], {}
    for number, v in of.items():
        for name, counts, dash in (
            ("SNVs", v.genotypes.balance_snvs, ""),
            ("indels", v.genotypes.balance_indels, "dashed"),
        ):
            whole = counts.total()
            points = [((b + 0.5) / BALANCE_BINS, counts[b] / whole) for b in range(BALANCE_BINS)] if whole else []
            if name == "SNVs" or len(plotter.names) == 1:
                lines.append(Line(number, points, name if len(plotter.names) == 1 else "", dash))
        texts[number] = f"mean {number_text(mean_balance(v), True)}"
    note = (
        "Share of the reads that show the other allele, at heterozygous calls"
        f"{'' if len(plotter.names) == 1 else ' of SNVs'}. A peak at one half is usual; one at a third or less means "
        "contamination, duplicated sequence or false calls."
    )
    x, y = Axis("reads with the other allele", (0, 1), percent=True), Axis("calls", (0, None), percent=True)
    return plotter.lines(Caption("balance", "Allele balance", note), lines, x, y, texts, fill=True)


def quality(plotter: Plotter, of: Variants) -> Plot:
    bins = [b for v in of.values() for b in (*v.genotypes.quality_passed, *v.genotypes.quality_failed)]
    lines = []
    for number, v in of.items():
        passed, failed = v.genotypes.quality_passed, v.genotypes.quality_failed
        whole = max(1, passed.total() + failed.total())
        for name, counts, dash in (("passed", passed, ""), ("filtered", failed, "dashed")):
            if counts and (name == "passed" or len(plotter.names) == 1):
                points = [
                    (10 ** ((b + 0.5) / QUALITY_BINS), counts[b] / whole) for b in range(min(bins) - 1, max(bins) + 2)
                ]
                lines.append(Line(number, points, name if len(plotter.names) == 1 else "", dash))
    texts = {n: f"{v.genotypes.passed:,} calls passed, {v.genotypes.failed:,} did not" for n, v in of.items()}
    note = (
        "QUAL of the calls, on a logarithmic scale: at 20, 1 call in 100 is wrong. At usual depth it is a few hundred, "
        "and higher for homozygous calls than for heterozygous ones."
    )
    x, y = Axis("QUAL", log=True), Axis("calls", (0, None), percent=True)
    return plotter.lines(Caption("qual", "Call quality", note), lines, x, y, texts)


def depth(plotter: Plotter, of: Variants) -> Plot:
    lines, end = [], 1
    for number, v in of.items():
        counts = v.genotypes.depth
        whole, below = counts.total(), 0
        for end_here in sorted(counts):
            below += counts[end_here]
            if below >= 0.995 * whole:
                end = max(end, end_here)
                break
        lines.append(
            Line(number, [(float(d), counts[d] / whole) for d in range(max(counts, default=0) + 1)] if whole else [])
        )
    texts = {n: f"mean {number_text(mean_depth(v))}" for n, v in of.items()}
    note = (
        "Informative reads at each call that passes. They follow the depth of the sample; calls far above it are in "
        "sequence that the genome has more copies of than the reference."
    )
    x, y = Axis("depth at calls", (0, 1.1 * end)), Axis("calls", (0, None), percent=True)
    return plotter.lines(Caption("call-depth", "Depth at calls", note), lines, x, y, texts, fill=True)


def filters(plotter: Plotter, of: Variants) -> Plot:
    order = Counter[str]()
    for v in of.values():
        order.update(v.genotypes.filters)
    names = ["PASS", *sorted((name for name in order if name != "PASS"), key=lambda name: -order[name])][:12]
    values = {n: [float(v.genotypes.filters[name]) for name in names] for n, v in of.items()}
    texts = {n: f"{v.genotypes.passed:,} pass, {v.genotypes.failed:,} fail" for n, v in of.items()}
    note = "Calls by filter; a call may fail several. The header of the VCF describes them."
    x = Axis("calls", (0, None))
    return plotter.bars(Caption("filters", "Filters", note), names, values, x, texts, horizontal=True)


def ts_tv(v: VariantStatistics) -> str:
    return f"{v.transitions / v.transversions:.2f}" if v.transversions else "-"


def mean_balance(v: VariantStatistics) -> float:
    """Of heterozygous SNVs and indels, by bins."""
    counts = v.genotypes.balance_snvs + v.genotypes.balance_indels
    whole = counts.total()
    return sum((b + 0.5) / BALANCE_BINS * n for b, n in counts.items()) / whole if whole else 0.0


def mean_depth(v: VariantStatistics) -> float:
    whole = v.genotypes.depth.total()
    return sum(d * n for d, n in v.genotypes.depth.items()) / whole if whole else 0.0
