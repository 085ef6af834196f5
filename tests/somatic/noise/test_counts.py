"""Errors of a window, counted slowly in plain Python."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.command_samples import reverse_complement
from helpers.making import LETTERS, Read, aligned_reads, random_sequence, reads_of, window_of
from readwarp.call.candidates.pileup import PileupLimits, count_window
from readwarp.config import CallParameters
from readwarp.ragged import replace, take
from readwarp.somatic.fractions.annotations import orientations_of
from readwarp.somatic.noise import CLASSES, CONTEXTS, EXCESS, FEW, MAX_FEW, MAX_SHARE, RUNS, SUBSTITUTIONS
from readwarp.somatic.noise.counts import (
    BINS,
    EXACT,
    GRAIN,
    add_counts,
    bin_of,
    class_of_gap,
    context_of,
    count_errors,
    covered_bases,
    measure_runs,
    no_counts,
    numbers_of_bins,
)

KINDS = ("CA", "CG", "CT", "TA", "TC", "TG")
LENGTH, START, STOP, QUALITY = 40, 3, 36, 10


def slow_context(before: str, base: str, after: str, other: str) -> tuple[int, bool]:
    """From the strand on which the base is C or T."""
    if is_reverse := base in "AG":
        before, base, after = reverse_complement(before + base + after)
        other = reverse_complement(other)
    return KINDS.index(base + other) * 16 + LETTERS.index(before) * 4 + LETTERS.index(after), is_reverse


def slow_run(reference: str, after: int) -> int:
    """Of one base from that position on."""
    run = 0
    while after + run < len(reference) and reference[after + run] == reference[after]:
        run += 1
    return run


def slow_gap(run: int, is_deletion: bool) -> int:
    longest = max(k for k, least in enumerate(RUNS) if run >= least)
    return SUBSTITUTIONS + longest + (len(RUNS) if is_deletion else 0)


def slow_counts(reads: list[Read], reference: str, pileup):
    """(reads, expected, shown: by row of damage and orientation; sites: by class, depth, reads) of one sample."""
    bases = {at: [] for at in range(START, STOP)}  # of each position: (base, error, orientation)
    for read in reads:
        first = (read.flag >> 4 & 1) ^ (read.flag & 1 and not read.flag & 0x40)
        for p, q, operation in read.aligned():
            if operation in "M=X" and p in bases and read.bases[q] != "N":
                quality = min(read.qualities[q], read.mapping_quality)
                if quality >= QUALITY and quality > 1:
                    bases[p].append((read.bases[q], 10 ** (-quality / 10) / 3, first))
    counts = Counter(), Counter(), Counter()
    sites: Counter = Counter()
    for at in range(START + 1, STOP - 1):
        before, base, after = reference[at - 1 : at + 2]
        depth = len(bases[at])
        if "N" in before + base + after or depth == 0:
            continue
        for other in "ACGT":
            shown = [row for row in bases[at] if row[0] == other]
            if other == base or len(shown) > MAX_SHARE * depth:
                continue
            context, is_reverse = slow_context(before, base, after, other)
            sites[context // 16, depth, len(shown)] += 1
            if len(shown) <= max(MAX_FEW, EXCESS * depth + 2 * sum(own[1] for own in bases[at])):
                for side in range(2):
                    row = context, 1 - side if is_reverse else side
                    counts[0][row] += sum(own[2] == side for own in bases[at])
                    counts[1][row] += sum(own[1] for own in bases[at] if own[2] == side)
                    counts[2][row] += sum(own[2] == side for own in shown)
    inside, gaps = reference[START:STOP], Counter()
    for a, anchor in enumerate(pileup.allele_position.tolist()):
        is_deletion = pileup.allele_offsets[a] == pileup.allele_offsets[a + 1]
        gaps[anchor - START, is_deletion] += int(pileup.allele_counts[a].sum())
    for w in range(1, len(inside) - 1):
        depth = int(pileup.counts[w].sum())
        if depth == 0 or inside[w] == inside[w + 1]:  # within a run
            continue
        for is_deletion in (False, True):
            number, own = gaps[w, is_deletion], slow_gap(slow_run(inside, w + 1), is_deletion)
            if number > MAX_SHARE * depth:
                continue
            sites[own, depth, number] += 1
            if number <= max(MAX_FEW, FEW * depth):
                row = CONTEXTS + own - SUBSTITUTIONS, 0
                counts[0][row] += depth
                counts[2][row] += number
    return (*counts, sites)


def count(reads, reference, samples=1, within=(START, STOP)):
    """(what is counted between two positions, each sample's pileup)"""
    window, p = window_of(reference, START, STOP), CallParameters(min_base_quality=QUALITY)
    pileups = [
        count_window(take(reads, "reads", np.flatnonzero(reads.sample == sample)), window, p)
        for sample in range(samples)
    ]
    counted = PileupLimits(*within, QUALITY), np.ones(within[1] - within[0], bool)
    return count_errors(reads, orientations_of(reads), window, iter(pileups), counted), pileups


def as_counter(array: np.ndarray) -> dict:
    return {tuple(map(int, at)): array[tuple(at)] for at in np.argwhere(array)}


@settings(max_examples=80)
@given(st.data())
def test_equals_plain_python(data):
    reference = data.draw(
        st.text("ACGTN", min_size=LENGTH, max_size=LENGTH) | st.text("AC", min_size=LENGTH, max_size=LENGTH)
    )
    flags = st.sampled_from([0, 16, 0x41, 0x51, 0x81, 0x91])
    made = [Read(**{**vars(read), "flag": data.draw(flags)}) for read in data.draw(reads_of(LENGTH, 14, "ACGT"))]
    made.sort(key=lambda read: read.position)
    own = [data.draw(st.integers(0, 1)) for _ in made]
    reads = replace(aligned_reads(made), sample=np.array(own, np.uint16))
    found, pileups = count(reads, reference, 2)
    for sample, pileup in enumerate(pileups):
        chosen = [read for read, s in zip(made, own, strict=True) if s == sample]
        expected = slow_counts(chosen, reference, pileup)
        for name, column in zip(("reads", "expected", "shown"), expected[:3], strict=True):
            wanted = pytest.approx({k: v for k, v in column.items() if v}, abs=40 * GRAIN)
            assert as_counter(getattr(found, name)[sample]) == wanted, name
        assert as_counter(found.sites[sample]) == expected[3]


def repeated(reference: str, deep: int, changes=(), **columns) -> list[Read]:
    """So many reads of the reference; changes: (position, base, how many reads have it)."""
    made = []
    for number in range(deep):
        bases = list(reference)
        for at, base, shown in changes:
            if number < shown:
                bases[at] = base
        made.append(Read(0, f"{len(reference)}M", "".join(bases), (30,) * len(reference), **columns))
    return made


@settings(max_examples=30)
@given(st.data())
def test_windows_do_not_matter(data):
    """What two neighbours count is what both together do, to the last bit."""
    reference, reads = random_sequence(LENGTH), aligned_reads(data.draw(reads_of(LENGTH, 14, "ACGT")))
    middle = data.draw(st.integers(START, STOP))
    whole, _ = count(reads, reference)
    parts = [count(reads, reference, within=own)[0] for own in ((START, middle), (middle, STOP))]
    for a, b in zip(add_counts(parts, no_counts(1)), whole, strict=True):
        assert np.array_equal(a, b)


def test_damage_of_one_orientation():
    """C>T on the forward strand of F1R2 pairs is G>A of F2R1 pairs: the same rate of the same context."""
    reference = "A" * 10 + "ACG" + "A" * 5 + "T" * 5 + "CGT" + "A" * 14
    c, g = reference.index("ACG") + 1, reference.index("CGT") + 1
    context, _ = slow_context("A", "C", "G", "T")
    assert slow_context("C", "G", "T", "A") == (context, True)
    reads = repeated(reference, 50, [(c, "T", 2)], flag=0x41) + repeated(reference, 50, [(g, "A", 1)], flag=0x51)
    found, _ = count(aligned_reads(reads), reference)
    assert found.reads[0, context].tolist() == [100, 100]
    assert found.shown[0, context].tolist() == [3, 0]
    assert found.expected[0, context] == pytest.approx([100 * 1e-3 / 3] * 2, abs=4 * GRAIN)


def test_sites_with_many_other_bases_are_variants():
    reference, at = random_sequence(LENGTH), 20
    other = "ACGT"[("ACGT".index(reference[at]) + 1) % 4]
    context, _ = slow_context(*reference[at - 1 : at + 2], other)
    numbers = {}
    for shown in (2, 3, 30, 31):
        found, _ = count(aligned_reads(repeated(reference, 100, [(at, other, shown)])), reference)
        numbers[shown] = found.sites[0, context // 16, bin_of.py_func(100), bin_of.py_func(shown)], found.shown[0].sum()
    assert numbers == {2: (1, 2), 3: (1, 0), 30: (1, 0), 31: (0, 0)}


def test_contexts_are_distinct_and_the_same_from_both_strands():
    seen = set()
    for before, base, after, other in (
        (a, b, c, d) for a in range(4) for b in range(4) for c in range(4) for d in range(4)
    ):
        if base == other:
            continue
        found, is_reverse = context_of.py_func(before, base, after, other)
        assert (found, is_reverse) == slow_context(*("ACGT"[x] for x in (before, base, after, other)))
        assert context_of.py_func(3 - after, 3 - base, 3 - before, 3 - other) == (found, not is_reverse)
        seen.add(found)
    assert seen == set(range(CONTEXTS))


def test_bins_of_numbers():
    """A number goes to the bin that stands for about as many."""
    numbers = numbers_of_bins()
    assert numbers.size == BINS and numbers[: EXACT + 1].tolist() == list(range(EXACT + 1))
    assert (np.diff(numbers) > 0).all()
    for number in [*range(2000), 50_000, 1_000_000]:
        own = bin_of.py_func(number)
        assert number <= EXACT or abs(math.log(numbers[own] / number)) < 0.06
    for each, number in enumerate(numbers.astype(int).tolist()):
        assert bin_of.py_func(number) == each
    assert bin_of.py_func(1 << 40) == BINS - 1


@settings(max_examples=30)
@given(st.text("ACN", max_size=30))
def test_runs(text):
    runs = np.full(len(text), -1)
    measure_runs(window_of(text).bases, runs)
    assert runs.tolist() == [slow_run(text, w + 1) if w + 1 < len(text) else 0 for w in range(len(text))]


def test_classes_of_gaps():
    found = {(run, d): class_of_gap.py_func(run, d) for run in range(1, 30) for d in (False, True)}
    assert found == {(run, d): slow_gap(run, d) for run, d in found}
    assert set(found.values()) == set(range(SUBSTITUTIONS, CLASSES))


def test_counts_of_windows_are_added_up():
    parts = []
    for seed in range(3):
        reference = random_sequence(LENGTH, seed)
        reads = aligned_reads(repeated(reference, 20 + seed))
        parts.append(count(reads, reference)[0])
    total = add_counts(iter(parts), no_counts(1))
    assert total.piles == []  # without a population
    for name in total._fields[:-1]:
        assert np.array_equal(getattr(total, name), sum(getattr(part, name) for part in parts))
    assert covered_bases(total) == 3 * (STOP - START - 2)
    assert covered_bases(no_counts(2)) == 0
    assert all((a == b).all() for a, b in zip(add_counts([], no_counts(2))[:-1], no_counts(2)[:-1], strict=True))
