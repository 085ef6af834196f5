"""Reads on the axis of a circle: clips that continue across the origin, and records that are doubles."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helpers.making import Read, aligned_reads, codes, random_sequence
from readwarp.call.places.circle import Circle
from readwarp.call.places.targets import Target, stretch_of
from readwarp.call.reads.circular import END_BONUS, MATCHES, MISMATCH, continue_clips, drop_doubles, sort_reads
from readwarp.pairwise.scalar import UNKNOWN_COST
from readwarp.ragged import check
from readwarp.rules.cigar import LETTERS

LENGTH = 600
CIRCLE = Circle((stretch_of([Target(0, 0, LENGTH)]),), (LENGTH,))
HOME = CIRCLE.home


class Axis:
    """Bases of an axis on which a text follows itself, with its first base at a place."""

    def __init__(self, text: str, home: int):
        self.text, self.home, self.length = text, home, 10 * home

    def array(self, start: int, stop: int) -> np.ndarray:
        return codes("".join(self.text[(i - self.home) % len(self.text)] for i in range(start, stop)))


def size_by_trial(clip: str, beside: str) -> int:
    """How many bases of a clip, outwards, are best aligned."""
    scores = [0]
    for own, other in zip(clip, beside, strict=True):
        step = -UNKNOWN_COST if "N" in (own, other) else MATCHES if own == other else -MISMATCH
        scores.append(scores[-1] + step)
    scores[-1] += END_BONUS if clip else 0
    return scores.index(max(scores))


@st.composite
def clipped(draw):
    """A short circle, and a read near one of its ends with clips that are much like what is on the other side."""
    text = draw(st.text("ACGTN", min_size=12, max_size=40))
    start, size = draw(st.integers(0, 11)), draw(st.integers(1, 12))
    size = min(size, len(text) - start)

    def clip(*places):
        return "".join(draw(st.sampled_from((text[i % len(text)], text[i % len(text)], "A"))) for i in places)

    before, after = draw(st.integers(0, 12)), draw(st.integers(0, 30))
    bases = clip(*range(start - before, start + size + after))
    hard = draw(st.sampled_from(("", "3H")))
    cigar = hard + (f"{before}S" if before else "") + f"{size}M" + (f"{after}S" if after else "") + hard
    return text, Read(100 + start, cigar, bases, (30,) * len(bases))


@given(clipped(), clipped())
def test_clips_continue_as_far_as_that_scores_best(one, other):
    for text, read in (one, other):
        axis = Axis(text, 100)
        ends = 100, 100 + len(text)
        out = continue_clips(aligned_reads([read]), axis, ends)
        check(out)
        operations = [(n, o) for n, o in read.operations if o != "H"]
        before, after = (operations[k][0] if operations[k][1] == "S" else 0 for k in (0, -1))
        around = "".join("ACGTN"[base] for base in axis.array(read.position - before, read.stop + after))
        left = size_by_trial(read.bases[:before][::-1], around[:before][::-1])
        right = size_by_trial(read.bases[len(read.bases) - after :], around[len(around) - after :])
        left = left if read.position - before < ends[0] else 0
        right = right if read.stop + after > ends[1] else 0
        assert (out.position[0], out.reference_stop[0]) == (read.position - left, read.stop + right)
        hard = "3H" if "H" in read.cigar else ""
        runs = ((before - left, "S"), (read.stop - read.position + left + right, "M"), (after - right, "S"))
        expected = hard + "".join(f"{n}{o}" for n, o in runs if n) + hard
        assert "".join(f"{code >> 4}{LETTERS[code & 15]}" for code in out.cigar.tolist()) == expected


def test_other_operations_stay_and_reads_that_reach_no_end_too():
    text = random_sequence(LENGTH, 2)
    axis, twice = Axis(text, HOME), text * 2
    inner = Read(HOME + 50, "9S20M", "A" * 29, (30,) * 29)
    over = Read(HOME + LENGTH - 20, "4S5M2D6M1I7M30S", "G" * 23 + twice[LENGTH : LENGTH + 30], (30,) * 53)
    out = continue_clips(aligned_reads([inner, over]), axis, (HOME, HOME + LENGTH))
    first, last = out.cigar_offsets[1:]
    assert [f"{code >> 4}{LETTERS[code & 15]}" for code in out.cigar[:first]] == ["9S", "20M"]
    assert [f"{code >> 4}{LETTERS[code & 15]}" for code in out.cigar[first:last]] == [
        "4S",
        "5M",
        "2D",
        "6M",
        "1I",
        "37M",
    ]
    assert out.reference_stop[1] == HOME + LENGTH + 30


def test_supplementary_records_within_a_read_across_the_origin_are_dropped():
    end = HOME + LENGTH
    whole = Read(end - 60, "100M", "A" * 100, (30,) * 100, 0x41, name="x")
    double = replace(whole, position=end, cigar="60H40M", bases="A" * 40, qualities=(30,) * 40, flag=0x841)
    others = [
        replace(double, flag=0x881),  # of the mate
        replace(double, flag=0x851),  # of the other strand
        replace(double, name="y"),
        replace(double, cigar="60H41M", bases="A" * 41, qualities=(30,) * 41),  # reaches further
        replace(double, position=end - LENGTH),  # on another copy
    ]
    reads = sorted([whole, double, *others], key=lambda read: read.position)
    out = drop_doubles(aligned_reads(reads), CIRCLE)
    kept = [read for read in reads if read is not double]
    assert out.position.tolist() == [read.position for read in kept]
    assert out.flag.tolist() == [read.flag for read in kept]
    inner = [replace(read, position=read.position - 200) for read in reads]
    assert len(drop_doubles(aligned_reads(inner), CIRCLE)) == len(inner)


@given(st.lists(st.integers(0, 30), max_size=12))
def test_reads_are_sorted_stably(places):
    """Bases and names move with their reads."""
    reads = [Read(100 + p, f"{i + 1}M", "ACGT"[p % 4] * (i + 1), (30,) * (i + 1)) for i, p in enumerate(places)]
    out = sort_reads(aligned_reads(reads))
    check(out)
    expected = aligned_reads(sorted(reads, key=lambda read: read.position))
    for name in ("position", "reference_stop", "cigar", "bases", "read_offsets", "cigar_offsets"):
        assert getattr(out, name).tolist() == getattr(expected, name).tolist()
