"""Write readwarp's own numbers for MultiQC, as custom content: columns of general statistics, a bar of phases."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from readwarp.formats.common.writing import write_whole
from readwarp.report.inputs import Sample, stem

COLUMNS = {  # general statistics: title, description, format
    "reads_per_second": ("Reads/s", "Reads aligned, sorted and written per second of wall time", "{:,.0f}"),
    "wall_seconds": ("Seconds", "Wall time of readwarp run", "{:,.1f}"),
    "peak_memory_gb": ("Memory", "Peak memory (GiB)", "{:,.2f}"),
    "mean_depth": ("Called depth", "Bases used for calling per base of the reference or the targets", "{:,.1f}"),
    "variants_pass": ("Variants", "Calls that pass all filters", "{:,.0f}"),
}
PHASES = {
    "id": "readwarp_phases",
    "section_name": "readwarp: time by phase",
    "description": "Wall time of each phase of <code>readwarp run</code>, in seconds.",
    "plot_type": "bargraph",
    "pconfig": {"id": "readwarp_phases_plot", "title": "readwarp: time by phase", "ylab": "Seconds", "cpswitch": False},
}


def files_of(sample: Sample, folder: Path | None = None) -> list[Path]:
    """Return `SAMPLE.readwarp_mqc.json` and `SAMPLE.readwarp_phases_mqc.json` in the folder, or beside metrics.json."""
    place = folder or (sample.metrics or sample.files[0]).parent
    return [
        place / f"{_name(sample, folder)}{ending}" for ending in (".readwarp_mqc.json", ".readwarp_phases_mqc.json")
    ]


def write(facts: Mapping[str, Any], sample: Sample, folder: Path | None = None) -> None:
    """Write the files from the content of metrics.json."""
    name = _name(sample, folder)
    numbers = {**facts.get("counts", {}), **{column: facts[column] for column in COLUMNS if column in facts}}
    numbers["peak_memory_gb"] = round(facts.get("peak_memory_bytes", 0) / 2**30, 3)
    general = {
        "id": "readwarp",
        "plot_type": "generalstats",
        "pconfig": [
            {column: {"title": title, "description": text, "format": form, "namespace": "readwarp"}}
            for column, (title, text, form) in COLUMNS.items()
        ],
        "data": {name: {column: numbers[column] for column in COLUMNS if column in numbers}},
    }
    phases = {**PHASES, "data": {name: facts.get("phase_seconds", {})}}
    for path, content in zip(files_of(sample, folder), (general, phases), strict=True):
        write_whole(path, (json.dumps(content, indent=2) + "\n").encode())


def _name(sample: Sample, folder: Path | None) -> str:
    """Return the sample's name for MultiQC, as in the names of its texts."""
    return sample.file_name if folder else stem(sample.files[0])
