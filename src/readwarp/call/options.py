"""Keywords that call, genotype and run share: places, limits of filters, priors."""

from collections.abc import Sequence
from typing import TypedDict

from readwarp.call.places.targets import CallTargets, as_regions, spell_region
from readwarp.config import CallParameters
from readwarp.formats.common.regions import Region
from readwarp.keywords import AnyPath, as_texts, defaults_of


class PlaceOptions(TypedDict, total=False):
    """Places to call; everywhere by default."""

    region: Region | Sequence[Region] | None  # text, or contig, start, stop (0-based, half-open)
    targets: AnyPath | Sequence[AnyPath] | None  # BED files, interval lists, lists of regions, or texts of regions
    interval_padding: int  # bases on either side of regions and targets that are called too
    exclude_regions: AnyPath | Sequence[AnyPath] | None  # what is not called: as targets


class FilterOptions(TypedDict, total=False):
    """Limits of filters, fields of `CallParameters`."""

    min_quality: float
    max_strand_bias: float
    max_indel_strand_bias: float
    min_end_distance: float
    min_allele_fraction: float
    min_haploid_fraction: float
    max_fraction_misfit: float
    min_alt_mapping_quality: float
    min_expected_fraction: float


class PriorOptions(TypedDict, total=False):
    """Priors of variants, before the reads are seen."""

    heterozygosity: float  # chance that a base differs from the reference in a copy of the genome
    indel_heterozygosity: float  # likewise, that an insertion or deletion begins there


PRIORS = {"heterozygosity": "snv_prior", "indel_heterozygosity": "indel_prior"}
LIMITS = {name: name for name in FilterOptions.__annotations__}
DEFAULTS = {**defaults_of(CallParameters(), {**PRIORS, **LIMITS}), "interval_padding": 0}


def places_of(options: PlaceOptions) -> CallTargets:
    """Make the places. Raises UsageError."""
    return CallTargets(
        regions=as_regions(options.get("region")),
        targets=as_texts(options.get("targets")),
        excluded=as_texts(options.get("exclude_regions")),
        padding=options.get("interval_padding") or 0,
    )


def spell_regions(options: PlaceOptions) -> None:
    """Replace regions, if given, by texts as on the command line."""
    regions = as_regions(options.get("region"))
    if regions is not None:
        options["region"] = [spell_region(region) for region in regions]
