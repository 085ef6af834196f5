"""The pages tell the truth: the examples of docs/reference/python.md run, and links lead somewhere."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_examples_of_the_python_page(monkeypatch):
    monkeypatch.chdir(ROOT)
    page = ROOT / "docs" / "reference" / "python.md"
    failed, examples = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert failed == 0 and examples >= 15


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), target
