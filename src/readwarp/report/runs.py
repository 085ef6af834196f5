"""Show metrics.json as plots and tables: trimming, molecules, run time, machine, versions and command."""

from collections.abc import Callable, Mapping
from typing import Any

from readwarp.report.drawing import NAMED, Axis
from readwarp.report.numbers import bytes_text, count_text, duration_text, large_text, number_text
from readwarp.report.plot import Plot, Plotter, caption

Runs = Mapping[int, Mapping[str, Any]]  # facts by the sample's number
Rows = list[tuple[str, str]]  # name, text
PHASES = ("start", "align", "sort", "call", "statistics")
TRIMMED = {
    "mates": "adapters,\nby mates",
    "adapter": "adapters,\nby sequence",
    "poly_g": "poly-G",
    "quality": "low quality",
}
MAX_STAGES = 14  # shown
UNITS = ("bytes", "seconds", "share", "joules", "watts")  # units that end names in metrics.json
TEXTS: dict[str, Callable[[float], str]] = {
    "bytes": bytes_text,
    "seconds": duration_text,
    "share": lambda value: f"{100 * value:.1f}\N{NO-BREAK SPACE}%",
}
IN_CAPTION = ("device", "name", "command")  # facts of a GPU that are not in its table
FAMILY_SIZES = (*((size, size) for size in range(1, 11)), (11, 20), (21, 50), (51, 100), (101, None))  # first and last
RESOURCES = ("device", "devices", "threads", "batch_bases", "batches_in_flight", "peak_memory_bytes")


def plot_phases(plotter: Plotter, samples: Runs) -> Plot | None:
    times = {number: facts["phase_seconds"] for number, facts in samples.items() if facts.get("phase_seconds")}
    names = [name for phases in times.values() for name in phases]
    names = sorted(dict.fromkeys(names), key=lambda name: PHASES.index(name) if name in PHASES else len(PHASES))
    values = {number: [float(phases.get(name, 0)) for name in names] for number, phases in times.items()}
    texts = {number: f"{duration_text(sum(row))} in total" for number, row in values.items()}
    x = Axis("seconds", (0, None))
    return plotter.bars(caption("phases"), names, values, (NAMED, x), texts, kind="rows")


def plot_stages(plotter: Plotter, samples: Runs) -> Plot | None:
    """Plot the steps that took longest; `call` is left out, as it includes others."""
    times = {number: facts["stage_seconds"] for number, facts in samples.items() if facts.get("stage_seconds")}
    known = dict.fromkeys(name for stages in times.values() for name in stages if name != "call")
    names = sorted(known, key=lambda name: -sum(stages.get(name, 0) for stages in times.values()))[:MAX_STAGES]
    values = {number: [float(stages.get(name, 0)) for name in names] for number, stages in times.items()}
    texts = {
        number: f"most of it in {names[row.index(max(row))].replace('_', ' ')}" for number, row in values.items() if row
    }
    names, x = [name.replace("_", " ") for name in names], Axis("seconds, all threads", (0, None))
    return plotter.bars(caption("stages"), names, values, (NAMED, x), texts, kind="rows")


def plot_trimming(plotter: Plotter, samples: Runs) -> Plot | None:
    """Plot trimmed bases, by reason."""
    counts = {n: facts["counts"] for n, facts in samples.items() if "bases_trimmed" in facts.get("counts", {})}
    values = {
        number: [row[f"bases_trimmed_{name}"] / max(1, row["bases"]) for name in TRIMMED]
        for number, row in counts.items()
    }
    texts = {n: f"{100 * row['reads_trimmed'] / max(1, row['reads']):.2f} % of the reads" for n, row in counts.items()}
    axis = Axis("bases", (0, None), percent=True)
    return plotter.bars(caption("trimming"), list(TRIMMED.values()), values, (NAMED, axis), texts)


def plot_families(plotter: Plotter, samples: Runs) -> Plot | None:
    """Plot the share of molecules (by UMI) by their number of pairs or single reads."""
    values, texts = {}, {}
    for number, facts in samples.items():
        families = {int(size): float(molecules) for size, molecules in facts.get("family_sizes", {}).items()}
        if not (molecules := sum(families.values())):
            continue
        values[number] = [
            sum(n for size, n in families.items() if first <= size <= (last or size)) / molecules
            for first, last in FAMILY_SIZES
        ]
        mean = sum(size * n for size, n in families.items()) / molecules
        alone = number_text(values[number][0], True)
        texts[number] = f"{count_text(molecules, 'molecule')} (mean family size {mean:.2f}; {alone} singletons)"
    names = [str(a) if a == b else f"{a}-{b}" if b else f"{a} and up" for a, b in FAMILY_SIZES]
    axes = Axis("family size: pairs or single reads of a molecule"), Axis("molecules", (0, None), percent=True)
    return plotter.bars(caption("families"), names, values, axes, texts)


def list_throughput(facts: Mapping[str, Any]) -> Rows:
    """List throughput per second of wall time, as far as the metrics allow."""
    counts, phase = facts.get("counts", {}), facts.get("phase_seconds", {})
    rows = []
    if rate := facts.get("reads_per_second"):
        rows.append(("reads aligned, sorted and written", f"{rate:,} per second"))
    if (bases := counts.get("bases")) and phase.get("align"):
        rows.append(("bases aligned", f"{large_text(bases / phase['align'])} per second"))
    for name, text in (("dp_cells", "Smith-Waterman cells"), ("pairhmm_cells", "PairHMM cells")):
        if number := counts.get(name):
            rows.append((text, large_text(number)))
    if wall := facts.get("wall_seconds"):
        rows.append(("total time", duration_text(wall)))
    return rows


def list_resources(facts: Mapping[str, Any]) -> Rows:
    """List the device, threads and memory."""
    return [row for name in RESOURCES if facts.get(name) not in (None, [], {}) for row in flatten(name, facts[name])]


def list_cards(facts: Mapping[str, Any]) -> list[tuple[str, Rows]]:
    """List each GPU's name and measured use: batches, bytes, busy time, memory, energy."""
    out = []
    for number, card in enumerate(facts.get("gpu") or []):
        rows = [row for name, value in card.items() if name not in IN_CAPTION for row in flatten(name, value)]
        caption = f"GPU {card.get('device', number)}: {card.get('name', 'unknown')}"
        out.append((f"{caption}, {card['command']}" if "command" in card else caption, rows))
    return out


def flatten(name: str, value: Any) -> Rows:
    """Return (name, text) of a value, with its unit; a row per entry of a mapping; no row for None."""
    if value is None:
        return []
    if isinstance(value, dict):
        return [row for key, inner in value.items() for row in flatten(f"{name} {key}", inner)]
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    words = name.split("_")
    unit = next((unit for unit in UNITS if unit in words), "")
    shown = [word for word in words if word != unit or words[0] == unit]
    return [(" ".join(shown).replace("vram", "VRAM"), _text(value, unit))]


def _text(value: Any, unit: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if unit in TEXTS:
        return TEXTS[unit](value)
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{text} {unit}".strip()


def list_versions(facts: Mapping[str, Any]) -> Rows:
    known = {"readwarp": facts.get("readwarp"), **facts.get("versions", {})}
    return [(name, str(version)) for name, version in known.items() if version]
