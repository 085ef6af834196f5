"""The docs are true: the examples of docs/reference/python.md run, links work, options exist."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from readwarp.cli import parse

ROOT = Path(__file__).resolve().parent.parent
DOCS = sorted((ROOT / "docs").rglob("*.md"))
MOST_LETTERS = 100  # of a line in a block of commands
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob(".github/*.md")), *DOCS]


def test_examples_of_the_python_page(monkeypatch):
    monkeypatch.chdir(ROOT)
    page = ROOT / "docs" / "reference" / "python.md"
    failed, examples = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert failed == 0 and examples >= 15


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), target


def commands(page: Path) -> list[str]:
    """The command lines in a page's examples, without pipes, comments and explanations."""
    blocks = re.findall(r"^```sh.*?^```$", page.read_text(), re.M | re.S)
    text = re.sub(r"\\\n *", "", "\n".join(blocks))
    lines = re.findall(r"^(?:.*\| *)?(?:[A-Z_]+=\S+ )*readwarp ([a-z]+ .*)", text, re.M)
    return [re.split(r" {2,}| #| \||>", line)[0] for line in lines if "..." not in line]


@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(ROOT)))
def test_command_lines(page):
    for line in commands(page):
        assert parse(shlex.split(line)).command, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_of_commands_fit_a_page(page):
    lines = "".join(re.findall(r"^```sh.*?\n(.*?)^```$", page.read_text(), re.M | re.S)).splitlines()
    assert not [line for line in lines if len(line) > MOST_LETTERS]


JOBS = {  # what people come for: an option of the command, and the how-to
    **{"a tumour": ("--somatic", "low-frequencies"), "a virus": ("--mixture --primers", "low-frequencies")},
    **{"UMIs": ("--umi", "molecules"), "long reads": ("--preset hifi", "long-reads")},
}


@pytest.mark.parametrize("name", ["README.md", "docs/index.md", "docs/tutorial.md"])
def test_jobs_are_found(name):
    """Each has a command, which a block of the docs has too (so it is run), and a link to its how-to."""
    text = re.sub(r"\\\n *", "", (ROOT / name).read_text())
    run = {" ".join(line.split()) for page in DOCS for line in commands(page)}
    rows = [" ".join(line.split()) for line in re.findall(r"^\|.*`readwarp ([^`]*)` \|.*how-to", text, re.M)]
    rows = [line for line in rows if not line.startswith("run ref.fa sample_1")]
    if name != "docs/index.md":
        assert len(rows) >= 5 and set(rows) <= run, set(rows) - run
    for option, page in JOBS.values():
        assert re.search(rf"readwarp [a-z]+ .*{option}", text) and f"how-to/{page}.md" in text, option


def test_how_tos_are_listed():
    """On the first page of the site, to which the README leads, and in the site's groups."""
    listed = re.search(r"  - How to:\n(.*?)\n  - \S", (ROOT / "mkdocs.yml").read_text(), re.S)[1]
    pages = re.findall(r"- (how-to/\S+)", listed)
    first = (ROOT / "docs" / "index.md").read_text()
    assert "(docs/index.md#how-to)" in (ROOT / "README.md").read_text() and "\n## How to\n" in first
    assert len(pages) > 20 and not [page for page in pages if f"({page})" not in first]
    assert [line for line in listed.splitlines() if not line.startswith("          - ")] == re.findall(
        r"^      - .*:$", listed, re.M
    )


def test_command_lines_are_found():
    assert sum(len(commands(page)) for page in DOCS) >= 20
