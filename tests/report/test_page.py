"""The page is complete, labelled, legible in both colour schemes, of bounded size, and the same every time."""

import random
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources

import pytest

from readwarp.report.drawing import MAX_COLOURS
from readwarp.report.headline import read_subject
from readwarp.report.inputs import samples_in
from readwarp.report.page import render
from readwarp.report.statistics import make

EMPTY = {"meta", "link", "br", "img", "input", "hr"}
CSS = resources.files("readwarp.report").joinpath("page.css").read_text()
FIGURES = {
    *("reads", "insert-size", "mapq", "depth", "cumulative", "contigs", "quality", "mismatches", "gc", "types"),
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
    assert len(tree.of("svg")) == len(tree.of("details")) - 1 == len(figures)
    pictures = [attributes for _, attributes in tree.tags if attributes.get("role") == "img"]
    assert len(pictures) == len(figures) and all(len(p["aria-label"]) > 40 for p in pictures)
    assert "95.00\N{NO-BREAK SPACE}% mapped" in page and "3 SNVs, 2 insertions, 2 deletions" in page


def test_labels(page):
    tree = Tree(page)
    ids = [attributes["id"] for _, attributes in tree.tags if "id" in attributes]
    assert len(set(ids)) == len(ids)
    labelled = [attributes["aria-labelledby"] for _, attributes in tree.tags if "aria-labelledby" in attributes]
    assert labelled and set(labelled) <= set(ids)
    assert {a["href"][1:] for a in tree.of("a")} <= set(ids)
    assert all(th.get("scope") for th in tree.of("th"))
    scrolled = [a for tag, a in tree.tags if tag == "div" and "scroll" in a.get("class", "")]
    assert all(a["tabindex"] == "0" and a["aria-label"] and a["role"] == "region" for a in scrolled)
    assert tree.of("html")[0]["lang"] == "en" and len(tree.of("h1")) == len(tree.of("main")) == 1
    assert "viewport" in [meta.get("name") for meta in tree.of("meta")]


def test_nothing_is_fetched_and_nothing_runs(page):
    tree = Tree(page)
    assert not {"script", "img", "iframe", "object", "embed", "form"} & {tag for tag, _ in tree.tags}
    for _, attributes in tree.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
        for name in ("href", "xlink:href"):
            assert attributes.get(name, "#").startswith("#") or attributes[name] == "data:,"
    assert "url(http" not in page and "@import" not in page
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", page))


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
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        assert not re.findall(r"#[0-9a-f]{6}\b(?![^<]*</text>)", re.sub(r"url\([^)]*\)|href=\"[^\"]*\"", "", svg))
        assert "font-family" not in svg and "<style" not in svg


def test_text_is_escaped(subjects):
    name = "<script>alert(1)</script>&amp;\"'"
    page = render([subjects[0]._replace(name=name), subjects[0]], name)
    assert "<script>" not in page and "alert(1)" in page
    assert "-o &lt;here&gt;" in page


def test_many_samples_stay_small(many):
    page = render(many, "many")
    assert len(page.encode()) < 2_000_000
    assert all(f'scope="row">{subject.name}<' in page for subject in many)
    assert "300 samples: their median" in page and "GPU 0: a card, call" in page


def test_samples_side_by_side(many):
    page = render(many[:MAX_COLOURS], "some")
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
    shown = {name: {a["id"] for a in Tree(render([subject], name)).of("figure")} for name, subject in only.items()}
    assert all(shown.values()) and set.union(*shown.values()) == FIGURES
    assert sum(map(len, shown.values())) == len(FIGURES)


def test_trimmed_bases_have_a_figure(subjects, page):
    names = "mates", "adapter", "poly_g", "quality"
    counts = {f"bases_trimmed_{name}": 10 * (n + 1) for n, name in enumerate(names)}
    counts |= {"reads": 40, "bases": 1000, "reads_trimmed": 10, "bases_trimmed": 100}
    run = {**subjects[0].run, "counts": {**subjects[0].run.get("counts", {}), **counts}}
    shown = render([subjects[0]._replace(run=run)], "x")
    assert "Trimmed bases" in shown and "25.00 % of the reads" in shown and "by sequence" in shown
    assert "Trimmed bases" not in page


def test_the_same_page_again(subjects, page):
    assert render(subjects, "x") == page
