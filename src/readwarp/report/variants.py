"""Read the numbers of a VCF: the output of `bcftools stats`, and counts of one pass over the calls."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from readwarp.errors import InputError
from readwarp.report.libraries import LibraryFigures, read_library
from readwarp.report.phasing import PhaseBlocks
from readwarp.report.points import Points, mean
from readwarp.report.tools import Tools, argument, read_stats, sections_of

QUERY = "%CHROM\\t%POS\\t%REF\\t%ALT\\t%QUAL\\t%FILTER\\t%TYPE[\\t%GT:%DP:%AD:%PS:%AF]\\n"
TYPES = {"SNP": "SNV", "INDEL": "indel", "MNP": "MNV", "SNP,INDEL": "mixed", "INDEL,SNP": "mixed"}
UNCALLED = frozenset("0.")  # alleles
MAX_LETTERS = 24  # letters of an allele in a row
MAX_CARRIERS = 3  # named in a row
BALANCE_BINS = 40  # bins of the share of reads, 0-1
QUALITY_BINS = 8  # per factor of ten


@dataclass(slots=True)
class Genotypes:
    """Counts of one pass over the calls. `balance`: share of reads with the ALT allele, at heterozygous calls."""

    filters: Counter[str] = field(default_factory=Counter)
    quality_passed: Counter[int] = field(default_factory=Counter)  # QUAL in bins of log10
    quality_failed: Counter[int] = field(default_factory=Counter)
    depth: Counter[int] = field(default_factory=Counter)
    balance_snvs: Counter[int] = field(default_factory=Counter)
    balance_indels: Counter[int] = field(default_factory=Counter)
    fractions: Counter[int] = field(default_factory=Counter)  # AF in bins of log10, where alleles have fractions
    heterozygous: int = 0
    homozygous: int = 0
    passed: int = 0
    failed: int = 0

    @property
    def mean_balance(self) -> float:
        """Return the mean of SNVs and indels, 0-1; 0 without heterozygous calls."""
        return mean(balance_points(self.balance_snvs + self.balance_indels))


class Row(NamedTuple):
    """Call in the page's list."""

    contig: str
    position: int  # from 1
    reference: str
    alternative: str
    kind: str
    quality: float | None
    filters: str
    genotype: str  # fractions instead, where alleles have them; of several samples, only carriers
    depth: str
    reads: str  # by allele


@dataclass(frozen=True, slots=True)
class VariantStatistics:
    """Statistics of calls that pass all filters, except in `genotypes.filters`, `.failed` and `.quality_failed`."""

    summary: dict[str, int]
    transitions: int
    transversions: int
    substitutions: dict[str, int]  # A>C -> number
    indel_lengths: dict[int, int]  # deletions negative; bcftools counts lengths above 60 as 60
    genotypes: Genotypes
    blocks: PhaseBlocks = field(default_factory=PhaseBlocks)
    rows: Sequence[Row] = ()  # the first calls, including those that failed
    library: LibraryFigures | None = None  # where alleles have fractions

    @property
    def snvs(self) -> int:
        """Count ALT alleles, of which a record may have two."""
        return sum(self.substitutions.values())

    @property
    def insertions(self) -> int:
        return sum(n for length, n in self.indel_lengths.items() if length > 0)

    @property
    def deletions(self) -> int:
        return sum(n for length, n in self.indel_lengths.items() if length < 0)


class VcfContents(NamedTuple):
    """Results of one pass over a VCF."""

    genotypes: Genotypes
    blocks: PhaseBlocks
    rows: list[Row]  # the first calls
    samples: int
    library: LibraryFigures | None


def read_calls(tools: Tools, path: Path, most: int) -> VcfContents:
    """Read a VCF or BCF in one pass; lines without ALT do not count. most: of the rows to keep."""
    out, blocks = Genotypes(), PhaseBlocks()
    rows, width = list[Row](), 0
    lines = tools.lines("bcftools", "view", "-h", argument(path), folder=path.parent)
    header = [line.decode(errors="replace") for line in lines]
    names = header[-1].rstrip("\n").split("\t")[9:] if header else []
    try:
        library = read_library(header)
    except ValueError as error:
        raise InputError(path, "the header's fraction_threshold or damage cannot be read") from error
    for line in tools.lines(
        "bcftools", "query", "-u", "-e", 'ALT="."', "-f", QUERY, argument(path), folder=path.parent
    ):
        fields = line.decode(errors="replace").rstrip("\n").split("\t")
        try:
            width = max(width, _count(fields, (out, blocks)))
            if len(rows) < most:
                rows.append(make_row(fields, names, library is not None))
            if library and fields[5] == "PASS":
                _add_fractions(out, fields[7:])
        except (ValueError, OverflowError) as error:
            raise InputError(path, "its QUAL, GT, DP or AD cannot be read", ":".join(fields[:2])) from error
    return VcfContents(out, blocks, rows, width, library)


def _count(fields: Sequence[str], to: tuple[Genotypes, PhaseBlocks]) -> int:
    """Add a line of QUERY; return its number of samples. Raises ValueError and OverflowError."""
    (out, blocks), (quality, filters, kind, *samples) = to, fields[4:]
    has_passed = filters in ("PASS", ".")
    for name in ("PASS",) if has_passed else filters.split(";"):
        out.filters[name] += 1
    out.passed += has_passed
    out.failed += not has_passed
    if quality != ".":
        number = math.floor(QUALITY_BINS * math.log10(max(float(quality), 0.1)))  # all below 0.1 are in the lowest
        (out.quality_passed if has_passed else out.quality_failed)[number] += 1
    if has_passed:
        balance = out.balance_indels if kind.startswith("INDEL") else out.balance_snvs
        for number, text in enumerate(samples):
            genotype, depth, reads, phase_set, _ = text.split(":")
            alleles = alleles_of(genotype)
            add_genotype(out, alleles, depth, reads, balance)
            if len(alleles) > 1:
                blocks.add(number, fields[:2], genotype, phase_set, kind == "SNP")
    return len(samples)


def _add_fractions(out: Genotypes, samples: Sequence[str]) -> None:
    """Add the fractions of samples that have the allele. Raises ValueError."""
    for text in samples:
        genotype, *_, fractions = text.split(":")
        if not alleles_of(genotype) <= UNCALLED:
            for fraction in fractions.split(","):
                out.fractions[min(-1, math.floor(QUALITY_BINS * math.log10(float(fraction))))] += 1  # 1 in the last bin


def make_row(fields: Sequence[str], names: Sequence[str], has_fractions: bool) -> Row:
    """Make a row. fields: of a line of QUERY; names: of the samples, shown if there are several."""
    contig, position, reference, alternative, quality, filters, kind, *samples = fields
    genotype, depth, reads = _spell_samples([text.split(":") for text in samples], names, has_fractions)
    reference, alternative = (",".join(map(shorten, text.split(","))) for text in (reference, alternative))
    value = None if quality == "." else round(float(quality), 1)
    kind = TYPES.get(kind, kind.lower())
    return Row(contig, int(position), reference, alternative, kind, value, filters, genotype, depth, reads)


def _spell_samples(samples: Sequence[list[str]], names: Sequence[str], has_fractions: bool) -> tuple[str, str, str]:
    """Return genotype or fractions, depth and reads of the sample; if there are several, of the first carriers."""
    shown = list(zip(names, samples, strict=True))
    if len(names) > 1:
        shown = [(name, values) for name, values in shown if not alleles_of(values[0]) <= UNCALLED]
    first, others = shown[:MAX_CARRIERS], len(shown[MAX_CARRIERS:])
    calls, depths, reads = ([values[place] for _, values in first] for place in (4 if has_fractions else 0, 1, 2))
    if len(names) > 1:
        calls = [f"{name} {call}" for (name, _), call in zip(first, calls, strict=True)]
    return "; ".join([*calls, f"{others} more"] if others else calls), "; ".join(depths), "; ".join(reads)


def shorten(allele: str) -> str:
    """Shorten an allele of many bases to its first bases and their number."""
    return allele if len(allele) <= MAX_LETTERS else f"{allele[: MAX_LETTERS // 2]}… ({len(allele)} bases)"


@cache
def alleles_of(genotype: str) -> frozenset[str]:
    """Return the alleles of GT, which has few values."""
    return frozenset(genotype.replace("|", "/").split("/"))


def add_genotype(out: Genotypes, alleles: frozenset[str], depth: str, reads: str, balance: Counter[int]) -> None:
    """Add a genotype. depth, reads: DP and AD of one sample."""
    if alleles <= UNCALLED:
        return
    if depth != ".":
        out.depth[int(depth)] += 1
    if len(alleles) == 1:
        out.homozygous += 1
        return
    out.heterozygous += 1
    if "0" in alleles and "." not in reads:  # with two ALT alleles, neither is the one to count
        numbers = [int(number) for number in reads.split(",")]
        if whole := sum(numbers):
            share = 1 - numbers[0] / whole
            balance[min(BALANCE_BINS - 1, int(share * BALANCE_BINS))] += 1


def balance_points(counts: Counter[int]) -> Points:
    """Return (share of reads, calls); the share of a bin is its middle."""
    return [((number + 0.5) / BALANCE_BINS, counts[number]) for number in range(BALANCE_BINS)]


def read_variant_statistics(stats: Path, calls: VcfContents) -> VariantStatistics:
    """Read the output of `bcftools stats`. Raises InputError."""
    sections = sections_of(read_stats(stats))
    _, transitions, transversions, *_ = next(iter(sections["TSTV"]), ["0", "0", "0"])
    return VariantStatistics(
        {row[1].removeprefix("number of ").rstrip(":"): int(row[2]) for row in sections["SN"]},
        int(transitions),
        int(transversions),
        {row[1]: int(row[2]) for row in sections["ST"]},
        {int(row[1]): int(row[2]) for row in sections["IDD"]},
        calls.genotypes,
        calls.blocks,
        calls.rows,
        calls.library,
    )
