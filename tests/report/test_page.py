"""The page is complete, labelled, legible in both colour schemes, of bounded size, and the same every time."""

import base64
import hashlib
import json
import random
import re
from dataclasses import replace
from datetime import datetime
from html.parser import HTMLParser
from importlib import resources
from xml.etree import ElementTree

import pytest

from readwarp.report.drawing import MAX_COLOURS
from readwarp.report.headline import read_subject
from readwarp.report.inputs import samples_in
from readwarp.report.page import Heading, date_of, render
from readwarp.report.statistics import make
from readwarp.report.variant_plots import MAX_LENGTH

EMPTY = {"meta", "link", "br", "img", "input", "hr"}
CSS = resources.files("readwarp.report").joinpath("page.css").read_text()
FIGURES = {
    *("quality", "quality-bases", "contents", "gc", "adapters", "duplicates", "along"),
    *("reads", "insert-size", "mapq", "mismatches", "depth", "cumulative", "contigs", "types"),
    *("substitutions", "indels", "balance", "qual", "call-depth", "filters", "phases", "stages"),
}


class Tree(HTMLParser):
    """Tags with their attributes, and whether all are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def of(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def subjects(made, page):
    samples = samples_in(made.folder)
    return [read_subject(samples[0], make(samples, None, 1)[0])]


@pytest.fixture(scope="module")
def many(subjects):
    rng = random.Random(2)
    names = [f"s{number}" for number in range(300)]
    run = {
        **subjects[0].run,
        "gpu": [{"device": 0, "command": "call", "name": "a card", "busy_share": 0.5, "bytes_up": 3 << 30}],
    }
    out = []
    for name in names:
        alignments = replace(subjects[0].alignments, depth=[(d, rng.randrange(100)) for d in range(60)])
        out.append(subjects[0]._replace(name=name, run=run, alignments=alignments))
    return out


def test_every_figure_is_there_with_title_words_and_numbers(page):
    tree = Tree(page)
    figures = [attributes["id"] for attributes in tree.of("figure")]
    assert set(figures) == FIGURES and len(figures) == len(FIGURES)
    wide = [attributes for attributes in tree.of("figure") if attributes.get("class") == "wide"]
    drawn = [attributes for attributes in tree.of("svg") if "data-edges" in attributes]
    assert len(drawn) - len(wide) == len(tree.of("details")) == len(figures) and wide
    pictures = [attributes for _, attributes in tree.tags if attributes.get("role") == "img"]
    assert len(pictures) == len(figures) and all(len(p["aria-label"]) > 40 for p in pictures)
    assert "95.00\N{NO-BREAK SPACE}% mapped" in page and "3 SNVs, 2 insertions, 2 deletions in 6 records" in page


def test_labels(page):
    tree = Tree(page)
    ids = [attributes["id"] for _, attributes in tree.tags if "id" in attributes]
    assert len(set(ids)) == len(ids)
    labelled = [attributes["aria-labelledby"] for _, attributes in tree.tags if "aria-labelledby" in attributes]
    assert labelled and set(labelled) <= set(ids)
    assert {a["href"][1:] for a in tree.of("a") if a["href"][0] == "#"} <= set(ids)
    assert all(th.get("scope") for th in tree.of("th"))
    scrolled = [a for tag, a in tree.tags if tag == "div" and "scroll" in a.get("class", "")]
    assert all(a["tabindex"] == "0" and a["aria-label"] and a["role"] == "region" for a in scrolled)
    assert tree.of("html")[0]["lang"] == "en" and len(tree.of("h1")) == len(tree.of("main")) == 1
    assert "viewport" in [meta.get("name") for meta in tree.of("meta")]


def test_nothing_is_fetched_and_only_our_script_runs(page):
    """The policy allows exactly the script that the page has, by its hash."""
    tree = Tree(page)
    assert not {"img", "iframe", "object", "embed", "form"} & {tag for tag, _ in tree.tags}
    for _, attributes in tree.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
        for name in ("href", "xlink:href"):
            assert ":" not in attributes.get(name, "") or attributes[name] == "data:,"
    policy = next(meta["content"] for meta in tree.of("meta") if "http-equiv" in meta)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (digest,) = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    assert policy.endswith(f"script-src 'sha256-{digest}'")
    assert policy.startswith("default-src 'none'")
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert "url(" not in own and "@import" not in own


def test_the_page_is_small(page):
    assert len(page.encode()) < 300_000


def colours(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(scheme):
    """WCAG 2.2: 4.5 for text, 3 for graphics."""
    light, dark = CSS.split("prefers-color-scheme: dark", 1)
    found = colours(light) if scheme == "light" else colours(dark.split("* {")[0])
    for ground in ("paper", "card"):
        for text in ("ink", "soft", "accent"):
            assert contrast(found[text], found[ground]) >= 4.5, (text, ground)
    assert contrast(found["ink"], found["notice"]) >= 4.5
    series = [found[f"series-{number + 1}"] for number in range(MAX_COLOURS)]
    assert len(set(series)) == MAX_COLOURS and all(contrast(colour, found["card"]) >= 3 for colour in series)


def test_colours_are_those_of_the_page(page):
    """Nothing in a figure has a fixed colour, which one of the two schemes would hide."""
    for svg in re.findall(r"<svg viewBox.*?</svg>", page, re.DOTALL):
        assert not re.findall(r"#[0-9a-f]{3,6}|rgb", svg)
        assert "font-family" not in svg and "<style" not in svg


def test_text_is_escaped(subjects):
    name = "<script>alert(1)</script>&amp;\"'"
    page = render([subjects[0]._replace(name=name), subjects[0]], Heading(name))
    assert page.count("<script>") == 1 and "<script>alert" not in page and "alert(1)" in page
    assert "-o &lt;here&gt;" in page


def test_many_samples_stay_small(many):
    page = render(many, Heading("many"))
    assert len(page.encode()) < 1_800_000
    assert all(f'scope="row"><a href="#sample-{n}">{subject.name}<' in page for n, subject in enumerate(many, 1))
    assert 'id="calls"' not in page and "300 samples: their median" in page and "GPU 0: a card, call" in page


def test_samples_side_by_side(many):
    page = render(many[:MAX_COLOURS], Heading("some"))
    Tree(page)
    for index in range(MAX_COLOURS):
        assert page.count(f"var(--series-{index + 1})") > 10
    assert "series-9" not in page
    for text in ("GPU 0: a card, call", '<th scope="row">bytes up</th><td>3 GiB</td>', "50.0\N{NO-BREAK SPACE}%"):
        assert text in page


def test_parts_that_are_missing_are_left_out(subjects):
    only = {
        "alignments": subjects[0]._replace(variants=None, run={}),
        "variants": subjects[0]._replace(alignments=None, run={}),
        "run": subjects[0]._replace(alignments=None, variants=None),
    }
    shown = {
        name: {a["id"] for a in Tree(render([subject], Heading(name))).of("figure")} for name, subject in only.items()
    }
    assert all(shown.values()) and set.union(*shown.values()) == FIGURES
    assert sum(map(len, shown.values())) == len(FIGURES)


def test_molecules_have_a_figure(subjects, page):
    run = {**subjects[0].run, "family_sizes": {"1": 50, "2": 30, "15": 15, "400": 5}}
    shown = render([subjects[0]._replace(run=run)], Heading("x"))
    figure = re.search(r'<figure id="families".*?</figure>', shown, re.DOTALL)[0]
    assert "100 molecules (mean family size 23.35; 50.0" in figure
    rows = re.findall(r'<th scope="row">([^<]*)</th><td>([1-9][^<]*)\s%</td>', figure)
    assert [(name, float(share)) for name, share in rows] == [("1", 50), ("2", 30), ("11-20", 15), ("101 and up", 5)]
    assert 'id="families"' not in page


def test_trimmed_bases_have_a_figure(subjects, page):
    names = "mates", "adapter", "poly_g", "quality"
    counts = {f"bases_trimmed_{name}": 10 * (n + 1) for n, name in enumerate(names)}
    counts |= {"reads": 40, "bases": 1000, "reads_trimmed": 10, "bases_trimmed": 100}
    run = {**subjects[0].run, "counts": {**subjects[0].run.get("counts", {}), **counts}}
    shown = render([subjects[0]._replace(run=run)], Heading("x"))
    assert "Trimmed bases" in shown and "25.00 % of the reads" in shown and "by sequence" in shown
    assert "Trimmed bases" not in page


def test_the_same_page_again(subjects, page):
    links = re.search(r'<ul class="files".*?</ul>', page)[0]
    assert render(subjects, Heading("x")) == page.replace(links, "")


def test_who_made_it_when_and_of_what(page, subjects):
    """Date, reference and command are at the top; without metrics the date is that of the files."""
    top = page[page.index("<header>") : page.index("</header>")]
    assert "20 November 2026, 10:30" in top and "reference ref.fa: 2 contigs, 3,500 bases" in top
    assert "readwarp run ref.fa x_1.fq x_2.fq -o &lt;here&gt;" in top
    day = datetime.fromtimestamp(subjects[0].sample.calls.stat().st_mtime)
    assert date_of([subjects[0]._replace(run={})]).startswith(f"{day:%-d %B %Y, }")
    both = render([subjects[0], subjects[0]._replace(name="y")], Heading("two", "readwarp report x y"))
    assert "<code>readwarp report x y</code>" in both[: both.index("</header>")]


def test_files_are_linked_and_there(made, page):
    folder = made.folder
    links = [a["href"] for a in Tree(page).of("a") if a["href"][0] != "#"]
    assert {"x.bam", "x.vcf", "metrics.json", "x.stats.txt", "x.depth.bedgraph", "igv_session.xml"} <= set(links)
    assert all((folder / link).is_file() for link in links)


def test_the_session_opens_the_files_by_relative_paths(made, page):
    session = ElementTree.parse(made.folder / "igv_session.xml").getroot()
    assert (made.folder / session.get("genome")).resolve() == made.reference
    paths = [resource.get("path") for resource in session.iter("Resource")]
    assert paths == ["x.vcf", "x.depth.bedgraph", "x.bam"] and all((made.folder / path).is_file() for path in paths)


def test_each_length_of_indels_has_a_bar_and_a_row(page):
    """-1 too; 0 is no length."""
    lengths = [*range(-MAX_LENGTH, 0), *range(1, MAX_LENGTH + 1)]
    picture = pictures_of(page)["indels"]
    (series,) = picture["series"]
    assert picture["kind"] == "bars" and len(picture["places"]) == len(series["y"]) == len(lengths) == 40
    assert [length for length, n in zip(lengths, series["y"], strict=True) if n] == [-2, 2]
    rows = numbers_of(page, "indels")
    assert len(rows) == 40 and rows[MAX_LENGTH - 1] == ["\N{MINUS SIGN}1", "0"] and rows[MAX_LENGTH - 2][1] == "2"


def test_calls_are_listed(page):
    """All of them, with those that failed."""
    rows = re.findall(r"<tr>(.*?)\n?</tr>", page[page.index('class="calls"') :], re.DOTALL)[1:9]
    cells = [re.findall(r"<t[hd][^>]*>(?:<span[^>]*>)?(.*?)(?:</span>)?</t[hd]>", row) for row in rows]
    assert cells[0] == ["one:100", "SNV", "A", "G", "500", "PASS", "0/1", "20", "10,10"]
    assert cells[5] == ["one:600", "indel", "CAG", "C,CAGAG", "80", "PASS", "1/2", "11", "0,5,6"]
    assert cells[7][4:6] == ["2", "LowQual;StrandBias"]
    assert "All 8 calls" in page


def test_calls_beyond_the_limit_are_counted(subjects):
    few = replace(subjects[0].variants, rows=subjects[0].variants.rows[:3])
    assert "The first 3 of 8 calls" in render([subjects[0]._replace(variants=few)], Heading("x"))


def test_samples_have_a_part_of_their_own(subjects):
    """The overview leads to it; it has the sample's figures, and a link to its own page."""
    both = render(
        [subjects[0], subjects[0]._replace(name="y")], Heading("two"), [[], [("report.html", "y/report.html")]]
    )
    tree = Tree(both)
    assert {"#sample-1", "#sample-2"} <= {a["href"] for a in tree.of("a")}
    part = both[both.index('id="sample-2"') :]
    assert 'href="y/report.html"' in part and "Ts/Tv" in part


def test_pictures_are_those_of_the_script(page):
    """The values for the script: each figure has a picture, with as many values as its categories."""
    pictures = pictures_of(page)
    assert set(pictures) == FIGURES
    for picture in pictures.values():
        low, high = picture["y"]["range"]
        assert low == 0 < high and picture["series"]
        for series in picture["series"]:
            assert len(series["x"]) == len(series["y"]) and max(series["y"]) <= 1.7 * high
            assert not picture["places"] or len(picture["places"]) == len(series["x"])


def pictures_of(page: str) -> dict:
    return json.loads(re.search(r'id="pictures">(.*?)</script>', page)[1])


def numbers_of(page: str, figure: str) -> list[list[str]]:
    """Rows of the table below a figure."""
    text = page[page.index(f'<figure id="{figure}"') :].partition("</figure>")[0]
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)][1:]
