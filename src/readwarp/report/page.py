"""Write the page: plots and tables of the samples, in one self-contained file."""

import base64
import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from importlib import resources as package
from pathlib import Path
from typing import Any, NamedTuple

from readwarp.formats.common.writing import write_whole
from readwarp.report import alignment_plots as alignments
from readwarp.report import blocks, coverage_plots, links, long_plots, multiqc, read_plots, runs
from readwarp.report import variant_plots as variants
from readwarp.report.drawing import MAX_COLOURS, as_json
from readwarp.report.headline import Subject, read_subject
from readwarp.report.html import Content, Html, element, join
from readwarp.report.inputs import Sample
from readwarp.report.plot import Plot, Plotter
from readwarp.report.statistics import Statistics
from readwarp.version import __version__

SCRIPT = "page.js"
MAX_RUNS = 100  # shown with device, versions and command
FOOTER = (
    f"Made by readwarp {__version__} from the statistics of samtools and bcftools, the depth, and metrics.json. "
    "This file is self-contained and loads nothing from the network."
)
READS = (
    *(long_plots.plot_lengths, long_plots.plot_read_qualities),
    *(read_plots.plot_qualities, read_plots.plot_quality_bases, read_plots.plot_contents),
    *(read_plots.plot_gc_contents, read_plots.plot_adapters, alignments.plot_duplicates),
)
ALIGNED = (
    *(alignments.plot_reads, alignments.plot_insert_sizes, alignments.plot_mapping_qualities),
    *(alignments.plot_mismatches, long_plots.plot_identity, long_plots.plot_parts),
)
COVERAGE = (
    *(coverage_plots.plot_along, coverage_plots.plot_targets, coverage_plots.plot_depth),
    *(coverage_plots.plot_cumulative_depth, coverage_plots.plot_contigs),
)
CALLS = (variants.plot_types, variants.plot_substitutions, variants.plot_indel_lengths, long_plots.plot_blocks)
EVIDENCE = (
    *(variants.plot_fractions, variants.plot_damage, variants.plot_balance),
    *(variants.plot_quality, variants.plot_depth, variants.plot_filters),
)
SECTIONS = (  # id, title, part of a subject, functions that plot it
    ("read-quality", "Read quality", "alignments", READS),
    ("trimming-section", "Trimming", "run", (runs.plot_trimming,)),
    ("molecules", "Molecules", "run", (runs.plot_families,)),
    ("alignment", "Alignment", "alignments", ALIGNED),
    ("coverage", "Coverage", "alignments", COVERAGE),
    ("variants", "Variants", "variants", CALLS),
    ("evidence", "Confidence of the calls", "variants", EVIDENCE),
    ("times", "Time", "run", (runs.plot_phases, runs.plot_stages)),
)


class Heading(NamedTuple):
    title: str
    command: str = ""  # command that made the page; for a single run, that of the run is shown


class Section(NamedTuple):
    id: str
    title: str
    plots: list[Plot]


def write(
    samples: Sequence[Sample],
    statistics: Sequence[Statistics],
    output: Path,
    heading: Heading,
    folder: Path | None = None,
) -> None:
    """Write the page and its IGV session, and readwarp's own numbers for MultiQC (to `folder`, or beside metrics.json).

    The page appears when it is complete. Raises ReadwarpError.
    """
    subjects = [read_subject(sample, made) for sample, made in zip(samples, statistics, strict=True)]
    along = [made.texts["along"] for made in statistics if "along" in made.texts]
    session = links.write_session(output, samples, along)
    files = [
        [*links.files_of(sample, list(made.texts.values()), output.parent)]
        for sample, made in zip(samples, statistics, strict=True)
    ]
    own = [("IGV session", links.link_of(session, output.parent))] if session else []
    text = render(subjects, heading, files, own)
    for sample, subject in zip(samples, subjects, strict=True):
        if sample.metrics:
            multiqc.write(subject.run, sample, folder)
    write_whole(output, text.encode("utf-8", "replace"))


def render(
    subjects: Sequence[Subject],
    heading: Heading,
    files: Sequence[Sequence[tuple[str, str]]] = (),
    own: Sequence[tuple[str, str]] = (),
) -> str:
    """Render the whole page as HTML. files: name and address of each sample's files; own: of files of all samples."""
    found, is_alone = make_sections(subjects), len(subjects) == 1
    lists = {
        "variants": blocks.call_table({s.name: s.variants for s in subjects if s.variants}),
        "coverage": blocks.target_table({s.name: s.alignments for s in subjects if s.alignments}),
    }
    plots = [element("div", [blocks.figure(plot) for plot in section.plots], class_="plots") for section in found]
    sections = [_part(s.id, s.title, drawn, lists.get(s.id)) for s, drawn in zip(found, plots, strict=True)]
    ids = [f"sample-{number}" for number in range(1, len(subjects) + 1)]
    last = ("runs", "Run") if is_alone else ("samples", "Samples")
    has_last = not is_alone or bool(subjects[0].run)
    names = [("overview", "Overview"), *((s.id, s.title) for s in found), *((last,) if has_last else ())]
    if is_alone:
        end = _part(*last, element("div", blocks.run_tables(subjects[0].run), class_="run")) if has_last else None
    else:
        end = _samples(subjects, ids, files)
    main = element(
        "main",
        _part(
            "overview",
            "Overview",
            blocks.cards(subjects[0]) if is_alone else blocks.overview_table(subjects, ids),
            blocks.unusual(subjects),
        ),
        sections,
        end,
        id="main",
    )
    shown = [*own, *(files[0] if is_alone and files else ())]
    legend = [subject.name for subject in subjects] if 1 < len(subjects) <= MAX_COLOURS else []
    body = element(
        "body",
        element("a", "Skip to the figures", class_="skip", href="#main"),
        _header(subjects, heading, shown),
        _navigation(names, legend),
        main,
        element("footer", element("p", FOOTER)),
        _data(found),
    )
    return f"<!doctype html>\n{element('html', _head(heading.title), body, lang='en')}\n"


def make_sections(subjects: Sequence[Subject]) -> list[Section]:
    """Return the sections for which at least one sample has data."""
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


def _part(name: str, title: str, *content: Content) -> Html:
    """Make a section of the page, with its heading."""
    heading = element("h2", title, id=f"{name}-title")
    return element("section", heading, *content, id=name, aria_labelledby=f"{name}-title")


def _head(title: str) -> Html:
    digest = base64.b64encode(hashlib.sha256(_read(SCRIPT).encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=f"readwarp {__version__}"),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", Html(_read("page.css"))),
    )


def _header(subjects: Sequence[Subject], heading: Heading, files: Sequence[tuple[str, str]]) -> Html:
    command = subjects[0].run.get("command", "") if len(subjects) == 1 else heading.command
    facts = [("date", date_of(subjects)), ("reference", describe_reference(subjects))]
    return element(
        "header",
        element("p", f"readwarp {__version__}", class_="brand"),
        element("h1", heading.title),
        element("p", [element("span", text, class_=name) for name, text in facts if text], class_="about"),
        element("p", element("code", command), class_="command") if command else None,
        blocks.links(files, "Files") if files else None,
    )


def date_of(subjects: Sequence[Subject]) -> str:
    """Return when the newest results were made, by metrics.json or the files. 23 November 2026, 02:12."""
    noted = [subject.run["date"] for subject in subjects if "date" in subject.run]
    times = [datetime.fromisoformat(str(text)).timestamp() for text in noted] or [
        path.stat().st_mtime for subject in subjects if subject.sample for path in subject.sample.files
    ]
    return f"{datetime.fromtimestamp(max(times)):%-d %B %Y, %H:%M}" if times else ""


def describe_reference(subjects: Sequence[Subject]) -> str:
    """Format as: reference ref.fa: 25 contigs, 3,099,750,718 bases"""
    known = {
        (str(s.run.get("reference") or (s.sample and s.sample.reference) or ""), len(a.contigs), length)
        for s in subjects
        if (a := s.alignments)
        for length in [sum(length for _, length, _ in a.contigs)]
    }
    if len(known) != 1:
        return f"{len(known)} references" if known else ""
    ((path, contigs, bases),) = known
    name = f"reference {Path(path).name}" if path else "reference"
    return f"{name}: {contigs:,} contig{'s' if contigs > 1 else ''}, {bases:,} bases"


def _navigation(names: Sequence[tuple[str, str]], legend: Sequence[str]) -> Html:
    items = [element("a", title, href=f"#{name}") for name, title in names]
    colours = [
        element("li", element("span", class_="swatch", style=f"background: var(--series-{number})"), name)
        for number, name in enumerate(legend, 1)
    ]
    return element(
        "div",
        element("nav", items, aria_label="Sections"),
        element("ul", colours, class_="legend", aria_label="Colours of the samples") if colours else None,
        class_="side",
    )


def _samples(subjects: Sequence[Subject], ids: Sequence[str], files: Sequence[Sequence[tuple[str, str]]]) -> Html:
    """Make a part for each sample, to which the overview leads."""
    parts = []
    for number, (subject, own) in enumerate(zip(subjects, ids, strict=True)):
        command = subject.run.get("command")
        content = join(
            blocks.cards(subject),
            blocks.unusual([subject]),
            blocks.links(files[number], f"Files of {subject.name}") if files else None,
            element("p", element("code", str(command)), class_="command") if command else None,
            blocks.run_tables(subject.run) if subject.run and number < MAX_RUNS else None,
        )
        parts.append(element("details", element("summary", subject.name), content, class_="run", id=own))
    return _part("samples", "Samples", parts)


def _data(sections: Sequence[Section]) -> Html:
    """Return the values of the pictures as JSON, and the script that shows them."""
    pictures = {plot.caption.id: as_json(plot.picture) for section in sections for plot in section.plots}
    text = json.dumps(pictures, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return Html(f'<script type="application/json" id="pictures">{text}</script>\n<script>{_read(SCRIPT)}</script>\n')


def _read(name: str) -> str:
    return package.files("readwarp.report").joinpath(name).read_text()
