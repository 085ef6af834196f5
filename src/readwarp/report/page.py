"""The page: plots and tables of the samples, in the template."""

from collections.abc import Mapping, Sequence
from importlib import resources as package
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from readwarp.formats.alignments.segments import write_whole
from readwarp.report import alignment_plots as alignments
from readwarp.report import multiqc, runs
from readwarp.report import variant_plots as variants
from readwarp.report.drawing import MAX_COLOURS
from readwarp.report.headline import MEANINGS, Subject, find_figures, find_unusual, read_subject
from readwarp.report.inputs import Sample
from readwarp.report.plot import Plot, Plotter
from readwarp.report.statistics import Statistics
from readwarp.version import __version__

MAX_RUNS = 100  # shown with device, versions and command
READS = (alignments.plot_reads, alignments.plot_insert_sizes, alignments.plot_mapping_qualities)
COVERAGE = (alignments.plot_depth, alignments.plot_cumulative_depth, alignments.plot_contigs)
CYCLES = (alignments.plot_qualities, alignments.plot_mismatches, alignments.plot_gc_contents)
CALLS = (variants.plot_types, variants.plot_substitutions, variants.plot_indel_lengths)
EVIDENCE = (variants.plot_balance, variants.plot_quality, variants.plot_depth, variants.plot_filters)
SECTIONS = (  # id, title, part of a subject, functions that plot it
    ("alignment", "Alignment", "alignments", READS),
    ("coverage", "Coverage", "alignments", COVERAGE),
    ("cycles", "Along the read", "alignments", CYCLES),
    ("variants", "Variants", "variants", CALLS),
    ("evidence", "How sure the calls are", "variants", EVIDENCE),
    ("trimming", "Trimming", "run", (runs.plot_trimming,)),
    ("times", "Time", "run", (runs.plot_phases, runs.plot_stages)),
)


class Section(NamedTuple):
    id: str
    title: str
    plots: list[Plot]


def write(
    samples: Sequence[Sample], statistics: Sequence[Statistics], output: Path, title: str, folder: Path | None = None
) -> None:
    """Write the page, and readwarp's own numbers for MultiQC (to `folder`, or beside each metrics.json).

    The page appears when it is complete. Raises ReadwarpError.
    """
    subjects = [read_subject(sample, made) for sample, made in zip(samples, statistics, strict=True)]
    text = render(subjects, title)
    for sample, subject in zip(samples, subjects, strict=True):
        if sample.metrics:
            multiqc.write(subject.run, sample, folder)
    write_whole(output, text.encode())


def render(subjects: Sequence[Subject], title: str) -> str:
    """The whole page as HTML, without scripts or anything to be fetched."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["svg"] = Markup  # made by matplotlib from numbers and escaped text
    figures = [find_figures(subject) for subject in subjects]
    with_runs = [subject for subject in subjects if subject.run]
    return environment.from_string(_read("page.html")).render(
        title=title,
        version=__version__,
        style=Markup(_read("page.css")),
        subjects=subjects,
        figures=figures,
        headings=[(name, meaning) for name, meaning in MEANINGS.items() if any(name in row for row in figures)],
        unusual=[(subject.name, sentence) for subject in subjects for sentence in find_unusual(subject)],
        sections=make_sections(subjects),
        runs=[
            (subject.name, subject.run.get("command", ""), list_tables(subject.run)) for subject in with_runs[:MAX_RUNS]
        ],
        more_runs=max(0, len(with_runs) - MAX_RUNS),
        legend=[subject.name for subject in subjects] if 1 < len(subjects) <= MAX_COLOURS else [],
    )


def make_sections(subjects: Sequence[Subject]) -> list[Section]:
    """Those for which at least one sample has data."""
    plotter = Plotter([subject.name for subject in subjects])
    parts: dict[str, dict[int, Any]] = {
        "alignments": {
            n: s.alignments for n, s in enumerate(subjects) if s.alignments and s.alignments.flagstat["primary"]
        },
        "variants": {n: s.variants for n, s in enumerate(subjects) if s.variants and s.variants.summary.get("records")},
        "run": {n: s.run for n, s in enumerate(subjects) if s.run},
    }
    found = []
    for name, title, part, functions in SECTIONS:
        samples = parts[part]
        if plots := [plot for function in functions if samples and (plot := function(plotter, samples))]:
            found.append(Section(name, title, plots))
    return found


def list_tables(facts: Mapping[str, Any]) -> list[tuple[str, Sequence[tuple[str, str]]]]:
    """(caption, rows) of one run."""
    machine = ("Throughput and device", runs.list_throughput(facts) + runs.list_resources(facts))
    return [table for table in (machine, *runs.list_cards(facts), ("Versions", runs.list_versions(facts))) if table[1]]


def _read(name: str) -> str:
    return package.files("readwarp.report").joinpath(name).read_text()
