"""Options become values, or a usage error that says what is wrong."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.making import write_fasta
from readwarp.align import api as align
from readwarp.call.places.targets import CallTargets
from readwarp.caller import api as call
from readwarp.cli import build_parser, options
from readwarp.cohort import api as genotype
from readwarp.config import (
    PRESETS,
    AlignParameters,
    CallParameters,
    JointParameters,
    Preset,
    RecordParameters,
    Scoring,
)
from readwarp.config.commands import AlignOptions, CallOptions, GenotypeOptions
from readwarp.errors import UsageError
from readwarp.run.api import make_job as make_run_job


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1700000", 1_700_000),
        ("4G", 4 << 30),
        ("4g", 4 << 30),
        ("500M", 500 << 20),
        ("1.5K", 1536),
        ("2GB", 2 << 30),
        ("2GiB", 2 << 30),
    ],
)
def test_size(text, number):
    assert options.size(text) == number


@pytest.mark.parametrize("text", ["", "G", "many", "-1G", "0", "1e400", "nan", "4X"])
def test_not_a_size(text):
    with pytest.raises(argparse.ArgumentTypeError):
        options.size(text)


@pytest.mark.parametrize(("text", "number"), [("1", 1), ("20M", 20_000_000), ("3k", 3000)])
def test_count(text, number):
    assert options.count(text) == number


@pytest.mark.parametrize(("text", "number"), [("0", 0.0), ("0.3", 0.3), ("1e2", 100.0)])
def test_number(text, number):
    assert options.number(text) == number


@pytest.mark.parametrize("text", ["", "x", "-0.5", "nan", "inf"])
def test_not_a_number(text):
    with pytest.raises(argparse.ArgumentTypeError):
        options.number(text)


def parsed(command: str, known: type, *more: str) -> Any:
    return options.pick_keywords(build_parser([command]).parse_args([command, "ref.fa", *more]), known)


def test_limits_of_filters():
    """Each command has them."""
    given = ("--min-quality", "12.5", "--max-strand-bias", "60")
    wanted = CallParameters(min_quality=12.5, max_strand_bias=60)
    one = call.make_job("ref.fa", "a.bam", None, parsed("call", CallOptions, "a.bam", *given), "x")
    assert one.parameters == wanted
    cohort = genotype.make_job("ref.fa", ["a.vcf"], None, parsed("genotype", GenotypeOptions, *given), "x")
    assert cohort.calling == wanted and cohort.parameters == JointParameters()


def test_candidates_and_priors():
    given = ("--min-qual", "20", "--min-alternate-count", "3", "--min-alternate-fraction", "0.02", "--max-depth", "500")
    given += ("--heterozygosity", "0.01", "--indel-heterozygosity", "0.002", "--min-indel-fraction", "0.03")
    one = call.make_job("ref.fa", "a.bam", None, parsed("call", CallOptions, "a.bam", *given), "x").parameters
    assert one == CallParameters(
        min_quality=20,
        min_alternate_count=3,
        min_alternate_fraction=0.02,
        max_depth=500,
        snv_prior=0.01,
        indel_prior=0.002,
        min_indel_fraction=0.03,
    )
    given = parsed("genotype", GenotypeOptions, "--heterozygosity", "0.02", "--indel-heterozygosity", "0.1")
    cohort = genotype.make_job("ref.fa", ["a.vcf"], None, given, "x")
    assert cohort.calling == CallParameters(snv_prior=0.02, indel_prior=0.1)


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"min_alternate_count": 0}, "--min-alternate-count must be at least 1"),
        ({"min_alternate_fraction": 1.5}, "must be 0 to 1"),
        ({"min_indel_fraction": 1.01}, "must be 0 to 1"),
        ({"snv_prior": 0.0}, "must lie between 0 and 1"),
        ({"indel_prior": 1.0}, "must lie between 0 and 1"),
    ],
)
def test_limits_that_make_no_sense(limits, says):
    with pytest.raises(UsageError, match=says):
        CallParameters(**limits)


def test_places():
    given = ("-r", "c1", "-L", "a.bed", "-L", "c2:1-5", "--interval-padding", "10", "--exclude-regions", "b.bed")
    wanted = CallTargets(regions=("c1",), targets=("a.bed", "c2:1-5"), padding=10, excluded=("b.bed",))
    one = call.make_job("ref.fa", "a.bam", None, parsed("call", CallOptions, "a.bam", *given), "x")
    assert one.places == wanted
    cohort = genotype.make_job("ref.fa", ["a.vcf"], None, parsed("genotype", GenotypeOptions, *given), "x")
    assert cohort.places == wanted
    plain = call.make_job("ref.fa", "a.bam", None, {"targets": Path("a.bed"), "exclude_regions": ["b.bed", "c"]}, "x")
    assert plain.places == CallTargets(targets=("a.bed",), excluded=("b.bed", "c"))


def test_scores_and_limits_are_those_of_the_preset(monkeypatch, tmp_path):
    own = AlignParameters(scoring=Scoring(mismatch=9, gap_open=9), records=RecordParameters(min_score=17))
    monkeypatch.setitem(PRESETS, "short", Preset("reads of a test", own))
    reads, reference = tmp_path / "a.fq", write_fasta(tmp_path / "ref.fa", {"one": "ACGT"})
    reads.write_text("@a\nACGT\n+\nIIII\n")

    def made(*more: str) -> AlignParameters:
        given = parsed("align", AlignOptions, str(reads), *more)
        return align.make_job(reference, [reads], None, given, "x").parameters

    assert made() == AlignParameters()
    assert made("--min-score", "20").records.min_score == 20
    assert made("--cs", "long").records.cs == "long"
    records = RecordParameters(min_score=17, eqx=True)
    assert made("--preset", "short", "-B", "3", "--eqx") == replace(
        own, scoring=Scoring(mismatch=3, gap_open=9), records=records
    )


def test_switches_that_a_preset_turns_on_stay_on(monkeypatch, tmp_path):
    own = AlignParameters(records=RecordParameters(soft_clip_supplementary=True, eqx=True))
    monkeypatch.setitem(PRESETS, "short", Preset("reads of a test", own))
    reads, reference = tmp_path / "a.fq", write_fasta(tmp_path / "ref.fa", {"one": "ACGT"})
    reads.write_text("@a\nACGT\n+\nIIII\n")
    given = parsed("align", AlignOptions, str(reads), "--preset", "short")
    assert align.make_job(reference, [reads], None, given, "x").parameters == own
    given["eqx"] = False  # a user of Python may turn it off
    assert not align.make_job(reference, [reads], None, given, "x").parameters.records.eqx


@pytest.mark.parametrize("text", ["0", "-3", "1.5", "", "x"])
def test_not_a_count(text):
    with pytest.raises(argparse.ArgumentTypeError):
        options.count(text)


@pytest.mark.parametrize(
    ("text", "value"), [("400", (400.0,)), ("400,50", (400.0, 50.0)), ("400,50.5,700,100", (400.0, 50.5, 700, 100))]
)
def test_insert_size(text, value):
    assert options.insert_size(text) == value


@pytest.mark.parametrize("text", ["", "a", "1,2,3,4,5", "400,50,7.5", "nan", "400,inf"])
def test_not_an_insert_size(text):
    with pytest.raises(argparse.ArgumentTypeError):
        options.insert_size(text)


def test_run_on_amplicons_marks_no_duplicates(tmp_path):
    reference = write_fasta(tmp_path / "ref.fa", {"c": "ACGT" * 50})
    reads = [tmp_path / "reads.fq"]
    reads[0].write_text("@r\nACGT\n+\nIIII\n")
    marks = []
    for given in ({}, {"primers": tmp_path / "scheme.bed"}, {"no_mark_duplicates": True}):
        job = make_run_job(reference, reads, tmp_path / "out", given, "x")
        marks.append(job.alignment.mark_duplicates)
    assert marks == [True, False, False]
