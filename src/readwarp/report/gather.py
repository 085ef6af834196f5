"""Texts and metrics of each sample -> the numbers that the page shows."""

from collections.abc import Sequence

from readwarp.report.alignments import alignment_statistics
from readwarp.report.headline import Subject
from readwarp.report.inputs import Sample, read_metrics
from readwarp.report.statistics import Statistics
from readwarp.report.variants import variant_statistics


def subjects(samples: Sequence[Sample], statistics: Sequence[Statistics]) -> list[Subject]:
    """Raises InputError for a text that cannot be read."""
    return [subject(sample, made) for sample, made in zip(samples, statistics, strict=True)]


def subject(sample: Sample, made: Statistics) -> Subject:
    alignments = variants = None
    if made.stats and made.flagstat and made.idxstats and made.depth:
        alignments = alignment_statistics(made.stats, made.flagstat, made.idxstats, made.depth)
    if made.calls and made.genotypes:
        variants = variant_statistics(made.calls, made.genotypes)
    return Subject(sample.name, alignments, variants, read_metrics(sample.metrics) if sample.metrics else {})
