"""The docs are true: the examples of docs/reference/python.md run, links work, options exist."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from readwarp.cli import parse

ROOT = Path(__file__).resolve().parent.parent
DOCS = sorted((ROOT / "docs").rglob("*.md"))
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


def test_command_lines_are_found():
    assert sum(len(commands(page)) for page in DOCS) >= 20
