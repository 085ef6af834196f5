"""Make blocks of the page: a figure, the cards of a sample, tables, links to files."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from readwarp.report import runs
from readwarp.report.coverage_plots import a_share
from readwarp.report.drawing import MAX_COLOURS
from readwarp.report.headline import MEANINGS, Subject, find_figures, find_unusual, meanings_of
from readwarp.report.html import Html, element, scrolled, table
from readwarp.report.numbers import count_text, number_text
from readwarp.report.plot import Plot
from readwarp.report.svg import WIDE, WIDTH, draw

MAX_TARGETS = 500  # listed
CALL_HEAD = {  # columns, and how to sort them
    **{"place": "order", "type": "text", "REF": "text", "ALT": "text", "QUAL": "number", "FILTER": "text"},
    **{"genotype": "text", "depth": "number", "reads of each allele": "none"},
}


def figure(plot: Plot) -> Html:
    """Make a figure: the picture, for a wide one also the form for phones, and its numbers as a table."""
    name, title = plot.caption.id, plot.caption.title
    label = f"{title}: {plot.summary}. The numbers are in the table below."
    pictures = [draw(plot.picture, width) for width in ((WIDE, WIDTH) if plot.picture.is_wide else (WIDTH,))]
    note = f"{count_text(plot.left_out, 'row')} omitted." if plot.left_out else None
    return element(
        "figure",
        element("h3", title, id=f"{name}-title"),
        element("p", plot.summary, class_="summary"),
        element("div", pictures, class_="picture", role="img", aria_label=label),
        element("figcaption", plot.caption.note),
        element(
            "details",
            element("summary", element("span", f"{title}: ", class_="hidden"), "Data table"),
            scrolled(table(plot.head, plot.rows), f"{title}, numbers"),
            element("p", note, class_="fine") if note else None,
        ),
        id=name,
        class_="wide" if plot.picture.is_wide else None,
        aria_labelledby=f"{name}-title",
    )


def cards(subject: Subject) -> Html:
    """Make the cards of one sample's figures."""
    meanings = meanings_of(subject)
    return element(
        "dl",
        [
            element(
                "div",
                element("dt", name),
                element("dd", text, class_="value", style=f"--letters: {len(text)}"),
                element("dd", meanings[name], class_="meaning"),
            )
            for name, text in find_figures(subject).items()
        ],
        class_="cards",
    )


def overview_table(subjects: Sequence[Subject], ids: Sequence[str]) -> Html:
    """Make a row for each sample, linked to the sample's part of the page."""
    figures = [find_figures(subject) for subject in subjects]
    names = [name for name in MEANINGS if any(name in row for row in figures)]
    titles = [element("span", name, title=MEANINGS[name]) for name in names]
    rows = [
        (element("a", subject.name, href=f"#{own}"), *(row.get(name, "") for name in names))
        for subject, own, row in zip(subjects, ids, figures, strict=True)
    ]
    kinds = " ".join(["text", *("number" for _ in names)])
    return scrolled(table(["sample", *titles], rows, class_="overview", data_kinds=kinds), "Overview of all samples")


def unusual(subjects: Sequence[Subject]) -> Html:
    found = [(subject.name, sentence) for subject in subjects for sentence in find_unusual(subject)]
    if not found:
        return element("p", "Nothing unusual was found in these figures.", class_="fine")
    is_alone = len(subjects) == 1
    lines = [element("li", None if is_alone else [element("b", name), ": "], sentence) for name, sentence in found]
    return element("div", element("h3", "Worth a look"), element("ul", lines), class_="unusual")


def links(files: Iterable[tuple[str, str]], label: str) -> Html:
    items = [element("li", element("a", name, href=address)) for name, address in files]
    return element("ul", items, class_="files", aria_label=label)


def call_table(samples: Mapping[str, Any]) -> Html | None:
    """List the first calls of each sample; samples: variants by name. None without calls, or with too many samples."""
    if len(samples) > MAX_COLOURS:
        return None
    is_alone = len(samples) == 1
    rows, total = [], 0
    for sample, v in samples.items():
        total += v.genotypes.passed + v.genotypes.failed
        for row in v.rows:
            quality = "" if row.quality is None else f"{row.quality:,.0f}" if row.quality >= 10 else f"{row.quality:g}"
            alleles = [element("span", text, class_="allele") for text in (row.reference, row.alternative)]
            facts = (row.kind, *alleles, quality, row.filters, row.genotype, row.depth, row.reads)
            rows.append([f"{row.contig}:{row.position:,}", *(() if is_alone else (sample,)), *facts])
    if not rows:
        return None
    head, kinds = list(CALL_HEAD), list(CALL_HEAD.values())
    if not is_alone:
        head.insert(1, "sample")
        kinds.insert(1, "text")
    if all(v.library for v in samples.values()):
        place = head.index("genotype")
        head[place], kinds[place] = "fraction", "number"
    shown = f"All {count_text(total, 'call')}" if len(rows) == total else f"The first {len(rows):,} of {total:,} calls"
    text = f"{shown}, including filtered ones, in the order of the reference; the VCF says more about each."
    listed = table(head, rows, class_="calls", data_kinds=" ".join(kinds))
    return element("div", element("p", text, class_="fine"), scrolled(listed, "Calls"), class_="listing", id="calls")


def target_table(samples: Mapping[str, Any]) -> Html | None:
    """List the targets of least depth; samples: alignments by name."""
    rows = [(mean, name, target) for name, a in samples.items() for target in a.targets for mean in (target[4],)]
    if not rows:
        return None
    kept = sorted(rows, key=lambda row: row[0])[:MAX_TARGETS]
    is_alone = len(samples) == 1
    lines = []
    for mean, name, (contig, start, stop, own, _, share) in kept:
        facts = own, f"{stop - start:,}", number_text(mean), number_text(share, True)
        lines.append([f"{contig}:{start + 1:,}-{stop:,}", *(() if is_alone else (name,)), *facts])
    head = ["target", *(() if is_alone else ("sample",)), "name", "bases", "mean depth", "depth ≥ 20"]
    kinds = ["order", *(() if is_alone else ("text",)), "text", "number", "number", "number"]
    middle = number_text(a_share([mean for mean, *_ in rows], 0.5))
    text = f"{len(kept):,} of {len(rows):,} targets, lowest depth first; the median of their mean depths is {middle}."
    listed = scrolled(table(head, lines, class_="targets", data_kinds=" ".join(kinds)), "Targets")
    return element("div", element("p", text, class_="fine"), listed, class_="listing", id="target-list")


def run_tables(facts: Mapping[str, Any]) -> Html:
    """Tabulate device, threads, throughput and versions of one run."""
    machine = ("Throughput and device", runs.list_throughput(facts) + runs.list_resources(facts))
    found = (machine, *runs.list_cards(facts), ("Versions", runs.list_versions(facts)))
    return element("div", [fact_table(*one) for one in found if one[1]], class_="columns")


def fact_table(title: str, rows: Iterable[tuple[str, str]]) -> Html:
    lines = [element("tr", element("th", name, scope="row"), element("td", text)) for name, text in rows]
    return element("table", element("caption", title), element("tbody", lines), class_="facts")
