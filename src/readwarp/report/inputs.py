"""What a report is made of: folders of `readwarp run`, or files that are named."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from readwarp.errors import InputError, UsageError

ALIGNMENTS, CALLS = (".bam", ".cram"), (".vcf.gz", ".bcf", ".vcf")


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample's files, any of which may be missing; they were made with `reference` and `targets`."""

    name: str
    alignments: Path | None = None
    calls: Path | None = None
    metrics: Path | None = None
    reference: Path | None = None
    targets: Path | None = None


def read_metrics(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InputError(path, f"is not a metrics file of readwarp ({error})") from None
    if not isinstance(facts, dict):
        raise InputError(path, "is not a metrics file of readwarp")
    return facts


def stem(path: Path) -> str:
    """The file's name without its ending: a.g.vcf.gz -> a."""
    for ending in (".g.vcf.gz", ".g.vcf", ".g.bcf", *ALIGNMENTS, *CALLS, ".json"):
        if path.name.endswith(ending):
            return path.name.removesuffix(ending)
    return path.stem


def samples_in(folder: Path) -> list[Sample]:
    """The samples of an output folder of `run`: every BAM or CRAM, with the VCF of the same name.

    Raises InputError and UsageError.
    """
    try:
        files = sorted(p for p in folder.iterdir() if p.is_file())
    except OSError as error:
        raise InputError(folder, (error.strerror or "cannot be read").lower()) from None
    alignments = {stem(p): p for p in files if p.name.endswith(ALIGNMENTS)}
    calls = {stem(p): p for p in files if p.name.endswith(CALLS)}
    names = sorted({*alignments, *calls})
    if not names:
        raise UsageError(f"{folder}: holds no BAM, CRAM, VCF or BCF file")
    metrics = folder / "metrics.json"
    own = metrics if metrics.is_file() and len(names) == 1 else None  # of several samples it would describe only one
    return [complete(Sample(name, alignments.get(name), calls.get(name), own)) for name in names]


def complete(sample: Sample) -> Sample:
    """Add the reference and the targets that metrics.json names, if they are still there."""
    facts = read_metrics(sample.metrics) if sample.metrics else {}
    reference, targets = (
        Path(str(facts[key])) if facts.get(key) and Path(str(facts[key])).is_file() else None
        for key in ("reference", "targets")
    )
    return add_files(sample, sample.reference or reference, sample.targets or targets)


def add_files(sample: Sample, reference: Path | None, targets: Path | None) -> Sample:
    """Add the reference and the targets that were named; they take precedence over those of metrics.json."""
    return replace(sample, reference=reference or sample.reference, targets=targets or sample.targets)


def tell_apart(samples: Sequence[Sample]) -> list[Sample]:
    """Tell samples of the same name apart by their folders. Raises UsageError where that is not enough."""
    names = Counter(sample.name for sample in samples)
    out = []
    for sample in samples:
        file = sample.alignments or sample.calls or sample.metrics
        assert file is not None
        is_single = names[sample.name] == 1
        out.append(sample if is_single else replace(sample, name=f"{file.resolve().parent.name}/{sample.name}"))
    if len({sample.name for sample in out}) < len(out):
        raise UsageError("two samples have the same name, in folders of the same name: rename a folder")
    return out
