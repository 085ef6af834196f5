"""What the report calls unusual, and what it does not."""

from collections import Counter
from dataclasses import replace

from readwarp.report.alignments import AlignmentStatistics
from readwarp.report.headline import Subject, find_figures, find_unusual, meanings_of
from readwarp.report.variants import Genotypes, VariantStatistics

READS = {"total": 10_000, "primary": 10_000, "supplementary": 0, "duplicates": 500, "mapped": 9_950, "paired": 10_000}
GOOD = AlignmentStatistics(
    summary={"error rate": 0.003},
    flagstat={**READS, "proper": 9_900},
    contigs=[("one", 1000, 9_950)],
    insert_sizes=[(300.0, 100.0)],
    mapping_qualities=[(60.0, 9_950.0)],
    quality_first=[(1.0, 36.0)],
    quality_last=[(1.0, 35.0)],
    mismatches=[],
    gc_first=[],
    gc_last=[],
    depth=[(0.0, 10.0), (30.0, 990.0)],
    depth_title="Depth of the reference: x",
    quality_bases={20: 100, 36: 900},
    contents={},
    along=[],
    targets=[],
)
CALLS = VariantStatistics(
    {"SNPs": 4000, "records": 4000}, 2700, 1300, {}, {}, Genotypes(balance_snvs=Counter({20: 2000}), passed=4000)
)


def said(alignments=None, variants=None, **run) -> str:
    return " ".join(find_unusual(Subject("x", alignments, variants, run)))


def test_good_figures_say_nothing():
    assert said(GOOD, CALLS) == ""


def test_each_unusual_figure_is_named():
    def with_reads(**changed):
        return replace(GOOD, flagstat={**GOOD.flagstat, **changed})

    assert "90.0" in said(with_reads(mapped=9_000)) and "right reference" in said(with_reads(mapped=9_000))
    assert "pairs" in said(with_reads(proper=8_000))
    assert "duplicates" in said(with_reads(duplicates=3_000))
    assert "differ from the reference" in said(replace(GOOD, summary={"error rate": 0.02}))
    assert "mean depth is 5.0" in said(replace(GOOD, depth=[(5.0, 1000.0)]))
    assert "covered by any read" in said(replace(GOOD, depth=[(0.0, 500.0), (30.0, 500.0)]))
    assert "mean quality of read 2 is 30.0" in said(replace(GOOD, quality_last=[(1.0, 30.0)]))
    assert "Ts/Tv is 1.00" in said(None, replace(CALLS, transitions=2000, transversions=2000))
    assert "fail a filter" in said(None, replace(CALLS, genotypes=Genotypes(passed=2000, failed=2000)))
    assert "one half" in said(None, replace(CALLS, genotypes=Genotypes(balance_snvs=Counter({10: 2000}))))
    assert "7 reads were too long" in said(counts={"reads_too_long": 7})


def test_few_reads_say_nothing_of_what_is_usual():
    few = {name: number // 100 for name, number in GOOD.flagstat.items()}
    assert said(replace(GOOD, flagstat={**few, "mapped": 10})) == ""


def test_depth_says_that_it_is_of_targets():
    whole, part = (Subject("x", replace(GOOD, targets=rows), None, {}) for rows in ([], [("one", 0, 9, "a", 1.0, 1.0)]))
    assert meanings_of(whole)["mean depth"] == "without duplicates"
    assert meanings_of(part)["mean depth"] == "of the targets, without duplicates"


def test_trimmed_bases_are_a_figure_where_reads_were_trimmed():
    counts = {"bases": 1000, "bases_trimmed": 25, "reads_trimmed_too_short": 3}
    assert find_figures(Subject("x", None, None, {"counts": counts}))["trimmed"] == "2.50\N{NO-BREAK SPACE}%"
    figures = find_figures(Subject("x", GOOD, None, {"counts": counts}))
    assert next(iter(figures)) == "reads" and list(figures)[-1] == "trimmed"
    assert "trimmed" not in find_figures(Subject("x", None, None, {"counts": {"bases": 1000}}))
    assert "3 reads were too short to align after trimming" in said(counts=counts)


def test_no_reads():
    empty = replace(GOOD, flagstat=dict.fromkeys(GOOD.flagstat, 0), insert_sizes=[], depth=[(0.0, 1000.0)])
    assert said(empty) == "There are no reads."
    shown = find_figures(Subject("x", empty, None, {}))
    assert shown["mapped"] == shown["insert size"] == "-" and shown["mean depth"] == "0.0"
