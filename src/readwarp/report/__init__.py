"""report: one page of HTML on one sample or several, and the texts of samtools and bcftools that it is made from.

`write` makes the page. It needs matplotlib and Jinja2 (the extra `report`), which it imports when it is called.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from readwarp.errors import ReadwarpError

if TYPE_CHECKING:
    from readwarp.report.inputs import Sample
    from readwarp.report.statistics import Statistics

NEEDS = ("matplotlib", "jinja2")
REMEDY = "pip install 'readwarp[report]'"


def missing() -> list[str]:
    """The libraries of the extra `report` that are not installed."""
    return [name for name in NEEDS if find_spec(name) is None]


def check() -> None:
    """Raises ReadwarpError where a library is missing."""
    if lacking := missing():
        raise ReadwarpError(f"a report needs {' and '.join(lacking)}: {REMEDY}")


def write(
    samples: "Sequence[Sample]",
    statistics: "Sequence[Statistics]",
    output: Path,
    title: str,
    folder: Path | None = None,
) -> None:
    """Write the page, and readwarp's own numbers for MultiQC (to `folder`, or beside each metrics.json).

    The page appears when it is complete. Raises ReadwarpError.
    """
    check()
    from readwarp.report import multiqc
    from readwarp.report.gather import subjects
    from readwarp.report.inputs import stem
    from readwarp.report.page import render
    from readwarp.report.statistics import own_name

    found = subjects(samples, statistics)
    text = render(found, title)
    for sample, subject in zip(samples, found, strict=True):
        if sample.metrics:
            name = own_name(sample) if folder else stem(sample.alignments or sample.calls or sample.metrics)
            multiqc.write(subject.run, name, folder or sample.metrics.parent)
    partial = output.with_name(f".{output.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(output)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
