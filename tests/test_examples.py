"""The examples of the README and the docs run as they stand, in a folder with small real data.

A block that needs what is not here says so in its fence, where readers see it: ```sh title="needs SLURM".
"""

import re
from pathlib import Path

import pytest

from helpers.examples import ROOT, Block, blocks_of, make_store, run_page

PAGES = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").rglob("*.md") if "notes" not in path.parts)]
TRIED = {page: [block for block in blocks_of(page) if not block.needs] for page in PAGES}
ALWAYS = ("README.md", "docs/how-to/python.md")  # the others are slow
ABSENT = {
    *("a network", "SLURM", "PBS or LSF", "Docker and Kubernetes", "Docker", "conda"),
    *("a GPU", "the emulated card", "a human genome", "minutes"),
}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def pages() -> list[object]:
    slow = pytest.mark.slow
    named = ((name_of(page), page) for page in PAGES if TRIED[page])
    return [pytest.param(page, id=name, marks=() if name in ALWAYS else slow) for name, page in named]


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    return make_store(tmp_path_factory.mktemp("store"))


@pytest.mark.xdist_group("examples")
@pytest.mark.parametrize("page", pages())
def test_examples_run(page, store, tmp_path):
    run_page(page, store, tmp_path)


def test_examples_are_found_and_those_not_run_are_counted():
    """Whoever adds an example that cannot run here changes a number."""
    left_out = [block.needs for page in PAGES for block in blocks_of(page) if block.needs]
    assert set(left_out) <= ABSENT and len(left_out) <= 21, left_out
    assert sum(map(len, TRIED.values())) >= 30


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_example_hides_from_the_tests(page):
    """Commands stand in fences, not in indented blocks; the shapes of commands (REF, DIR) and messages do not count."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    hidden = re.findall(r"^ {4}(readwarp [a-z]+ (?!error)[^A-Z\n]*)$|^ {4}(import readwarp.*)$", text, re.M)
    assert not hidden, hidden


def test_fences(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        '```sh setup\na\n```\n```sh\nb\n```\n```sh title="needs SLURM"\nc\n```\n'
        "```python\n>>> d\n```\n```text\ne\n```\n"
    )
    assert blocks_of(page) == [Block("sh", None, "b\n"), Block("sh", "SLURM", "c\n")]
