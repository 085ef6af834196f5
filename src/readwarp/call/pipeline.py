"""Sorted alignments to a VCF file: windows of the reference through threads, written in order."""

import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from math import ceil
from pathlib import Path
from typing import TypeVar

import numpy as np

from readwarp.batches import Calls
from readwarp.call.confidence import GQ_BANDS
from readwarp.call.forced import Forced, read_alleles
from readwarp.call.genotypes.annotations import FIELDS
from readwarp.call.genotypes.filters import DESCRIPTIONS
from readwarp.call.inputs import choose_samples, contig_length, match_contigs
from readwarp.call.ploidy import Ploidies, read_ploidies, uniform
from readwarp.call.targets import Target, merge_targets, split_targets
from readwarp.call.warm import warm_up
from readwarp.call.window import BYTES_PER_BASE, Caller
from readwarp.config import CallParameters, Resources
from readwarp.device.backend import Backend, choose
from readwarp.device.machine import free_memory
from readwarp.device.workspaces import Workspaces
from readwarp.errors import UsageError
from readwarp.formats.alignments.regions import AlignedReader, ReadFilter
from readwarp.formats.variants.gvcf import NON_REF, BlockJoiner, Piece, header_lines, piece_of
from readwarp.formats.variants.vcf import GENOTYPE_FIELDS, Field, VariantWriter, header_text, rows_of
from readwarp.index.build import read_reference
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics
from readwarp.stream.plan import readable, shared_out, workers_of
from readwarp.stream.runner import ordered

WINDOW = 1 << 17  # reference bases
USUAL_WORKSPACE, LEAST_WORKSPACE = 512 << 20, 32 << 20  # bytes on a card; deep windows are cut until they fit
FREE_SHARE = 0.8  # of a card's free memory, when no budget is given
NOT_IN_FULL = {  # counter -> warning
    "windows_halved": "windows were too deep for the GPU's memory and were cut",
    "windows_on_host": "windows were too deep for the GPU's memory and were called on the CPU",
}
DEPTH_OF_A_BATCH = 64  # reads across a base that --batch-bases reckons with
T = TypeVar("T")
logger = logging.getLogger("readwarp")


def call_variants(
    reference: Reference | Path,
    alignments: Path,
    output: str | Path | None,
    parameters: CallParameters,
    resources: Resources,
    metrics: Metrics,
    *,
    regions: Sequence[Target] | None = None,
    samples: Sequence[str] = (),
    gvcf: bool = False,
    alleles: Path | None = None,
    ploidies: Path | None = None,
    reference_path: Path | None = None,
    command: str = "readwarp call",
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Call variants and write them to `output` (None: stdout).

    `regions`: parts to call, None for everything. `samples`: names of those to call together; without it all that the
    header names. `gvcf`: blocks of reference between the variants, for one sample. `alleles`: a VCF file whose alleles
    are genotyped in any case. `ploidies`: a BED file of parts with another ploidy, which its fourth column says.
    `progress(done, all)` is told reference bases. Counts go to `metrics`: variants, variants_pass, snvs, indels,
    transitions, transversions, heterozygous (those after the first among variants that pass). Raises InputError.
    """
    if isinstance(reference, Path):
        reference_path = reference
        reference = read_reference(reference_path)
    opened = open_caller(
        *(reference, alignments, parameters, resources, metrics),
        samples=samples,
        gvcf=gvcf,
        alleles=alleles,
        ploidies=ploidies,
        whole=regions is None,
        reference_path=reference_path,
    )
    with opened as (caller, names):
        extra = header_lines(GQ_BANDS) if gvcf else ()
        header = describe(reference, names, command, str(reference_path or alignments), extra)
        path = None if output is None else str(output)
        longest = int(np.diff(reference.contig_offsets).max())
        writer = VariantWriter(path, header, longest, resources.threads)
        try:
            _run(caller, writer, targets_of(reference, regions), resources, progress)
        except BaseException:
            writer.abort()
            raise
        writer.close()
        metrics.append("gpu", [{"command": "call", **each} for each in caller.workspaces.facts()])
        for name, text in NOT_IN_FULL.items():
            if number := metrics.counts.get(name):
                logger.warning("%s %s", f"{number:,}", text)


@contextmanager
def open_caller(
    reference: Reference,
    alignments: Path,
    parameters: CallParameters,
    resources: Resources,
    metrics: Metrics,
    *,
    samples: Sequence[str],
    gvcf: bool,
    alleles: Path | None,
    ploidies: Path | None,
    whole: bool,
    reference_path: Path | None,
) -> Iterator[tuple[Caller, tuple[str, ...]]]:
    """What calls windows, and the names of its samples; `whole`: the whole reference will be called."""
    with closing(AlignedReader(alignments, reference_path, resources.threads)) as reader:
        names, groups = choose_samples(reader, samples)
        if gvcf and len(names) > 1:
            raise UsageError(f"--gvcf takes one sample; choose it with --sample: {', '.join(names)}")
        keep = ReadFilter(parameters.min_mapping_quality, samples=groups)
        contigs = match_contigs(reader, reference, whole)
        backend = choose(resources.device)
        memory = resources.memory or free_memory() // 2
        most_bases = memory // (BYTES_PER_BASE * workers_of(resources.threads, len(backend.devices)))
        local = ploidies_of(ploidies, reference, parameters.ploidy)
        forced = forced_alleles(alleles, reference, metrics) if alleles else None
        with closing(open_workspaces(resources, backend)) as workspaces:
            warm_up(backend, workspaces, parameters)
            caller = Caller(
                *(reference, reader, contigs, keep, parameters, backend, workspaces, metrics, most_bases),
                samples=len(names),
                ploidies=local,
                forced=forced,
                with_bands=gvcf,
            )
            yield caller, names


def open_workspaces(resources: Resources, backend: Backend) -> Workspaces:
    """One for each worker, smaller and then fewer where --vram, or what is free of a card, is less."""
    if backend.name == "cpu":
        return Workspaces(backend)
    wanted = ceil(workers_of(resources.threads, len(backend.devices)) / len(backend.devices))
    room = resources.vram or backend.free_memory(FREE_SHARE)
    while True:
        number, capacity = shared_out(room, wanted, USUAL_WORKSPACE, LEAST_WORKSPACE)
        try:
            return Workspaces(backend, number, capacity)
        except Exception as error:
            if not backend.is_out_of_memory(error):
                raise
        logger.warning("the GPU has not the %s that were planned: trying half", readable(number * capacity))
        room = number * capacity // 2


def call_windows(
    caller: Caller, targets: list[Target], resources: Resources, work: Callable[[Target], T]
) -> Generator[T, None, None]:
    """work(window) of all windows, in order, by as many threads as there may be."""
    size = min(WINDOW, resources.batch_bases // DEPTH_OF_A_BATCH + 1) if resources.batch_bases else WINDOW
    workers = workers_of(resources.threads, len(caller.backend.devices))
    return ordered(split_targets(targets, size), work, workers, 2 * workers + 2)


def _run(
    caller: Caller,
    writer: VariantWriter,
    targets: list[Target],
    resources: Resources,
    progress: Callable[[int, int], None] | None,
) -> None:
    total, done = sum(target.stop - target.start for target in targets), 0
    contigs = caller.reference.names
    joiner = BlockJoiner(contigs)

    def work(window: Target) -> tuple[list[bytes | Piece], int]:
        parts: list[bytes | Piece] = []
        for found in caller.call(window):
            count_calls(found.calls, caller.metrics)
            rows = rows_of(found.calls, contigs, with_strands=found.bands is not None)
            lines = b"".join(line for _, line in rows)
            parts.append(lines if found.bands is None else piece_of(found.bands, rows, contigs))
        return parts, window.stop - window.start

    with closing(call_windows(caller, targets, resources, work)) as results:
        for parts, bases in results:
            for part in parts:
                writer.write(part if isinstance(part, bytes) else joiner.add(part))
            done += bases
            if progress:
                progress(done, total)
    writer.write(joiner.finish())


def ploidies_of(path: Path | None, reference: Reference, default: int) -> Ploidies:
    if path is None:
        return uniform(default, len(reference.names))
    return read_ploidies(path, reference.names, np.diff(reference.contig_offsets).tolist(), default)


def forced_alleles(path: Path, reference: Reference, metrics: Metrics) -> Forced:
    """Alleles to be genotyped in any case; those that cannot be are counted, and said."""
    forced = read_alleles(path, reference)
    metrics.count("alleles_asked", len(forced))
    for reason, number in forced.skipped.items():
        metrics.count(f"alleles_skipped_{reason}", number)
        logger.warning("%s: %s alleles are left out (%s)", path, f"{number:,}", reason)
    return forced


def targets_of(reference: Reference, regions: Sequence[Target] | None) -> list[Target]:
    if regions is not None:
        return merge_targets(regions)
    return [Target(contig, 0, contig_length(reference, contig)) for contig in range(len(reference.names))]


def describe(
    reference: Reference,
    samples: Sequence[str],
    command: str,
    reference_name: str,
    extra: Sequence[str] = (),
    genotype_fields: Mapping[str, Field] = GENOTYPE_FIELDS,
) -> str:
    lengths = np.diff(reference.contig_offsets).tolist()
    contigs = list(zip(reference.names, lengths, reference.md5, strict=True))
    return header_text(contigs, samples, command, reference_name, FIELDS, DESCRIPTIONS, extra, genotype_fields)


def count_calls(calls: Calls, metrics: Metrics) -> None:
    """A record is heterozygous where one of its samples is."""
    counts: Counter[str] = Counter(variants=len(calls))
    transitions = {("A", "G"), ("G", "A"), ("C", "T"), ("T", "C")}
    for alleles, genotypes, filters in zip(calls.alleles, calls.genotype, calls.filters, strict=True):
        if filters:
            continue
        listed = tuple(allele for allele in alleles if allele != NON_REF)
        is_snv = max(map(len, listed)) == 1
        counts["variants_pass"] += 1
        counts["snvs" if is_snv else "indels"] += 1
        counts["heterozygous"] += any(len(set(genotype)) > 1 for genotype in genotypes)
        if is_snv and len(listed) == 2:
            counts["transitions" if listed in transitions else "transversions"] += 1
    for name, number in counts.items():
        metrics.count(name, number)
