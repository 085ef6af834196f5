"""Promise 1 of docs/design.md: output does not depend on threads, batches, memory, nor on how the reference is cut.

CASES are commands with bundles of options on `helpers.windowed_samples`, in a process in which windows, runs and blocks
are small (`helpers.many_windows`). Each is run in WAYS and has to write what it writes on one thread. Which options
there are, the parsers say: one that no case has is named in UNTOUCHED, with the reason.
"""

import argparse
import gzip
import json
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import NamedTuple

import pysam
import pytest
from pysam import bcftools

from helpers.fuzzing import Server
from helpers.windowed_samples import PLACES, make_samples
from readwarp.cli import COMMANDS, build_parser

ONE = "-t 1"
ALIGN_WAYS = ("-t 2 --batch-bases 7001", "-t 4", "-t 9 --memory 500M", "-t 33 --batch-bases 3000", "-t 1 --memory 400M")
CALL_WAYS = (
    "-t 2",
    "-t 4 --batch-bases 70001",
    "-t 9 --memory 1G",
    "-t 33",
    "-t 1 --memory 132M",
    "-t 1 --batch-bases 20000",
)
THREADS = ("-t 2", "-t 4", "-t 9", "-t 33")
HOST_WAYS = (*THREADS, "-t 4 --memory 500M", "-t 1 --memory 400M")
WAYS = {
    "align": ALIGN_WAYS,
    "run": tuple(way for way in ALIGN_WAYS if "33" not in way),
    "call": CALL_WAYS,
    "genotype": ("-t 2", "-t 4 --memory 200M", "-t 9", "-t 33 --memory 1G", "-t 1 --memory 180M"),
    "consensus": (*THREADS, "-t 2 --memory 200M"),
    **dict.fromkeys(("index", "merge"), HOST_WAYS),
    **dict.fromkeys(("panel", "pairwise", "report"), THREADS),
}


class Case(NamedTuple):
    arguments: str  # with {o} for the folder of its outputs
    is_cut: bool = False  # its parts by -r, joined, are the whole


FILTERS = (
    "--min-qual 20 --max-strand-bias 20 --max-indel-strand-bias 50 --min-end-distance 8 --min-allele-fraction 0.5"
    " --min-haploid-fraction 0.6 --max-fraction-misfit 2 --min-alt-mapping-quality 40 --min-expected-fraction 0.7"
)
PRIORS = "--heterozygosity 0.01 --indel-heterozygosity 0.002"
TRIM = (
    "--trim --adapter AGATCGGAAGAGC --adapter2 CTGTCTCTTATA --trim-poly-g always --trim-quality 25 --trim-min-length 60"
)
SCORES = "-A 2 -B 7 -O 11 -E 3 --clip 9"
UMI = "umi_1.fq umi_2.fq --umi 8M10S+T,+T"
KNOWN = "--population population.vcf.gz --panel-of-normals panel.vcf.gz"
CASES = {
    "sam": Case("align ref.fa a_1.fq a_2.fq -o {o}/o.sam --eqx --cs long -I 280,25 --min-score 40 -Y"),
    "duplicates": Case(
        f"align ref.fa a_1.fq a_2.fq -o {{o}}/o.bam --mark-duplicates --write-index {TRIM} --trim-bases drop"
    ),
    "alternates": Case(
        "align ref.fa a_1.fq a_2.fq -o {o}/o.cram --sort coordinate --alt ref.alt --correct-overlap --trim"
    ),
    "names": Case(f"align ref.fa a_1.fq a_2.fq -o {{o}}/o.bam --sort name -a --no-alt {SCORES}"),
    "paf": Case("align ref.fa a_1.fq a_2.fq -o {o}/o.paf --paf --secondary 3 -5 -S -P"),
    "mixed": Case(
        "align ref.fa mixed64.fq -p -C --phred64 -o {o}/o.bam -M --sample s --library l --index {o}/i.rwx"
        " --preset short"
    ),
    "two groups": Case(
        r"align ref.fa a_1.fq b_1.fq --single --phred33 -o {o}/o.bam -R @RG\tID:1\tSM:s -R @RG\tID:2\tSM:t"
        " --preset auto"
    ),
    "ont": Case("align ref.fa ont.fq --preset ont -o {o}/o.bam --sort coordinate --secondary 2 --cs short"),
    "hifi": Case("align ref.fa hifi.fq --preset hifi -o {o}/o.sam -Y --eqx"),
    "molecules": Case(f"align ref.fa {UMI} -o {{o}}/o.bam --mark-duplicates"),
    "duplex": Case("align ref.fa duplex_1.fq duplex_2.fq --umi name --umi-duplex -o {o}/o.bam --mark-duplicates"),
    "part": Case("align ref.fa a_1.fq a_2.fq -o {o}/o.bam --part 2/3 --resume"),
    "realigned": Case("align ref.fa a.bam -o {o}/o.bam --sort coordinate"),
    "another build": Case("align ref.fa a.cram --input-reference circle.fa -o {o}/o.bam"),
    "calls": Case("call circle.fa a.bam -o {o}/o.vcf.gz", True),
    "gvcf": Case(  # -r cuts blocks: tests/call/test_gvcf_runs.py
        f"call circle.fa a.bam -o {{o}}/o.g.vcf.gz --gvcf --ploidy-bed ploidy.bed --max-depth 12 {PRIORS}"
    ),
    "samples": Case(
        f"call circle.fa a.bam b.bam -o {{o}}/o.bcf --min-alternate-count 3 --min-alternate-fraction 0.1 {FILTERS}"
        " --min-indel-fraction 0.2 --min-alternate-quality 50 --max-mnp-distance 3",
        True,
    ),
    "forced": Case("call circle.fa a.bam -o {o}/o.vcf --alleles alleles.vcf.gz --ignore-soft-clips --ploidy 3", True),
    "places": Case(
        "call circle.fa a.bam -o {o}/o.vcf -r one,two -r ring:100-900 -L targets.bed --interval-padding 30"
        " --exclude-regions excluded.bed --primers primers.bed --bam-output {o}/shown.bam --min-base-quality 25"
        " --min-mapping-quality 30 --phred33"
    ),
    "phred64": Case("call circle.fa b64.bam -o {o}/o.vcf --phred64 -r one,two"),
    "circle": Case("call circle.fa a.cram --sample a -o {o}/o.vcf --circular ring --platform short --ploidy 2"),
    "ont calls": Case(
        "call circle.fa ont.bam -o {o}/o.vcf --platform ont --haplotag {o}/tagged.bam --sv {o}/sv.vcf"
        " --min-sv-length 40 --max-sv-length 5000 --min-sv-support 3"
    ),
    "hifi calls": Case(
        "call circle.fa hifi.bam -o {o}/o.g.vcf --platform hifi --gvcf -r one --bam-output {o}/shown.bam"
    ),
    "long targets": Case("call circle.fa hifi.bam -o {o}/o.vcf -L targets.bed"),
    "structural": Case("call circle.fa ont.bam hifi.bam --sv-only -o {o}/o.vcf.gz --platform ont", True),
    "somatic": Case(f"call circle.fa tumour.bam --somatic {KNOWN} -o {{o}}/o.vcf"),
    "normal": Case(
        f"call circle.fa tumour.bam normal.bam --somatic --normal normal {KNOWN} -o {{o}}/o.vcf --contamination 0.02"
        " --mutation-prior 1e-5 --min-probability 0.8 --min-fraction 0.03 --max-events 4 --alleles alleles.vcf.gz"
    ),
    "mixture": Case(
        "call circle.fa tumour.bam --mixture -o {o}/o.vcf.gz --consensus {o}/o.fa --consensus-min-depth 8"
        " --consensus-share 0.8 --circular ring --primers primers.bed"
    ),
    "mixtures": Case("call circle.fa tumour.bam normal.bam --mixture -o {o}/o.bcf -L targets.bed"),
    "run": Case(
        f"run circle.fa a_1.fq a_2.fq -o {{o}}/run {TRIM} --gvcf --no-mark-duplicates --no-report"
        " --bam-output {o}/s.bam"
    ),
    "long run": Case("run circle.fa ont.fq --preset ont -o {o}/run --no-report --haplotag {o}/t.bam --sv {o}/sv.vcf"),
    "somatic run": Case(f"run circle.fa tumour_1.fq tumour_2.fq --somatic {KNOWN} -o {{o}}/run --no-report"),
    "mixture run": Case(f"run circle.fa {UMI} --mixture --consensus {{o}}/o.fa -o {{o}}/run --no-report"),
    "index": Case("index circle.fa -o {o}/i.rwx -k 19 -s 9"),
    "long index": Case("index circle.fa -o {o}/i.rwx --preset hifi"),
    "genotype": Case(
        f"genotype circle.fa a.g.vcf.gz b.g.vcf.gz hifi.g.vcf.gz -o {{o}}/o.vcf.gz {PRIORS} --ploidy 2", True
    ),
    "genotype places": Case(
        f"genotype circle.fa a.g.vcf.gz b.g.vcf.gz -o {{o}}/o.bcf -r one -L targets.bed --interval-padding 20 {FILTERS}"
        " --exclude-regions excluded.bed --max-alleles 3 --max-mnp-distance 2"
    ),
    "panel": Case("panel tumour.vcf.gz normal.vcf.gz -o {o}/o.vcf.gz --min-samples 1"),
    "merge": Case("merge part1.bam part2.bam -o {o}/o.bam --umi tag --mark-duplicates --write-index"),
    "merge names": Case("merge part1.bam part2.bam -o {o}/o.cram --reference circle.fa --sort name"),
    "merge duplex": Case("merge twin1.bam twin2.bam -o {o}/o.bam --umi tag --umi-duplex --mark-duplicates"),
    "consensus": Case(
        "consensus umi.bam -o {o}/o.bam --min-reads 2 --min-input-base-quality 15 --error-rate-pre-umi 40"
        " --error-rate-post-umi 35 --min-consensus-base-quality 10 --max-read-error-rate 0.1 --max-base-error-rate 0.2"
        " --max-no-calls 0.3 --read-group-id g --read-name-prefix p --reference circle.fa"
        " --no-consensus-call-overlapping-bases"
    ),
    "consensus duplex": Case(
        "consensus duplex.bam -o {o}/o.bam --duplex --max-reads-per-strand 4 --no-output-per-base-tags"
        " --require-single-strand-agreement"
    ),
    "pairs": Case("pairwise few.fa windows.fa -o {o}/o.sam --format sam --mode semiglobal"),
    "scores": Case("pairwise few.fa few.fa -o {o}/o.tsv --no-traceback -A 2 -B 5 -O 7 -E 1"),
    "report": Case(
        "report --bam a.bam --vcf tumour.vcf.gz --reference circle.fa -L targets.bed --title T -o {o}/o.html"
        " --statistics {o}"
    ),
}
HAS_PG = ("align", "run", "merge", "consensus")
ON_DEVICE = ("align", "run", "call", "pairwise")
TOLD = ("--metrics", "--log", "--quiet", "--verbose", "--no-progress")
UNTOUCHED = {  # options that no case has
    **dict.fromkeys(("--help", "--help-all"), "end the command"),
    "--force": "says only whether an output is replaced",
    "--file-list": "names inputs that could as well be arguments",
    **dict.fromkeys(TOLD, "about messages; metrics are compared wherever there are any"),
    "--device": "tests/gpu",
    "--vram": "tests/gpu",
}


def options_of(command: str) -> dict[str, tuple[str, ...]]:
    """The longest name of each option -> all of its names."""
    parser = build_parser([command])
    choices = next(a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    listed = [tuple(action.option_strings) for action in choices[command]._actions if action.option_strings]
    return {max(names, key=len): names for names in listed}


def words_of(command: str) -> set[str]:
    """All words of the cases of a command, with the options that each way and each run adds."""
    own = [case.arguments.split() for case in CASES.values() if case.arguments.split()[0] == command]
    given = {word for words in own for word in words}
    given |= {word for way in WAYS[command] for word in way.split()} if own else set()
    return given | ({"--no-pg"} if own and command in HAS_PG else set())


def test_every_option_is_in_a_case():
    """`run` hands on what align and call have, all alike, so that their cases do for it."""
    writing = [name for name in COMMANDS if name not in ("doctor", "compile", "completion")]
    assert set(WAYS) == set(writing)
    handed_on = {name for command in ("align", "call") for name in options_of(command)}
    missing, used = [], set[str]()
    for command in writing:
        words = words_of(command)
        for name, names in options_of(command).items():
            if words.intersection(names) or (command == "run" and name in handed_on):
                continue
            used.add(name)
            missing += [f"{command} {name}"] if name not in UNTOUCHED else []
    assert missing == []
    assert used == set(UNTOUCHED)


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("windows")
    server = Server(folder, "helpers.many_windows")
    make_samples(folder, server)
    yield server
    server.close()


@cache
def run(server: Server, name: str, way: str) -> dict[str, object]:
    """The outputs of a case, by name."""
    out = Path(mkdtemp(dir=server.folder))
    words = f"{CASES[name].arguments.format(o=out)} {way}".split()
    words += ["--no-pg"] * (words[0] in HAS_PG) + ["--device", "cpu"] * (words[0] in ON_DEVICE)
    words += ["--metrics", str(out / "metrics.json")] * (words[0] not in ("pairwise", "report"))
    server.warm_up(server.folder, [*words, "-q"])
    found = {}
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        content = content_of(path)
        if content is not None:
            found[str(path.relative_to(out))] = content
    rmtree(out)
    return found


def content_of(path: Path) -> object:
    """What has to be the same: of texts all but what names the command, of metrics the counts. None: nothing."""
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if kind == "json":
        counts = json.loads(path.read_text()).get("counts", {})
        return {key: value for key, value in counts.items() if "windows" not in key and "batches" not in key}
    if kind in ("tbi", "csi", "bai", "crai"):  # of bytes that are compared, or not
        return None
    if kind in ("vcf", "bcf"):
        if kind == "bcf":
            text = bcftools.view("--no-version", str(path))
        else:
            text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()
        return [line for line in text.splitlines() if not line.startswith("##readwarpCommand")]
    if kind in ("bam", "cram"):
        with pysam.AlignmentFile(str(path), check_sq=False) as file:
            if "PG" in file.header:
                return {key: value for key, value in file.header.items() if key != "PG"}, [str(r) for r in file]
    return [line for line in path.read_bytes().splitlines() if kind != "sam" or not line.startswith(b"@PG")]


def check(server: Server, name: str, ways: Iterable[str]) -> None:
    whole = run(server, name, ONE)
    assert any(len(content) > 10 for content in whole.values())
    for way in ways:
        found = run(server, name, way)
        assert found.keys() == whole.keys()
        for file, content in found.items():
            assert content == whole[file], f"{name} {way}: {file}"


@pytest.mark.xdist_group("same_bytes")
@pytest.mark.parametrize("number", range(len(CASES)), ids=list(CASES))
def test_another_way(number, server):
    """Another one for each case."""
    name = list(CASES)[number]
    ways = WAYS[CASES[name].arguments.split()[0]]
    check(server, name, [ways[number % len(ways)]])


@pytest.mark.slow
@pytest.mark.xdist_group("same_bytes")
@pytest.mark.parametrize("name", CASES)
def test_all_ways(name, server):
    check(server, name, WAYS[CASES[name].arguments.split()[0]])


BORDERS = {"one": (1, 701, 702, 2503, 4100, 6001), "two": (1, 1300, 3001), "repeats": (1, 555, 1100)}


def parts_of(names: Iterable[str]) -> Iterator[str]:
    """Regions that make up the reference, in order."""
    for name in names:
        bounds = sorted({*BORDERS.get(name, (1,)), len(PLACES[name]) + 1})
        for first, stop in pairwise(bounds):
            yield f"{name}:{first}-{stop - 1}"


@pytest.mark.xdist_group("same_bytes")
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.is_cut])
def test_regions_make_up_the_whole(name, server):
    """By -r; what lies next to a border is called as it is within."""

    def records_in(way: str) -> list[str]:
        outputs = run(server, name, way)
        (lines,) = (content for file, content in outputs.items() if file != "metrics.json")
        return [line for line in lines if line[0] != "#"]

    parts = [line for part in parts_of(PLACES) for line in records_in(f"{ONE} -r {part}")]
    assert parts == records_in(ONE)
