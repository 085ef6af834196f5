"""The workflows for Nextflow, WDL, CWL and Galaxy, linted and run by their own tools on real reads.

`nox -s engines` installs these tools (pyproject.toml: engines) and sets READWARP_ENGINES to where they are.
"""

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pysam
import pytest
import yaml

from helpers.workflow_runs import ROOT
from readwarp.compiler.cache_folders import own_folder

WORKFLOWS = ROOT / "workflows"
DATA = WORKFLOWS / "germline" / ".test" / "data"
MODULES = sorted((WORKFLOWS / "nextflow" / "modules" / "readwarp").iterdir())
STAND_IN = Path(__file__).parent / "nextflow_stand_in"
FOLDERS = os.pathsep.join(filter(None, (os.environ.get("READWARP_ENGINES"), os.environ["PATH"])))


def tool(name: str) -> str:
    return shutil.which(name, path=FOLDERS) or pytest.skip(f"needs {name}: nox -s engines")


@pytest.fixture(scope="session")
def surroundings(tmp_path_factory) -> dict[str, str]:
    """An environment with this Python's `readwarp` in PATH, whatever an engine does to HOME and other variables."""
    folder = tmp_path_factory.mktemp("bin")
    kept = ("HOME", "XDG_CACHE_HOME", "READWARP_CACHE", "PYTHONPATH")
    exports = [f"export {name}='{os.environ[name]}'" for name in kept if name in os.environ]
    command = f'exec {sys.executable} -m readwarp "$@"'
    note = f'echo "${{READWARP_CACHE:-none}}" >> {folder}/caches'
    (folder / "readwarp").write_text("\n".join(["#!/bin/sh", note, *exports, command, ""]))
    (folder / "readwarp").chmod(0o755)
    return os.environ | {"PATH": os.pathsep.join([str(folder), FOLDERS])}


def run(*command: object, cwd: Path, env: dict[str, str], code: int = 0) -> str:
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=env, text=True, stdout=-1, stderr=subprocess.STDOUT)
    assert done.returncode == code, done.stdout[-6000:]
    return done.stdout


def variants(path: Path) -> list[tuple]:
    """Places, alleles, filters and genotypes."""
    with pysam.VariantFile(path) as file:
        return [
            (record.pos, record.alleles, *record.filter.keys(), *(each.alleles for each in record.samples.values()))
            for record in file
        ]


@pytest.fixture(scope="session")
def expected(tmp_path_factory, surroundings) -> tuple[list, list]:
    """NA12878 alone, and NA12878 with the sample `other`, by plain commands."""
    folder = tmp_path_factory.mktemp("plain")

    def readwarp(*words: object) -> None:
        run("readwarp", *words, "--no-progress", cwd=folder, env=surroundings)

    shutil.copy(DATA / "ref.fa", folder)
    reads = [DATA / "reads_1.fq.gz", DATA / "reads_2.fq.gz"]
    for name, single in (("NA12878", []), ("other", ["--single"])):
        groups = ["-R", rf"@RG\tID:a\tSM:{name}\tLB:a"] if not single else []
        for lane in (1, 2) if single else ():
            groups += ["-R", rf"@RG\tID:{lane}\tSM:{name}\tLB:b"]
        sorting = ("--sort", "coordinate", "--mark-duplicates", "--write-index")
        readwarp("align", "ref.fa", *reads, *single, *groups, "-o", f"{name}.bam", *sorting)
        readwarp("call", "ref.fa", f"{name}.bam", "--gvcf", "-o", f"{name}.g.vcf.gz")
    readwarp("call", "ref.fa", "NA12878.bam", "-o", "NA12878.vcf.gz")
    readwarp("genotype", "ref.fa", "NA12878.g.vcf.gz", "other.g.vcf.gz", "-o", "cohort.vcf.gz")
    alone = variants(folder / "NA12878.vcf.gz")
    assert len(alone) > 15
    return alone, variants(folder / "cohort.vcf.gz")


@pytest.mark.slow
@pytest.mark.xdist_group("plain")
def test_cwl(tmp_path, surroundings, expected):
    cwltool = tool("cwltool")
    for document in sorted((WORKFLOWS / "cwl").glob("*.cwl")):
        assert "is valid CWL" in run(cwltool, "--strict", "--validate", document, cwd=tmp_path, env=surroundings)
    folder = WORKFLOWS / "cwl"
    words = ("--no-container", "--outdir", tmp_path / "out", folder / "germline.cwl")
    given = yaml.safe_load((folder / "example.yml").read_text()) | {"kernel_cache": str(own_folder())}
    (tmp_path / "inputs.json").write_text(json.dumps(given).replace("../germline", str(WORKFLOWS / "germline")))
    caches = Path(surroundings["PATH"].partition(os.pathsep)[0]) / "caches"
    caches.unlink(missing_ok=True)
    run(cwltool, *words, tmp_path / "inputs.json", cwd=tmp_path, env=surroundings)
    assert set(caches.read_text().split()) == {given["kernel_cache"]}  # each job has another HOME
    assert variants(tmp_path / "out" / "NA12878.vcf.gz") == expected[0]
    assert variants(tmp_path / "out" / "cohort.vcf.gz") == expected[1]
    assert {"NA12878.bam.bai", "other.g.vcf.gz.tbi"} <= {path.name for path in (tmp_path / "out").iterdir()}


@pytest.mark.slow
@pytest.mark.xdist_group("plain")
def test_wdl(tmp_path, surroundings, expected):
    """Without Docker, by miniwdl's back end for the machine itself."""
    miniwdl, folder = tool("miniwdl"), WORKFLOWS / "wdl"
    run(miniwdl, "check", "--strict", folder / "germline.wdl", folder / "readwarp.wdl", cwd=tmp_path, env=surroundings)
    bare = surroundings | {"MINIWDL__SCHEDULER__CONTAINER_BACKEND": "bare"}
    words = ("run", "germline.wdl", "-i", "example.json", "--dir", f"{tmp_path}/out/.", "--no-color")
    run(miniwdl, *words, cwd=folder, env=bare)
    outputs = tmp_path / "out" / "out"
    assert variants(outputs / "vcfs" / "0" / "NA12878.vcf.gz") == expected[0]
    assert variants(outputs / "cohort_vcf" / "cohort.vcf.gz") == expected[1]


@pytest.mark.slow
@pytest.mark.xdist_group("plain")
def test_wdl_with_a_name_for_the_shell(tmp_path, surroundings, expected):
    name, folder = "a'; touch hacked; $(touch hacked) `touch hacked`\"b", WORKFLOWS / "wdl"
    reference, index = (tmp_path / f"-a'$(touch hacked).fa{ending}" for ending in ("", ".rwx"))
    shutil.copy(DATA / "ref.fa", reference)
    run("readwarp", "index", reference, "-o", index, cwd=tmp_path, env=surroundings)
    group = rf"@RG\tID:a\tSM:{name}"
    given = {"fasta": reference, "index": index, "reads": [DATA / "reads_1.fq.gz"]}
    text = json.dumps({**given, "read_group": group, "prefix": name}, default=str)
    (tmp_path / "inputs.json").write_text(text)
    bare = surroundings | {"MINIWDL__SCHEDULER__CONTAINER_BACKEND": "bare"}
    words = ("run", "readwarp.wdl", "--task", "align", "-i", tmp_path / "inputs.json", "--dir", f"{tmp_path}/out/.")
    run(tool("miniwdl"), *words, "--no-color", cwd=folder, env=bare)
    assert not list(tmp_path.rglob("hacked")) and not (folder / "hacked").exists()
    (made,) = (path for path in (tmp_path / "out" / "out").rglob("*.bam"))
    with pysam.AlignmentFile(made) as file:
        assert file.header.to_dict()["RG"][0]["SM"] == name


@pytest.mark.slow
def test_galaxy_lint(surroundings):
    said = run(tool("planemo"), "lint", "--fail_level", "warn", "galaxy", cwd=WORKFLOWS, env=surroundings)
    assert said.count("Linting tool") == len(list((WORKFLOWS / "galaxy").glob("readwarp_*.xml"))) == 3


@pytest.mark.slow
def test_galaxy_tools(surroundings):
    """Their own <test>s; without a server, which planemo would have to download."""
    python = Path(tool("planemo")).with_name("python")
    tools = sorted((WORKFLOWS / "galaxy").glob("readwarp_*.xml"))
    runner = Path(__file__).parent / "galaxy_tests.py"
    assert run(python, runner, *tools, cwd=ROOT, env=surroundings).splitlines()[-1] == "5 passed"


@pytest.mark.slow
def test_nextflow(tmp_path, surroundings):
    """The nf-tests, by a stand-in: neither Nextflow's runtime nor nf-test is in a package index."""
    groovy = tool("groovy")
    java = Path(tool("java")).resolve().parents[1]
    words = ("-cp", STAND_IN, STAND_IN / "run.groovy", WORKFLOWS / "nextflow", tmp_path)
    said = run(groovy, *words, cwd=tmp_path, env=surroundings | {"JAVA_HOME": str(java)})
    tests = sum(path.read_text().count("    test(") for path in (WORKFLOWS / "nextflow").rglob("*.nf.test"))
    assert said.splitlines()[-1] == f"{tests} passed, 0 failed" and tests >= 14


@pytest.mark.slow
def test_nextflow_says_what_is_wrong(tmp_path, surroundings):
    """A test that fails makes the stand-in fail: it is no test that cannot."""
    groovy, java = tool("groovy"), Path(tool("java")).resolve().parents[1]
    shutil.copytree(WORKFLOWS / "nextflow" / "modules" / "readwarp" / "index", tmp_path / "index")
    shutil.copytree(WORKFLOWS / "nextflow" / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("*.nf.test"))
    script = tmp_path / "index" / "main.nf"
    script.write_text(script.read_text().replace("    readwarp \\", "    readwarp-2 \\"))
    test = tmp_path / "index" / "tests" / "main.nf.test"
    test.write_text(test.read_text().replace("${projectDir}/../germline/.test/data", str(DATA)))
    words = ("-cp", STAND_IN, STAND_IN / "run.groovy", tmp_path, tmp_path / "work")
    said = run(groovy, *words, cwd=tmp_path, env=surroundings | {"JAVA_HOME": str(java)}, code=1)
    assert "readwarp-2: command not found" in said and said.splitlines()[-1] == "1 passed, 1 failed"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_modules_are_described(module):
    """meta.yml names the inputs and outputs of main.nf, in order, as nf-core's linter asks."""
    meta, text = yaml.safe_load((module / "meta.yml").read_text()), (module / "main.nf").read_text()
    assert meta["name"] == f"readwarp_{module.name}" and f"process READWARP_{module.name.upper()} " in text
    inputs, outputs = re.search(r"input:\n(.*?)\n\n    output:\n(.*?)\n\n", text, re.S).groups()
    declared = [re.findall(r"(?:val|path)\((\w+)", line) for line in inputs.splitlines()]
    assert [[name for item in group for name in item] for group in meta["input"]] == declared
    emitted = dict(re.findall(r"tuple (.*), emit: (\w+)", outputs))
    assert list(meta["output"]) == [name for line in outputs.splitlines() for name in re.findall(r"emit: (\w+)", line)]
    for line, name in emitted.items():
        patterns = re.findall(r'path\("(.*?)"\)', line)
        described = [key for item in meta["output"][name][0] for key in item if key.startswith("*")]
        assert described == patterns, name
    assert (module / "environment.yml").is_file() and (module / "tests" / "main.nf.test").is_file()


def test_data_of_the_tools_is_that_of_the_workflow():
    """Each of the two can be taken out of this repository by itself."""
    names = [path.name for path in DATA.iterdir()]
    same, different, missing = filecmp.cmpfiles(DATA, WORKFLOWS / "galaxy" / "test-data", names, shallow=False)
    assert len(same) == 4 and not different and not missing
