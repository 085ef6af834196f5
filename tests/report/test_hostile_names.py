"""Names of samples, contigs, targets and files are text on the page and beside it, whatever is in them."""

import json
import os
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from helpers.hostile import EVERY, names
from readwarp.report import links, multiqc
from readwarp.report.headline import read_subject
from readwarp.report.inputs import Sample, samples_in
from readwarp.report.page import Heading, render
from readwarp.report.statistics import make


class Read(HTMLParser):
    """Tags with the names of their attributes; texts and values; the JSON of the pictures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.texts, self.pictures = list[tuple[str, ...]](), list[str](), ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, *(name for name, _ in attributes)))
        self.texts += [value for _, value in attributes if value]

    def handle_data(self, data):
        if self.tags and self.tags[-1][:2] == ("script", "type"):
            self.pictures += data
        self.texts.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")


@pytest.fixture
def subject(made, page, monkeypatch):
    monkeypatch.setattr("readwarp.report.page._read", lambda name: "")  # scripts and styles are the same in all
    sample = samples_in(made.folder)[0]
    return read_subject(sample, make([sample], None, 1)[0])


def named(subject, name):
    """Everything on the page that a file can name."""
    a, v = subject.alignments, subject.variants
    alignments = replace(
        a,
        contigs=[(name + own, *rest) for own, *rest in a.contigs],
        along=[(name + own, *rest) for own, *rest in a.along],
        targets=[(name, 1, 500, name, 20.0, 0.5)],
    )
    variants = replace(v, rows=[row._replace(contig=name, reference=name, alternative=name) for row in v.rows])
    run = {**subject.run, "command": name, "device": name, "reference": name}
    return subject._replace(name=name, alignments=alignments, variants=variants, run=run)


def shown(subject, name):
    other = named(subject, name)
    return Read(render([other, other], Heading(name, name), [[(name, "x")], [(name, "x")]], [(name, "x")]))


def check_alike(hostile, plain):
    """No new element and attribute; how many labels of axes there are depends on their length."""
    assert {*hostile.tags} <= {*plain.tags, ("tspan", "x"), ("tspan", "x", "dy")}
    labels = ("path", "text", "tspan")
    counts = [[tag for tag in each.tags if tag[0] not in labels] for each in (hostile, plain)]
    assert counts[0] == counts[1]
    assert json.loads(hostile.pictures).keys() == json.loads(plain.pictures).keys()


def test_names_are_texts(subject):
    plain = shown(subject, "x")
    for name in EVERY:
        hostile = shown(subject, name)
        check_alike(hostile, plain)
        assert any(name in one for one in hostile.texts) or {"\0", "\r"} & {*name}  # which HTML itself cannot hold


def test_any_names_add_no_markup(subject):
    plain = shown(subject, "x")

    @settings(max_examples=10)
    @given(names)
    def check(name):
        check_alike(shown(subject, name), plain)

    check()


def test_links_lead_to_the_files_and_sessions_are_xml(tmp_path):
    @given(names)
    def check(name):
        flat = f"x{name}".replace("/", "_").replace("\0", "_")
        address = links.link_of(Path("results", flat), Path())
        assert address.isascii() and not set(address) & set("<>\"' &?#")
        assert unquote_to_bytes(address) == os.fsencode(f"results/{flat}")
        sample = Sample(flat, alignments=tmp_path / f"{flat}.bam", reference=tmp_path / f"{flat}.fa")
        session = links.write_session(tmp_path / "report.html", [sample], [])
        if session is not None:
            root = ElementTree.parse(session).getroot()
            assert root.get("genome") == f"{flat}.fa"
            assert [row.get("path") for row in root.iter("Resource")] == [f"{flat}.bam"]

    check()


def test_multiqc_finds_the_name(tmp_path):
    @given(names)
    def check(name):
        flat = name.replace("/", "_").replace("\0", "_")[:40]
        sample = Sample(flat, alignments=tmp_path / f"{flat}.bam", metrics=tmp_path / "metrics.json")
        multiqc.write({"wall_seconds": 1.0}, sample)
        for path in multiqc.files_of(sample):
            assert list(json.loads(path.read_text())["data"]) == [flat]

    check()
