"""The steps of joint calling, on one window of the reference: the lines of all gVCFs to the calls of the cohort."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from readwarp.batches import Calls
from readwarp.call.genotypes.calls import join_calls, keep_calls, no_calls
from readwarp.call.genotypes.mnps import join_substitutions
from readwarp.call.joint import REACH
from readwarp.call.joint.cells import gather
from readwarp.call.joint.genotype import BAD_DEPTHS, genotype_sites
from readwarp.call.joint.records import build_calls, keep_alleles
from readwarp.call.joint.sites import (
    JointSite,
    Spans,
    alleles_of,
    find_misfit,
    find_priors,
    find_sites,
    lie_in,
    records_of,
)
from readwarp.call.spelling import Bases
from readwarp.call.targets import Stretch
from readwarp.config import MAX_PLOIDY, CallParameters, JointParameters
from readwarp.errors import InputError
from readwarp.formats.variants.genomic import GenomicFile
from readwarp.formats.variants.genomic_kernels import Lines
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Cohort:
    """What all windows share."""

    reference: Reference
    files: tuple[GenomicFile, ...]
    owner: np.ndarray  # int64 [m], number of the file of each sample
    calling: CallParameters
    joint: JointParameters
    metrics: Metrics

    def call(self, window: Stretch, lines: Sequence[Lines]) -> Calls:
        """`lines`: those of each file that `span` covers."""
        samples = self.owner.size
        near = grow(window, 2 * REACH)
        records = [record for i, own in enumerate(lines) for record in records_of(i, own, near)]
        bases = Bases(self.reference, window.contig)
        if wrong := find_misfit(records, bases):
            record, reason = wrong
            file = self.files[record.file]
            raise InputError(file.path, reason, file.place(lines[record.file], record.row))
        alts, ploidy = self.joint.max_alts, self.joint.max_ploidy
        sites = find_sites(records, grow(window, REACH), alts, ploidy)
        if not sites:
            return no_calls(samples)
        calls = self._genotype(window, lines, sites, bases)
        calls = join_substitutions(calls, self.calling.max_mnp_distance, bases.letters)
        return keep_calls(join_calls((calls,), window.start, window.stop, samples), window.start, window.mask())

    def _genotype(self, window: Stretch, lines: Sequence[Lines], sites: Sequence[JointSite], bases: Bases) -> Calls:
        with self.metrics.time("gather"):
            evidence = gather(sites, self.files, lines)
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

    def _error(self, site: JointSite, file: int, window: Stretch, status: int) -> InputError:
        """At the line that speaks about the site, or at the site itself if that is a block."""
        what = (
            "AD has not a value for each allele" if status == BAD_DEPTHS else f"PL fits no ploidy of 1 to {MAX_PLOIDY}"
        )
        record = site.own[file][0] if file in site.own else site.across.get(file, [(None, ())])[0][0]
        position = site.position if record is None else record.position
        return InputError(self.files[file].path, what, f"{self.reference.names[window.contig]}:{position + 1}")


def grow(window: Stretch, by: int) -> Spans:
    """The targets of the window and so many bases on either side, joined where they touch."""
    start, stop = (np.array(column, np.int64) for column in zip(*(t[1:] for t in window.targets), strict=True))
    start, stop = start - by, stop + by
    is_first = np.append(True, start[1:] > stop[:-1])
    return start[is_first], stop[np.append(is_first[1:], True)]


def span(window: Stretch) -> tuple[int, int]:
    """The bases whose lines matter to the calls of a window."""
    return window.start - 2 * REACH, window.stop + REACH
