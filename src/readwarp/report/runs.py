"""metrics.json as plots and tables: where the time went, on which machine, with which versions and command."""

from collections.abc import Mapping, Sequence
from typing import Any

from readwarp.report.plot import Caption, Plot, Plotter
from readwarp.report.plots import Axis

Runs = Mapping[int, Mapping[str, Any]]  # facts by the sample's number
PHASES = {"start": "start", "align": "align", "sort": "sort", "call": "call", "statistics": "statistics"}
STAGES_SHOWN = 14
UNITS = ("bytes", "seconds", "share", "joules", "watts")  # words of names in metrics.json
IN_CAPTION = ("device", "name", "command")  # facts of a GPU that are not in its table
RESOURCES = ("device", "devices", "threads", "batch_bases", "batches_in_flight", "peak_memory_bytes")


def times(plotter: Plotter, of: Runs) -> list[Plot]:
    timed = {number: facts for number, facts in of.items() if facts.get("phase_seconds")}
    staged = {number: facts for number, facts in of.items() if facts.get("stage_seconds")}
    return [*([phases(plotter, timed)] if timed else []), *([stages(plotter, staged)] if staged else [])]


def phases(plotter: Plotter, of: Runs) -> Plot:
    known = [name for facts in of.values() for name in facts["phase_seconds"]]
    names = sorted(dict.fromkeys(known), key=lambda name: list(PHASES).index(name) if name in PHASES else len(PHASES))
    values = {n: [float(facts["phase_seconds"].get(name, 0)) for name in names] for n, facts in of.items()}
    texts = {number: f"{duration(sum(row))} in all" for number, row in values.items()}
    note = (
        "From beginning to end. The first run of a version on a machine compiles its kernels, which counts as start; "
        "later runs find them in the cache."
    )
    x = Axis("seconds", (0, None))
    return plotter.bars(Caption("phases", "Time by phase", note), names, values, x, texts, horizontal=True)


def stages(plotter: Plotter, of: Runs) -> Plot:
    """The steps that took longest; `call` is left out, as it includes others."""
    totals: dict[str, float] = {}
    for facts in of.values():
        for name, seconds in facts["stage_seconds"].items():
            if name != "call":
                totals[name] = totals.get(name, 0.0) + float(seconds)
    names = sorted(totals, key=lambda name: -totals[name])[:STAGES_SHOWN]
    values = {n: [float(facts["stage_seconds"].get(name, 0)) for name in names] for n, facts in of.items()}
    texts = {n: f"most in {names[max(range(len(row)), key=row.__getitem__)]}" for n, row in values.items() if row}
    note = "Seconds of each step, summed over threads, so they may exceed the time that passed."
    x = Axis("seconds, all threads", (0, None))
    title = "Time by step"
    return plotter.bars(
        Caption("stages", title, note), [n.replace("_", " ") for n in names], values, x, texts, horizontal=True
    )


def throughput(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What was done per second of wall time, as far as the metrics show."""
    counts, phase = facts.get("counts", {}), facts.get("phase_seconds", {})
    rows = []
    if rate := facts.get("reads_per_second"):
        rows.append(("reads aligned, sorted and written", f"{rate:,} per second"))
    if (bases := counts.get("bases")) and phase.get("align"):
        rows.append(("bases aligned", f"{_large(bases / phase['align'])} per second"))
    for name, text in (("dp_cells", "Smith-Waterman cells"), ("pairhmm_cells", "PairHMM cells")):
        if number := counts.get(name):
            rows.append((text, _large(number)))
    if wall := facts.get("wall_seconds"):
        rows.append(("time in all", duration(wall)))
    return rows


def resources(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The device, threads and memory."""
    return [row for name in RESOURCES if facts.get(name) not in (None, [], {}) for row in flat(name, facts[name])]


def cards(facts: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Each GPU's name and all that was measured of its use: batches, bytes, busy time, memory, energy."""
    found = facts.get("gpu") or []
    out = []
    for number, card in enumerate([found] if isinstance(found, dict) else found):
        rows = [row for name, value in card.items() if name not in IN_CAPTION for row in flat(name, value)]
        caption = f"GPU {card.get('device', number)}: {card.get('name', 'unknown')}"
        out.append((f"{caption}, {card['command']}" if "command" in card else caption, rows))
    return out


def flat(name: str, value: Any) -> list[tuple[str, str]]:
    """(name, text) of a value, with its unit; of a mapping, a row per entry; of None, no row."""
    if value is None:
        return []
    if isinstance(value, dict):
        return [row for key, inner in value.items() for row in flat(f"{name} {key}", inner)]
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    words = name.split("_")
    unit = next((unit for unit in UNITS if unit in words), "")
    shown = [word for word in words if word != unit or words[0] == unit]
    return [(" ".join(shown).replace("vram", "VRAM"), _text(value, unit))]


def _text(value: Any, unit: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if unit == "bytes":
        return in_bytes(value)
    if unit == "seconds":
        return duration(value)
    if unit == "share":
        return f"{100 * value:.1f}\N{NO-BREAK SPACE}%"
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{text} {unit}".strip()


def in_bytes(value: float) -> str:
    for letter in ("", "K", "M", "G", "T"):
        if abs(value) < 1024 or letter == "T":
            break
        value /= 1024
    return f"{value:.3g} {letter + 'i' if letter else ''}B" if value < 1000 else f"{value:.0f} {letter}iB"


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def _large(number: float) -> str:
    for size, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{number / size:.3g} {name}"
    return f"{number:,.0f}"


def versions(facts: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    own = [("readwarp", str(facts["readwarp"]))] if "readwarp" in facts else []
    return [*own, *((name, str(version)) for name, version in facts.get("versions", {}).items())]
