"""Places that call, genotype and run are given."""

from collections.abc import Mapping
from typing import Any

from readwarp.call.places.targets import CallTargets, as_regions, spell_region
from readwarp.config.commands import CallOptions, GenotypeOptions, RunOptions
from readwarp.config.declare import chosen
from readwarp.config.options import CallingOptions
from readwarp.keywords import as_texts


def places_of(options: Mapping[str, Any]) -> CallTargets:
    """Make the places. Raises UsageError."""
    places = chosen(CallingOptions(), options)
    return CallTargets(
        regions=as_regions(places.region),
        targets=as_texts(places.targets),
        excluded=as_texts(places.exclude_regions),
        padding=places.interval_padding,
    )


def spell_regions(options: CallOptions | RunOptions | GenotypeOptions) -> None:
    """Replace regions, if given, by texts as on the command line."""
    regions = as_regions(options.get("region"))
    if regions is not None:
        options["region"] = [spell_region(region) for region in regions]
