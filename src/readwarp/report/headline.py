"""Collect the figures of a sample to look at first, and unusual values among them."""

from collections.abc import Callable, Iterator
from statistics import fmean
from typing import Any, NamedTuple

from readwarp.report.alignments import AlignmentStatistics, read_tables, summarise_alignments
from readwarp.report.inputs import Sample, read_metrics
from readwarp.report.numbers import number_text, ratio
from readwarp.report.points import mean, median, n50, share_from
from readwarp.report.statistics import Statistics
from readwarp.report.variants import VariantStatistics, read_variant_statistics

MIN_SNVS, MIN_READS = 1000, 1000  # fewer are not judged
Figures = dict[str, tuple[str, Callable[[Any], str]]]  # name: meaning, text
ALIGNMENT_FIGURES: Figures = {
    "reads": ("each counted once", lambda a: f"{a.flagstat['primary']:,}"),
    "Q30": ("of the bases", lambda a: number_text(share_from(sorted(a.quality_bases.items()), 30), True)),
    "mapped": ("of the reads", lambda a: share_of_reads(a, "mapped")),
    "properly paired": ("of the reads", lambda a: share_of_reads(a, "proper")),
    "duplicates": ("of the reads", lambda a: share_of_reads(a, "duplicates")),
    "insert size": ("median, bases", lambda a: "-" if (x := median(a.insert_sizes)) is None else f"{x:,.0f}"),
    "mean depth": ("without duplicates", lambda a: f"{mean(a.depth):,.1f}"),
    "depth ≥ 20": ("of the bases", lambda a: number_text(share_from(a.depth, 20), True)),
    "mismatches": ("of aligned bases", lambda a: number_text(a.summary.get("error rate", 0.0), True)),
}
LONG_FIGURES: Figures = {  # for files with long reads, which have no mates
    "reads": ALIGNMENT_FIGURES["reads"],
    "bases": ("in all reads", lambda a: f"{bases_of(a):,.0f}"),
    "read N50": ("half of the bases are in reads at least this long", lambda a: f"{n50(a.lengths) or 0:,.0f}"),
    "longest read": ("bases", lambda a: f"{max((x for x, _ in a.lengths), default=0):,.0f}"),
    "read quality": ("median of the reads", lambda a: middle_of(a, "quality", "Q{:.1f}")),
    "mapped": ALIGNMENT_FIGURES["mapped"],
    "mapped bases": ("of the bases", lambda a: share_of_bases(a)),
    "split reads": ("of the mapped reads", lambda a: number_text(share_from(a.long.points("parts"), 2), True)),
    "identity": ("median, gap-compressed", lambda a: middle_of(a, "identity", "{:.2f}\N{NO-BREAK SPACE}%")),
    "mean depth": ("without duplicates", lambda a: f"{mean(a.depth):,.1f}"),
    "depth ≥ 20": ALIGNMENT_FIGURES["depth ≥ 20"],
}
VARIANT_FIGURES: Figures = {
    "SNVs": ("pass all filters", lambda v: f"{v.summary.get('SNPs', 0):,}"),
    "indels": ("pass all filters", lambda v: f"{v.summary.get('indels', 0):,}"),
    "Ts/Tv": ("transitions to transversions", lambda v: ratio(v.transitions, v.transversions)),
}
GENOTYPE_FIGURES: Figures = {
    "het/hom": ("genotypes", lambda v: ratio(v.genotypes.heterozygous, v.genotypes.homozygous)),
}
PHASE_FIGURES: Figures = {
    "phased": ("of the heterozygous SNVs", lambda blocks: number_text(blocks.share, True)),
    "phase block N50": ("bases", lambda blocks: f"{blocks.n50:,.0f}"),
}
TRIM_FIGURES: Figures = {
    "trimmed": ("of the bases", lambda counts: number_text(counts["bases_trimmed"] / max(1, counts["bases"]), True)),
}
RUN_FIGURES: Figures = {"reads/s": ("aligned, sorted, written", lambda rate: f"{rate:,}")}
FIGURES = (
    ALIGNMENT_FIGURES | LONG_FIGURES | TRIM_FIGURES | VARIANT_FIGURES | GENOTYPE_FIGURES | PHASE_FIGURES | RUN_FIGURES
)
MEANINGS = {name: meaning for name, (meaning, _) in FIGURES.items()}
OF_TARGETS = {"mean depth": "of the targets, without duplicates", "depth ≥ 20": "of the bases of the targets"}


class Subject(NamedTuple):
    """Statistics, run and files of one sample."""

    name: str
    alignments: AlignmentStatistics | None
    variants: VariantStatistics | None
    run: dict[str, Any]  # content of metrics.json
    sample: Sample | None = None  # its files are linked


def read_subject(sample: Sample, made: Statistics) -> Subject:
    """Summarise what was counted and the other texts. Raises InputError for one that cannot be read."""
    texts = {name: path for name, path in made.texts.items() if name != "calls"}
    alignments = summarise_alignments(read_tables(texts, made.counted)) if sample.alignments else None
    variants = read_variant_statistics(made.texts["calls"], made.calls) if made.calls else None
    return Subject(sample.name, alignments, variants, read_metrics(sample.metrics), sample)


def find_figures(subject: Subject) -> dict[str, str]:
    """Return the text of each figure that the sample has, by name."""
    counts = subject.run.get("counts", {})
    is_long, blocks = subject.alignments and subject.alignments.long, subject.variants and subject.variants.blocks
    parts = (
        (LONG_FIGURES if is_long else ALIGNMENT_FIGURES, subject.alignments),
        (TRIM_FIGURES, counts if "bases_trimmed" in counts else None),
        (VARIANT_FIGURES, subject.variants),
        (GENOTYPE_FIGURES, subject.variants if subject.variants and not subject.variants.library else None),
        (PHASE_FIGURES, blocks if blocks and blocks.are_long else None),
        (RUN_FIGURES, subject.run.get("reads_per_second")),
    )
    return {name: text(part) for figures, part in parts if part for name, (_, text) in figures.items()}


def meanings_of(subject: Subject) -> dict[str, str]:
    """Return the meaning of each figure for this sample, by name."""
    return MEANINGS | (OF_TARGETS if subject.alignments and subject.alignments.targets else {})


def bases_of(a: AlignmentStatistics) -> float:
    return sum(x * y for x, y in a.lengths)


def share_of_bases(a: AlignmentStatistics) -> str:
    """Return the share of primary bases that are aligned: `samtools stats` counts no other records."""
    return number_text(a.summary.get("bases mapped (cigar)", 0.0) / max(1.0, bases_of(a)), True)


def middle_of(a: AlignmentStatistics, name: str, form: str) -> str:
    """Return the median of a count of long reads."""
    found = median(a.long.points(name)) if a.long else None
    return "-" if found is None else form.format(found)


def share_of_reads(a: AlignmentStatistics, name: str) -> str:
    reads = a.flagstat["primary"]
    return number_text(a.flagstat[name] / reads, True) if reads else "-"


def find_unusual(subject: Subject) -> Iterator[str]:
    """Yield one sentence for each figure that would be unusual in a good whole genome."""
    if subject.alignments:
        yield from _judge_alignments(subject.alignments)
    if subject.variants:
        yield from _judge_variants(subject.variants)
    counts = subject.run.get("counts", {})
    for name, text in (
        ("reads_trimmed_too_short", "reads were too short to align after trimming and were left unmapped"),
        ("reads_too_long", "reads were too long to align and were left unmapped"),
        ("reads_without_sample", "reads belong to no sample by their read group and were not used for calling"),
        ("indels_too_long", "indels were too long to call"),
        ("insertions_not_assembled", "places look like insertions that could not be assembled"),
    ):
        if number := counts.get(name):
            yield f"{number:,} {text}."


def _judge_alignments(a: AlignmentStatistics) -> Iterator[str]:
    reads, paired = a.flagstat["primary"], a.flagstat["paired"]
    if not reads:
        yield "There are no reads."
    if reads < MIN_READS:
        return
    if (share := a.flagstat["mapped"] / reads) < 0.95:
        yield f"Only {number_text(share, True)} of the reads are mapped: is this the right reference?"
    if paired and (share := a.flagstat["proper"] / paired) < 0.9:
        yield f"Only {number_text(share, True)} of the pairs are properly paired."
    if (share := a.flagstat["duplicates"] / reads) > 0.2:
        yield f"{number_text(share, True)} of the reads are duplicates: more sequencing of this library adds little."
    if (rate := a.summary.get("error rate", 0.0)) > (0.1 if a.long else 0.015):
        yield f"{number_text(rate, True)} of the aligned bases differ from the reference."
    if 0 < (depth := mean(a.depth)) < 10:
        yield f"The mean depth is {depth:.1f}: heterozygous variants will be missed."
    if (share := share_from(a.depth, 1)) < 0.9:
        yield f"Only {number_text(share, True)} of the bases are covered by any read."
    first, last = (fmean([mean for _, mean in cycles] or [0.0]) for cycles in (a.quality_first, a.quality_last))
    if a.quality_last and first - last > 3:
        yield f"The mean quality of read 2 is {last:.1f}, that of read 1 {first:.1f}."


def _judge_variants(v: VariantStatistics) -> Iterator[str]:
    if v.summary.get("SNPs", 0) >= MIN_SNVS and not 1.7 <= v.transitions / max(1, v.transversions) <= 3.5:
        found = ratio(v.transitions, v.transversions)
        yield f"Ts/Tv is {found}: about 2.1 is usual in a human genome, near 3 in exons."
    calls = v.genotypes.passed + v.genotypes.failed
    if calls >= MIN_SNVS and (share := v.genotypes.failed / calls) > 0.3:
        yield f"{number_text(share, True)} of the calls fail a filter."
    if (
        not v.library
        and v.genotypes.balance_snvs.total() >= MIN_SNVS
        and not 0.42 <= (share := v.genotypes.mean_balance) <= 0.55
    ):
        yield f"At heterozygous calls {number_text(share, True)} of the reads show the ALT allele, not one half."
