"""Call structural variants in a job's targets: windows of the reference in parallel, contigs one after another."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import numpy as np

from readwarp.call.places.targets import bases_of, pad, split_targets
from readwarp.call.records.variant_job import HeaderFields, VariantJob
from readwarp.formats.common.output_file import OutputFile
from readwarp.formats.common.regions import Target, merge_targets
from readwarp.formats.variants.vcf import VariantWriter
from readwarp.stream.reporter import Reporter
from readwarp.stream.workers import ItemResult, Workers, map_counted
from readwarp.structural.evidence import StructuralEvidence
from readwarp.structural.records import FILTERS, GENOTYPES, INFORMATION, SYMBOLIC
from readwarp.structural.steps import StructuralSteps, StructuralWindow
from readwarp.wording import counted

logger = logging.getLogger("readwarp")
WINDOW = 1 << 17  # reference bases
STRUCTURAL_FIELDS = HeaderFields(INFORMATION, GENOTYPES, (SYMBOLIC,), FILTERS)
S = TypeVar("S")
Gathering = tuple[
    Workers[S], Callable[[S, StructuralWindow], ItemResult[StructuralEvidence]]
]  # workers that gather, and their function


def write_structural_file(
    job: VariantJob,
    path: Path,
    steps: StructuralSteps,
    targets: Sequence[Target],
    gathering: Gathering[S],
    reporter: Reporter,
) -> tuple[OutputFile, Path | None]:
    """Run `write_structural` on a file of its own; return it, complete but not yet named, and its index's path."""
    writer = replace(job, output=path).open_output(steps.reference, steps.alignments.samples, STRUCTURAL_FIELDS)
    try:
        write_structural(steps, targets, writer, gathering, reporter)
        return writer.prepare(), writer.index
    except BaseException:
        writer.abort()
        raise


def write_structural(
    steps: StructuralSteps,
    targets: Sequence[Target],
    writer: VariantWriter,
    gathering: Gathering[S],
    reporter: Reporter,
) -> None:
    """Write the variants that begin in the targets. Their records do not depend on the targets."""
    around = merge_targets(pad(targets, steps.reach, np.diff(steps.reference.contig_offsets).tolist()))
    whole = bases_of(around)
    wanted = {contig: list(own) for contig, own in groupby(targets, key=lambda target: target.contig)}
    steps.metrics.count("structural_variants", 0)
    steps.metrics.count("structural_variants_pass", 0)

    parts = list(list_parts(around))
    with (
        reporter.progress("structural variants", "bases") as meter,
        closing(map_counted(*gathering, parts, steps.metrics)) as results,
    ):
        for contig, own in groupby(zip(parts, results, strict=True), key=lambda pair: pair[0].contig):
            found = []
            for part, evidence in own:
                found.append(evidence)
                meter.reach(meter.done + part.stop - part.start, whole)
            writer.write(b"".join(steps.call(contig, found, wanted[contig])))
    number = steps.metrics.counts["structural_variants"]
    logger.info("%s", counted(number, "structural variant"))
    if not steps.metrics.counts.get("long_alignments"):
        least = steps.parameters.min_span
        logger.warning("no unpaired read is aligned over %d bases: structural variants need long reads", least)


def list_parts(targets: Iterable[Target]) -> Iterator[StructuralWindow]:
    """List the windows of merged targets. A read that overlaps several belongs to the first."""
    contig, own = -1, 0
    for target in targets:
        own = own if target.contig == contig else 0
        for contig, start, stop in split_targets([target], WINDOW):
            yield StructuralWindow(contig, start, stop, own)
            own = stop
