"""Pileup compared with a plain-Python oracle, CPU with CUDA, and what windows and caps must not change."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making import LETTERS, Read, aligned_reads, random_sequence, reads_of, window_of
from readwarp.call.candidates.pileup import count_window
from readwarp.config import CallParameters

LENGTH = 60


def left_aligned(reference: str, anchor: int, old: str, new: str, start: int) -> tuple[int, str, str]:
    """REF/ALT text without the anchor base, moved left by trimming and extending as in the VCF normalisation paper."""
    while anchor > start:
        a, b = reference[anchor] + old, reference[anchor] + new
        if a[-1] != b[-1] or reference[anchor] == "N" or a[-1] == "N":
            break
        old, new, anchor = a[:-1], b[:-1], anchor - 1
    return anchor, old, new


def oracle(reads: list[Read], reference: str, start: int, stop: int, p: CallParameters):
    """Counts, quality sums and {(anchor, deleted, inserted): counts by strand}, one base at a time."""
    counts, sums = np.zeros((2, stop - start, 5, 2), int)
    events: dict[tuple[int, str, str], list[int]] = {}
    for read in sorted(reads, key=lambda read: read.position):
        strand, before, last = read.flag >> 4 & 1, 0, None
        place, index = read.position, 0
        for size, operation in read.operations:
            if operation in "M=X":
                for k in range(size):
                    at, base, quality = place + k, read.bases[index + k], read.qualities[index + k]
                    if start <= at < stop and base != "N" and quality >= p.min_base_quality and quality > 0:
                        counts[at - start, LETTERS.index(base), strand] += 1
                        sums[at - start, LETTERS.index(base), strand] += quality
                    before, last = quality, at
                before = before if size else 0
            elif operation in "ID":
                if before > 0 and last is not None and start <= last < stop and size:
                    old = reference[place : place + size] if operation == "D" else ""
                    new = read.bases[index : index + size] if operation == "I" else ""
                    if "N" not in new:
                        key = left_aligned(reference, place - 1, old, new, start)
                        events.setdefault(key, [0, 0])[strand] += 1
                if operation == "D":
                    for at in range(max(place, start), min(place + size, stop)):
                        if before > 0:
                            counts[at - start, 4, strand] += 1
                            sums[at - start, 4, strand] += before
                before = 0
            else:
                before = 0
            index += size if operation in "MIS=X" else 0
            place += size if operation in "MDN=X" else 0
    return counts, sums, events


def events_of(pileup, reference: str) -> dict[tuple[int, str, str], list[int]]:
    out = {}
    for a, anchor in enumerate(pileup.allele_position.tolist()):
        bases = pileup.allele_bases[pileup.allele_offsets[a] : pileup.allele_offsets[a + 1]]
        new = "".join(LETTERS[b] for b in bases)
        old = reference[anchor + 1 : anchor + 1 + int(pileup.allele_length[a])] if bases.size == 0 else ""
        out[anchor, old, new] = pileup.allele_counts[a].tolist()
    return out


def window(reads, reference: str, start: int, stop: int, p: CallParameters):
    return count_window(aligned_reads(reads), window_of(reference, start, stop), p)


@settings(max_examples=150)
@given(st.data())
def test_equals_plain_python(data):
    reference = data.draw(st.text("ACGT", min_size=LENGTH, max_size=LENGTH))
    reads = data.draw(reads_of(LENGTH))
    start, stop = data.draw(st.integers(0, 20)), data.draw(st.integers(30, LENGTH))
    p = CallParameters(min_base_quality=data.draw(st.integers(0, 25)))
    pileup = window(reads, reference, start, stop, p)
    # a deletion that leaves the window cannot be moved: its last bases are not seen
    counts, sums, events = oracle(reads, reference[:stop] + "N" * LENGTH, start, stop, p)
    assert np.array_equal(pileup.counts, counts)
    assert np.array_equal(pileup.quality_sums, sums)
    assert events_of(pileup, reference[:stop] + "N" * LENGTH) == events


def test_events_move_through_repeats():
    reference = "G" + "CA" * 9 + "T"
    reads = [Read(0, "15M2D3M", ("G" + "CA" * 9 + "T")[:15] + "CAT", (30,) * 18)]
    reads += [Read(1, "10M2I8M1S", "CA" * 10 + "T", (30,) * 21, flag=16)]
    found = events_of(window(reads, reference, 0, 20, CallParameters()), reference)
    assert found == {(0, "CA", ""): [1, 0], (0, "", "CA"): [0, 1]}


@settings(max_examples=30)
@given(st.data())
def test_windows_do_not_matter(data):
    """Any window with a margin has the same counts, and events inside it have the same alleles."""
    reference, reads = random_sequence(LENGTH), data.draw(reads_of(LENGTH))
    p = CallParameters()
    whole, part = window(reads, reference, 0, LENGTH, p), window(reads, reference, 10, 50, p)
    assert np.array_equal(whole.counts[10:50], part.counts)
    assert np.array_equal(whole.quality_sums[10:50], part.quality_sums)


def test_depth_of_ten_thousand():
    reads = [Read(i % 3, "8M1D2M", "ACGTACGTAC", (93,) * 10, flag=16 * (i % 2)) for i in range(10_000)]
    deep = window(reads, random_sequence(20), 0, 20, CallParameters())
    assert deep.counts[5].sum() == 10_000
    assert deep.quality_sums[5].sum() == 930_000
    assert deep.allele_counts.sum() == 10_000


def test_no_reads():
    pileup = window([], "ACGT", 0, 4, CallParameters())
    assert pileup.counts.sum() == 0 and pileup.allele_position.size == 0


def test_bases_that_gave_way_to_their_mate_do_not_count():
    reads = aligned_reads([Read(0, "4M1I2M", "ACGTACG", (30, 30, 30, 0, 30, 30, 0))])
    pileup = count_window(reads, window_of("ACGTAC"), CallParameters(min_base_quality=0))
    assert pileup.counts.sum(axis=(1, 2)).tolist() == [1, 1, 1, 0, 1, 0]
    assert pileup.allele_position.size == 0


@pytest.mark.parametrize("size", [200, 201])
def test_longest_indel(size):
    reads = aligned_reads([Read(0, f"5M{size}I5M", "A" * (size + 10), (30,) * (size + 10))])
    pileup = count_window(reads, window_of("C" * 10), CallParameters())
    assert pileup.allele_length.tolist() == ([200] if size == 200 else [])
