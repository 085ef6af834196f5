"""Run the steps of calling on one window of the reference.

    AlignedReads -> mates -> pileup -> sites -> regions -> haplotypes -> pairhmm -> alleles \\
                                         \\-> single substitutions -> evidence ------------> genotypes -> Calls

A window is read with a margin of MARGIN bases on either side, beyond which nothing reaches into it, so its calls do not
depend on window borders or threads.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Pileup, Regions, Sites
from readwarp.call.candidates.pileup import MAX_INDEL, count_window
from readwarp.call.candidates.qualities import check_qualities
from readwarp.call.candidates.regions.clips import add_clipped, drop_overhangs, find_clip_places
from readwarp.call.candidates.regions.find import find_regions, split_samples, thin_reads
from readwarp.call.candidates.sites import MAX_TRACT
from readwarp.call.candidates.sites.find import drop_slips, find_sites, limit_alleles, list_alleles
from readwarp.call.candidates.sites.forced import Forced
from readwarp.call.likelihoods.alleles.compare import WeighedReads, compare, part_mates
from readwarp.call.likelihoods.alleles.select import Copies
from readwarp.call.likelihoods.alleles.weigh import variants_of, weigh_haplotypes
from readwarp.call.likelihoods.batches import Haplotypes, Likelihoods, Phase
from readwarp.call.likelihoods.evidence import split_sites, weigh_substitutions
from readwarp.call.likelihoods.haplotypes.build import build_haplotypes
from readwarp.call.likelihoods.pairhmm import LogLikelihoods, cpu
from readwarp.call.likelihoods.phase import links
from readwarp.call.likelihoods.phase.sides import ComparisonGroups, find_sides, take_sides
from readwarp.call.places.bases import Bases, Window
from readwarp.call.places.ploidy import Ploidies
from readwarp.call.places.strips import Place, Strip, StripBases
from readwarp.call.places.targets import BLOCK, MARGIN, TargetStretch
from readwarp.call.reads.depth import DepthLimit
from readwarp.call.reads.inputs import AlignmentFiles
from readwarp.call.reads.mates.cut import cut_long
from readwarp.call.reads.mates.join import Removed, join_mates
from readwarp.call.reads.mates.lost import find_lost
from readwarp.call.reads.mates.primers import NO_PRIMERS, Primers, primers_along
from readwarp.call.reads.platforms import Platform
from readwarp.call.reads.sides import Sides, split_sides
from readwarp.call.records import counts
from readwarp.call.records.axis import cut_at_origin, put_back
from readwarp.call.records.confidence import REACH
from readwarp.call.records.confidence.bands import find_called, reference_bands, unknown_bands
from readwarp.call.records.found import WindowCalls, shallow_runs
from readwarp.call.records.genotypes.calls import join_calls, keep_calls, no_calls
from readwarp.call.records.genotypes.genotype import genotype_sites
from readwarp.call.records.genotypes.mnps import join_substitutions
from readwarp.call.records.genotypes.places import join_places
from readwarp.call.records.genotypes.rarest import silence_absent
from readwarp.call.records.genotypes.surroundings import Depths, SitePriors, first_place, note_depth
from readwarp.call.records.limits import Limited, limit_of, limits_of, mark_limits
from readwarp.call.records.model import AlleleModel, Here
from readwarp.config import CallParameters
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.variants.calls import Bands, Calls
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics
from readwarp.ragged import replace, take
from readwarp.rules.shares import COPIES

CALL_MARGIN = MAX_INDEL + 1  # bases around a window whose calls may overlap one in it ...
BAND_MARGIN = CALL_MARGIN + MAX_TRACT + REACH  # ... or be adjacent to its blocks


@dataclass(frozen=True, slots=True)
class CallSteps:
    """Inputs and parameters that all windows share."""

    reference: Reference
    alignments: AlignmentFiles
    parameters: CallParameters
    metrics: Metrics
    ploidies: Ploidies
    forced: Forced | None
    primers: dict[int, Primers]  # by reference contig, if it has any
    with_bands: bool
    platform: Platform
    model: AlleleModel
    phasing: links.Phasing | None = None  # phasing of the contig
    log_likelihoods: LogLikelihoods = cpu.log_likelihoods  # or by a card
    least_depth: int = 0  # least depth of a base of the consensus genome
    axis: StripBases | None = None  # contig 0, where contigs share a strip; None: contigs are the reference's

    @property
    def samples(self) -> int:
        return len(self.alignments.samples)

    def bases(self, contig: int) -> Bases:
        return self.axis or Bases(self.reference, contig)

    def on(self, place: Place) -> "tuple[CallSteps, TargetStretch]":
        """Return the steps on the axis of a place, and the place there."""
        if not isinstance(place, Strip):
            return self, place
        axis = StripBases(self.reference, place)
        along = replace(
            self,
            alignments=self.alignments.along(axis),
            ploidies=self.ploidies.along(place),
            forced=self.forced.along(place) if self.forced else None,
            primers=primers_along(self.primers, place),
            axis=axis,
        )
        return along, place.as_stretch()


class Piled(NamedTuple):
    """Reads of a window and its margin, their pileup, and the reference around them."""

    reads: AlignedReads
    around: Window
    pileup: Pileup
    copies: ndarray  # ploidy at each position (int8 [positions, samples])


def call_window(steps: CallSteps, place: Place, max_bases: int | None) -> WindowCalls:
    """Call a window. Raises RegionTooDeepError if its reads have more than `max_bases`."""
    own, window = steps.on(place)
    found = call_stretch(own, window, max_bases)
    return put_back(found, place) if isinstance(place, Strip) else found


def call_stretch(steps: CallSteps, window: TargetStretch, max_bases: int | None) -> WindowCalls:
    """Call a window of one axis."""
    limit = DepthLimit(steps.parameters.max_depth)
    reads = read_window(steps, window, limit, max_bases)
    counts.count_reads(steps.metrics, reads, limit, window)
    if len(reads) == 0 and not steps.forced:
        return found_nothing(steps, window)
    piled, removed = pile_up(steps, reads, window)
    counts.count_removed(steps.metrics, removed, window, steps.primers.get(window.contig, NO_PRIMERS).start.size > 0)
    counts.count_bases(steps.metrics, piled.pileup, window)
    inside = replace(piled.around.trim(), start=window.start, stop=window.stop)
    check_qualities(piled.reads, piled.pileup, inside, window.mask(), steps.metrics)
    limited = [Limited("depth", limit.blocks * BLOCK, (limit.blocks + 1) * BLOCK)]
    calls = cut_at_origin(call_sites(steps, piled, window, limited), steps.bases(window.contig))
    counts.count_left_out(steps.metrics, limited, window)
    kept = keep_calls(join_calls((calls,), window.start, window.stop, steps.samples), window.start, window.mask())
    if not steps.with_bands:
        shallow = shallow_runs(piled.pileup, window, steps.least_depth)
        return WindowCalls(mark_limits(kept, limited), None, shallow)
    return WindowCalls(mark_limits(join_places(kept), limited), [bands_of(steps, piled, inside, calls, window)])


def read_window(steps: CallSteps, window: TargetStretch, limit: DepthLimit, max_bases: int | None) -> AlignedReads:
    """Read a window and its margin."""
    low, high = max(0, window.start - MARGIN), min(steps.bases(window.contig).length, window.stop + MARGIN)
    with steps.metrics.time("read_alignments"):
        return steps.alignments.read((window.contig, low, high), limit, max_bases)


def pile_up(steps: CallSteps, reads: AlignedReads, window: TargetStretch) -> tuple[Piled, Removed]:
    """Join the mates of a window's reads and pile them up; also return the bases that were removed."""
    bases, contig = steps.bases(window.contig), window.contig
    low, high = max(0, window.start - MARGIN), min(bases.length, window.stop + MARGIN)
    reach = 2 * int(np.diff(reads.read_offsets).max(initial=0)) + MARGIN  # two joined reads are compared with it
    first, last = max(0, low - reach), min(bases.length, high + reach)
    around = Window(contig, low, high, bases.array(first, last), first)
    with steps.metrics.time("mates"):
        primers = steps.primers.get(contig, NO_PRIMERS)
        reads, removed = join_mates(reads, around, primers, steps.parameters.ignore_soft_clips)
        if steps.platform.is_long:  # to the window and its margin, and MARGIN more, which is beyond FAR
            reads = cut_long(reads, low - MARGIN, high + MARGIN)
    with steps.metrics.time("pileup"):
        pileup = count_window(reads, around, steps.parameters)
    return Piled(reads, around, pileup, steps.ploidies.at(contig, np.arange(low, high))), removed


def call_sites(steps: CallSteps, piled: Piled, window: TargetStretch, limited: list[Limited]) -> Calls:
    """Call sites in the window, and around it as far as they matter inside. Omissions are added to `limited`."""
    reads, around = piled.reads, piled.around
    p = steps.parameters
    margin = BAND_MARGIN if steps.with_bands else CALL_MARGIN
    low, high = window.start - margin, window.stop + margin
    noted: list[ndarray] = []
    with steps.metrics.time("sites"):
        sites = find_sites(piled.pileup, around, p, steps.forced, pileups(steps, piled, noted), piled.copies)
        sides = find_sides(reads, steps.phasing, around, p) if steps.phasing else None
        if sides:
            sided = sided_pileups(steps, piled, sides)
            sites = drop_slips(sites, around, sided, piled.copies, steps.platform.gaps)
    depths = Depths(first_place(around.start), np.stack(noted))
    bases = steps.bases(around.contig)
    here = Here(reads, around, depths, sides, steps.ploidies, bases, limited)
    with steps.metrics.time("regions"):
        places = find_clip_places(reads, around, piled.copies)
        mates = partial(find_lost, steps.alignments, around.contig)
        sites, unknown = add_clipped(reads, places, drop_overhangs(reads, places, sites, around), around, mates)
        steps.metrics.count("insertions_not_assembled", counts.lie_within(unknown, window).sum())
        regions, in_region = find_regions(reads, places, sites, around)
        regions = take(regions, "regions", (regions.start < high) & (regions.stop > low))
        single = take(sites, "sites", (sites.position >= low) & (sites.position < high) & ~in_region)
    parts = list[Calls]()
    for some in split_sites(single, reads):
        evidence = weigh_substitutions(reads, some, p)
        with steps.metrics.time("genotypes"):
            parts.append(steps.model.call(some, evidence, None, here))
    if len(regions):
        regional, likelihoods, phase = weigh_regions(steps, regions, sites, here, window)
        with steps.metrics.time("genotypes"):
            parts.append(steps.model.call(regional, likelihoods, phase, here))
    join = partial(join_substitutions, distance=p.max_mnp_distance, reference=bases.letters)
    return steps.model.finish(join_calls(parts, low, high, steps.samples), join)


def weigh_regions(
    steps: CallSteps, regions: Regions, sites: Sites, here: Here, window: TargetStretch
) -> tuple[Sites, Likelihoods, Phase]:
    """Weigh sites in the regions by whole haplotypes. Bases of low quality do not count."""
    metrics, reads = steps.metrics, here.reads
    p, around = steps.parameters, here.window
    usable = replace(reads, qualities=reads.qualities * (reads.qualities >= p.min_base_quality))
    regions, (sites, not_tried) = split_samples(regions, reads), limit_alleles(sites, around)
    copies = steps.ploidies.max_within(regions.contig, regions.start, regions.stop)
    ploidy = copies[np.arange(len(regions)), regions.sample]
    regions = thin_reads(regions, reads, p.max_region_reads * np.maximum(ploidy.astype(np.int64), COPIES) // COPIES)
    with metrics.time("haplotypes"):
        haplotypes = build_haplotypes(regions, usable, sites, around, ploidy)
    regions = part_mates(regions, haplotypes, usable)

    def compare_with(haplotypes: Haplotypes) -> WeighedReads:
        with metrics.time("pairhmm"):
            compared = compare(regions, haplotypes, usable, sites, steps.platform.gaps, steps.log_likelihoods)
        counts.count_pairs(metrics, compared, window)
        return compared

    weighed = compare_with(haplotypes)
    counts.count_regions(metrics, weighed, window)
    with metrics.time("alleles"):
        odds = np.empty(0)
        if here.sides:
            sample = reads.sample[regions.read]
            own = ComparisonGroups(regions.read_offsets, regions.read, sample, regions.start, regions.stop)
            odds, *_ = take_sides(here.sides, own, steps.samples)
        assumed = Copies(copies, odds, steps.model.are_fractions)
        asked = frozenset(compress(list_alleles(sites), sites.is_forced))
        regional, likelihoods, phase, left_out = weigh_haplotypes(weighed, compare_with, reads, around, assumed, asked)
    if not_tried:
        left_out += set(not_tried).difference(*variants_of(haplotypes))
    here.limited.extend((*limits_of(weighed), limit_of(left_out)))
    return regional, likelihoods, phase


def link_window(steps: CallSteps, window: Place, max_bases: int | None) -> links.Links:
    """Link the sites of a window, to phase its contig. Raises RegionTooDeepError like `call_window`."""
    assert isinstance(window, TargetStretch), "contigs of long reads share no strip"
    p, noted = steps.parameters, list[ndarray]()
    parts = list[links.Links]()
    reads = read_window(steps, window, DepthLimit(p.max_depth), max_bases)
    if len(reads) == 0:
        return links.no_links()
    piled, _ = pile_up(steps, reads, window)
    reads, around, pileup, copies = piled
    sites = find_sites(pileup, around, p, None, pileups(steps, piled, noted), copies)
    bases, gaps = links.find_linking(
        take(sites, "sites", counts.lie_within(sites.begin, window)), around, steps.platform.gaps
    )
    depths = Depths(first_place(around.start), np.stack(noted))
    for some, evidence in ((bases, weigh_substitutions(reads, bases, p)), (gaps, links.weigh_gaps(reads, gaps))):
        own = steps.ploidies.at(some.contig, some.position)
        expected = SitePriors(own, depths)
        calls = genotype_sites(some, silence_absent(evidence, own), around, expected, p)
        parts.append(links.link_sites(reads, some, calls, evidence))
    return links.join_links(parts)


def pileups(steps: CallSteps, piled: Piled, noted: list[ndarray]) -> Iterator[Pileup]:
    """Yield the pileup of each sample's reads. Each sample's depth is added to `noted`."""
    for sample in range(steps.samples):
        own = piled.pileup
        if steps.samples > 1:
            reads = take(piled.reads, "reads", np.flatnonzero(piled.reads.sample == sample))
            own = count_window(reads, piled.around, steps.parameters)
        noted.append(note_depth(own))
        yield own


def sided_pileups(steps: CallSteps, piled: Piled, sides: Sides) -> list[list[Pileup]]:
    """Return the pileups of each sample's reads by side."""
    reads = piled.reads
    samples = (np.flatnonzero(reads.sample == sample) for sample in range(steps.samples))
    rows = ([own[side] for side in split_sides(sides.odds[own])] for own in samples)
    return [[count_window(take(reads, "reads", own), piled.around, steps.parameters) for own in each] for each in rows]


def found_nothing(steps: CallSteps, window: TargetStretch) -> WindowCalls:
    """Return the results of a window without reads."""
    if not steps.with_bands:
        return WindowCalls(no_calls(steps.samples), None, shallow_runs(None, window, steps.least_depth))
    bases = steps.bases(window.contig).array(window.start, window.stop)
    inside = Window(window.contig, window.start, window.stop, bases, window.start)
    return WindowCalls(no_calls(steps.samples), [unknown_bands(inside, ~window.mask(), ploidy_of(steps, inside))])


def bands_of(steps: CallSteps, piled: Piled, inside: Window, calls: Calls, window: TargetStretch) -> Bands:
    """Return one sample's bands inside the window's targets where no call lies."""
    covered = ~window.mask()
    for position, alleles in zip(calls.position.tolist(), calls.alleles, strict=True):
        covered[max(0, position - window.start) : max(0, position + len(alleles[0]) - window.start)] = True
    ploidy, called = ploidy_of(steps, inside), find_called(calls, inside)
    return reference_bands(piled.pileup, piled.reads, inside, covered, ploidy, (called, steps.platform.gaps))


def ploidy_of(steps: CallSteps, window: Window) -> ndarray:
    """Return the ploidy of one sample at each position."""
    return steps.ploidies.at(window.contig, np.arange(window.start, window.stop))[:, 0]
