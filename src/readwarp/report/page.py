"""The page: plots and tables of the samples, in the template."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources as package
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from readwarp.report import alignment_plots, runs, variant_plots
from readwarp.report.headline import MEANINGS, Subject, headline, unusual
from readwarp.report.plot import Plot, Plotter
from readwarp.report.plots import NAMED
from readwarp.version import __version__

RUNS_SHOWN = 100  # with device, versions and command


@dataclass(frozen=True, slots=True)
class Section:
    id: str
    title: str
    plots: Sequence[Plot]


def render(subjects: Sequence[Subject], title: str) -> str:
    """The whole page as HTML, without scripts or anything to be fetched."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["svg"] = Markup  # made by matplotlib from numbers and escaped text
    figures = [headline(subject) for subject in subjects]
    known = [name for name in MEANINGS if any(name in row for row in figures)]
    return environment.from_string(_text("page.html")).render(
        title=title,
        version=__version__,
        style=Markup(_text("page.css")),
        subjects=subjects,
        figures=figures,
        headings=[(name, MEANINGS[name]) for name in known],
        unusual=[(subject.name, sentence) for subject in subjects for sentence in unusual(subject)],
        sections=sections(subjects),
        runs=[
            (subject.name, subject.run.get("command", ""), tables(subject.run))
            for subject in subjects if subject.run
        ][:RUNS_SHOWN],
        more_runs=max(0, sum(bool(subject.run) for subject in subjects) - RUNS_SHOWN),
        legend=[subject.name for subject in subjects] if 1 < len(subjects) <= NAMED else [],
    )  # fmt: skip


def sections(subjects: Sequence[Subject]) -> list[Section]:
    """Those for which at least one sample has data."""
    plotter = Plotter([subject.name for subject in subjects])
    alignments = {n: s.alignments for n, s in enumerate(subjects) if s.alignments and s.alignments.flagstat["primary"]}
    variants = {n: s.variants for n, s in enumerate(subjects) if s.variants and s.variants.summary.get("records")}
    facts = {n: s.run for n, s in enumerate(subjects) if s.run}
    found = []
    if alignments:
        found += [
            Section("alignment", "Alignment", alignment_plots.reads_and_pairs(plotter, alignments)),
            Section("coverage", "Coverage", alignment_plots.coverage(plotter, alignments)),
            Section("cycles", "Along the read", alignment_plots.along_the_read(plotter, alignments)),
        ]
    if variants:
        found.append(Section("variants", "Variants", variant_plots.kinds(plotter, variants)))
        found.append(Section("evidence", "How sure the calls are", variant_plots.evidence(plotter, variants)))
    found.append(Section("times", "Time", runs.times(plotter, facts)))
    return [section for section in found if section.plots]


def tables(facts: Mapping[str, Any]) -> list[tuple[str, Sequence[tuple[str, str]]]]:
    """(caption, rows) of one run."""
    machine = ("Throughput and device", runs.throughput(facts) + runs.resources(facts))
    return [table for table in (machine, *runs.cards(facts), ("Versions", runs.versions(facts))) if table[1]]


def _text(name: str) -> str:
    return package.files("readwarp.report").joinpath(name).read_text()
