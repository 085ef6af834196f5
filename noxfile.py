"""The checks by name: `nox -l` lists them, `nox -s lint types` runs two, and `nox` those that a change needs.

They run in nox's own environment, as made by `pip install -e '.[dev]'`, but `oldest` and `newest` have their own Python
and packages. Arguments after `--` go to the last command of a session: `nox -s tests -- tests/call -k ploidy`.
"""

import importlib.util
import shutil
import sys
from pathlib import Path

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "docs", "tests"]
FORMS = Path(".github/ISSUE_TEMPLATE")
PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = nox.project.python_versions(PROJECT)  # of its classifiers, in order
# Each library we depend on, kernels beside their oracles, and whole commands:
WITH_LOWEST = [
    *("tests/formats/reads/test_fastx.py", "tests/formats/reads/test_bam.py", "tests/formats/variants/test_vcf.py"),
    *("tests/align/seed", "tests/call/likelihoods/pairhmm", "tests/python/test_sequences.py"),
    *("tests/align/test_aligner.py", "tests/call/test_variants.py"),
    *("tests/cli/test_completion.py", "tests/cli/test_doctor.py", "tests/cli/test_run.py"),
]


@nox.session
def lint(session: nox.Session) -> None:
    """Style, dead code, shell scripts, the Dockerfile, GitHub's files and the citation."""
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("vulture")
    session.run("shellcheck", ".ci/run", *Path("workflows/slurm").glob("*.sbatch"), "tests/workflows/slurm.sh")
    session.run("shellcheck", "packaging/entrypoint.sh")
    session.run("hadolint", "packaging/Dockerfile")
    for schema, files in {
        "github-workflows": Path(".github/workflows").glob("*.yml"),
        "github-issue-forms": set(FORMS.glob("*.yml")) - {FORMS / "config.yml"},
        "github-issue-config": [FORMS / "config.yml"],
        "dependabot": [".github/dependabot.yml"],
        "citation-file-format": ["CITATION.cff"],
    }.items():
        session.run("check-jsonschema", "--quiet", "--builtin-schema", f"vendor.{schema}", *files)
    session.run("pre-commit", "run", "--all-files", env={"SKIP": "ruff,ruff-format,mypy"})


@nox.session
def types(session: nox.Session) -> None:
    """mypy."""
    session.run("mypy")


@nox.session
def docs(session: nox.Session) -> None:
    """The docs as a site, in site/."""
    session.run("mkdocs", "build", "--strict", "--quiet", env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session
def tests(session: nox.Session) -> None:
    """All tests but those below."""
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session(python=PYTHONS[0], venv_backend="uv")
def oldest(session: nox.Session) -> None:
    """A part of the tests on the oldest Python, with the lowest versions that pyproject.toml allows."""
    session.install("--resolution", "lowest-direct", ".[test]")
    session.run("python", "-m", "pytest", *(session.posargs or WITH_LOWEST))


@nox.session(python=PYTHONS[-1], venv_backend="uv")
def newest(session: nox.Session) -> None:
    """All tests but the slow ones on the newest Python, with the newest versions; CUDA code on emulated cards."""
    session.install("--upgrade", ".[test-gpu]")
    session.run("python", "-m", "pytest", "-m", "", *session.posargs)


@nox.session
def slow(session: nox.Session) -> None:
    """Tests that take long."""
    session.run("python", "-m", "pytest", "--slow", "-m", "slow", *session.posargs)


@nox.session(venv_backend="venv")
def engines(session: nox.Session) -> None:
    """The workflows for Nextflow, WDL, CWL and Galaxy by their own tools, which have an environment of their own."""
    session.install(*PROJECT["project"]["optional-dependencies"]["engines"])
    tests = ("-m", "pytest", "--slow", "-n", "2", "tests/workflows/test_engines.py", *session.posargs)
    session.run(sys.executable, *tests, env={"READWARP_ENGINES": session.bin}, external=True)


@nox.session
def gpu(session: nox.Session) -> None:
    """The CUDA path, on emulated cards where there is no GPU."""
    if importlib.util.find_spec("ziglang") is None and not Path("/dev/nvidiactl").exists():
        session.error("there is no GPU, and nothing to emulate one: python -m pip install -e '.[test-gpu]'")
    tests = ("-m", "pytest", "-m", "gpu or cards or zig", "--capabilities", "7.5,8.0,9.0,12.0")
    session.run("python", *tests, *session.posargs)


@nox.session
def weekly(session: nox.Session) -> None:
    """Tests that take longer than .ci/run has, many damaged files and kills, and cards of all capabilities."""
    session.run("python", "-m", "pytest", "--weekly", "-m", "weekly", *session.posargs)
    session.run("python", "-m", "pytest", "--slow", "tests/fuzz", "--fuzz-cases", "2000", "--kills", "200")
    session.notify("gpu", posargs=["--weekly", "--fuzz-cases", "2000"])


@nox.session(venv_backend="venv")
def audit(session: nox.Session) -> None:
    """Known vulnerabilities of what is installed with readwarp; fails where PyPI's advisories cannot be had."""
    session.install("pip-audit>=2.7")
    session.run("pip-audit", "--strict", "--progress-spinner", "off", ".")


@nox.session
def build(session: nox.Session) -> None:
    """sdist and wheel in dist/; the wheel in an environment of its own must start."""
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build", "--quiet")
    plain = Path(session.create_tmp()).resolve() / "plain"
    session.run("python", "-m", "venv", "--clear", plain)
    session.run(plain / "bin" / "python", "-m", "pip", "install", "--quiet", *Path("dist").glob("*.whl"))
    with session.chdir(plain):  # nothing of the clone is in sight
        session.run(plain / "bin" / "readwarp", "doctor")
