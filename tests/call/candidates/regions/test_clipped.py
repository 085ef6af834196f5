"""Insertions and deletions that clipped bases spell."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making import Read, aligned_reads, codes, no_mates, random_sequence, window_of
from readwarp.call.candidates.pileup import count_window
from readwarp.call.candidates.regions.clips import (
    BEGINNING,
    ENDING,
    add_clipped,
    clipped_variants,
    drop_overhangs,
    find_clip_places,
    rejoin,
)
from readwarp.call.candidates.sites.find import find_sites
from readwarp.config import CallParameters
from readwarp.ragged import replace

SEQUENCE = random_sequence(2000, seed=31)
NEW = random_sequence(60, seed=32)
NEXT = dict(zip("ACGT", "CGTA", strict=True))


def clipped(place: int, deleted: int, inserted: str, length: int = 150) -> list[Read]:
    """Reads of a haplotype, each aligned as far as it matches the reference and clipped from there on."""
    haplotype = SEQUENCE[:place] + inserted + SEQUENCE[place + deleted :]
    behind = len(inserted) - deleted
    made = []
    for start in range(place - length + 12, place + len(inserted) - 12, 9):
        bases = haplotype[start : start + length]
        right = next((k for k in range(length) if bases[k] != SEQUENCE[start + k]), length)
        first = start - behind  # of its diagonal at its end
        left = next((k for k in range(length) if bases[-1 - k] != SEQUENCE[first + length - 1 - k]), length)
        if right >= left and length - right >= 8:
            made.append(Read(start, f"{right}M{length - right}S", bases, (35,) * length, name=f"r{start}"))
        elif left > right and length - left >= 8:
            made.append(
                Read(first + length - left, f"{length - left}S{left}M", bases, (35,) * length, name=f"r{start}")
            )
    return made


def alleles_of(reads: list[Read], low: int = 0, high: int = len(SEQUENCE), start: int = 0):
    batch = aligned_reads(reads)
    window = window_of(SEQUENCE[start:], max(low, start), high, start)
    found, _ = clipped_variants(batch, find_clip_places(batch, window), window, no_mates)
    return [(begin, deleted, "".join("ACGT"[b] for b in bases)) for begin, deleted, bases in found]


def leftmost(place: int, deleted: int, inserted: str) -> tuple[int, int, str]:
    """The first place at which an allele of that size gives the same haplotype, found by comparing whole haplotypes."""
    haplotype = SEQUENCE[:place] + inserted + SEQUENCE[place + deleted :]
    for begin in range(place + 1):
        bases = haplotype[begin : begin + len(inserted)]
        if SEQUENCE[:begin] + bases + SEQUENCE[begin + deleted :] == haplotype:
            return begin, deleted, bases
    raise AssertionError


@pytest.mark.parametrize(
    ("place", "deleted", "inserted"),
    [(900, 0, NEW), (900, 0, SEQUENCE[900:942]), (900, 0, SEQUENCE[860:900]), (900, 80, ""), (900, 199, "")],
    ids=["new", "repeat behind", "repeat before", "deletion", "long deletion"],
)
def test_finds_what_clips_spell(place, deleted, inserted):
    reads = clipped(place, deleted, inserted)
    assert alleles_of(reads) == [leftmost(place, deleted, inserted)]
    assert alleles_of(reads, start=300) == [leftmost(place, deleted, inserted)]
    noisy = []
    rng = random.Random(1)
    for read in reads:
        at = rng.randrange(len(read.bases))
        bases = read.bases[:at] + NEXT[read.bases[at]] + read.bases[at + 1 :]
        noisy.append(Read(read.position, read.cigar, bases, read.qualities, name=read.name))
    assert alleles_of(noisy) == [leftmost(place, deleted, inserted)]


def test_a_repeat_is_spelled_as_the_reads_have_it():
    """A second copy of 42 bases that differs from the first in one."""
    copy = SEQUENCE[900:942]
    copy = copy[:20] + NEXT[copy[20]] + copy[21:]
    assert alleles_of(clipped(942, 0, copy)) == [leftmost(942, 0, copy)]


def test_what_is_no_gap_spells_nothing():
    far = [Read(500, "60M60S", SEQUENCE[500:560] + SEQUENCE[1500:1560], (35,) * 120, name=f"r{i}") for i in range(4)]
    assert alleles_of(far) == []
    short = [Read(500, "60M9S", SEQUENCE[500:560] + SEQUENCE[580:589], (35,) * 69, name=f"r{i}") for i in range(4)]
    assert alleles_of(short) == []
    assert alleles_of(clipped(900, 80, "")[:1]) == []
    assert alleles_of(clipped(900, 80, ""), low=950) == []
    assert alleles_of([]) == []


def test_new_bases_before_a_few_that_match_need_clips_on_their_other_side():
    """The clips of a deletion beyond the limit: by chance their last bases are also nearby."""
    far = SEQUENCE[1500:1560] + SEQUENCE[520:532]
    reads = [Read(500 - 60, "60M72S", SEQUENCE[440:500] + far, (35,) * 132, name=f"r{i}") for i in range(4)]
    assert alleles_of(reads) == []
    behind = [Read(520, "20S60M", far[40:60] + SEQUENCE[520:580], (35,) * 80, name=f"l{i}") for i in range(4)]
    assert alleles_of(reads + behind) == [(500, 19, SEQUENCE[1500:1559])]


def test_sites_are_extended():
    """The new site is in order among the others; what CIGARs show already is not added again."""
    reads = [Read(p, "150M", SEQUENCE[p : p + 150], (35,) * 150, name=f"s{p}") for p in range(600, 1200, 10)] + clipped(
        900, 80, ""
    )
    for p, number in ((700, 6), (1100, 6)):
        base = NEXT[SEQUENCE[p]]
        for i in range(number):
            bases = SEQUENCE[p - 50 : p] + base + SEQUENCE[p + 1 : p + 60]
            reads.append(Read(p - 50, "110M", bases, (35,) * 110, name=f"v{p}_{i}"))
    assert begins(reads) == ([700, 1100], [700, leftmost(900, 80, "")[0], 1100])
    bases = SEQUENCE[850:900] + SEQUENCE[980:1030]
    shown = [Read(850, "50M80D50M", bases, (35,) * 100, name=f"d{i}") for i in range(9)]
    before, after = begins(reads + shown)
    assert len(before) == 3
    assert before == after


def begins(reads: list[Read]) -> tuple[list[int], list[int]]:
    batch, window, parameters = aligned_reads(reads), window_of(SEQUENCE), CallParameters()
    sites = find_sites(count_window(batch, window, parameters), window, parameters)
    extended, unknown = add_clipped(batch, find_clip_places(batch, window), sites, window, no_mates)
    assert unknown.size == 0
    assert extended.allele_offsets[-1] == extended.deleted.size == extended.is_forced.size
    assert extended.inserted_offsets[-1] == extended.inserted.size
    assert (np.diff(extended.begin - extended.is_indel) >= 0).all()
    return sites.begin.tolist(), extended.begin.tolist()


def expected_rejoin(consensus: str, place: int, reference: str) -> tuple[int, int]:
    """To the right: new bases fewest, then nearest, then further on; mismatches one in ten."""
    ways = []
    for new in range(len(consensus) - 9):
        rest = consensus[new:]
        for boundary in range(max(0, place - 200), min(place + 200, len(reference) - len(rest)) + 1):
            errors = sum(a != b for a, b in zip(rest, reference[boundary:], strict=False))
            if (new or boundary != place) and errors <= len(rest) // 10:
                ways.append((new, abs(boundary - place), -boundary, boundary))
    return (min(ways)[3], min(ways)[0]) if ways else (-1, 0)


@settings(max_examples=60)
@given(st.data())
def test_rejoining_equals_plain_python(data):
    reference = data.draw(st.text("AC", min_size=30, max_size=300))
    place = data.draw(st.integers(0, len(reference)))
    source = data.draw(st.integers(0, len(reference) - 5))
    consensus = data.draw(st.text("AC", max_size=8)) + reference[source : source + data.draw(st.integers(0, 30))]
    found = rejoin(codes(consensus).astype(np.int64), place, ENDING, codes(reference), 200)
    assert found == expected_rejoin(consensus, place, reference)
    # the other side is the mirror image
    mirrored = rejoin(codes(consensus).astype(np.int64), len(reference) - place, BEGINNING, codes(reference[::-1]), 200)
    ways = expected_rejoin(consensus, place, reference)
    if ways[0] >= 0:
        distance = abs(ways[0] - place)
        assert (abs(mirrored[0] - (len(reference) - place)), mirrored[1]) == (distance, ways[1])
    else:
        assert mirrored == (-1, 0)


@pytest.mark.parametrize("copies", [1, 2])
def test_what_only_overhanging_ends_show_is_no_site(copies):
    """At a deletion of 600 bases: reads that have few bases beyond it are aligned as if these differed."""
    haplotype, place, gone, reads = SEQUENCE[:900] + SEQUENCE[1500:], 900, 600, []
    for start in range(700, 1100, 4):
        before, bases, name = place - start, haplotype[start : start + 150], f"r{start}"
        position, cigar = start, "150M"
        if before < 8:
            position = start + gone
        elif before < 75:
            position, cigar = place + gone, f"{before}S{150 - before}M"
        elif before < 143:
            cigar = f"{before}M{150 - before}S"
        reads.append(Read(position, cigar, bases, (35,) * 150, name=name))
    if copies == 1:
        reads += [Read(p, "150M", SEQUENCE[p : p + 150], (35,) * 150, name=f"s{p}") for p in range(700, 1700, 4)]
    batch, window, parameters = aligned_reads(reads), window_of(SEQUENCE), CallParameters()
    sites, places = (
        find_sites(count_window(batch, window, parameters), window, parameters),
        find_clip_places(batch, window),
    )
    assert places.ending.tolist() == [900]
    assert places.beginning.tolist() == [1500]
    left = drop_overhangs(batch, places, sites, window)
    if copies == 2:
        assert len(sites.begin) > 0
        assert len(left.begin) == 0
        forced = replace(sites, is_forced=np.ones_like(sites.is_forced))
        assert len(drop_overhangs(batch, places, forced, window).begin) == len(sites.begin)
    else:
        assert left.begin.tolist() == sites.begin.tolist()
