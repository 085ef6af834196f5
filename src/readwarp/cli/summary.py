"""The closing summary of `run`: reads, alignments, variants, files and the first calls."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pysam
from rich.markup import escape
from rich.table import Table

from readwarp.cli.reporting import show
from readwarp.formats.variants.vcf import genotype_text
from readwarp.metrics import Metrics
from readwarp.report.numbers import ratio
from readwarp.stream.reporter import Result
from readwarp.wording import printable

MAX_CALLS = 5


class SummaryScope(NamedTuple):
    """The job to summarise."""

    is_targeted: bool = False  # only a part of the reference was called
    is_haploid: bool = False
    has_fractions: bool = False  # --mixture or --somatic: alleles have fractions, not genotypes


def show_summary(result: Result, asked: SummaryScope) -> None:
    """Print the summary as tables on stdout."""
    title = f"[bold]sample {escape(printable(result.paths['alignments'].stem))}[/]"
    table = Table(title=title, title_justify="left", show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(justify="right")
    table.add_column(style="dim")
    for row in summarise(result.metrics, asked):
        table.add_row(*row)
    calls = Table(title="first variants", title_justify="left", box=None, pad_edge=False, title_style="bold")
    for name in ("place", "alleles", "fraction" if asked.has_fractions else "genotype", "depth", "quality"):
        calls.add_column(name, justify="left" if name in ("place", "alleles", "genotype") else "right")
    for call in islice(read_calls(result.paths["variants"], asked.has_fractions), MAX_CALLS):
        calls.add_row(*call)
    files = [str(path) for name, path in result.paths.items() if not name.endswith("_index")]
    show(table, "", *((calls, "") if calls.rows else ()), *files)


def summarise(metrics: Metrics, asked: SummaryScope) -> list[tuple[str, str, str]]:
    """List (what, figure, explanation)."""
    count = metrics.counts.get
    reads, passed = count("reads", 0), count("variants_pass", 0)
    has_genotypes = not (asked.is_haploid or asked.has_fractions)
    depth = f"{metrics.facts['mean_depth']:.1f}" if "mean_depth" in metrics.facts else ""
    rows = [
        ("reads", f"{reads:,}", ""),
        ("mapped", percent(count("mapped", 0), reads), ""),
        ("properly paired", percent(count("proper", 0), reads) if count("records_paired") else "", ""),
        ("duplicates", percent(count("duplicates", 0), reads), ""),
        ("molecules", *describe_molecules(metrics)),
        (
            "trimmed",
            percent(count("bases_trimmed", 0), count("bases", 0)) if "bases_trimmed" in metrics.counts else "",
            "of the bases",
        ),
        ("insert size", describe_insert_size(metrics), "bases, mean ± deviation"),
        (
            "mean depth",
            depth,
            f"bases used for calling per base of the {'targets' if asked.is_targeted else 'reference'}",
        ),
        ("variants", f"{passed:,}", f"of {count('variants', 0):,} pass all filters"),
        ("SNVs", f"{count('snvs', 0):,}", f"Ts/Tv {ratio(count('transitions', 0), count('transversions', 0))}"),
        ("indels", f"{count('indels', 0):,}", ""),
        ("heterozygous", percent(count("heterozygous", 0), passed) if has_genotypes else "", "of the variants"),
    ]
    return [row for row in rows if row[1]]


def describe_molecules(metrics: Metrics) -> tuple[str, str]:
    """Describe the number and average size of molecules; empty without UMIs."""
    sizes = metrics.facts.get("family_sizes")
    if not isinstance(sizes, dict):
        return "", ""
    molecules, templates = sum(sizes.values()), sum(int(size) * number for size, number in sizes.items())
    return f"{molecules:,}", f"by UMI, {templates / max(1, molecules):.2f} pairs or single reads each on average"


def describe_insert_size(metrics: Metrics) -> str:
    """Describe the insert size of each input, or the range of more than two; empty if none is known."""
    models = metrics.facts.get("insert_sizes")
    known = [m for m in models if m["pairs"]] if isinstance(models, list) else []
    if len(known) < 3:
        return ", ".join(f"{m['mean']:.0f} ± {m['deviation']:.0f}" for m in known)
    means, deviations = ([m[name] for m in known] for name in ("mean", "deviation"))
    return f"{min(means):.0f}-{max(means):.0f} ± {min(deviations):.0f}-{max(deviations):.0f}"


def percent(part: float, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "-"


def read_calls(vcf: Path, has_fractions: bool) -> Iterator[tuple[str, ...]]:
    """Yield position, alleles, genotype or fraction, depth and quality of each passing variant."""
    with pysam.VariantFile(str(vcf)) as file:
        for record in file:
            others = [allele for allele in record.alts or () if allele != "<NON_REF>"]
            if others and list(record.filter) in ([], ["PASS"]):
                sample = record.samples[0]
                if has_fractions:
                    shown = percent(max(own["AF"][0] for own in record.samples.values()), 1)
                else:
                    shown = genotype_text(tuple(-1 if a is None else a for a in sample["GT"]), sample.phased)
                alleles = f"{record.ref} → {','.join(others)}"
                depth, quality = str(sample.get("DP", "")), f"{record.qual or 0:.0f}"
                yield f"{record.chrom}:{record.pos:,}", alleles, shown, depth, quality
