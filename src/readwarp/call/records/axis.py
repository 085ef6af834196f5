"""Move the results of a window from the axis of a strip to its contigs."""

from itertools import pairwise

import numpy as np
from numpy import ndarray

from readwarp.call.places.strips import Strip
from readwarp.call.records.found import NO_RUNS, WindowCalls, on_contig
from readwarp.formats.variants.calls import Bands, Calls
from readwarp.ragged import replace, take


def put_back(found: WindowCalls, strip: Strip) -> WindowCalls:
    """Move the results of a window on a strip's axis to the strip's contigs."""
    bands = found.bands and split_bands(found.bands[0], strip)
    return WindowCalls(move_back(found.calls, strip), bands, split_runs(found.shallow[:, 1:], strip))


def move_back(calls: Calls, strip: Strip) -> Calls:
    """Move calls from the axis of a strip to its contigs."""
    if len(calls) == 0:
        return calls
    row, origin_of_set = strip.rows_of(calls.position), strip.origins[strip.rows_of(calls.phase_set)]
    origin, contigs = strip.origins[row], np.array(strip.contigs, np.int32)
    return replace(
        calls,
        contig=contigs[row],
        position=calls.position - origin,
        phase_set=np.where(calls.phase_set >= 0, calls.phase_set - origin_of_set, calls.phase_set),
        phase_name=[
            tuple(_move_name(name, by) for name, by in zip(own, origins, strict=True))
            for own, origins in zip(calls.phase_name, origin_of_set.tolist(), strict=True)
        ],
    )


def split_bands(bands: Bands, strip: Strip) -> list[Bands]:
    """Split bands on a strip's axis into those of its contigs."""
    called = strip.called
    bounds = [*np.searchsorted(bands.start, [origin for _, origin in called]).tolist(), len(bands)]
    own = (take(bands, "blocks", slice(*bound)) for bound in pairwise(bounds))
    return [
        replace(part, contig=stretch.contig, start=part.start - origin, stop=part.stop - origin)
        for part, (stretch, origin) in zip(own, called, strict=True)
    ]


def split_runs(runs: ndarray, strip: Strip) -> ndarray:
    """Move runs from the axis of a strip to its contigs, see `on_contig`."""
    parts = [NO_RUNS]
    for stretch, origin in strip.called:
        own = np.clip(runs - origin, stretch.start, stretch.stop)
        parts.append(on_contig(own[own[:, 0] < own[:, 1]], stretch.contig))
    return np.concatenate(parts)


def _move_name(name: str, by: int) -> str:
    """Move a name made by `name_sets`."""
    position, *rest = name.split("_")
    return "_".join((str(int(position) - by), *rest)) if name else name
