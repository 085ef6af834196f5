"""No page, message or recipe names an install line that does not work: nothing is published yet."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
KINDS = {
    "",
    ".cff",
    ".cwl",
    ".def",
    ".html",
    ".md",
    ".nf",
    ".config",
    ".py",
    ".sbatch",
    ".sh",
    ".smk",
    ".test",
    ".toml",
}
KINDS |= {".wdl", ".xml", ".yaml", ".yml", ".j2", ".ga"}
FOLDERS = (".ci", ".github", "benchmarks", "docs", "packaging", "src", "tests", "workflows")
LOCAL = {"dist", ".snakemake", "__pycache__", "results", ".nextflow", "work"}
NAME = r"readwarp(?:\[[\w,]*(?:\{.*?\})?\])?"  # in a package index
NOT_A_CLONE = r"(?![^\n]*?['\"\s]\.)"  # pip install '.[report]'
LINES = {
    "pip": re.compile(
        rf"\b(?:pip3?|pipx|uv)(?: tool)? (?:install|add)\b{NOT_A_CLONE}[^\n`#&]*?"
        rf"['\"\s]{NAME}(?:[=<>~!]=?[\d.*]+)?['\"`\s.,;)]"
    ),
    "conda": re.compile(
        rf"\b(?:conda|mamba|micromamba|pixi)\b[^\n]* (?:install|create|add)\b[^\n`#]*?[\s:'\"]{NAME}\b"
    ),
    "environment": re.compile(rf"^ *- *['\"]?(?:[\w-]+::)?{NAME}(?: *[=<>].*)?['\"]? *$", re.M),
    "image": re.compile(r"\b(?:ghcr\.io|quay\.io|docker\.io)/[\w./-]*readwarp\b"),
    "Galaxy's requirement": re.compile(r"<requirement [^>]*>readwarp<"),
}
OWN = {  # where a name is written for the time after a release, or is no install line
    "packaging/release.py": "writes the published names",
    ".github/workflows/release.yml": "publishes",
    "tests/test_install_lines.py": "this file",
    "packaging/conda/meta.yaml": "tests the import of what it builds",
}


def is_published() -> bool:
    return bool(re.search(r"^## \S+ \(\d{4}-\d\d-\d\d\)$", (ROOT / "CHANGELOG.md").read_text(), re.M))


def install_lines(text: str) -> list[str]:
    """Lines that would install readwarp by its name, wherever it is not the name of a clone's own extras."""
    text = re.sub(r"\\\n\s*", " ", text) + "\n"
    return [f"{kind}: {match[0].strip()}" for kind, line in LINES.items() for match in line.finditer(text)]


def pages() -> list[Path]:
    found = [path for path in ROOT.iterdir() if path.is_file() and path.suffix in KINDS - {""}]
    for folder in FOLDERS:
        found += [
            path
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and path.suffix in KINDS and not LOCAL & set(path.relative_to(ROOT).parts)
        ]
    return sorted(path for path in found if str(path.relative_to(ROOT)) not in OWN)


@pytest.mark.skipif(is_published(), reason="there is a release: its names work")
def test_no_line_that_does_not_work():
    paths = pages()
    assert len(paths) > 400
    found = [
        f"{path.relative_to(ROOT)}: {line}" for path in paths for line in install_lines(path.read_text(errors="ignore"))
    ]
    assert not found, "say `pip install '.[...]'` in a clone:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "pip install readwarp",
        "run `pip install 'readwarp[cuda13]'`",
        "python -m pip install --quiet 'readwarp[cuda12,report]' multiqc",
        "pip install \\\n    readwarp",
        "uv tool install readwarp",
        "pip install readwarp==0.1.0",
        "f\"  python -m pip install 'readwarp[cuda{min(major, 13)}]'\"",
        "conda install -c bioconda readwarp",
        "mamba create -n calls -c conda-forge -c bioconda readwarp",
        "dependencies:\n  - bioconda::readwarp=0.1.0",
        "      - readwarp[report]",
        "docker run ghcr.io/readwarp/readwarp:latest",
        '<requirement type="package" version="0.1.0">readwarp</requirement>',
    ],
)
def test_lines_that_do_not_work_are_found(line):
    assert install_lines(line)


@pytest.mark.parametrize(
    "line",
    [
        "python -m pip install '.[report]' && readwarp run ref.fa",
        "pip install '.[cuda13]' in a clone of readwarp",
        "pip install /wheels/*.whl && useradd readwarp",
        "- 'readwarp[report] @ git+https://github.com/readwarp/readwarp'",
        "docker build -f packaging/Dockerfile -t readwarp .",
        "apptainer run --nv readwarp.sif run ref.fa",
        "pip install dist/readwarp-0.1.0-py3-none-any.whl",
    ],
)
def test_lines_that_work_are_left_alone(line):
    assert not install_lines(line)
