"""Find the files of each sample of a report: in folders of `readwarp run`, or by name."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from readwarp.errors import InputError, UsageError
from readwarp.formats.common.source import reading

LARGEST = 1e18  # cap of a number in metrics.json
ALIGNMENTS, CALLS = (".bam", ".cram"), (".vcf.gz", ".bcf", ".vcf")


@dataclass(frozen=True, slots=True)
class Sample:
    """Files of one sample, any of which may be missing; they were made with `reference` and `targets`."""

    name: str
    alignments: Path | None = None
    calls: Path | None = None
    metrics: Path | None = None
    reference: Path | None = None
    targets: tuple[str, ...] = ()  # in the form that `-L` takes

    @property
    def file_name(self) -> str:
        """Return the name as part of a file name."""
        return self.name.replace("/", "_")

    @property
    def files(self) -> list[Path]:
        return [file for file in (self.alignments, self.calls, self.metrics) if file]

    @property
    def made_with(self) -> list[Path]:
        """Return the reference and the target files."""
        targets = [Path(given) for given in self.targets if Path(given).exists()]
        return [self.reference, *targets] if self.reference else targets


def read_metrics(path: Path | None) -> dict[str, Any]:
    """Read metrics.json; empty if there is none. Raises InputError."""
    try:
        with reading(path):
            facts = json.loads(path.read_text("utf-8")) if path else {}
    except (ValueError, RecursionError):
        raise InputError(path, "is not a metrics file of readwarp: it is not JSON") from None
    if not isinstance(facts, dict):
        raise InputError(path, "is not a metrics file of readwarp")
    for name, is_right in SHAPES.items():
        if name in facts and not is_right(facts[name]):
            raise InputError(path, f"is not a metrics file of readwarp: its {name} is impossible")
    return facts


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and abs(value) < LARGEST)


def _are_numbers(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_number, value.values())) and None not in value.values()


def _is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).timestamp() > 0
    except (ValueError, OverflowError):
        return False


SHAPES: dict[str, Callable[[Any], bool]] = {  # facts that the page computes with
    **dict.fromkeys(("counts", "phase_seconds", "stage_seconds"), _are_numbers),
    **dict.fromkeys(("reads_per_second", "wall_seconds", "peak_memory_bytes"), _is_number),
    "date": _is_date,
    "family_sizes": lambda value: _are_numbers(value) and all(size.isdecimal() for size in value),
    "versions": lambda value: isinstance(value, dict),
    "gpu": lambda value: value is None or (isinstance(value, list) and all(isinstance(card, dict) for card in value)),
}


def stem(path: Path) -> str:
    """Return the file's name without its extension: a.g.vcf.gz -> a."""
    for ending in (".g.vcf.gz", ".g.vcf", ".g.bcf", *ALIGNMENTS, *CALLS, ".json"):
        if path.name.endswith(ending):
            return path.name.removesuffix(ending)
    return path.stem


def samples_in(folder: Path, reference: Path | None = None, targets: tuple[str, ...] = ()) -> list[Sample]:
    """Return the samples of an output folder of `run`: every BAM or CRAM, with the VCF of the same name.

    Raises InputError and UsageError.
    """
    if folder.is_file():
        raise UsageError(f"{folder}: is a file: name it with --bam or --vcf, or give the folder of its run")
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise InputError(folder, (error.strerror or "cannot be read").lower()) from None
    alignments = {stem(path): path for path in files if path.name.endswith(ALIGNMENTS)}
    calls = {stem(path): path for path in files if path.name.endswith(CALLS)}
    names = sorted({*alignments, *calls})
    if not names:
        raise UsageError(f"{folder}: holds no BAM, CRAM, VCF or BCF file")
    metrics = folder / "metrics.json"
    own = metrics if metrics.is_file() and len(names) == 1 else None  # describes only one of several samples
    samples = (Sample(name, alignments.get(name), calls.get(name), own, reference, targets) for name in names)
    return [complete(sample) for sample in samples]


def complete(sample: Sample) -> Sample:
    """Add the reference and targets named in metrics.json, if the sample has none and they still exist."""
    facts = read_metrics(sample.metrics)
    named = {key: Path(str(facts[key])) for key in ("reference", "targets") if facts.get(key)}
    found = {key: path for key, path in named.items() if path.is_file()}
    return replace(
        sample,
        reference=sample.reference or found.get("reference"),
        targets=sample.targets or tuple(str(path) for key, path in found.items() if key == "targets"),
    )


def tell_apart(samples: Sequence[Sample]) -> list[Sample]:
    """Rename samples of the same name by their folders. Raises UsageError where that is not enough."""
    names = Counter(sample.name for sample in samples)
    out = [
        replace(sample, name=f"{sample.files[0].resolve().parent.name}/{sample.name}")
        if names[sample.name] > 1
        else sample
        for sample in samples
    ]
    if len({sample.name for sample in out}) < len(out):
        raise UsageError("two samples have the same name, in folders of the same name: rename a folder")
    return out
