"""Headers of VCF files say the limits that the filters of the run had."""

import re

import pytest

from helpers.command_samples import CONTIGS, record, run_main
from readwarp.cli import build_parser

STRAND = (
    "FS > 12 for substitutions (--max-strand-bias)",
    "> 34 for insertions and deletions (--max-indel-strand-bias)",
)
STRAND_LIMITS = "--max-strand-bias 12 --max-indel-strand-bias 34"
GENOTYPES = (
    "QUAL < 5.5 (--min-quality)",
    "ED < 3 (--min-end-distance)",
    "< 0.25 (--min-allele-fraction)",
    "< 0.625 for one copy (--min-haploid-fraction)",
    "Phred > 31: --max-fraction-misfit",
    "AMQ < 41 (--min-alt-mapping-quality)",
    "1 - 0.375 (--min-expected-fraction)",
    *STRAND,
)
GENOTYPE_LIMITS = (
    "--min-quality 5.5 --min-end-distance 3 --min-allele-fraction 0.25 --min-haploid-fraction 0.625 "
    f"--max-fraction-misfit 31 --min-alt-mapping-quality 41 --min-expected-fraction 0.375 {STRAND_LIMITS}"
)
FRACTIONS = ("(--min-probability 0.75 or more)", "AF < 0.125 (--min-fraction)", "MBQ < 20", "MMQ < 30", "MPOS < 1")
FRACTION_LIMITS = f"--min-probability 0.75 --min-fraction 0.125 {STRAND_LIMITS}"


@pytest.fixture(scope="module")
def alignments(reference, mates, tmp_path_factory):
    path = tmp_path_factory.mktemp("limits") / "s.bam"
    assert run_main(["align", reference, *mates, "-o", path, "--write-index", "-q"]) == 0
    return path


def filters(command: str, arguments: list, options: str, out) -> dict[str, str]:
    assert run_main([command, *arguments, *options.split(), "-o", out, "-q"]) == 0
    return dict(re.findall(r'^##FILTER=<ID=(\w+),Description="(.*)">$', out.read_text(), re.M))


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        (GENOTYPE_LIMITS, GENOTYPES),
        (f"--mixture {FRACTION_LIMITS}", (*FRACTIONS, *STRAND)),
        (f"--somatic {FRACTION_LIMITS} --max-events 4", (*FRACTIONS, *STRAND, "ECNT > 4 (--max-events)")),
    ],
)
def test_limits_of_call(options, limits, reference, alignments, tmp_path):
    found = filters("call", [reference, alignments], options, tmp_path / "o.vcf")
    assert not [limit for limit in limits if limit not in " ".join(found.values())]
    check_texts(found)


def test_limit_of_structural_variants(reference, tmp_path):
    (tmp_path / "long.fq").write_text(record("a", CONTIGS["one"]))
    command = ["align", reference, tmp_path / "long.fq", "-x", "hifi", "-o", tmp_path / "long.bam", "--write-index"]
    assert run_main([*command, "-q"]) == 0
    found = filters("call", [reference, tmp_path / "long.bam"], "--sv-only --min-quality 5.5", tmp_path / "o.vcf")
    assert found == {"PASS": "All filters passed", "LowQual": "QUAL < 5.5 (--min-quality)"}


def test_structural_variants_of_short_reads_are_refused(reference, alignments, tmp_path, capsys):
    for option in (["--sv-only"], ["--sv", tmp_path / "x.vcf"]):
        assert run_main(["call", reference, alignments, *option, "-o", tmp_path / "o.vcf"]) == 2
        assert f"{option[0]} supports long reads only (--platform hifi or ont, if these are)" in capsys.readouterr().err
        assert not list(tmp_path.iterdir())


def test_limits_of_genotype(reference, alignments, tmp_path):
    genomic = tmp_path / "s.g.vcf.gz"
    assert run_main(["call", reference, alignments, "--gvcf", "-o", genomic, "-q"]) == 0
    found = filters("genotype", [reference, genomic], GENOTYPE_LIMITS, tmp_path / "o.vcf")
    assert not [limit for limit in GENOTYPES if limit not in " ".join(found.values())]
    check_texts(found)


def check_texts(found: dict[str, str]) -> None:
    """No limit stays a word, and options are those of call."""
    commands = build_parser(["call"])._subparsers._group_actions[0].choices
    for text in found.values():
        assert not re.search(r"[{}]|\blimit\b", text)
        assert set(re.findall(r"--[\w-]+", text)) <= set(commands["call"]._option_string_actions)
