"""The examples of the README and the docs run as they stand, in a folder with small real data.

A block that needs what is not here says so in a comment above its fence, hidden from readers: <!-- needs SLURM -->.
"""

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.examples import ROOT, Block, blocks_of, make_store, run_page

PAGES = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").rglob("*.md") if "notes" not in path.parts)]
TRIED = {page: [block for block in blocks_of(page) if not block.needs] for page in PAGES}
ALWAYS = ("README.md", "docs/how-to/python.md")  # the others are slow
ABSENT = {
    *("a network", "SLURM", "PBS or LSF", "Docker and Kubernetes", "Docker", "conda"),
    *("a GPU", "the emulated card", "a human genome", "minutes", "root"),
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


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory) -> tuple[str, str]:
    """What `run` says of the tutorial's reads, and the lines of its calls there and in the mitochondrion."""
    folder, said, calls = tmp_path_factory.mktemp("tutorial"), "", ""
    samples = {"na12878_chr21": ["reads_1.fq.gz", "reads_2.fq.gz"], "mito": ["HG03478.bam", "--ploidy=1"]}
    for name, (reads, more) in samples.items():
        data = ROOT / "test_data" / name
        files = [data / "ref.fa", data / reads, more if more.startswith("-") else data / more]
        words = ["run", *files, "-o", folder / name, "--index", folder / f"{name}.rwx", "--no-report"]
        environment = os.environ | {"COLUMNS": "100"}
        command = [sys.executable, "-m", "readwarp", *words]
        said += subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
        (vcf,) = (folder / name).glob("*.vcf.gz")
        calls += gzip.decompress(vcf.read_bytes()).decode()
    return said.split(str(folder))[0], calls


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_the_summary_shown_is_that_of_this_version(page, tutorial):
    """Whoever changes calls changes the pages that show them."""
    text = (ROOT / page).read_text()
    lines = [line for line in tutorial[0].splitlines() if line.strip()]
    assert len(lines) > 15
    for line in lines:
        assert re.search(r"\s+".join(map(re.escape, line.split())), text), line


def test_the_calls_shown_are_those_of_this_version(tutorial):
    calls = {tuple(line.split("\t")[:2]): line.split("\t") for line in tutorial[1].splitlines() if line[:1] != "#"}
    text = (ROOT / "docs" / "tutorial.md").read_text()
    shown = [line.split() for line in re.findall(r"^ *(chr\w+  .*;\.\.\..*)$", text, re.M)]
    assert len(shown) == 2
    for *fields, info, names, values in shown:
        call = calls[fields[0], fields[1]]
        assert [*fields, names, values] == [*call[:7], *call[8:]] and call[7].startswith(info.removesuffix("..."))


def test_examples_are_found_and_those_not_run_are_counted():
    """Whoever adds an example that cannot run here changes a number."""
    left_out = [block.needs for page in PAGES for block in blocks_of(page) if block.needs]
    assert set(left_out) <= ABSENT and len(left_out) <= 23, left_out
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
        "```sh setup\na\n```\n```sh\nb\n```\n<!-- needs SLURM -->\n```sh\nc\n```\n"
        "```python\n>>> d\n```\n```text\ne\n```\n"
    )
    assert blocks_of(page) == [Block("sh", None, "b\n"), Block("sh", "SLURM", "c\n")]
