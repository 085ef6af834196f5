"""Run the steps of calling on one window of the reference.

    AlignedReads -> mates -> pileup -> sites -> regions -> haplotypes -> pairhmm -> alleles \\
                                         \\-> single substitutions -> evidence ------------> genotypes -> Calls

A window is read with a margin of MARGIN bases on either side, beyond which nothing reaches into it, so its calls do not
depend on window borders or threads.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from readwarp.batches import (
    AlignedReads,
    Bands,
    Calls,
    Haplotypes,
    Likelihoods,
    Phase,
    Pileup,
    Regions,
    Sites,
    Window,
)
from readwarp.call.candidates.pileup import MAX_INDEL
from readwarp.call.candidates.pileup.events import PileupLimits
from readwarp.call.candidates.qualities import check_qualities, count_missing
from readwarp.call.candidates.regions.clips import add_clipped, drop_overhangs, find_clip_places
from readwarp.call.candidates.regions.find import find_regions
from readwarp.call.candidates.regions.reads import thin_reads
from readwarp.call.candidates.regions.samples import split_samples
from readwarp.call.candidates.sites import MAX_TRACT
from readwarp.call.candidates.sites.find import find_sites, limit_alleles
from readwarp.call.candidates.sites.forced import Forced
from readwarp.call.candidates.sites.slips import drop_slips
from readwarp.call.fractions.calls import call_alleles
from readwarp.call.fractions.events import count_events
from readwarp.call.fractions.given import GivenFractions
from readwarp.call.fractions.tally import orientations_of
from readwarp.call.genome.depths import find_shallow, on_contig, split_runs
from readwarp.call.likelihoods.alleles.compare import WeighedReads, compare
from readwarp.call.likelihoods.alleles.copies import part_mates
from readwarp.call.likelihoods.alleles.select import Copies
from readwarp.call.likelihoods.alleles.sites import forced_variants, variants_of
from readwarp.call.likelihoods.alleles.weigh import weigh_haplotypes
from readwarp.call.likelihoods.evidence.substitutions import split_sites, weigh_substitutions
from readwarp.call.likelihoods.haplotypes.build import build_haplotypes
from readwarp.call.likelihoods.pairhmm import LogLikelihoods
from readwarp.call.likelihoods.phase.gaps import find_linking, weigh_gaps
from readwarp.call.likelihoods.phase.links import join_links, link_sites, no_links
from readwarp.call.likelihoods.phase.sides import ComparisonGroups, find_sides, take_sides
from readwarp.call.likelihoods.phase.types import Links, Phasing
from readwarp.call.noise.counts import ErrorCounts, count_errors
from readwarp.call.places.bases import Bases
from readwarp.call.places.grid import BLOCK
from readwarp.call.places.ploidy import Ploidies
from readwarp.call.places.strips import Place, Strip, StripBases
from readwarp.call.places.targets import MARGIN, TargetStretch
from readwarp.call.reads.depth.limit import DepthLimit
from readwarp.call.reads.inputs import AlignmentFiles
from readwarp.call.reads.mates.cut import cut_long
from readwarp.call.reads.mates.join import Removed, join_mates
from readwarp.call.reads.mates.lost import find_lost
from readwarp.call.reads.mates.primers import NO_PRIMERS, Primers, primers_along
from readwarp.call.reads.platforms import Platform
from readwarp.call.reads.sides import Sides, split_sides
from readwarp.call.records.confidence import REACH
from readwarp.call.records.confidence.bands import reference_bands, split_bands, unknown_bands
from readwarp.call.records.confidence.other import add_non_ref
from readwarp.call.records.confidence.repeats import find_called
from readwarp.call.records.counts import count_pairs, count_regions, count_removed, find_long_indels, lie_within
from readwarp.call.records.found import WindowCalls
from readwarp.call.records.genotypes.calls import join_calls, keep_calls, mark_overlaps, move_back, no_calls
from readwarp.call.records.genotypes.genotype import genotype_sites
from readwarp.call.records.genotypes.mnps import join_substitutions
from readwarp.call.records.genotypes.places import join_places
from readwarp.call.records.genotypes.rarest import drop_rarest, silence_absent
from readwarp.call.records.genotypes.surroundings import Depths, PairSides, SitePriors, first_place, note_depth
from readwarp.call.records.limits import ALLELES, Limited, limit_of, limits_of, mark_limits
from readwarp.call.records.origin import cut_at_origin
from readwarp.config import CallParameters
from readwarp.device.backend import Backend
from readwarp.index.reference import Reference
from readwarp.metrics import Metrics
from readwarp.ragged import replace, take
from readwarp.rules.shares import COPIES

CALL_MARGIN = MAX_INDEL + 1  # bases around a window whose calls may overlap one in it ...
BAND_MARGIN = CALL_MARGIN + MAX_TRACT + REACH  # ... or be adjacent to its blocks


class Around(NamedTuple):
    """Surroundings of the sites of a window."""

    window: Window
    depths: Depths
    sides: Sides | None  # None: haplotypes are unknown


@dataclass(frozen=True, slots=True)
class CallSteps:
    """Steps and parameters that all windows share."""

    reference: Reference
    alignments: AlignmentFiles
    parameters: CallParameters
    backend: Backend
    metrics: Metrics
    ploidies: Ploidies
    forced: Forced | None
    primers: dict[int, Primers]  # by reference contig, if it has any
    with_bands: bool
    platform: Platform
    phasing: Phasing | None = None  # phasing of the contig
    shared: LogLikelihoods | None = None  # likelihoods by a card in another process; None: the backend's
    given: GivenFractions | None = None  # if alleles have fractions
    least_depth: int = 0  # least depth of a base of the consensus genome
    strip: Strip | None = None  # its axis is contig 0; None: contigs are the reference's

    @property
    def samples(self) -> int:
        return len(self.alignments.samples)

    @property
    def _log_likelihoods(self) -> LogLikelihoods:
        return self.shared or self.backend.step("readwarp.call.likelihoods.pairhmm").log_likelihoods

    def call(self, window: Place, max_bases: int | None) -> WindowCalls:
        """Call a window. Raises RegionTooDeepError if its reads have more than `max_bases`."""
        if not isinstance(window, Strip):
            return self._call(window, max_bases)
        found = self._along(window)._call(window.as_stretch(), max_bases)
        bands, shallow = found.bands and split_bands(found.bands[0], window), split_runs(found.shallow[:, 1:], window)
        return WindowCalls(move_back(found.calls, window), bands, shallow)

    def learn(self, window: Place, max_bases: int | None) -> ErrorCounts | None:
        """Count the window's errors; None without reads. Raises RegionTooDeepError like `call`."""
        if not isinstance(window, Strip):
            return self._learn(window, max_bases)
        return self._along(window)._learn(window.as_stretch(), max_bases)

    def _along(self, strip: Strip) -> "CallSteps":
        return replace(
            self,
            alignments=self.alignments.along(strip, StripBases(self.reference, strip)),
            ploidies=self.ploidies.along(strip),
            forced=self.forced.along(strip) if self.forced else None,
            primers=primers_along(self.primers, strip),
            strip=strip,
        )

    def _bases(self, contig: int) -> Bases:
        return StripBases(self.reference, self.strip) if self.strip else Bases(self.reference, contig)

    def _call(self, window: TargetStretch, max_bases: int | None) -> WindowCalls:
        contig, start, stop, _ = window
        is_inside, limit = window.mask(), DepthLimit(self.parameters.max_depth)
        reads, low, high = self._read(window, limit, max_bases)
        for name, positions in (
            ("reads_used", reads.position),
            ("reads_beyond_max_depth", limit.lost),
            ("reads_without_sample", reads.unassigned),
            ("reads_without_qualities", count_missing(reads)),
            ("indels_too_long", find_long_indels(reads)),
        ):
            own = positions[(positions >= start) & (positions < stop)]
            self.metrics.count(name, is_inside[own - start].sum())
        self.metrics.count("bases_counted", 0)
        if len(reads) == 0 and not self.forced:
            shallow = self._find_shallow(np.zeros((stop - start, 1, 1), np.int32), window)
            return WindowCalls(no_calls(self.samples), [self._unknown(window)] if self.with_bands else None, shallow)
        reads, around, pileup, removed = self._pile_up(contig, low, high, reads)
        count_removed(self.metrics, removed, window, self.primers.get(contig, NO_PRIMERS).start.size > 0)
        counts = pileup.counts[start - low : stop - low]
        self.metrics.count("bases_counted", (counts if is_inside.all() else counts[is_inside]).sum())
        here = replace(around.trim(), start=start, stop=stop)
        check_qualities(reads, pileup, here, is_inside, self.metrics)
        limited = [Limited("depth", limit.blocks * BLOCK, (limit.blocks + 1) * BLOCK)]
        calls = self._genotype(reads, pileup, around, window, limited)
        calls = cut_at_origin(calls, self.strip, self._bases(contig).letters)
        for places in (limit.start - start for limit in limited if limit.name == ALLELES):
            self.metrics.count("alleles_left_out", is_inside[places[(places >= 0) & (places < stop - start)]].sum())
        kept = keep_calls(join_calls((calls,), start, stop, self.samples), start, is_inside)
        if not self.with_bands:
            return WindowCalls(mark_limits(kept, limited), None, self._find_shallow(counts, window))
        return WindowCalls(
            mark_limits(join_places(kept), limited), [self._bands(reads, pileup, here, calls, ~is_inside)]
        )

    def _find_shallow(self, counts: np.ndarray, window: TargetStretch) -> np.ndarray:
        return on_contig(find_shallow(counts, window.mask(), window.start, self.least_depth), window.contig)

    def _read(self, window: TargetStretch, limit: DepthLimit, max_bases: int | None) -> tuple[AlignedReads, int, int]:
        """Read a window and its margin; return the reads and that range."""
        low, high = max(0, window.start - MARGIN), min(self._bases(window.contig).length, window.stop + MARGIN)
        with self.metrics.time("read_alignments"):
            return self.alignments.read((window.contig, low, high), limit, max_bases), low, high

    def _pile_up(
        self, contig: int, low: int, high: int, reads: AlignedReads
    ) -> tuple[AlignedReads, Window, Pileup, Removed]:
        """Join the mates of reads and pile them up; also return the bases that were removed."""
        around = self._around(contig, low, high, reads)
        with self.metrics.time("mates"):
            primers = self.primers.get(contig, NO_PRIMERS)
            reads, removed = join_mates(reads, around, primers, self.parameters.ignore_soft_clips)
            if self.platform.is_long:  # to the window and its margin, and MARGIN more, which is beyond FAR
                reads = cut_long(reads, low - MARGIN, high + MARGIN)
        with self.metrics.time("pileup"):
            pileup = self.backend.step("readwarp.call.candidates.pileup").count_window(reads, around, self.parameters)
        return reads, around, pileup, removed

    def link(self, window: Place, max_bases: int | None) -> Links:
        """Return the window's links to phase its contig. Raises RegionTooDeepError like `call`."""
        assert isinstance(window, TargetStretch), "contigs of long reads share no strip"
        reads, low, high = self._read(window, DepthLimit(self.parameters.max_depth), max_bases)
        if len(reads) == 0:
            return no_links()
        reads, around, pileup, _ = self._pile_up(window.contig, low, high, reads)
        copies, noted = self.ploidies.at(around.contig, np.arange(around.start, around.stop)), list[np.ndarray]()
        sites = find_sites(pileup, around, self.parameters, None, self._pileups(reads, pileup, around, noted), copies)
        bases, gaps = find_linking(take(sites, "sites", lie_within(sites.begin, window)), around, self.platform.gaps)
        depths, parts = Depths(first_place(around.start), np.stack(noted)), list[Links]()
        weighed = (bases, weigh_substitutions(reads, bases, self.parameters)), (gaps, weigh_gaps(reads, gaps))
        for some, evidence in weighed:
            copies = self.ploidies.at(some.contig, some.position)
            own, expected = silence_absent(evidence, copies), SitePriors(copies, depths)
            calls = genotype_sites(some, own, around, expected, self.parameters)
            parts.append(link_sites(reads, some, calls, evidence))
        return join_links(parts)

    def _learn(self, window: TargetStretch, max_bases: int | None) -> ErrorCounts | None:
        reads, low, high = self._read(window, DepthLimit(self.parameters.max_depth), max_bases)
        if len(reads) == 0:
            return None
        reads, around, pileup, _ = self._pile_up(window.contig, low, high, reads)
        limits = PileupLimits(window.start, window.stop, self.parameters.min_base_quality)
        common = self.given.common(window, self.reference, self.strip) if self.given else None
        pileups = self._pileups(reads, pileup, around, [])
        return count_errors(reads, orientations_of(reads), around, pileups, (limits, window.mask()), common)

    def _genotype(
        self, reads: AlignedReads, pileup: Pileup, around: Window, window: TargetStretch, limited: list[Limited]
    ) -> Calls:
        """Call sites in the window, and around it as far as they matter inside. Omissions are added to `limited`."""
        p = self.parameters
        margin = BAND_MARGIN if self.with_bands else CALL_MARGIN
        low, high = window.start - margin, window.stop + margin
        copies = self.ploidies.at(around.contig, np.arange(around.start, around.stop))
        noted: list[np.ndarray] = []
        with self.metrics.time("sites"):
            sites = find_sites(pileup, around, p, self.forced, self._pileups(reads, pileup, around, noted), copies)
            sides = find_sides(reads, self.phasing, around, p) if self.phasing else None
            if sides:
                sites = drop_slips(sites, around, self._sided(reads, sides, around), copies, self.platform.gaps)
        with self.metrics.time("regions"):
            places = find_clip_places(reads, around, copies)
            mates = partial(find_lost, self.alignments, around.contig)
            sites, unknown = add_clipped(reads, places, drop_overhangs(reads, places, sites, around), around, mates)
            self.metrics.count("insertions_not_assembled", lie_within(unknown, window).sum())
            regions, in_region = find_regions(reads, places, sites, around)
            regions = take(regions, "regions", (regions.start < high) & (regions.stop > low))
        single = take(sites, "sites", (sites.position >= low) & (sites.position < high) & ~in_region)
        known, parts = Around(around, Depths(first_place(around.start), np.stack(noted)), sides), list[Calls]()
        for some in split_sites(single, reads):
            evidence = weigh_substitutions(reads, some, p)
            with self.metrics.time("genotypes"):
                parts.append(self._call_sites(some, evidence, reads, known, limited))
        if len(regions):
            regional, likelihoods, phase, own_limits = self._weigh(reads, regions, sites, around, (window, sides))
            limited += own_limits
            with self.metrics.time("genotypes"):
                parts.append(self._call_sites(regional, likelihoods, reads, known, limited, phase))
        calls = join_calls(parts, low, high, self.samples)
        calls = calls if p.fractions else mark_overlaps(calls)
        calls = join_substitutions(calls, p.max_mnp_distance, self._bases(around.contig).letters)
        return count_events(calls, p.fractions) if p.fractions else calls

    def _pileups(
        self, reads: AlignedReads, pileup: Pileup, around: Window, noted: list[np.ndarray]
    ) -> Iterator[Pileup]:
        """Yield the pileup of each sample's reads; `pileup` is that of all. Each sample's depth is added to `noted`."""
        count_window = self.backend.step("readwarp.call.candidates.pileup").count_window
        order = np.argsort(reads.sample, kind="stable")
        bounds = np.searchsorted(reads.sample[order], np.arange(self.samples + 1)).tolist()
        for first, stop in pairwise(bounds):
            own = pileup
            if self.samples > 1:
                own = count_window(take(reads, "reads", order[first:stop]), around, self.parameters)
            noted.append(note_depth(own))
            yield own

    def _sided(self, reads: AlignedReads, sides: Sides, around: Window) -> list[list[Pileup]]:
        """Return the pileups of each sample's reads by side."""
        count_window = self.backend.step("readwarp.call.candidates.pileup").count_window
        samples = (np.flatnonzero(reads.sample == sample) for sample in range(self.samples))
        rows = ([own[side] for side in split_sides(sides.odds[own])] for own in samples)
        return [[count_window(take(reads, "reads", own), around, self.parameters) for own in each] for each in rows]

    def _call_sites(
        self,
        sites: Sites,
        likelihoods: Likelihoods,
        reads: AlignedReads,
        around: Around,
        limited: list[Limited],
        phase: Phase | None = None,
    ) -> Calls:
        """Call sites. phase: of sites in regions, where reads were compared with haplotypes."""
        if self.given is not None:
            given, known = self.given, self.given.known(sites, self.reference, self.strip)
            setting = given.setting(self.parameters, self.backend)
            return call_alleles(sites, (likelihoods, phase), reads, around.window, known, setting)
        copies = self.ploidies.at(sites.contig, sites.position)
        likelihoods = silence_absent(likelihoods, copies)
        sites, likelihoods, phase, left_out = drop_rarest(sites, likelihoods, phase, copies, int(self.with_bands))
        limited.append(limit_of(left_out))
        if self.with_bands:
            sites, likelihoods = add_non_ref(sites, likelihoods)
        sides = None
        if around.sides:
            spans = (phase.start, phase.stop) if phase else (sites.begin, sites.stop)
            groups = ComparisonGroups(likelihoods.pair_offsets, likelihoods.read, likelihoods.sample, *spans)
            sides = PairSides(*take_sides(around.sides, groups, self.samples))
        expected = SitePriors(copies, around.depths, sides)
        return genotype_sites(sites, likelihoods, around.window, expected, self.parameters, phase)

    def _weigh(
        self,
        reads: AlignedReads,
        regions: Regions,
        sites: Sites,
        around: Window,
        within: tuple[TargetStretch, Sides | None],
    ) -> tuple[Sites, Likelihoods, Phase, list[Limited]]:
        """Weigh sites in the regions by whole haplotypes; also return omissions. Bases of low quality do not count."""
        metrics, qualities, (window, sides) = self.metrics, reads.qualities, within
        usable = replace(reads, qualities=qualities * (qualities >= self.parameters.min_base_quality))
        regions, (sites, not_tried) = split_samples(regions, reads), limit_alleles(sites, around)
        copies = self.ploidies.max_within(regions.contig, regions.start, regions.stop)
        ploidy = copies[np.arange(len(regions)), regions.sample]
        most = self.parameters.max_region_reads * np.maximum(ploidy.astype(np.int64), COPIES) // COPIES
        regions = thin_reads(regions, reads, most)
        with metrics.time("haplotypes"):
            haplotypes = build_haplotypes(regions, usable, sites, around, ploidy)
        regions = part_mates(regions, haplotypes, usable)
        with metrics.time("pairhmm"):
            weighed = compare(regions, haplotypes, usable, sites, self.platform.gaps, self._log_likelihoods)
        count_regions(self.metrics, weighed, window)
        count_pairs(self.metrics, weighed, window)

        def compare_more(haplotypes: Haplotypes) -> WeighedReads:
            with metrics.time("pairhmm"):
                more = compare(regions, haplotypes, usable, sites, self.platform.gaps, self._log_likelihoods)
            count_pairs(metrics, more, window)
            return more

        with metrics.time("alleles"):
            odds = np.empty(0)
            if sides:
                own = ComparisonGroups(
                    regions.read_offsets, regions.read, reads.sample[regions.read], regions.start, regions.stop
                )
                odds, *_ = take_sides(sides, own, self.samples)
            shares = self.parameters.fractions is not None
            found = weigh_haplotypes(
                weighed, compare_more, reads, around, Copies(copies, odds, shares), forced_variants(sites)
            )
        *_, left_out = found
        if not_tried:
            left_out += set(not_tried).difference(*variants_of(haplotypes))
        return *found[:3], [*limits_of(weighed), limit_of(left_out)]

    def _bands(self, reads: AlignedReads, pileup: Pileup, window: Window, calls: Calls, covered: np.ndarray) -> Bands:
        """Return one sample's bands where `covered` (bool [bases]) is not set and no call lies."""
        start = window.start
        for position, alleles in zip(calls.position.tolist(), calls.alleles, strict=True):
            covered[max(0, position - start) : max(0, position + len(alleles[0]) - start)] = True
        return reference_bands(pileup, reads, window, covered, self._ploidy(window), find_called(calls, window))

    def _unknown(self, place: TargetStretch) -> Bands:
        """Return the bands of one sample in a window without reads."""
        window = Window(*place[:3], self._bases(place.contig).array(place.start, place.stop), place.start)
        return unknown_bands(window, ~place.mask(), self._ploidy(window))

    def _ploidy(self, window: Window) -> np.ndarray:
        """Return the ploidy of one sample at each position."""
        return self.ploidies.at(window.contig, np.arange(window.start, window.stop))[:, 0]

    def _around(self, contig: int, low: int, high: int, reads: AlignedReads) -> Window:
        """Return [low, high), with the reference as far as reads, or two joined reads, may be compared with it."""
        reach = 2 * int(np.diff(reads.read_offsets).max(initial=0)) + MARGIN
        bases = self._bases(contig)
        first, last = max(0, low - reach), min(bases.length, high + reach)
        return Window(contig, low, high, bases.array(first, last), first)
