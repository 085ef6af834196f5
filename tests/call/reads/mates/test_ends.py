"""Clips that hang over the ends of a contig."""

import numpy as np
import pytest

from helpers.making import Read, aligned_reads, other, random_sequence, window_of
from readwarp.call.reads.mates.join import MAX_END, align_overhangs
from readwarp.rules.bases import OUTSIDE

SEQUENCE = random_sequence(400, seed=41)
BEYOND = random_sequence(40, seed=42)


def overhanging(distance: int, changed: list[int], over: int = 30) -> Read:
    """A read clipped `distance` bases before the contig's end, `over` bases beyond it; those `changed` differ."""
    bases = list(SEQUENCE[300:] + BEYOND[:over])
    for at in changed:
        bases[100 - at] = other(bases[100 - at])
    size = len(bases)
    return Read(300, f"{100 - distance}M{distance + over}S", "".join(bases), (30,) * size, name=f"{distance}.{changed}")


def turned(read: Read) -> Read:
    """Turn a read at the contig's end into one at its beginning."""
    size, kept = len(read.bases), int(read.cigar.split("M")[0])
    return Read(100 - kept, f"{size - kept}S{kept}M", read.bases[::-1], read.qualities, name=read.name)


def aligned_by(read: Read, is_turned: bool) -> tuple[int, int, list[tuple[int, int]]]:
    """Position, stop and runs of the read afterwards."""
    bases = SEQUENCE[::-1] if is_turned else SEQUENCE
    reads = aligned_reads([turned(read) if is_turned else read])
    out = align_overhangs(reads, window_of(bases))
    return int(out.position[0]), int(out.reference_stop[0]), [(int(c >> 4), int(c & 15)) for c in out.cigar]


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize(
    ("distance", "changed", "over", "is_aligned"),
    [
        (1, [1], 30, True),
        (6, [6], 30, True),
        (MAX_END, [MAX_END], 30, True),
        (MAX_END + 1, [MAX_END + 1], 30, False),
        (6, [6, 2], 30, False),
        (6, [6], 0, False),  # ends with the contig
        (6, [6], 1, True),
    ],
)
def test_reads_with_one_difference_are_aligned_to_the_end(distance, changed, over, is_aligned, is_turned):
    position, stop, runs = aligned_by(overhanging(distance, changed, over), is_turned)
    clipped, matched = (over, 100) if is_aligned else (over + distance, 100 - distance)
    assert sorted(runs) == sorted([(clipped, 4), (matched, 0)])
    assert runs[0][1] == (4 if is_turned else 0)
    assert (position, stop) == ((100 - matched, 100) if is_turned else (300, 300 + matched))


def test_reads_elsewhere_stay_and_all_are_in_order():
    first = [turned(overhanging(6, [6])), turned(overhanging(3, [3]))]
    reads = [Read(2, "50M", SEQUENCE[::-1][2:52], (30,) * 50, name="x"), *first]
    reads += [Read(200, "50M30S", SEQUENCE[::-1][200:250] + BEYOND[:30], (30,) * 80, name="y")]
    out = align_overhangs(aligned_reads(sorted(reads, key=lambda read: read.position)), window_of(SEQUENCE[::-1]))
    assert out.position.tolist() == [0, 0, 2, 200]
    inner = aligned_reads(reads[:1])
    assert align_overhangs(inner, window_of(SEQUENCE[::-1])) is inner


def test_the_end_of_a_contig_on_a_strip():
    """Where another contig follows on the axis."""
    window = window_of(SEQUENCE + "N" * 50 + SEQUENCE)
    bases = window.bases.copy()
    bases[400:450] = OUTSIDE
    out = align_overhangs(aligned_reads([overhanging(6, [6])]), window._replace(bases=bases))
    assert out.reference_stop.tolist() == [400]
    assert (np.diff(out.cigar_offsets) == 2).all()
