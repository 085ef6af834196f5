"""Link the page to the files of each sample, and write a session that opens them in IGV."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from readwarp.formats.common.writing import write_whole
from readwarp.report.inputs import Sample

XML = re.compile("[\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")  # characters of XML, by the specification, 2.2
MAX_SAMPLES = 20  # in a session


def relative(path: Path, folder: Path) -> str:
    """Return the path relative to the folder."""
    return os.path.relpath(path.absolute(), folder.absolute())


def link_of(path: Path, folder: Path) -> str:
    """Return the path as the address of a link on a page in the folder."""
    return quote(os.fsencode(relative(path, folder)))


def files_of(sample: Sample, texts: Sequence[Path], folder: Path) -> Iterator[tuple[str, str]]:
    """Yield name and address of each file of a sample, and of its own page, if there is one beside its metrics."""
    page = sample.metrics and sample.metrics.with_name("report.html")
    for path in (*sample.files, *texts):
        yield path.name, link_of(path, folder)
    if page and page.is_file() and page.parent.absolute() != folder.absolute():
        yield "report.html", link_of(page, folder)


def session_path(page: Path) -> Path:
    """Return igv_session.xml beside report.html; beside another page, a name made from that page's."""
    return page.with_name("igv_session.xml" if page.stem == "report" else f"{page.stem}.igv_session.xml")


def write_session(page: Path, samples: Sequence[Sample], along: Sequence[Path]) -> Path | None:
    """Write the session and return its path; None where IGV could not open the reference, or XML cannot hold a path.

    along: files of the depth along the genome. Paths in it are relative, so the folder may be moved as a whole.
    """
    samples = samples[:MAX_SAMPLES]
    reference = next((sample.reference for sample in samples if sample.reference), None)
    if reference is None:
        return None
    tracks = [path for sample in samples for path in (sample.calls, sample.alignments) if path]
    names = [relative(path, page.parent) for path in (*tracks[:1], *along[:MAX_SAMPLES], *tracks[1:])]
    genome = quoteattr(relative(reference, page.parent))
    if not all(map(XML.fullmatch, (genome, *names))):
        return None
    rows = "".join(f"    <Resource path={quoteattr(name)}/>\n" for name in names)
    text = (
        '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n'
        f'<Session genome={genome} locus="All" version="8">\n  <Resources>\n{rows}  </Resources>\n</Session>\n'
    )
    path = session_path(page)
    write_whole(path, text.encode())
    return path
