"""The docs as a site: what people look for is found, and commands of other tools have ours beside them."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from readwarp.cli import parse

ROOT = Path(__file__).resolve().parent.parent
WANTED = {  # what people type into the search field, and the page they should be led to
    "GRCh38": "how-to/human-genome",
    "hg38": "how-to/human-genome",
    "WGS": "how-to/human-genome",
    "exome": "how-to/human-genome",
    "IGV": "how-to/human-genome",
    "picard": "coming-from",
    "HaplotypeCaller": "coming-from",
    "Parabricks": "coming-from",
    "singularity": "install",
    "conda": "install",
    "docker": "install",
    "adapter": "how-to/trimming",
    "cite": "",
    "UMI": "faq",
    "MultiQC": "how-to/report",
    "amplicon": "how-to/run",
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The text of each section of the site, by its place, as the search field sees it."""
    pytest.importorskip("material", reason="needs the docs extra")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, env={"NO_MKDOCS_2_WARNING": "1", "PATH": "/usr/bin:/bin"})
    found = json.loads((folder / "search" / "search_index.json").read_text())["docs"]
    return [(entry["location"], f"{entry['title']} {entry['text']}".lower()) for entry in found]


@pytest.mark.parametrize(("word", "page"), WANTED.items())
def test_search_finds(pages, word, page):
    where = {location.split("#")[0].strip("/") for location, text in pages if re.search(rf"\b{word.lower()}s?\b", text)}
    assert page in where, sorted(where)


def test_commands_beside_those_of_other_tools():
    """Each command in the tables is one that readwarp takes; each option alone is an option."""
    text = (ROOT / "docs" / "coming-from.md").read_text()
    lines = re.findall(r"`readwarp ([a-z]+ [^`|>\\]*)", text)
    for line in lines:
        assert parse(shlex.split(line)).command, line
    reference = (ROOT / "docs" / "reference" / "cli.md").read_text()
    ours = [row.split(" | ")[1] for row in text.splitlines() if row.startswith("| `") and row.count(" | ") >= 2]
    options = {option for cell in ours for option in re.findall(r"(?<![\w-])-{1,2}[a-zA-Z][\w-]*", cell)}
    assert len(lines) >= 15 and len(options) >= 25
    assert not {option for option in options if not re.search(rf"(?<![\w-]){option}(?![\w-])", reference)}
