"""What must hold within any VCF of ours: its header, its records against the reference, and their fields against each
other. `check_vcf` says how many records it has seen; what is wrong is an AssertionError with the line."""

import gzip
import math
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path

import pysam

TYPES = {"Integer": int, "Float": float, "String": str, "Character": str}
FIXED = ("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT")


@dataclass
class Declared:
    """What a header declares."""

    fields: dict[tuple[str, str], tuple[str, str]]  # (INFO or FORMAT, name) -> Number, Type
    filters: set[str]
    contigs: dict[str, int]
    samples: list[str]

    @classmethod
    def by(cls, lines: list[str]) -> "Declared":
        assert lines[0].startswith("##fileformat=VCFv4.")
        fields, filters, contigs = {}, set(), {}
        for line in lines[:-1]:
            found = re.match(r"##(INFO|FORMAT)=<ID=([^,]+),Number=([^,]+),Type=([^,]+),Description=\"[^\"]+\">$", line)
            if found:
                assert found.group(1, 2) not in fields, line
                fields[found.group(1, 2)] = found.group(3, 4)
            elif line.startswith("##FILTER"):
                filters.add(re.match(r"##FILTER=<ID=([^,]+),Description=\"[^\"]+\">$", line)[1])
            elif line.startswith("##contig"):
                found = re.match(r"##contig=<ID=(.+?),length=(\d+)(,md5=[0-9a-f]{32})?>$", line)
                contigs[found[1]] = int(found[2])
            else:
                assert not line.startswith(("##INFO", "##FORMAT")), line
        columns = lines[-1].split("\t")
        assert tuple(columns[:9]) == FIXED and len(columns) > 9
        return cls(fields, filters, contigs, columns[9:])


def check_vcf(path: Path, fasta: Path) -> int:
    lines = lines_of(path)
    declared = Declared.by([line for line in lines if line.startswith("#")])
    records = [line for line in lines if not line.startswith("#")]
    names, before = list(declared.contigs), (-1, -1)
    with pysam.FastaFile(str(fasta)) as reference:
        for line in records:
            fields = line.split("\t")
            assert len(fields) == 9 + len(declared.samples), line
            place = (names.index(fields[0]), int(fields[1]))
            assert place >= before, f"not in order: {line}"
            before = place
            check_alleles(line, reference)
            check_record(line, declared)
    return len(records)


def lines_of(path: Path) -> list[str]:
    if path.suffix == ".bcf":
        with pysam.VariantFile(str(path)) as file:
            return [*str(file.header).splitlines(), *(str(record).rstrip("\n") for record in file)]
    return (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode().splitlines()


def check_alleles(line: str, reference: pysam.FastaFile) -> None:
    """REF agrees with the reference; alleles differ, share no base at an end, and cannot be moved further left."""
    contig, position, _, ref, alt = line.split("\t")[:5]
    start = int(position) - 1
    assert ref == reference.fetch(contig, start, start + len(ref)).upper(), line
    alleles = [ref, *(allele for allele in alt.split(",") if not re.fullmatch(r"<\w+>|\*", allele))]
    assert len(set(alleles)) == len(alleles) and all(re.fullmatch("[ACGTN]+", allele) for allele in alleles), line
    longest, shortest = max(map(len, alleles)), min(map(len, alleles))
    if shortest > 1:
        assert len({allele[0] for allele in alleles}) > 1, f"a base too many on the left: {line}"
    if longest > 1 and len(alleles) > 1 and start > 0:
        assert len({allele[-1] for allele in alleles}) > 1, f"not trimmed on the right, or not leftmost: {line}"


def check_record(line: str, declared: Declared) -> None:
    alleles = [line.split("\t")[3], *(a for a in line.split("\t")[4].split(",") if a != ".")]
    quality, filters, info, keys, *columns = line.split("\t")[5:]
    assert quality == "." or (float(quality) >= 0 and math.isfinite(float(quality))), line
    assert filters in ("PASS", ".") or set(filters.split(";")) <= declared.filters, line
    samples = [dict(zip(keys.split(":"), column.split(":"), strict=True)) for column in columns]
    assert keys.startswith("GT"), line
    genotypes = [genotype_of(sample["GT"]) for sample in samples]
    information = {} if info == "." else dict(field.partition("=")[::2] for field in info.split(";"))
    for name, text in information.items():
        check_field(line, ("INFO", name), text, len(alleles), 0, declared)
    for sample, genotype in zip(samples, genotypes, strict=True):
        for name, text in sample.items():
            check_field(line, ("FORMAT", name), text, len(alleles), len(genotype), declared)
        if "END" not in information:  # a block's numbers are those of several positions
            check_sample(line, sample, genotype, len(alleles), len(samples) == 1)
    if "AC" in information:
        check_counts(line, information, genotypes, len(alleles))


def check_field(line: str, key: tuple[str, str], text: str, alleles: int, ploidy: int, declared: Declared) -> None:
    assert key in declared.fields, f"{key} is not declared: {line}"
    number, kind = declared.fields[key]
    if text == "." or kind == "Flag":
        return
    values = text.split(",")
    wanted = {"A": alleles - 1, "R": alleles, "G": math.comb(alleles + ploidy - 1, ploidy)}
    if number != ".":
        assert len(values) == (wanted[number] if number in wanted else int(number)), f"{key}: {line}"
    for value in values:
        assert value == "." or math.isfinite(TYPES[kind](value) if kind in ("Integer", "Float") else 0), line


def genotype_quality(phred: Sequence[int], order: Sequence[tuple[int, ...]]) -> int:
    """GQ by the PLs of genotypes in this order: of k ALT copies, one in k is taken to have that genotype."""
    weights = [10 ** (-x / 10) / max(1, sum(a > 0 for a in g)) for x, g in zip(phred, order, strict=True)]
    best = weights.pop(list(phred).index(0))
    return min(99, round(-10 * math.log10(max(1e-300, sum(weights)) / (best + sum(weights)))))


def check_sample(line: str, sample: dict[str, str], genotype: list[int | None], alleles: int, is_alone: bool) -> None:
    """Of several samples, the others have a say in GT and GQ."""
    depth = int(sample["DP"])
    assert all(a is None or 0 <= a < alleles for a in genotype), line
    allele_depth = list(map(int, sample["AD"].split(",")))
    assert min(allele_depth) >= 0 and sum(allele_depth) <= depth, line
    if sample["PL"] == ".":  # the sample lacks the contig
        assert sample["GT"] == "." and depth == sum(allele_depth) == int(sample["GQ"]) == 0, line
        return
    phred = list(map(int, sample["PL"].split(",")))
    assert min(phred) == 0, line
    if None in genotype:
        assert set(genotype) == {None} and depth == 0 and set(phred) == {0} and int(sample["GQ"]) == 0, line
    else:
        order = sorted(combinations_with_replacement(range(alleles), len(genotype)), key=lambda g: g[::-1])
        assert depth > 0 and tuple(sorted(genotype)) in order and 0 <= int(sample["GQ"]) <= 99, line
        by_gvcf = min(99, sorted(phred)[1])  # of one sample genotyped from its gVCF: flat weights
        if is_alone:
            assert order[phred.index(0)] == tuple(sorted(genotype)), line
            assert int(sample["GQ"]) in (genotype_quality(phred, order), by_gvcf), line
    is_phased = sample.get("PS", ".") != "."
    assert is_phased == ("|" in sample["GT"]) or len(genotype) == 1, line
    assert is_phased or None in genotype or genotype == sorted(genotype), line


def genotype_of(text: str) -> list[int | None]:
    assert re.fullmatch(r"(\d+|\.)(/(\d+|\.))*|\d+(\|\d+)*", text), text
    return [None if a == "." else int(a) for a in re.split(r"[/|]", text)]


def check_counts(line: str, information: dict[str, str], genotypes: list[list[int | None]], alleles: int) -> None:
    copies = [a for genotype in genotypes for a in genotype if a is not None]
    counts = [copies.count(a) for a in range(1, alleles)]
    assert information["AC"] == ",".join(map(str, counts)) and information["AN"] == str(len(copies)), line
    assert ("AF" in information) == bool(copies), line
    if copies:
        shares = map(float, information["AF"].split(","))
        assert all(abs(x - n / len(copies)) < 6e-4 for x, n in zip(shares, counts, strict=True)), line


def bcftools(*arguments: str) -> tuple[str, str]:
    """stdout and stderr of pysam's bcftools, run in a process of its own."""
    code = "import sys, pysam.bcftools as b; getattr(b, sys.argv[1])(*sys.argv[2:], catch_stdout=False)"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def check_with_bcftools(path: Path, fasta: Path) -> None:
    """`bcftools view` does not complain about the file, and `bcftools norm` changes nothing."""
    text, said = bcftools("view", "--no-version", str(path))
    assert said == ""
    normal, _ = bcftools("norm", "--no-version", "--check-ref", "e", "-f", str(fasta), str(path))
    plain = [line for line in text.splitlines() if not line.startswith("#")]
    assert [line for line in normal.splitlines() if not line.startswith("#")] == plain


def quiet_bcftools(*arguments: str) -> str:
    """stdout of bcftools, which must write nothing but counts to stderr."""
    text, said = bcftools(*arguments)
    assert [line for line in said.splitlines() if not line.startswith(("Lines ", "Filled ", "REF/ALT"))] == []
    return text


def body(text: str) -> list[list[str]]:
    """The fields of each record of a VCF."""
    return [line.split("\t") for line in text.splitlines() if line[:1] != "#"]
