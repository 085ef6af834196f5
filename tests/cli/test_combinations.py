"""Options that cannot be combined are refused before anything is read: the files of these commands do not exist."""

import argparse

import pytest

from helpers.command_samples import CONTIGS, fasta, record, run_main
from readwarp.cli import COMMANDS, build_parser
from readwarp.config.combinations import EXCLUDES, NEEDS, RULES, check_kind, check_together
from readwarp.errors import UsageError


def options_of(command: str) -> set[str]:
    """As Python has them."""
    (commands,) = (a for a in build_parser([command])._actions if isinstance(a, argparse._SubParsersAction))
    return {action.dest for action in commands.choices[command]._actions if action.option_strings}


def value_of(term: str) -> object:
    return term.partition("=")[2].split("|")[0] or True


def commands_of(rule) -> list[str]:
    """Those that have the options of a rule, and one of the others."""
    has = {command: options_of(command) for command in rule.commands.split() or COMMANDS}
    others = {term.partition("=")[0] for term in rule.others.split()}
    return [name for name, known in has.items() if known & set(rule.options.split()) and known & others]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.options.split()[0]}-{rule.kind}-{rule.others[:20]}")
def test_each_rule_bites_in_a_command(rule):
    assert rule.kind in (NEEDS, EXCLUDES)
    commands = commands_of(rule)
    assert commands and (not rule.commands or commands == rule.commands.split())
    for command in commands:
        known = options_of(command)
        for name in known.intersection(rule.options.split()):
            if rule.kind == NEEDS:
                with pytest.raises(UsageError, match=f"^--{name.replace('_', '-')} needs --"):
                    check_together(command, {name: True})
                continue
            for term in (term for term in rule.others.split() if term.partition("=")[0] in known):
                other = term.partition("=")[0]
                with pytest.raises(UsageError, match=r"cannot be combined|needs"):
                    check_together(command, {name: True, other: value_of(term)})


def test_every_name_is_an_option():
    every = set().union(*map(options_of, COMMANDS))
    named = {term.partition("=")[0] for rule in RULES for term in f"{rule.options} {rule.others}".split()}
    assert named <= every


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("run r q -o d --haplotag h.bam --preset short", "--haplotag supports long reads only (--preset hifi or ont"),
        ("run r q -o d --umi name --preset ont", "--umi and --preset ont cannot be combined"),
        ("run r q -o d --umi name --umi-duplex --no-mark-duplicates", "--umi-duplex and --no-mark-duplicates cannot"),
        ("run r q -o d --somatic --gvcf", "--somatic and --gvcf cannot be combined"),
        ("run r q -o d --mixture --min-qual 20", "--mixture and --min-quality cannot be combined: alleles have fract"),
        ("run r q -o d --max-events 3 --mixture", "--max-events needs --somatic"),
        ("run r q -o d --consensus-share 0.5", "--consensus-share needs --consensus"),
        ("run r q -o d --min-sv-support 3", "--min-sv-support needs --sv or --sv-only"),
        ("run r q -o d --interval-padding 3", "--interval-padding needs --region or --targets"),
        ("call r b --platform short --haplotag h.bam", "--haplotag supports long reads only (--platform hifi or ont"),
        ("call r b --platform ont --somatic", "--somatic supports short reads only (--platform short"),
        ("call r b --platform hifi --circular c", "--circular supports short reads only"),
        ("call r - --bam-output h.bam", "--bam-output reads the alignments twice: give a file with an index"),
        ("call r b --sv-only --primers p", "--sv-only and --primers cannot be combined"),
        ("align r q --interleaved --single", "--interleaved and --single cannot be combined"),
        ("align r q --part 1/2 --sort name -o o.bam", "--part and --sort name cannot be combined: parts are unsorted"),
        ("genotype r g --interval-padding 3", "--interval-padding needs --region or --targets"),
        ("merge b -o o.bam --umi tag", "--umi needs --mark-duplicates"),
        ("consensus b -o o.bam --require-single-strand-agreement", "--require-single-strand-agreement needs --duplex"),
    ],
)
def test_nothing_is_read_before(command, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if command.startswith("run") and ("--haplotag" in command or "--sv " in command):  # the platform is that of reads
        (tmp_path / "r").write_text(fasta(CONTIGS))
        (tmp_path / "q").write_text(record("a", "ACGT"))
    before = set(tmp_path.iterdir())
    assert run_main(command.split()) == 2
    out, error = capsys.readouterr()
    assert out == "" and error.startswith(f"readwarp: error: {said}") and error.count("\n") == 1
    assert set(tmp_path.iterdir()) == before


def test_run_has_no_normal(capsys):
    """It takes one sample."""
    assert run_main(["run", "r", "q", "-o", "d", "--somatic", "--normal", "n"]) == 2
    assert "--normal: run takes one sample: run tumour and normal separately, then" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["haplotag", "sv"])
def test_read_groups_tell_the_kind_of_reads(option, tmp_path, capsys):
    """As the names of reads do, from which run makes read groups."""
    (tmp_path / "r.fa").write_text(fasta(CONTIGS))
    (tmp_path / "q.fq").write_text(record("a", "ACGT"))
    given = [f"--{option}", tmp_path / "x.bam" if option == "haplotag" else tmp_path / "x.vcf"]
    command = ["run", tmp_path / "r.fa", tmp_path / "q.fq", "-o", tmp_path / "d", *given]
    assert run_main([*command, "-R", r"@RG\tID:x\tSM:y\tPL:ILLUMINA"]) == 2
    assert f"--{option} supports long reads only" in capsys.readouterr().err
    assert not (tmp_path / "d").exists()


def test_zero_is_what_is_done_without():
    check_together("call", {"gvcf": True, "max_mnp_distance": 0, "interval_padding": 0})
    check_kind("call", True, {"haplotag": "x.bam"})
