import json
import logging
from pathlib import Path
from typing import Any

from multiqc.base_module import BaseMultiqcModule, ModuleNoSamplesFound
from multiqc.plots import bargraph

log = logging.getLogger(__name__)

PHASES = {"start": "Start", "align": "Align", "sort": "Sort", "call": "Call", "statistics": "Statistics"}
VARIANTS = {
    "snvs": {"name": "SNVs", "color": "#0072b2"},
    "indels": {"name": "Indels", "color": "#c44e00"},
    "failed": {"name": "Failed a filter", "color": "#a0a8b0"},
}
TRIMMED = {
    "bases_trimmed_mates": {"name": "Adapters, by the overlap of mates"},
    "bases_trimmed_adapter": {"name": "Adapters, by sequence"},
    "bases_trimmed_poly_g": {"name": "Poly-G"},
    "bases_trimmed_quality": {"name": "Low quality"},
}
HEADERS: dict[str, dict[str, Any]] = {
    "reads": {"title": "Reads", "description": "Reads in the input", "format": "{:,.0f}", "scale": "Blues"},
    "mapped": {"title": "Mapped", "description": "Share of the reads", "suffix": "%", "max": 100, "scale": "RdYlGn"},
    "duplicates": {
        "title": "Duplicates",
        "description": "Share of the reads",
        "suffix": "%",
        "max": 100,
        "scale": "OrRd",
    },
    "trimmed": {"title": "Trimmed", "description": "Share of the bases", "suffix": "%", "max": 100, "scale": "OrRd"},
    "depth": {
        "title": "Depth",
        "description": "Bases used for calling per base of the reference or the targets",
        "suffix": "X",
        "scale": "BuPu",
    },
    "variants": {"title": "Variants", "description": "Records that pass all filters", "format": "{:,.0f}"},
    "ts_tv": {"title": "Ts/Tv", "description": "Transitions to transversions", "format": "{:,.2f}", "scale": "PuRd"},
    "reads_per_second": {
        "title": "Reads/s",
        "description": "Reads aligned, sorted and written per second",
        "format": "{:,.0f}",
        "hidden": True,
    },
    "memory": {"title": "Memory", "description": "Peak memory", "suffix": " GiB", "hidden": True},
}


class MultiqcModule(BaseMultiqcModule):
    """
    The module reads `metrics.json`, which `readwarp run` writes to its output folder.

    Samples are named after the sample of the alignments (`SM` of the read groups), or else after the folder. The
    statistics of samtools and bcftools that readwarp writes beside it are shown by the modules of these tools.
    """

    def __init__(self):
        super().__init__(
            name="readwarp",
            anchor="readwarp",
            href="https://github.com/readwarp/readwarp",
            info="Aligns sequencing reads and calls variants, on GPUs and CPUs.",
        )
        found: dict[str, dict[str, Any]] = {}
        for file in self.find_log_files("readwarp"):
            try:
                facts = json.loads(file["f"])
            except ValueError as error:
                log.warning("Could not parse %s: %s", file["fn"], error)
                continue
            name = self.clean_s_name(name_of(facts, Path(file["root"])), file)
            if name in found:
                log.debug("Duplicate sample name found! Overwriting: %s", name)
            found[name] = facts
            self.add_data_source(file, s_name=name)
            self.add_software_version(str(facts["readwarp"]), name)
        found = self.ignore_samples(found)
        if not found:
            raise ModuleNoSamplesFound
        log.info("Found %d reports", len(found))
        rows = {name: row_of(facts) for name, facts in found.items()}
        self.general_stats_addcols(rows, HEADERS)
        self.add_variants(found)
        self.add_trimming(found)
        self.add_phases(found)
        self.write_data_file(rows, "multiqc_readwarp")

    def add_variants(self, found: dict[str, dict[str, Any]]) -> None:
        counts = {name: facts["counts"] for name, facts in found.items() if "variants" in facts["counts"]}
        data = {
            name: {
                "snvs": count.get("snvs", 0),
                "indels": count.get("indels", 0),
                "failed": count["variants"] - count.get("variants_pass", 0),
            }
            for name, count in counts.items()
        }
        if data:
            settings = {"id": "readwarp_variants_plot", "title": "readwarp: variants", "ylab": "Records"}
            self.add_section(
                name="Variants",
                anchor="readwarp-variants",
                description="Records by type, and those that failed a filter.",
                plot=bargraph.plot(data, VARIANTS, settings),
            )

    def add_trimming(self, found: dict[str, dict[str, Any]]) -> None:
        data = {
            name: {key: facts["counts"].get(key, 0) for key in TRIMMED}
            for name, facts in found.items()
            if "bases_trimmed" in facts["counts"]
        }
        if data:
            settings = {"id": "readwarp_trimmed_plot", "title": "readwarp: trimmed bases", "ylab": "Bases"}
            self.add_section(
                name="Trimmed bases",
                anchor="readwarp-trimmed",
                description="What was cut off the ends of reads, by reason.",
                plot=bargraph.plot(data, TRIMMED, settings),
            )

    def add_phases(self, found: dict[str, dict[str, Any]]) -> None:
        data = {name: facts["phase_seconds"] for name, facts in found.items() if facts.get("phase_seconds")}
        if data:
            settings = {
                "id": "readwarp_phases_plot",
                "title": "readwarp: time by phase",
                "ylab": "Seconds",
                "cpswitch": False,
            }
            self.add_section(
                name="Time by phase",
                anchor="readwarp-phases",
                description="Wall time of each phase, in seconds.",
                plot=bargraph.plot(data, {key: {"name": text} for key, text in PHASES.items()}, settings),
            )


def name_of(facts: dict[str, Any], folder: Path) -> str:
    names = [name for file in facts.get("alignment_files", []) for name in file.get("samples", [])]
    return names[0] if len(set(names)) == 1 else folder.resolve().name


def row_of(facts: dict[str, Any]) -> dict[str, float]:
    """Of the general statistics; only what the file has."""
    counts = facts.setdefault("counts", {})
    row: dict[str, float] = {}

    def share(name: str, part: str, whole: str) -> None:
        if part in counts and counts.get(whole):
            row[name] = 100 * counts[part] / counts[whole]

    share("mapped", "mapped", "reads")
    share("duplicates", "duplicates", "reads")
    share("trimmed", "bases_trimmed", "bases")
    if counts.get("transversions"):
        row["ts_tv"] = counts.get("transitions", 0) / counts["transversions"]
    if "peak_memory_bytes" in facts:
        row["memory"] = facts["peak_memory_bytes"] / 2**30
    known = {"reads": counts.get("reads"), "variants": counts.get("variants_pass"), "depth": facts.get("mean_depth")}
    known["reads_per_second"] = facts.get("reads_per_second")
    return row | {name: value for name, value in known.items() if value is not None}
