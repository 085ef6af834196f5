"""The commands as Python functions: the same options, defaults, bytes and errors."""

import argparse
import builtins
import gzip
import inspect
import itertools
import json
import os
import pickle
import pydoc
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pysam
import pytest

import readwarp
from readwarp import Progress
from readwarp.align import api as align_api
from readwarp.caller import api as call_api
from readwarp.cli import build_parser, main, parse
from readwarp.cli.options import pick_keywords
from readwarp.cohort import api as genotype_api
from readwarp.config import commands
from readwarp.config.declare import keywords_of
from readwarp.errors import InputError, UsageError
from readwarp.run import api as run_api

PAIRS = 3000
MESSAGES = {"help", "help_all", "no_progress", "quiet", "verbose", "log", "metrics"}
KEYWORDS = {
    "align": commands.AlignOptions,
    "call": commands.CallOptions,
    "run": commands.RunOptions,
    "genotype": commands.GenotypeOptions,
    "panel": commands.PanelOptions,
    "index": commands.IndexOptions,
    "merge": commands.MergeOptions,
    "consensus": commands.ConsensusOptions,
    "report": commands.ReportOptions,
}


@pytest.fixture(scope="module")
def given(test_data, tmp_path_factory) -> tuple[Path, Path, Path]:
    """The reference and the first pairs of chromosome 21."""
    folder, data = tmp_path_factory.mktemp("given"), test_data / "na12878_chr21"
    shutil.copy(data / "ref.fa", folder)
    reads = [folder / f"s_{mate}.fq" for mate in (1, 2)]
    for mate, path in enumerate(reads, 1):
        with gzip.open(data / f"reads_{mate}.fq.gz", "rt") as file:
            path.write_text("".join(itertools.islice(file, 4 * PAIRS)))
    return folder / "ref.fa", *reads


@pytest.fixture(scope="module")
def bam(given, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("aligned") / "s.bam"
    readwarp.align(*given, output=path, sort="coordinate", write_index=True)
    return path


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def of_the_command(*words: object, folder: Path) -> dict[str, bytes]:
    """What a command writes to a folder, which is emptied afterwards."""
    assert main([*map(str, words)]) == 0
    files = files_in(folder)
    shutil.rmtree(folder)
    folder.mkdir()
    return files


def test_align_is_the_command(given, tmp_path):
    out = tmp_path / "out" / "s.bam"
    out.parent.mkdir()
    options = ("--sort", "coordinate", "--mark-duplicates", "--write-index", "--insert-size", "400,90", "--mismatch", 5)
    expected = of_the_command("align", *given, "--output", out, *options, folder=out.parent)
    sizes, sort = (400, 90), "coordinate"
    result = readwarp.align(
        *given, output=out, sort=sort, mark_duplicates=True, write_index=True, insert_size=sizes, mismatch=5
    )
    assert files_in(out.parent) == expected
    assert result.paths == {"alignments": out, "alignments_index": Path(f"{out}.bai")}
    assert result.metrics.counts["reads"] == 2 * PAIRS


def test_call_is_the_command(given, bam, tmp_path):
    out = tmp_path / "out" / "s.g.vcf.gz"
    out.parent.mkdir()
    options = ("--gvcf", "--region", "chr21part:1-9000", "--region", "chr21part:12001-20000", "--ploidy", 3)
    expected = of_the_command("call", given[0], bam, "--output", out, *options, folder=out.parent)
    regions = ["chr21part:1-9000", ("chr21part", 12000, 20000)]
    result = readwarp.call(given[0], bam, output=str(out), gvcf=True, region=regions, ploidy=3)
    assert files_in(out.parent) == expected
    assert result.paths == {"variants": out, "variants_index": Path(f"{out}.tbi")}
    assert result.metrics.counts["reads_used"] > 0


def test_genotype_is_the_command(given, bam, tmp_path):
    (tmp_path / "out").mkdir()
    gvcfs, out = [], tmp_path / "out" / "cohort.bcf"
    for name, ploidy in (("one", 1), ("two", 2)):
        gvcfs.append(tmp_path / f"{name}.g.vcf.gz")
        readwarp.call(given[0], named(bam, tmp_path, name), output=gvcfs[-1], gvcf=True, ploidy=ploidy)
    expected = of_the_command("genotype", given[0], *gvcfs, "--output", out, "--max-alleles", 3, folder=out.parent)
    result = readwarp.genotype(given[0], *gvcfs, output=out, max_alleles=3)
    assert files_in(out.parent) == expected
    assert result.paths == {"variants": out, "variants_index": Path(f"{out}.csi")}
    assert result.metrics.counts["variants"] > 0


def named(bam: Path, folder: Path, sample: str) -> Path:
    """The same alignments, with the name of another sample."""
    import pysam

    out = folder / f"{sample}.bam"
    with pysam.AlignmentFile(str(bam)) as source:
        header = source.header.to_dict()
        header["RG"] = [{**group, "SM": sample} for group in header["RG"]]
        with pysam.AlignmentFile(str(out), "wb", header=header) as file:
            for record in source:
                file.write(record)
    pysam.index(str(out))
    return out


def test_run_is_the_command(given, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    expected = of_the_command("run", *given, "--output", folder, "--no-report", "--min-score", 40, folder=folder)
    seen: list[Progress] = []
    result = readwarp.run(*given, output=folder, no_report=True, min_score=40, progress=seen.append)
    found = files_in(folder)
    assert found.pop("metrics.json") and expected.pop("metrics.json") and found == expected
    assert list(result.paths) == ["alignments", "alignments_index", "variants", "variants_index", "metrics"]
    assert {path.name for path in result.paths.values()} == {*expected, "metrics.json"}
    assert list(dict.fromkeys(each.what for each in seen)) == ["aligning", "sorting", "calling"]


def test_progress(given, bam, tmp_path):
    seen: list[Progress] = []
    readwarp.align(*given, output=tmp_path / "s.sam", progress=seen.append, batch_bases=200_000)
    assert len(seen) > 3 and seen[-1].what == "completing" and seen[-1].done == 2 * PAIRS
    assert seen[-1].unit == "reads" and seen[-1].share is None and 0 <= (seen[0].share or 0) <= 1
    readwarp.call(given[0], bam, output=tmp_path / "s.vcf", progress=seen.append)
    assert seen[-1] == Progress("calling", 200_000, "bases", 1.0)


class Enough(Exception):  # noqa: N818
    pass


@pytest.mark.parametrize("command", ["align", "call", "run"])
def test_what_progress_raises_ends_the_job(command, given, bam, tmp_path):
    def stop(progress: Progress) -> None:
        raise Enough

    files = {"align": given, "call": (given[0], bam), "run": given}[command]
    out = tmp_path / {"align": "s.bam", "call": "s.vcf.gz", "run": "folder"}[command]
    with pytest.raises(Enough):
        getattr(readwarp, command)(*files, output=out, progress=stop)
    assert not list(tmp_path.iterdir())


def test_errors(given, bam, tmp_path):
    there = tmp_path / "there.bam"
    there.touch()
    with pytest.raises(UsageError, match="already exists"):
        readwarp.align(*given, output=there)
    with pytest.raises(InputError, match=r"no\.fq: no such file"):
        readwarp.align(given[0], tmp_path / "no.fq", output=there, force=True)
    with pytest.raises(UsageError, match="no files of reads are given"):
        readwarp.align(given[0], output=there, force=True)
    with pytest.raises(UsageError, match="--write-index and --sort none cannot be combined"):
        readwarp.align(*given, output=tmp_path / "s.bam", write_index=True, sort="none")
    with pytest.raises(UsageError, match="--write-index needs BAM or CRAM output"):
        readwarp.align(*given, output=tmp_path / "s.sam", write_index=True)
    with pytest.raises(UsageError, match="preset long: not one of standard, short"):
        readwarp.align(*given, output=tmp_path / "s.bam", preset="long")
    with pytest.raises(TypeError, match=r"align\(\) got an unexpected keyword argument 'colour'"):
        readwarp.align(*given, output=tmp_path / "s.bam", colour=1)
    with pytest.raises(UsageError, match=r"must end in \.vcf"):
        readwarp.call(given[0], bam, output=tmp_path / "s.txt")
    with pytest.raises(InputError, match="no contig 'chr22' in the reference"):
        readwarp.call(given[0], bam, output=tmp_path / "s.vcf", region="chr22")
    with pytest.raises(UsageError, match="cannot be combined"):
        readwarp.call(given[0], bam, output=tmp_path / "s.vcf", gvcf=True, alleles=bam)
    with pytest.raises(UsageError, match="no gVCF is given"):
        readwarp.genotype(given[0], output=tmp_path / "s.vcf")
    with pytest.raises(
        TypeError, match=r"align\(\): pass files as separate arguments, not \[.*\]: align\(\.\.\., \*files\)"
    ):
        readwarp.align(given[0], list(given[1:]), output=tmp_path / "s.bam")
    with pytest.raises(TypeError, match=r"align\(\) takes threads as int, not '4'"):
        readwarp.align(*given, output=tmp_path / "s.bam", threads="4")
    for memory, reason in (("4X", "is not a size such as 500M or 4G"), ("4", "is 4 bytes: perhaps 4G")):
        with pytest.raises(UsageError, match=reason):
            readwarp.align(*given, output=tmp_path / "s.bam", memory=memory)
    with pytest.raises(TypeError, match=r"call\(\) takes min_quality as float, not '20'"):
        readwarp.call(given[0], bam, output=tmp_path / "s.vcf", min_quality="20")
    with pytest.raises(TypeError, match=r"Aligner\(\) takes mismatch as int, not 2.5"):
        readwarp.Aligner(given[0], mismatch=2.5)
    assert [path.name for path in tmp_path.iterdir()] == ["there.bam"]


def test_numbers_of_other_types_are_numbers(given, tmp_path):
    options = {"memory": "1.5G", "threads": np.int64(1), "secondary": None, "insert_size": (400, 90.5)}
    assert readwarp.align(*given, output=tmp_path / "s.bam", **options).metrics.counts["reads"] == 2 * PAIRS


def options_of(command: str) -> set[str]:
    """The long options of a command, except those for messages and for the output."""
    subparsers = next(a for a in build_parser([command])._actions if isinstance(a, argparse._SubParsersAction))
    spellings = [action.option_strings for action in subparsers.choices[command]._actions]
    names = {next((name for name in every if name.startswith("--")), every[0] if every else "") for every in spellings}
    messages = MESSAGES - ({"metrics"} if command == "report" else set())
    return {name.lstrip("-").replace("-", "_") for name in names if name} - messages - {"output"}


@pytest.mark.parametrize("command", KEYWORDS)
def test_keywords_are_the_long_options(command):
    assert set(keywords_of(KEYWORDS[command])) == options_of(command)


def test_defaults_are_those_of_the_command(given, bam, tmp_path):
    reference, *reads = given
    for command, make_job, files, out in (
        ("align", align_api.make_job, reads, "o.bam"),
        ("run", run_api.make_job, reads, "o"),
        ("genotype", genotype_api.make_job, [bam], "o.bcf"),
    ):
        options = pick_keywords(parse([command, str(reference), *map(str, files), "-o", out]), KEYWORDS[command])
        assert make_job(reference, files, out, options, "x") == make_job(reference, files, out, {}, "x")
    options = pick_keywords(parse(["call", str(reference), str(bam)]), KEYWORDS["call"])
    assert call_api.make_job(reference, bam, None, options, "x") == call_api.make_job(reference, bam, None, {}, "x")


@pytest.mark.parametrize(
    "imports",
    [
        "import readwarp; import readwarp.align.seed",
        "import readwarp.align.seed; import readwarp",
        "from readwarp import align; import readwarp.align.seed; assert align is readwarp.align",
        "import readwarp.align.seed; from readwarp import align; assert align is readwarp.align",
        "import readwarp.align.seed as seed, readwarp; assert seed is readwarp.align.seed",
        "from readwarp.align import align; import readwarp",
    ],
)
def test_a_package_is_called_whatever_was_imported_first(imports):
    code = """
try:
    readwarp.align("no.fa", "no.fq", output="no.sam")
except readwarp.errors.InputError:
    print(readwarp.align.__name__, readwarp.align.seed.__name__)
"""
    done = subprocess.run(
        [sys.executable, "-c", f"{imports}\nimport readwarp.errors, readwarp.align.seed\n{code}"],
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("readwarp.align readwarp.align.seed\n", "")


@pytest.mark.parametrize("name", ["align", "call", "run", "pairwise", "index", "report"])
def test_help_and_signature_are_those_of_the_function(name):
    package = getattr(readwarp, name)
    function = getattr(package, name)
    assert inspect.isfunction(function)
    assert inspect.signature(package) == inspect.signature(function)
    page = pydoc.render_doc(package, renderer=pydoc.plaintext)
    assert f"`readwarp.{name}(" in page
    assert all(line.strip() in page for line in (function.__doc__ or "").splitlines())


SCRIPT = """
import readwarp
import readwarp.align.seed

result = readwarp.align("ref.fa", "reads.fq", output="out.bam", sort="coordinate", threads=2, progress=print)
reveal_type(result.paths["alignments"])
reveal_type(readwarp.call("ref.fa", "out.bam", output="out.vcf").metrics.counts["variants"])
readwarp.align("ref.fa", "reads.fq", output="out.bam", sort=1)
readwarp.run("ref.fa", "reads.fq", output="folder", colour=1)
"""


def test_scripts_of_users_are_checked(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--config-file=", "--ignore-missing-imports", "--follow-imports=silent"]
    done = subprocess.run([*command, "script.py"], cwd=tmp_path, capture_output=True, text=True, env=with_sources())
    said = [line.partition(" ")[2].replace("builtins.", "") for line in done.stdout.splitlines()]
    assert said[:4] == [
        'note: Revealed type is "pathlib.Path"',
        'note: Revealed type is "int"',
        'error: Argument "sort" to "align" has incompatible type "int"; expected "str | None"  [arg-type]',
        'error: Unexpected keyword argument "colour" for "run"  [call-arg]',
    ]


def with_sources() -> dict[str, str]:
    return os.environ | {"MYPYPATH": str(Path(readwarp.__file__).parent.parent)}


def test_help_lists_the_options():
    """With the types and the comments of their declarations, in the signature too."""
    for function, kind in ((readwarp.align, KEYWORDS["align"]), (readwarp.genotype, KEYWORDS["genotype"])):
        text = pydoc.render_doc(function, renderer=pydoc.plaintext)
        for name in keywords_of(kind):
            assert re.search(rf"^ +{name}: ", text, re.M), name
            assert name in inspect.signature(function).parameters
    text = inspect.getdoc(readwarp.align) or ""
    assert text.startswith("Align reads to a file of alignments") and "seed -> chain" in text
    assert "    mark_duplicates: bool = False  # sort by coordinate and mark duplicates\n" in text
    assert "    eqx: bool = False  # write = and X in CIGARs, not M\n" in text
    assert "options" not in inspect.signature(readwarp.align).parameters
    assert ", sort: str | None = None, mark_duplicates: bool = False, " in str(inspect.signature(readwarp.align))
    assert "    mismatch: int = 4  # penalty for a mismatch\n" in (inspect.getdoc(readwarp.Aligner) or "")
    assert "    ploidy: int = 2  # ploidy of the samples\n" in (inspect.getdoc(readwarp.Caller) or "")


@pytest.mark.parametrize("command", KEYWORDS)
def test_signatures_show_the_defaults_of_the_command_line(command):
    """As its help has them in brackets: the parser leaves them to the parameters, or to the preset."""
    shown = keywords_of(KEYWORDS[command])
    subparsers = next(a for a in build_parser([command])._actions if isinstance(a, argparse._SubParsersAction))
    for action in subparsers.choices[command]._actions:
        if action.dest not in shown:
            continue
        default, text = shown[action.dest].default, str(action.help)
        assert action.default is None, action.dest
        if isinstance(default, int | float) and not isinstance(default, bool):
            value = re.search(r"\[([\d.e-]+)", text.replace(",", ""))
            assert value is None or float(value[1]) == default, action.dest
        elif isinstance(default, str) or default is True:
            assert f"[{'yes' if default is True else default}" in text, action.dest
        else:
            assert default in (None, False, (), (1,)), (action.dest, default)


def test_no_keyword_is_the_name_of_a_builtin():
    assert not {name for kind in KEYWORDS.values() for name in keywords_of(kind)} & set(dir(builtins))


def test_an_index_is_opened_or_built(given, tmp_path):
    (tmp_path / "ref.fa").write_bytes(given[0].read_bytes())
    built, opened = readwarp.Index(tmp_path / "ref.fa"), readwarp.Index(str(tmp_path / "ref.fa.rwx"))
    assert repr(built) == repr(opened) and built.origin == opened.origin == pickle.loads(pickle.dumps(built)).origin


def test_metrics_are_shown(given, tmp_path):
    metrics = readwarp.align(*given, output=tmp_path / "s.bam").metrics
    assert json.loads(str(metrics))["counts"]["reads"] == json.loads(repr(metrics))["counts"]["reads"] == 2 * PAIRS


def test_functions_pickle():
    for name in ("align", "call", "run", "pairwise", "genotype", "index", "merge", "report"):
        assert pickle.loads(pickle.dumps(getattr(readwarp, name))) is getattr(readwarp, name)


def test_results_pickle_and_show_themselves(given, tmp_path):
    result = readwarp.align(*given, output=tmp_path / "s.bam")
    again = pickle.loads(pickle.dumps(result))
    assert again.paths == result.paths and again.metrics.counts == result.metrics.counts
    again.metrics.count("reads")
    text = repr(result)
    assert (
        text
        == f"Result(alignments={str(tmp_path / 's.bam')!r}; reads=6,000, mapped={result.metrics.counts['mapped']:,})"
    )
    with pytest.raises(FileExistsError, match=r"already exists \(force=True replaces it\)"):
        readwarp.align(*given, output=tmp_path / "s.bam")


def test_index_is_the_command(given, tmp_path):
    out = tmp_path / "out" / "x.rwx"
    out.parent.mkdir()
    expected = of_the_command("index", given[0], "-o", out, "--preset", "short", folder=out.parent)
    result = readwarp.index(given[0], output=out, preset="short")
    assert files_in(out.parent) == expected and result.paths == {"index": out}
    assert result.metrics.counts["index_bases"] == 200_000
    with pytest.raises(FileExistsError):
        readwarp.index(given[0], output=out)
    with pytest.raises(UsageError, match="preset long: not one of"):
        readwarp.index(given[0], output=out, preset="long", force=True)


def test_merge_is_the_command(given, tmp_path):
    parts, out = [tmp_path / f"{number}.bam" for number in (1, 2)], tmp_path / "out" / "s.bam"
    out.parent.mkdir()
    for number, part in enumerate(parts, 1):
        readwarp.align(*given, output=part, part=f"{number}/2")
    expected = of_the_command("merge", *parts, "--output", out, "--write-index", "--mark-duplicates", folder=out.parent)
    result = readwarp.merge(*parts, output=out, write_index=True, mark_duplicates=True, no_pg=False)
    assert list(result.paths) == ["alignments", "alignments_index"] and set(files_in(out.parent)) == set(expected)
    assert pysam.view(str(out))
    with pytest.raises(UsageError, match="no alignments are given"):
        readwarp.merge(output=out, force=True)


def test_report_is_the_command(given, bam, tmp_path):
    page = tmp_path / "page.html"
    result = readwarp.report(bam=bam, output=page, title="Mine", statistics=tmp_path, progress=False)
    assert result.paths == {"report": page} and "Mine" in page.read_text()
    with pytest.raises(UsageError, match="nothing to report"):
        readwarp.report()
    with pytest.raises(FileExistsError):
        readwarp.report(bam=bam, output=page)
