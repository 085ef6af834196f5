"""The docs as a site: what people look for is found, and commands of other tools have ours beside them."""

import json
import re
import shlex
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from helpers.browser import PROGRAM, Browser
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
    "tumor": "how-to/low-frequencies",
    "somatic": "",
    "virus": "",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("material", reason="needs the docs extra")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, env={"NO_MKDOCS_2_WARNING": "1", "PATH": "/usr/bin:/bin"})
    return folder


@pytest.fixture(scope="module")
def pages(site):
    """The text of each section of the site, by its place, as the search field sees it."""
    found = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    return [(entry["location"], f"{entry['title']} {entry['text']}".lower()) for entry in found]


@pytest.mark.parametrize(("word", "page"), WANTED.items())
def test_search_finds(pages, word, page):
    where = {location.split("#")[0].strip("/") for location, text in pages if re.search(rf"\b{word.lower()}s?\b", text)}
    assert page in where, sorted(where)


def test_labels_of_tests_are_not_shown(site, pages):
    shown = "".join(path.read_text() for path in site.rglob("*.html"))
    assert "<!-- needs a network -->" in shown and 'class="filename">needs' not in shown
    assert not [place for place, text in pages if "needs a network" in text]


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


@pytest.fixture(scope="module")
def served(site):
    """A browser, and the address of the site."""
    if PROGRAM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    serve = partial(SimpleHTTPRequestHandler, directory=str(site))
    server, browser = ThreadingHTTPServer(("127.0.0.1", 0), serve), Browser()
    Thread(target=server.serve_forever, daemon=True).start()
    yield browser, f"http://127.0.0.1:{server.server_port}"
    browser.close()
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("page", ["index.html", "tutorial/", "how-to/calling/", "how-to/devices/"])
def test_commands_do_not_run_off_the_page(served, page):
    browser, address = served
    browser.open(f"{address}/{page}", 1000)
    codes = "[...document.querySelectorAll('pre > code')]"
    assert browser.run(f"{codes}.length") > 0
    assert (
        browser.run(f"{codes}.filter(code => code.scrollWidth > code.clientWidth).map(code => code.textContent)") == []
    )


@pytest.fixture(scope="module")
def search(served):
    """A function: the pages that the site's own search field leads to, first ones first."""
    browser, address = served
    browser.open(f"{address}/index.html")

    def found(words: str) -> list[str]:
        return browser.run(f"""(async () => {{
            const field = document.querySelector("[data-md-component=search-query]"), meta = ".md-search-result__meta";
            const type = text => {{ field.value = text; field.dispatchEvent(new KeyboardEvent("keyup")); }};
            const said = () => document.querySelector(meta).textContent;
            const deadline = Date.now() + 20000;
            field.focus();
            type("readwarp");
            while (!/\\d/.test(said()) && Date.now() < deadline) await new Promise(done => setTimeout(done, 50));
            const before = said();
            type({json.dumps(words)});
            while (said() === before && Date.now() < deadline) await new Promise(done => setTimeout(done, 50));
            await new Promise(done => setTimeout(done, 200));
            return [...document.querySelectorAll(".md-search-result__link")].map(a => new URL(a.href).pathname);
        }})()""")

    return found


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("tumor", "/how-to/low-frequencies/"),
        ("tumour", "/how-to/low-frequencies/"),
        ("--min-qual", "/reference/cli/"),
        ("min-qual", "/reference/cli/"),
        ("--haplotag", "/how-to/long-reads/"),
        ("-ax sr", "/coming-from/"),
    ],
)
def test_the_search_field_leads_to(search, words, page):
    assert page in search(words)[:8]
