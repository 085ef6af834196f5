"""Whole runs in this process, so that kernels are compiled once: reads per second, stages, how busy the card is."""

import json
from pathlib import Path
from statistics import fmean

from oncard import Figures, Sizes
from oncard.reads import write_reads, write_reference
from oncard.timing import Watch, launches
from readwarp.cli import main

CHR20 = Path(__file__).parent.parent / "data" / "sim_chr20" / "grch38.chr20_10M.fa.gz"
TOO_SMALL = 5  # exit code
FACTS = {  # of `gpu` in metrics.json
    "busy_share": "of 1", "batches": "", "vram_high_water_bytes": "bytes", "bytes_up": "bytes", "bytes_down": "bytes",
    "mean_watts": "W",
}  # fmt: skip


def prepared(folder: Path, sizes: Sizes) -> tuple[Path, list[str]]:
    """Reference with its index, and reads."""
    reference = folder / "ref.fa.gz"
    if sizes.reference or not CHR20.exists():
        reference = write_reference(folder / "ref.fa", sizes.reference or 10_000_000)
    else:
        reference.symlink_to(CHR20)
    reads = write_reads(reference, sizes.read_pairs, folder)
    completed(["index", str(reference), "-q"])
    return reference, [str(path) for path in reads]


def completed(arguments: list[str]) -> int:
    """The exit code: 0, or that of a budget that is too small. Ends the program with any other."""
    code = main(arguments)
    if code not in (0, TOO_SMALL):
        raise SystemExit(code)
    return code


def run(name: str, folder: Path, arguments: list[str]) -> dict | None:
    """metrics.json of a command, or None if the budget was too small."""
    counts = folder / "metrics.json"
    code = completed([*arguments, "-q", "--force", "--metrics", str(counts)])
    if code:
        print(f"{name}: the budget is too small")
        return None
    return json.loads(counts.read_text())


def whole(folder: Path, sizes: Sizes) -> Figures:
    """Run align and run on the card and on the CPU, then align within limits of VRAM."""
    reference, reads = prepared(folder, sizes)
    align = ["align", str(reference), *reads, "-o", str(folder / "out.bam")]
    calls = ["run", str(reference), *reads, "-o", str(folder / "run")]
    for device in ("cuda", "cpu"):
        with Watch() as watch, launches() as found:
            metrics = run(f"align, {device}", folder, [*align, "--device", device])
        if metrics:
            yield from figures(f"align, {device}", metrics)
            if device == "cuda":
                yield from busy(f"align, {device}", watch, found.seconds(), metrics)
    for device in ("cuda", "cpu"):
        with Watch() as watch, launches() as found:
            metrics = run(f"run, {device}", folder, [*calls, "--device", device])
        if metrics:
            yield f"run, {device}", metrics["wall_seconds"], "s"
            for phase, spent in metrics["phase_seconds"].items():
                yield f"run, {device}, phase {phase}", spent, "s"
            if device == "cuda":
                yield from busy(f"run, {device}", watch, found.seconds(), metrics)
    for limit in sizes.limits:
        metrics = run(f"align, --vram {limit}", folder, [*align, "--device", "cuda", "--vram", limit])
        if metrics:
            yield f"align, cuda, --vram {limit}", metrics["reads_per_second"], "reads/s"
            yield f"align, cuda, --vram {limit}, bases of a batch", metrics["batch_bases"], "bases"


def figures(name: str, metrics: dict) -> Figures:
    """Rate, wall time, and the share of each stage in the time of all stages and threads."""
    yield name, metrics["reads_per_second"], "reads/s"
    yield f"{name}, wall", metrics["wall_seconds"], "s"
    stages = metrics["stage_seconds"]
    for stage, spent in stages.items():
        yield f"{name}, stage {stage}", 100 * spent / max(1e-9, sum(stages.values())), "%"


def busy(name: str, watch: Watch, kernels: dict[str, float], metrics: dict) -> Figures:
    """The card's share of time in kernels, what the run reports on it, and each kernel's time per second of the run."""
    if watch.busy:
        yield f"{name}, card busy", fmean(watch.busy), "%"
    for card in metrics.get("gpu", []):
        step = f"{name}, {card['command']} on the card"
        for fact, unit in FACTS.items():
            if card.get(fact) is not None:
                yield f"{step}, {fact}", card[fact], unit
    for kernel, spent in sorted(kernels.items()):
        yield f"{name}, kernel {kernel}", 100 * spent / metrics["wall_seconds"], "% of wall time"
