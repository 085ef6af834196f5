"""Calls by fractions in the report: what the header says of the library, and the fractions of the alleles."""

import pytest

from readwarp.errors import InputError
from readwarp.report.blocks import call_table
from readwarp.report.headline import Subject, find_figures
from readwarp.report.libraries import CONTEXTS, read_library
from readwarp.report.numbers import number_text
from readwarp.report.plot import Plotter
from readwarp.report.tools import Tools
from readwarp.report.variant_plots import plot_balance, plot_damage, plot_fractions
from readwarp.report.variants import VariantStatistics, read_calls
from readwarp.somatic.noise.counts import context_of

RATES = ",".join(f"{k / 1e6:g}" for k in range(192))
HEADER = f"""##fileformat=VCFv4.2
##contig=<ID=c,length=1000>
##FILTER=<ID=weak_evidence,Description="weak">
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
##FORMAT=<ID=AD,Number=R,Type=Integer,Description="Reads">
##FORMAT=<ID=AF,Number=A,Type=Float,Description="Fraction">
##FORMAT=<ID=DP,Number=1,Type=Integer,Description="Depth">
##fraction_threshold=0.97
##damage=<ID=s,Power=2,Reach=0.02,Rates="{RATES}">
#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ts
"""
CALLS = """c\t10\t.\tA\tC\t60\tPASS\t.\tGT:AD:AF:DP\t0/1:98,2:0.02:100
c\t20\t.\tA\tC\t60\tPASS\t.\tGT:AD:AF:DP\t1/1:0,100:1:100
c\t30\t.\tA\tG\t5\tweak_evidence\t.\tGT:AD:AF:DP\t0/1:99,1:0.01:100
"""


def test_contexts_are_those_of_the_noise():
    """The header's rates are in the order in which calling counts them."""
    names = {}
    for before in range(4):
        for base in (1, 3):
            for after in range(4):
                for other in set(range(4)) - {base}:
                    number, is_reverse = context_of.py_func(before, base, after, other)
                    assert not is_reverse
                    names[number] = f"{'ACGT'[before]}[{'ACGT'[base]}>{'ACGT'[other]}]{'ACGT'[after]}"
    assert [names[number] for number in range(96)] == list(CONTEXTS)


def test_a_header():
    library = read_library(HEADER.splitlines())
    assert library is not None and library.threshold == 0.97
    assert library.damage[0] == (0.0, 1e-6) and library.damage[95] == (190e-6, 191e-6)
    assert read_library(line for line in HEADER.splitlines() if "threshold" not in line) is None


def found_in(folder, header=HEADER) -> VariantStatistics:
    path = folder / "x.vcf"
    path.write_text(header + CALLS)
    calls = read_calls(Tools(), path, 10)
    return VariantStatistics({}, 0, 0, {}, {}, calls.genotypes, rows=calls.rows, library=calls.library)


def test_plots(tmp_path):
    plotter, samples = Plotter(["s"]), {0: found_in(tmp_path)}
    fractions, damage = plot_fractions(plotter, samples), plot_damage(plotter, samples)
    assert fractions.summary == f"2 ALT alleles with P(real) >= {number_text(0.97, True)}"
    shown = {row[0]: row[1] for row in fractions.rows}
    assert sum(float(number) for number in shown.values()) == 2
    assert damage.summary == "at most 191 per million bases, at T[T>G]T"
    assert next(row[0] for row in damage.rows) == "A[C>A]A"
    assert plot_balance(plotter, samples) is None


def test_the_table_of_calls_shows_fractions_instead_of_genotypes(tmp_path):
    found = found_in(tmp_path)
    assert [row.genotype for row in found.rows] == ["0.02", "1", "0.01"]
    assert ">fraction<" in (text := str(call_table({"s": found}))) and ">genotype<" not in text and "0/1" not in text
    assert "het/hom" not in find_figures(Subject("s", None, found, {}))
    plain = found_in(tmp_path, "\n".join(line for line in HEADER.splitlines() if "threshold" not in line) + "\n")
    assert ">genotype<" in (text := str(call_table({"s": plain}))) and "0/1" in text
    assert "het/hom" in find_figures(Subject("s", None, plain, {}))


def test_genotypes_have_none_of_these(tmp_path):
    plain = "\n".join(line for line in HEADER.splitlines() if "threshold" not in line) + "\n"
    plotter, samples = Plotter(["s"]), {0: found_in(tmp_path, plain)}
    assert plot_fractions(plotter, samples) is None and plot_damage(plotter, samples) is None
    assert plot_balance(plotter, samples) is not None


def test_a_broken_header(tmp_path):
    with pytest.raises(InputError, match=r"fraction_threshold or damage cannot be read"):
        found_in(tmp_path, HEADER.replace("=0.97", "=much"))


@pytest.mark.parametrize("has_fractions", [True, False])
def test_calls_of_several_samples_name_those_that_have_the_allele(has_fractions, tmp_path):
    lines = [line for line in HEADER.splitlines() if has_fractions or "threshold" not in line]
    none, one = "0/0:9,0:0:9", "0/1:5,5:0.5:10"
    calls = [
        [none, "0/1:4,6:0.6:10", "./.:0,0:.:0", none, none],
        [one] * 5,
        ["1/1:0,7:1:7", "1/1:0,7:1:7", none, none, none],
    ]
    path, given = tmp_path / "x.vcf", "A\tC\t60\tPASS\t.\tGT:AD:AF:DP"
    rows = ["\t".join(("c", str(number), ".", given, *samples)) for number, samples in enumerate(calls, 1)]
    path.write_text("\n".join([*lines[:-1], lines[-1] + "\tt\tu\tv\tw", *rows]) + "\n")
    found = read_calls(Tools(), path, 10).rows
    names = [["t 0.6"], ["s 0.5", "t 0.5", "u 0.5", "2 more"], ["s 1", "t 1"]]
    if not has_fractions:
        names = [["t 0/1"], ["s 0/1", "t 0/1", "u 0/1", "2 more"], ["s 1/1", "t 1/1"]]
    assert [row.genotype.split("; ") for row in found] == names
    assert [(row.depth, row.reads) for row in found] == [
        ("10", "4,6"),
        ("10; 10; 10", "5,5; 5,5; 5,5"),
        ("7; 7", "0,7; 0,7"),
    ]
