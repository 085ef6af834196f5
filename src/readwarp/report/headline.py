"""The figures to look at first, and what is unusual about them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from readwarp.report.alignments import AlignmentStatistics, median, share_from
from readwarp.report.plots import number_text
from readwarp.report.variant_plots import mean_balance, ts_tv
from readwarp.report.variants import VariantStatistics

ENOUGH_SNVS, ENOUGH_READS = 1000, 1000  # fewer are not judged


@dataclass(frozen=True, slots=True)
class Subject:
    """All that is known of one sample."""

    name: str
    alignments: AlignmentStatistics | None
    variants: VariantStatistics | None
    run: dict[str, Any]


def headline(subject: Subject) -> dict[str, str]:
    """Name of the figure -> text; only what the sample has."""
    out: dict[str, str] = {}
    if (a := subject.alignments) is not None:
        reads = a.flagstat["primary"]
        out["reads"] = f"{reads:,}"
        for name, text in (("mapped", "mapped"), ("proper", "properly paired"), ("duplicates", "duplicates")):
            out[text] = number_text(a.flagstat[name] / reads, True) if reads else "-"
        size = median(a.insert_sizes)
        out["insert size"] = "-" if size is None else f"{size:,.0f}"
        out["mean depth"] = f"{a.mean_depth:.1f}"
        out["depth ≥ 20"] = number_text(share_from(a.depth, 20), True)
        out["mismatches"] = number_text(a.summary.get("error rate", 0.0), True)
    if (v := subject.variants) is not None:
        out["SNVs"] = f"{v.summary.get('SNPs', 0):,}"
        out["indels"] = f"{v.summary.get('indels', 0):,}"
        out["Ts/Tv"] = ts_tv(v)
        homozygous = v.genotypes.homozygous
        out["het/hom"] = f"{v.genotypes.heterozygous / homozygous:.2f}" if homozygous else "-"
    if rate := subject.run.get("reads_per_second"):
        out["reads/s"] = f"{rate:,}"
    return out


MEANINGS = {
    "reads": "primary records: each read once",
    "mapped": "of the reads",
    "properly paired": "of the reads",
    "duplicates": "of the reads",
    "insert size": "median, bases",
    "mean depth": "without duplicates",
    "depth ≥ 20": "of the bases",
    "mismatches": "of aligned bases",
    "SNVs": "that pass all filters",
    "indels": "that pass all filters",
    "Ts/Tv": "transitions to transversions",
    "het/hom": "genotypes",
    "reads/s": "aligned, sorted, written",
}


def unusual(subject: Subject) -> Iterator[str]:
    """One sentence for each figure that a good whole genome would not show."""
    if subject.alignments is not None:
        yield from _of_alignments(subject.alignments)
    if subject.variants is not None:
        yield from _of_variants(subject.variants)
    counts = subject.run.get("counts", {})
    for name, text in (
        ("reads_too_long", "reads were too long to align and were left unmapped"),
        ("reads_without_sample", "reads have no read group of a sample and were not used for calling"),
        ("indels_too_long", "indels were too long to be called"),
    ):
        if number := counts.get(name):
            yield f"{number:,} {text}."


def _of_alignments(a: AlignmentStatistics) -> Iterator[str]:
    reads, paired = a.flagstat["primary"], a.flagstat["paired"]
    if not reads:
        yield "There are no reads."
    if reads < ENOUGH_READS:
        return
    if (share := a.flagstat["mapped"] / reads) < 0.95:
        yield f"Only {number_text(share, True)} of the reads are mapped: is this the right reference?"
    if paired and (share := a.flagstat["proper"] / paired) < 0.9:
        yield f"Only {number_text(share, True)} of the pairs are properly paired."
    if (share := a.flagstat["duplicates"] / reads) > 0.2:
        yield f"{number_text(share, True)} of the reads are duplicates: more sequencing of this library adds little."
    if (rate := a.summary.get("error rate", 0.0)) > 0.015:
        yield f"{number_text(rate, True)} of the aligned bases differ from the reference."
    if 0 < a.mean_depth < 10:
        yield f"The mean depth is {a.mean_depth:.1f}: heterozygous variants will be missed."
    if (share := share_from(a.depth, 1)) < 0.9:
        yield f"Only {number_text(share, True)} of the bases are covered at all."
    first, last = _mean_quality(a.quality_first), _mean_quality(a.quality_last)
    if a.quality_last and first - last > 3:
        yield f"Last reads have a mean quality of {last:.1f}, first reads of {first:.1f}."


def _mean_quality(points: list[tuple[float, float]]) -> float:
    return sum(quality for _, quality in points) / len(points) if points else 0.0


def _of_variants(v: VariantStatistics) -> Iterator[str]:
    if v.summary.get("SNPs", 0) >= ENOUGH_SNVS and not 1.7 <= v.transitions / max(1, v.transversions) <= 3.5:
        yield f"Ts/Tv is {ts_tv(v)}: about 2.1 is usual in a human genome, near 3 in exons."
    calls = v.genotypes.passed + v.genotypes.failed
    if calls >= ENOUGH_SNVS and (share := v.genotypes.failed / calls) > 0.3:
        yield f"{number_text(share, True)} of the calls fail a filter."
    if v.genotypes.balance_snvs.total() >= ENOUGH_SNVS and not 0.42 <= (share := mean_balance(v)) <= 0.55:
        yield f"At heterozygous calls {number_text(share, True)} of the reads show the other allele, not one half."
