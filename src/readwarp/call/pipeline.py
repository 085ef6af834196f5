"""Sorted alignments to a VCF file: the list of steps, run on windows of the reference in threads.

    AlignedReads -> mates -> pileup -> sites -> evidence -> genotypes -> Calls

A window is read with MARGIN bases to spare on either side, beyond which nothing reaches into it; so its calls depend
neither on where windows end nor on threads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from readwarp.batches import AlignedReads, Calls
from readwarp.call.evidence.cpu import weigh_indels, weigh_substitutions
from readwarp.call.genotypes.cpu import genotype_sites
from readwarp.call.genotypes.filters import DESCRIPTIONS, FIELDS
from readwarp.call.mates.cpu import merge_mates
from readwarp.call.sites.cpu import find_sites
from readwarp.call.sites.select import selected, within
from readwarp.call.targets import Target, merged, windows
from readwarp.config import CallParameters, Resources
from readwarp.device.backend import Backend, choose
from readwarp.errors import InputError
from readwarp.formats.aligned import AlignedReader, ReadFilter
from readwarp.formats.vcf import VariantWriter, header_text, lines_of
from readwarp.index.bases import unpack
from readwarp.index.build import read_reference
from readwarp.index.store import Reference
from readwarp.metrics import Metrics
from readwarp.stream.runner import run_ordered

WINDOW = 1 << 17  # reference bases
DEPTH_OF_A_BATCH = 64  # reads across a base that --batch-bases reckons with
MARGIN = 512  # bases of pileup around a window: those an event may move, be long, and be masked across
SITE_MARGIN = 300  # of it, those in which an indel may mask reads of the window


@dataclass(frozen=True, slots=True)
class Caller:
    """What all windows share."""

    reference: Reference
    reader: AlignedReader
    contig_of_file: dict[int, int]  # reference contig -> number in the alignment file
    keep: ReadFilter
    parameters: CallParameters
    backend: Backend
    metrics: Metrics

    def call(self, window: Target) -> Calls:
        """Calls whose position lies in the window."""
        contig, start, stop = window
        length = contig_length(self.reference, contig)
        low, high = max(0, start - MARGIN), min(length, stop + MARGIN)
        with self.metrics.time("read_alignments"):
            reads = self._reads(contig, low, high)
        self.metrics.count("reads_used", int(((reads.position >= start) & (reads.position < stop)).sum()))
        with self.metrics.time("mates"):
            reads = replace(reads, qualities=merge_mates(reads))
        bases, first = self._bases(contig, low, high, reads)
        pileup_step = self.backend.step("readwarp.call.pileup")
        with self.metrics.time("pileup"):
            pileup = pileup_step.count_window(reads, bases[low - first : high - first], low, high, self.parameters)
        self.metrics.count("bases_counted", int(pileup.counts[start - low : stop - low].sum()))
        with self.metrics.time("genotypes"):
            return self._genotype(reads, pileup, bases, first, window)

    def _genotype(self, reads, pileup, bases, first, window) -> Calls:  # type: ignore[no-untyped-def]
        p, low = self.parameters, pileup.start
        sites = find_sites(pileup, bases[low - first : pileup.stop - first], p)
        near = within(sites, window.start - SITE_MARGIN, window.stop + SITE_MARGIN)
        indels = selected(sites, np.flatnonzero(near & sites.is_indel))
        inside = within(sites, window.start, window.stop)
        substitutions = selected(sites, np.flatnonzero(inside & ~sites.is_indel))
        for_indels, masked = weigh_indels(reads, pileup, indels, bases, first, p.max_depth)
        for_substitutions = weigh_substitutions(reads, masked, substitutions, p.min_base_quality, p.max_depth)
        calls = (
            genotype_sites(substitutions, for_substitutions, bases, first, p),
            genotype_sites(indels, for_indels, bases, first, p),
        )
        return ordered(calls, window.start, window.stop)

    def _reads(self, contig: int, low: int, high: int) -> AlignedReads:
        number = self.contig_of_file.get(contig)
        if number is None:
            return replace(self.reader.nothing(low, high), contig=contig)
        return replace(self.reader.read(number, low, high, self.keep), contig=contig)

    def _bases(self, contig: int, low: int, high: int, reads: AlignedReads) -> tuple[np.ndarray, int]:
        """Reference bases 0-4 of all that the reads may be compared with, and where they begin."""
        longest = int(np.diff(reads.read_offsets).max(initial=0)) + MARGIN
        first, last = max(0, low - longest), min(contig_length(self.reference, contig), high + longest)
        offset = int(self.reference.contig_offsets[contig])
        out = np.empty(last - first, np.uint8)
        unpack(self.reference.packed, offset + first, offset + last, out)
        return out, first


def call_variants(
    reference: Reference | Path,
    alignments: Path,
    output: str | Path | None,
    parameters: CallParameters,
    resources: Resources,
    metrics: Metrics,
    *,
    regions: Sequence[Target] | None = None,
    sample: str | None = None,
    reference_path: Path | None = None,
    command: str = "readwarp call",
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Call variants of one sample and write them to `output` (None: stdout).

    `regions`: parts to call, None for everything. `sample`: the one to call, needed where the header names several.
    `progress(done, all)` is told reference bases. Counts go to `metrics`: variants, variants_pass, snvs, indels,
    transitions, transversions, heterozygous (those after the first among variants that pass). Raises InputError.
    """
    if isinstance(reference, Path):
        reference, reference_path = read_reference(reference), reference
    reader = AlignedReader(alignments, reference_path)
    try:
        name, groups = choose_sample(reader, sample)
        keep = ReadFilter(parameters.min_mapping_quality, read_groups=groups)
        contigs = match_contigs(reader, reference)
        caller = Caller(reference, reader, contigs, keep, parameters, choose(resources.device), metrics)
        header = describe(reference, name, command, str(reference_path or alignments))
        path = None if output is None else str(output)
        longest = int(np.diff(reference.contig_offsets).max())
        writer = VariantWriter(path, header, longest, resources.threads)
        try:
            _run(caller, writer, targets_of(reference, regions), resources, progress)
        except BaseException:
            writer.abort()
            raise
        writer.close()
    finally:
        reader.close()


def _run(
    caller: Caller,
    writer: VariantWriter,
    targets: list[Target],
    resources: Resources,
    progress: Callable[[int, int], None] | None,
) -> None:
    size = min(WINDOW, resources.batch_bases // DEPTH_OF_A_BATCH + 1) if resources.batch_bases else WINDOW
    total, done = sum(target.stop - target.start for target in targets), 0

    def work(window: Target) -> tuple[bytes, int]:
        calls = caller.call(window)
        count_calls(calls, caller.metrics)
        return lines_of(calls, caller.reference.names), window.stop - window.start

    def write(result: tuple[bytes, int]) -> None:
        nonlocal done
        writer.write(result[0])
        done += result[1]
        if progress:
            progress(done, total)

    def bind(worker: int) -> None:
        caller.backend.bind(caller.backend.device_of(worker))

    workers = resources.threads
    run_ordered(windows(targets, size), work, write, workers, 2 * workers + 2, bind)


def targets_of(reference: Reference, regions: Sequence[Target] | None) -> list[Target]:
    if regions is not None:
        return merged(regions)
    return [Target(contig, 0, contig_length(reference, contig)) for contig in range(len(reference.names))]


def contig_length(reference: Reference, contig: int) -> int:
    return int(reference.contig_offsets[contig + 1] - reference.contig_offsets[contig])


def choose_sample(reader: AlignedReader, wanted: str | None) -> tuple[str, tuple[str, ...]]:
    """The sample's name, and its read groups where others are to be left out."""
    samples = reader.samples()
    if wanted is not None:
        if wanted not in samples:
            raise InputError(
                reader.path, f"has no read group of sample {wanted!r} (it has: {', '.join(samples) or 'none'})"
            )
        return wanted, samples[wanted] if len(samples) > 1 else ()
    if len(samples) > 1:
        raise InputError(reader.path, f"holds several samples; choose one with --sample: {', '.join(samples)}")
    return next(iter(samples), reader.path.name.split(".")[0]), ()


def match_contigs(reader: AlignedReader, reference: Reference) -> dict[int, int]:
    """Reference contig -> number in the file. Raises InputError where name, length or M5 do not match."""
    numbers = {name: i for i, name in enumerate(reference.names)}
    out = {}
    for i, line in enumerate(reader.header.to_dict().get("SQ", [])):
        name = line["SN"]
        if name not in numbers:
            raise InputError(reader.path, f"its contig {name!r} is not in the reference")
        own = contig_length(reference, numbers[name])
        if line["LN"] != own:
            raise InputError(reader.path, f"its contig {name!r} has {line['LN']} bases, in the reference {own}")
        if line.get("M5", reference.md5[numbers[name]]).lower() != reference.md5[numbers[name]]:
            raise InputError(reader.path, f"its contig {name!r} has another sequence (M5) than in the reference")
        out[numbers[name]] = i
    return out


def describe(reference: Reference, sample: str, command: str, reference_name: str) -> str:
    lengths = np.diff(reference.contig_offsets).tolist()
    contigs = list(zip(reference.names, lengths, reference.md5, strict=True))
    return header_text(contigs, sample, command, reference_name, FIELDS, DESCRIPTIONS)


def ordered(parts: Sequence[Calls], start: int, stop: int) -> Calls:
    """The calls of all parts with positions in [start, stop), by position; at one position in the order of parts."""
    joined = [(int(p), n, i) for n, part in enumerate(parts) for i, p in enumerate(part.position) if start <= p < stop]
    joined.sort()

    def column(name: str) -> list:  # type: ignore[type-arg]
        return [getattr(parts[n], name)[i] for _, n, i in joined]

    arrays = {
        "contig": np.int32,
        "position": np.int64,
        "quality": np.float64,
        "genotype_quality": np.int32,
        "depth": np.int32,
    }
    columns = {name: np.array(column(name), dtype) for name, dtype in arrays.items()}
    lists = ("alleles", "genotype", "allele_depth", "likelihoods", "filters", "annotations")
    return Calls(**columns, **{name: column(name) for name in lists})  # type: ignore[arg-type]


def count_calls(calls: Calls, metrics: Metrics) -> None:
    metrics.count("variants", len(calls.alleles))
    transitions = {("A", "G"), ("G", "A"), ("C", "T"), ("T", "C")}
    for alleles, genotype, filters in zip(calls.alleles, calls.genotype, calls.filters, strict=True):
        if filters:
            continue
        is_snv = all(len(allele) == 1 for allele in alleles)
        metrics.count("variants_pass")
        metrics.count("snvs" if is_snv else "indels")
        metrics.count("heterozygous", len(set(genotype)) > 1)
        if is_snv and len(alleles) == 2:
            metrics.count("transitions" if alleles in transitions else "transversions")
