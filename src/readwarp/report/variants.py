"""Numbers of a VCF: the sections of `bcftools stats`, and what one pass over the genotypes adds."""

import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from readwarp.report.sections import Sections

if TYPE_CHECKING:
    from readwarp.report.tools import Tools

QUERY = "%FILTER\\t%QUAL\\t%TYPE[\\t%GT:%DP:%AD]\\n"
BALANCE_BINS = 40  # of the share of reads, 0-1
QUALITY_BINS = 8  # for a factor of ten


@dataclass(slots=True)
class Genotypes:
    """Counts of one pass over the calls. `balance`: share of reads with the other allele, at heterozygous calls."""

    filters: Counter[str] = field(default_factory=Counter)
    quality_passed: Counter[int] = field(default_factory=Counter)  # QUAL in bins of log10
    quality_failed: Counter[int] = field(default_factory=Counter)
    depth: Counter[int] = field(default_factory=Counter)
    balance_snvs: Counter[int] = field(default_factory=Counter)
    balance_indels: Counter[int] = field(default_factory=Counter)
    heterozygous: int = 0
    homozygous: int = 0
    passed: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class VariantStatistics:
    """Calls that pass all filters, except in `genotypes.filters`, `.failed` and `.quality_failed`."""

    summary: dict[str, int]
    transitions: int
    transversions: int
    substitutions: dict[str, int]  # A>C -> number
    indel_lengths: dict[int, int]  # deletions negative; 60 includes all beyond, by bcftools
    genotypes: Genotypes

    @property
    def insertions(self) -> int:
        return sum(n for length, n in self.indel_lengths.items() if length > 0)

    @property
    def deletions(self) -> int:
        return sum(n for length, n in self.indel_lengths.items() if length < 0)


def genotypes_in(tools: "Tools", path: Path) -> Genotypes:
    """One pass over a VCF or BCF; lines without ALT do not count."""
    out = Genotypes()
    for line in tools.lines("bcftools", "query", "-e", 'ALT="."', "-f", QUERY, path.name, folder=path.parent):
        filters, quality, kind, *samples = line.decode().rstrip("\n").split("\t")
        is_indel = kind.startswith("INDEL")
        has_passed = filters in ("PASS", ".")
        out.filters.update(("PASS",) if has_passed else filters.split(";"))
        bins = out.quality_passed if has_passed else out.quality_failed
        if quality != ".":
            bins[quality_bin(float(quality))] += 1
        out.passed += has_passed
        out.failed += not has_passed
        if has_passed:
            balance = out.balance_indels if is_indel else out.balance_snvs
            for text in samples:
                add_genotype(out, text, balance)
    return out


def add_genotype(out: Genotypes, text: str, balance: Counter[int]) -> None:
    """text: GT:DP:AD of one sample."""
    genotype, depth, reads = text.split(":")
    alleles = set(genotype.replace("|", "/").split("/"))
    if alleles <= {"0", "."}:
        return
    if depth != ".":
        out.depth[int(depth)] += 1
    if len(alleles) == 1:
        out.homozygous += 1
        return
    out.heterozygous += 1
    if "0" in alleles and "." not in reads:  # of two ALT alleles, neither is the one to count
        numbers = [int(number) for number in reads.split(",")]
        if whole := sum(numbers):
            share = 1 - numbers[0] / whole
            balance[min(BALANCE_BINS - 1, int(share * BALANCE_BINS))] += 1


def quality_bin(quality: float) -> int:
    """Bin of log10; everything below 0.1 is in the lowest."""
    return math.floor(QUALITY_BINS * math.log10(max(quality, 0.1)))


def variant_statistics(stats: Path, genotypes: Genotypes) -> VariantStatistics:
    """Read what `bcftools stats` wrote. Raises InputError."""
    sections = Sections(stats)
    summary = {row[1].removeprefix("number of ").rstrip(":"): int(row[2]) for row in sections["SN"]}
    transitions, transversions = (int(n) for n in next(iter(sections["TSTV"]), ["0", "0", "0"])[1:3])
    return VariantStatistics(
        summary,
        transitions,
        transversions,
        {row[1]: int(row[2]) for row in sections["ST"]},
        {int(row[1]): int(row[2]) for row in sections["IDD"]},
        genotypes,
    )
