"""readwarp's own numbers for MultiQC, as custom content: columns of the general statistics, and a bar of the phases."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

COLUMNS = {  # of the general statistics: title, description, format
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


def write(facts: Mapping[str, Any], sample: str, folder: Path) -> list[Path]:
    """Write `SAMPLE_mqc.json` and `SAMPLE_phases_mqc.json` from the content of metrics.json -> the files."""
    numbers = {**facts.get("counts", {}), **{name: facts[name] for name in COLUMNS if name in facts}}
    numbers["peak_memory_gb"] = round(facts.get("peak_memory_bytes", 0) / 2**30, 3)
    found = {name: numbers[name] for name in COLUMNS if name in numbers}
    general = {
        "id": "readwarp",
        "plot_type": "generalstats",
        "pconfig": [
            {name: {"title": title, "description": text, "format": form, "namespace": "readwarp"}}
            for name, (title, text, form) in COLUMNS.items()
        ],
        "data": {sample: found},
    }
    phases = {**PHASES, "data": {sample: facts.get("phase_seconds", {})}}
    contents = {folder / f"{sample}_mqc.json": general, folder / f"{sample}_phases_mqc.json": phases}
    for path, content in contents.items():
        path.write_text(json.dumps(content, indent=2) + "\n")
    return list(contents)
