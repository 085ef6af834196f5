"""Call alleles at any fraction of the molecules from sites and likelihoods. See the package's text."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.likelihoods.batches import Likelihoods, Phase
from readwarp.call.places.bases import Window
from readwarp.call.records.filters import find_failed
from readwarp.call.records.genotypes.emitted import MISSING_BASE
from readwarp.call.records.genotypes.spell import ListedRecords, Spelled, spell_alleles
from readwarp.config import CallParameters, FractionParameters
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.variants.calls import Calls
from readwarp.ragged import replace
from readwarp.somatic.fractions import EMIT, annotations, products
from readwarp.somatic.fractions.contrasts import contrast
from readwarp.somatic.fractions.events import link_records
from readwarp.somatic.fractions.filters import FILTERS, FractionFacts
from readwarp.somatic.noise.fit import AlleleNoise, Noise, noise_of

TINY = 1e-9  # rounding error of a share
GENOTYPES = {-1: (-1, -1), 0: (0, 0), 1: (0, 1), 2: (1, 1)}


class Setting(NamedTuple):
    """Parameters and facts that all sites share."""

    parameters: CallParameters  # with fractions
    is_normal: Annotated[ndarray, "bool [samples]"]
    noise: Noise
    contamination: Annotated[ndarray, "float64 [samples]"]  # NaN: unknown
    is_blind: bool = False  # nothing tells mutations from inherited variants

    @property
    def fractions(self) -> FractionParameters:
        assert self.parameters.fractions is not None
        return self.parameters.fractions


class WeighedAlleles(NamedTuple):
    """Alleles weighed by the reads of each sample."""

    share: ndarray  # [alleles, samples]
    evidence: products.FractionEvidence  # [alleles, samples]
    tumour_share: ndarray  # largest in any sample but the normal, [alleles]
    odds: products.Odds  # [alleles]


def call_alleles(
    sites: Sites,
    compared: tuple[Likelihoods, Phase | None],
    reads: AlignedReads,
    window: Window,
    known: products.PopulationAlleles,
    setting: Setting,
) -> Calls:
    """Call alleles. compared: with the Phase of sites in regions. `window`: the reference around the sites."""
    likelihoods, phase = compared
    orientation, frequency = annotations.orientations_of(reads), known.frequency
    noise = noise_of(sites, window, setting.noise)
    weighed = weigh(sites, likelihoods, orientation, noise, frequency, setting)
    shown = np.max(weighed.evidence.shown, axis=1, where=~setting.is_normal, initial=0.0)
    records = choose_records(sites, shown)
    counts = annotations.tally(sites, likelihoods, orientation, records, ~setting.is_normal)
    rows = records.allele
    odds = products.Odds(*(column[rows] for column in weighed.odds))
    own = products.PopulationAlleles(frequency[rows], known.in_panel[rows])
    information = annotations.describe(odds, own, counts, ~setting.is_normal)
    is_shown = shown[rows] >= EMIT
    siblings = is_shown * (np.bincount(records.site[is_shown], minlength=len(sites)) - 1)[records.site]
    facts = FractionFacts(
        information,
        sites.is_indel[records.site],
        weighed.tumour_share[rows],
        siblings,
        own.in_panel,
        share_of_damage(noise.damage[rows], counts, ~setting.is_normal),
        setting.parameters,
        setting.fractions,
    )
    evidence = products.FractionEvidence(*(column[rows] for column in weighed.evidence)), weighed.share[rows]
    both = np.stack((sites.allele_offsets[records.site], records.allele), axis=1).ravel()  # REF and ALT of each
    listed = ListedRecords(records.site, np.arange(0, both.size + 1, 2), both, sites.is_indel[records.site])
    spelled = spell_alleles(sites, listed, window)
    linked = link_records(sites, likelihoods, phase.region, records) if phase else np.full(rows.size, -1)
    event = np.where(linked < 0, -1, spelled.position[linked])
    calls = build(spelled, counts, (*evidence, event), setting.is_normal, information, find_failed(FILTERS, facts))
    if not setting.is_blind:
        return calls
    return replace(calls, of_samples={"ORIGIN": np.full(calls.depth.shape, "unknown"), **calls.of_samples})


def weigh(
    sites: Sites,
    likelihoods: Likelihoods,
    orientation: ndarray,
    noise: AlleleNoise,
    frequency: ndarray,
    setting: Setting,
) -> WeighedAlleles:
    """Weigh alleles. orientation: see `contrast`. frequency: see `SomaticPriors`."""
    shape = sites.deleted.size, setting.is_normal.size
    items, contrasts = contrast(sites, likelihoods, orientation, noise.damage, shape[1])
    powers = products.multiply(contrasts)
    rates = noise.copying.ravel(), noise.scattered.ravel(), np.tile(noise.shape, (shape[0], 1))
    flat, share = products.weigh_products(contrasts, powers, rates), items.share.reshape(shape)
    tumour_share = np.max(share, axis=1, where=~setting.is_normal, initial=0.0)

    def at(fraction: ndarray) -> ndarray:
        """Return log10 L of each allele in each sample, at fractions of the same shape."""
        wanted = np.broadcast_to(fraction, shape).ravel()
        return products.likelihoods_at(wanted, contrasts, products.log_likelihoods(powers)).reshape(shape)

    evidence = products.FractionEvidence(*(column.reshape(shape) for column in flat))
    is_indel = np.repeat(sites.is_indel, np.diff(sites.allele_offsets))
    expected = products.SomaticPriors(noise.variants, is_indel, frequency)
    at_tumour = at(tumour_share[:, None]) if setting.is_normal.any() else evidence.none
    odds = products.weigh_alleles(evidence, at_tumour, expected, setting.is_normal, setting.fractions)
    if not np.isnan(setting.contamination[~setting.is_normal]).all():
        foreign = np.nan_to_num(setting.contamination)
        came = products.weigh_foreign(
            evidence, (at(foreign / 2), at(foreign)), expected, setting.is_normal, setting.fractions
        )
        odds = odds._replace(foreign=came)
    share, evidence = of_molecules(sites, share, evidence)
    return WeighedAlleles(share, evidence, np.max(share, axis=1, where=~setting.is_normal, initial=0.0), odds)


def of_molecules(
    sites: Sites, share: ndarray, evidence: products.FractionEvidence
) -> tuple[ndarray, products.FractionEvidence]:
    """Convert shares and bounds from fragments to molecules: an allele of greater reach has more fragments."""
    own, number = 1.0 / sites.reach[:, None], np.diff(sites.allele_offsets)
    rest, others = (
        np.repeat(np.add.reduceat(of, sites.allele_offsets[:-1]), number, axis=0) - of for of in (share, share * own)
    )
    others = np.divide(others, rest, where=rest > TINY, out=np.ones_like(rest))  # molecules per fragment

    def turn(fraction: ndarray) -> ndarray:
        return np.asarray(own * fraction / (own * fraction + others * (1.0 - fraction)))

    return turn(share), evidence._replace(low=turn(evidence.low), high=turn(evidence.high))


def share_of_damage(damage: ndarray, counts: annotations.AlleleTally, is_tumour: ndarray) -> ndarray:
    """Return the ALT reads that damage is expected to make, over those observed (float64 [records]).

    damage: float64 [records, samples, orientations].
    """
    reads = counts.orientations.sum(axis=2)  # [records, samples, orientations]
    expected = (damage * reads)[:, is_tumour].sum(axis=(1, 2))
    return np.asarray(expected / np.maximum(1, counts.reads[:, is_tumour, annotations.OTHER].sum(axis=1)))


def choose_records(sites: Sites, shown: ndarray) -> annotations.TalliedAlleles:
    """Choose the alleles that some molecules have, and forced ones. shown: their LOD (float64 [alleles])."""
    is_other = np.ones(sites.deleted.size, bool)
    is_other[sites.allele_offsets[:-1]] = False
    alone = np.flatnonzero(np.diff(sites.inserted_offsets) == 1)
    is_other[alone[sites.inserted[sites.inserted_offsets[alone]] >= MISSING_BASE]] = False
    rows = np.flatnonzero(is_other & ((shown >= EMIT) | sites.is_forced))
    return annotations.TalliedAlleles(np.searchsorted(sites.allele_offsets, rows, side="right") - 1, rows)


def build(
    spelled: Spelled,
    counts: annotations.AlleleTally,
    shown: tuple[products.FractionEvidence, ndarray, ndarray],
    is_normal: ndarray,
    information: dict[str, ndarray],
    filters: list[tuple[str, ...]],
) -> Calls:
    """Build calls. shown: of the records, with the shares and the events (positions, -1: alone)."""
    (evidence, share, event), (number, samples) = shown, counts.depth.shape
    has_it = (evidence.shown >= EMIT) & ~is_normal
    genotype = np.where(has_it, np.where(evidence.others >= EMIT, 1, 2), 0)
    genotype[counts.depth == 0] = -1
    return Calls(
        contig=np.full(number, spelled.contig, np.int32),
        position=spelled.position,
        alleles=spelled.alleles,
        quality=information["SEQQ"].astype(np.float64),
        genotype=[tuple(GENOTYPES[copies] for copies in own) for own in genotype.tolist()],
        genotype_quality=np.zeros((number, samples), np.int32),
        depth=counts.depth,
        allele_depth=[tuple(map(tuple, own)) for own in counts.reads.tolist()],
        likelihoods=[((),) * samples] * number,
        phase_set=np.where(genotype > 0, event[:, None], -1),
        filters=filters,
        annotations={name: as_column(values) for name, values in information.items()},
        strands=counts.strands.reshape(number, samples, 4),
        independent=counts.independent.reshape(number, samples, 4),
        squares=counts.squares,
        phase_name=[("",) * samples] * number,
        of_samples=annotations.describe_samples(np.where(counts.depth > 0, share, np.nan), evidence, counts),
    )


def as_column(values: ndarray) -> ndarray:
    """Return an array with one item per record; several values become a tuple."""
    if values.ndim == 1:
        return values
    out = np.empty(len(values), object)
    out[:] = list(map(tuple, values.tolist()))
    return out
