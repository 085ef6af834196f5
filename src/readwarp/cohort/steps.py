"""Run the steps of joint calling on one window: from the lines of all gVCFs to the calls of the cohort."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from math import comb

import numpy as np
from numpy import ndarray

from readwarp.call.places.bases import Bases
from readwarp.call.places.targets import TargetStretch, split_at
from readwarp.call.records.genotypes.calls import join_calls, keep_calls
from readwarp.call.records.genotypes.mnps import join_substitutions
from readwarp.cohort import REACH
from readwarp.cohort.cells import CellEvidence, gather
from readwarp.cohort.genotype import BAD_DEPTHS, genotype_sites, ploidies_of
from readwarp.cohort.records import build_calls, keep_alleles
from readwarp.cohort.sites import (
    GvcfRecord,
    JointSite,
    Spans,
    alleles_of,
    find_misfit,
    find_priors,
    find_sites,
    lie_in,
    records_of,
)
from readwarp.config import MAX_PLOIDY, CallParameters, JointParameters
from readwarp.errors import InputError, MemoryBudgetError
from readwarp.formats.variants.calls import Calls
from readwarp.formats.variants.genomic import GenomicFile
from readwarp.formats.variants.genomic_lines import Lines
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics
from readwarp.ragged import take
from readwarp.stream.plan import readable

BYTES, BYTES_OF_GENOTYPE = 900, 60  # bytes per sample and site during genotyping, and per genotype there
BYTES_OF_LETTER = 5  # bytes per letter of a line once it is parsed


@dataclass(frozen=True, slots=True)
class Cohort:
    """Files, parameters and memory that all windows share."""

    reference: Reference
    files: tuple[GenomicFile, ...]
    owner: np.ndarray  # int64 [m], file of each sample
    calling: CallParameters
    joint: JointParameters
    metrics: Metrics
    room: int  # bytes for the sites that are genotyped together

    def call(self, window: TargetStretch, lines: Sequence[Lines]) -> Iterator[Calls]:
        """Yield the calls of a window, in parts if memory is short. `lines`: each file's lines in `span`."""
        samples = self.owner.size
        near = grow(window, 2 * REACH)
        records = [record for i, own in enumerate(lines) for record in records_of(i, own, near)]
        bases = Bases(self.reference, window.contig)
        if wrong := find_misfit(records, bases):
            record, reason = wrong
            file = self.files[record.file]
            raise InputError(file.path, reason, file.place(lines[record.file], record.row))
        sites = self._find_sites(records, window)
        for part in self._cut(window, sites, lines) if sites else ():
            calls = self._genotype(part, *self._gather(records, sites, part, lines), bases)
            calls = join_substitutions(calls, self.calling.max_mnp_distance, bases.letters)
            yield keep_calls(join_calls((calls,), part.start, part.stop, samples), part.start, part.mask())

    def _cut(
        self, window: TargetStretch, sites: Sequence[JointSite], lines: Sequence[Lines]
    ) -> Iterator[TargetStretch]:
        """Cut the window into parts with as many sites as memory allows. Raises MemoryBudgetError."""
        copies, size = self.joint.max_ploidy, 0
        for site in sites:
            own = self.owner.size * (BYTES + BYTES_OF_GENOTYPE * comb(len(site.alleles) + copies - 1, copies))
            for file, (record, _) in site.own.items():
                own += BYTES_OF_LETTER * int(lines[file].offsets[record.row + 1] - lines[file].offsets[record.row])
            if own > 2 * self.room:
                place = f"{self.reference.names[window.contig]}:{site.position + 1}"
                text = f"the alleles of {place} need {readable(own)} of {readable(self.room)} for a window"
                raise MemoryBudgetError(f"--memory is too small, or --threads too many: {text}")
            if size + own > self.room and window.start < site.position < window.stop:
                part, window = split_at(window, site.position)
                yield part
                size = 0
            size += own
        yield window

    def _find_sites(
        self, records: Sequence[GvcfRecord], window: TargetStretch, higher: Mapping[int, int] | None = None
    ) -> list[JointSite]:
        return find_sites(records, grow(window, REACH), self.joint.max_alts, self.joint.max_ploidy, higher)

    def _gather(
        self, records: Sequence[GvcfRecord], sites: Sequence[JointSite], window: TargetStretch, lines: Sequence[Lines]
    ) -> tuple[Sequence[JointSite], CellEvidence]:
        """Return the sites that matter to the window, with fewer alleles if samples have more copies than declared."""
        with self.metrics.time("gather"):
            near = window.start - REACH, window.stop + REACH
            sites = [site for site in sites if near[0] <= site.position < near[1]]
            evidence, higher = gather(sites, self.files, lines), dict[int, int]()
            for site, copies in zip(sites, ploidies_of(evidence)[0].max(axis=1).tolist(), strict=True):
                if copies > self.joint.max_ploidy:
                    higher[site.position] = max(copies, higher.get(site.position, 0))
            if higher:
                sites = self._find_sites(records, window, higher)
                evidence = gather(sites, self.files, lines)
            if self.calling.max_mnp_distance:
                return sites, evidence
            wanted = do_overlap(sites, window)
            inside = take(evidence, "sites", wanted)
            cell = inside.cell[inside.is_own & (inside.cell >= 0)]
            begins = inside.cells.phase_set[cell] - 1  # of phase sets, which are named by the sites there
            wanted |= np.isin([site.position for site in sites], begins)
            return list(compress(sites, wanted.tolist())), take(evidence, "sites", wanted)

    def _genotype(
        self, window: TargetStretch, sites: Sequence[JointSite], evidence: CellEvidence, bases: Bases
    ) -> Calls:
        alleles = alleles_of(sites)
        own = lie_in(np.array([site.position for site in sites]), grow(window, 0))
        self.metrics.count("sites", own.sum())
        self.metrics.count("sites_with_alleles_left_out", (own & alleles.is_cut).sum())
        with self.metrics.time("genotypes"):
            found = genotype_sites(alleles, evidence, find_priors(sites, bases, self.calling))
            for s, i in np.argwhere(found.status).tolist():
                raise self._error(sites[s], int(self.owner[i]), window, int(found.status[s, i]))
            kept = keep_alleles(alleles, evidence, found)
        with self.metrics.time("records"):
            return build_calls(window.contig, sites, evidence, kept, self.calling)

    def _error(self, site: JointSite, file: int, window: TargetStretch, status: int) -> InputError:
        """Make the error at the line that covers the site, or at the site itself if that is a block."""
        what = "AD lacks a value for an allele" if status == BAD_DEPTHS else f"PL fits no ploidy of 1 to {MAX_PLOIDY}"
        record = site.own[file][0] if file in site.own else site.across.get(file, [(None, ())])[0][0]
        position = site.position if record is None else record.position
        return InputError(self.files[file].path, what, f"{self.reference.names[window.contig]}:{position + 1}")


def do_overlap(sites: Sequence[JointSite], window: TargetStretch) -> ndarray:
    """Return which sites lie in the window, or beside it where one of the two may delete the other (bool [sites])."""
    begin = np.array([site.position for site in sites], np.int64)
    end = begin + [len(site.alleles[0]) for site in sites]
    reaches = (end > window.start) & (begin < window.stop)
    found: ndarray = reaches | ((begin >= window.stop) & (begin < end[reaches].max(initial=0)))
    return found


def grow(window: TargetStretch, by: int) -> Spans:
    """Widen the targets of the window by that many bases on either side, joined where they touch."""
    start, stop = (np.array(column, np.int64) for column in zip(*(t[1:] for t in window.targets), strict=True))
    start, stop = start - by, stop + by
    is_first = np.append(True, start[1:] > stop[:-1])
    return start[is_first], stop[np.append(is_first[1:], True)]


def span(window: TargetStretch) -> tuple[int, int]:
    """Return the span whose lines matter to the calls of a window."""
    return window.start - 2 * REACH, window.stop + REACH
