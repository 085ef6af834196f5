"""Run the steps of structural variants: on a window of the reference, then on a contig whose windows are all read."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.places.bases import Bases
from readwarp.call.places.ploidy import Ploidies
from readwarp.call.places.targets import MARGIN
from readwarp.call.reads.depth import DepthLimit
from readwarp.call.reads.inputs import AlignmentFiles
from readwarp.config import CallParameters, StructuralParameters
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.common.regions import Target
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics
from readwarp.ragged import concatenate, first_alike, take
from readwarp.rules.cigar import HARD_CLIP
from readwarp.stream.workers import ItemResult
from readwarp.structural.alleles import Allele, move_copies, represent, shared_bases, spell
from readwarp.structural.evidence import BETWEEN, WITHIN, StructuralEvents, StructuralEvidence, join_evidence
from readwarp.structural.gather import find_splits, follow, gather
from readwarp.structural.genotype import Crossings, genotype
from readwarp.structural.records import StructuralVariant, anchor_of, format_variant


def cluster(events: StructuralEvents, parameters: StructuralParameters) -> list[ndarray]:
    """Cluster the events of one contig: rows of each variant (int64 [events]), each of another read.

    Insertions and deletions apart, sorted by place, events stay together while neighbours begin within `max_apart`.
    Then, sorted by length, while neighbours have similar lengths, and then once more by place. Clusters that no sample
    shows with `min_sv_support` reads are dropped; one read is enough if `long`, since others may be clipped there.
    """
    p, length = parameters, np.abs(events.length)
    ties = events.name, events.query_start, events.stop

    def split(label: ndarray, value: ndarray, other: ndarray, is_far: Callable[[ndarray, ndarray], ndarray]) -> ndarray:
        """Split labelled events at gaps between their values: `is_far` says which neighbours are apart."""
        order = np.lexsort((*ties, other, value, label))
        is_new = np.zeros(order.size, bool)
        is_new[1:] = (np.diff(label[order]) > 0) | is_far(value[order[:-1]], value[order[1:]])
        out = np.empty_like(label)
        out[order] = np.cumsum(is_new)
        return out

    def is_far(low: ndarray, high: ndarray) -> ndarray:
        return np.asarray(high - low > p.max_apart)

    def differs(low: ndarray, high: ndarray) -> ndarray:
        return np.asarray(high - low > np.maximum(p.max_difference, p.max_excess * low))

    label = split((events.length > 0).astype(np.int64), events.start, length, is_far)
    label = split(split(label, length, events.start, differs), events.start, length, is_far)
    row = np.flatnonzero(first_alike(label, events.name, events.sample) == np.arange(label.size))
    row = row[np.argsort(label[row], kind="stable")]
    bounds = np.flatnonzero(np.diff(label[row], prepend=-1, append=label.size)).tolist()
    clusters = [row[low:high] for low, high in pairwise(bounds)]
    return [
        rows
        for rows in clusters
        if np.bincount(events.sample[rows]).max() >= p.min_sv_support or length[rows].max() >= p.long
    ]


class StructuralWindow(NamedTuple):
    """Window of a contig, which owns the reads that overlap it and start at `own` or later."""

    contig: int
    start: int
    stop: int
    own: int


@dataclass(frozen=True, slots=True)
class StructuralSteps:
    """Steps and parameters that all windows share."""

    reference: Reference
    alignments: AlignmentFiles
    calling: CallParameters
    parameters: StructuralParameters
    ploidies: Ploidies
    metrics: Metrics

    @property
    def reach(self) -> int:
        """Return the bases around a target in which reads may show a variant that begins in it."""
        return self.parameters.max_sv_length + MARGIN

    def gather(self, part: StructuralWindow) -> ItemResult[StructuralEvidence]:
        """Gather the evidence of a window, in any thread."""
        contig, start, stop, own = part
        limit, metrics = DepthLimit(self.calling.max_depth), Metrics()
        with metrics.time("structural_reads"):
            reads = self.alignments.read((contig, start, stop), limit)
            found = gather(take(reads, "reads", reads.position >= own), self.parameters)
            events = move_copies(found.events, Bases(self.reference, contig))
        metrics.count("long_alignments", len(found.spans))
        return ItemResult(StructuralEvidence(found.spans, events), metrics)

    def call(self, contig: int, parts: list[StructuralEvidence], targets: Sequence[Target]) -> list[bytes]:
        """Return VCF lines, in order, of a contig's variants that begin in its targets, from its windows' evidence."""
        spans, events = join_evidence(parts)
        events = concatenate([events, find_splits(spans, self.parameters)], "events")
        crossings = Crossings(spans, len(self.alignments.samples), self.parameters)
        bases, name = Bases(self.reference, contig), self.reference.names[contig]
        alleles = defaultdict[Allele, list[ndarray]](list)
        for rows in cluster(events, self.parameters):
            allele = self._represent(contig, take(events, "events", rows), bases)
            if self._is_wanted(allele, targets):
                alleles[allele].append(rows)  # gaps in tandem repeats can be one allele though they lie apart
        lines = []
        for allele, parts_of in alleles.items():
            rows = np.concatenate(parts_of)
            rows = rows[np.unique(events.name[rows], return_index=True)[1]]
            variant = self._weigh(contig, allele, take(events, "events", rows), crossings, bases)
            if variant is not None:
                line = format_variant(variant, name, bases, self.calling.min_quality)
                lines.append((anchor_of(allele), line))
                self._count(variant)
        return [line for _, line in sorted(lines)]

    def _is_wanted(self, allele: Allele, targets: Sequence[Target]) -> bool:
        at, parameters = anchor_of(allele), self.parameters
        has_size = parameters.min_sv_length <= abs(allele.length) <= parameters.max_sv_length
        return has_size and any(target.start <= at < target.stop for target in targets)

    def _represent(self, contig: int, events: StructuralEvents, bases: Bases) -> Allele:
        row = represent(events)
        start, stop, length = (int(column[row]) for column in (events.start, events.stop, events.length))
        new: bytes | None = events.bases[slice(*events.base_offsets[row : row + 2])].tobytes()
        if events.kind[row] != WITHIN and events.query_start[row] < events.query_stop[row]:
            like = (
                (events.start == start) & (events.stop == stop) & (events.length == length) & (events.kind == BETWEEN)
            )
            new = find_bases(self._read(contig, start, stop), take(events, "events", like))
        return spell(start, stop, length, new, bases)

    def _read(self, contig: int, start: int, stop: int) -> AlignedReads:
        place = contig, max(0, start - 1), min(stop + 1, Bases(self.reference, contig).length)
        return self.alignments.read(place, DepthLimit(self.calling.max_depth))

    def _weigh(
        self, contig: int, allele: Allele, events: StructuralEvents, crossings: Crossings, bases: Bases
    ) -> StructuralVariant | None:
        """Weigh one allele. None: too few reads show it, or no sample has it."""
        counts = crossings.count(allele.start, allele.stop, shared_bases(allele, bases), events)
        if (counts.shown + counts.clipped).max() < self.parameters.min_sv_support:
            return None
        copies = self.ploidies.at(contig, np.array([anchor_of(allele)]))[0].tolist()
        depths = list(zip(counts.against.tolist(), counts.carriers.tolist(), strict=True))
        error = self.parameters.error
        genotypes = [genotype(own, other, n, error) for (other, own), n in zip(depths, copies, strict=True)]
        if not any(allele > 0 for own in genotypes for allele in own.alleles):
            return None
        return StructuralVariant(allele, int(counts.shown.sum()), events.start, events.length, genotypes, depths)

    def _count(self, variant: StructuralVariant) -> None:
        passes = variant.quality >= self.calling.min_quality
        kind = "structural_insertions" if variant.allele.length > 0 else "structural_deletions"
        for name, number in (("structural_variants", 1), ("structural_variants_pass", passes), (kind, passes)):
            self.metrics.count(name, number)


def find_bases(reads: AlignedReads, events: StructuralEvents) -> bytes | None:
    """Return the bases of one of these split-read events: the first with a record that has its whole read.

    Events are taken by name, records by position; records on the other strand do not count.
    """
    course = follow(reads)
    ends = np.stack((reads.cigar_offsets[:-1], reads.cigar_offsets[1:] - 1))
    is_whole = ~(course.operation[ends] == HARD_CLIP).any(axis=0)
    for row in np.argsort(events.name, kind="stable").tolist():
        is_own = (reads.name_hash == events.name[row]) & (reads.sample == events.sample[row])
        for read in np.flatnonzero(is_own & is_whole & (reads.strand == events.strand[row])).tolist():
            own = reads.bases[slice(*reads.read_offsets[read : read + 2])]
            return own[int(events.query_start[row]) : int(events.query_stop[row])].tobytes()
    return None
