"""Gap penalties compared with a brute-force search of tracts, and what they cost in the recurrence."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readwarp.call.likelihoods.pairhmm import ReadRows
from readwarp.call.likelihoods.pairhmm.cpu import log_likelihoods
from readwarp.call.likelihoods.pairhmm.penalties import gap_penalties
from readwarp.call.reads.gap_models import HIFI, NANOPORE, SHORT, GapModel, opening_table


def codes(text: str) -> np.ndarray:
    return np.array(["ACGTN".index(letter) for letter in text], np.uint8)


def brute_force(text: str, model: GapModel) -> tuple[list[int], list[int]]:
    opening, extension = [model.opening + 1] * len(text), [model.extension] * len(text)
    openings, repeats = opening_table(model), model.repeats
    for unit in range(1, 9):
        for start in range(len(text) - repeats * unit + 1):
            stop, before = start + unit, start - 1
            while stop < len(text) and text[stop] == text[stop - unit] != "N":
                stop += 1
            is_maximal = start == 0 or text[before] != text[before + unit] or text[before] == "N"
            if stop - start < repeats * unit or not is_maximal:
                continue
            for k in range(start, stop):
                if openings[unit - 1, stop - start] < opening[k]:
                    opening[k], extension[k] = int(openings[unit - 1, stop - start]), model.extensions[unit - 1]
    return [min(x, model.opening) for x in opening], extension


MODELS = SHORT, HIFI, NANOPORE
tracts = st.tuples(st.text("ACGTN", min_size=1, max_size=8), st.integers(1, 9)).map(lambda x: x[0] * x[1])


@settings(max_examples=200)
@given(st.lists(st.lists(tracts, max_size=4).map("".join), min_size=1, max_size=4), st.sampled_from(MODELS))
def test_equals_brute_force(reads, model):
    offsets = np.cumsum([0, *map(len, reads)])
    opening, extension = gap_penalties(codes("".join(reads)), offsets, model=model)
    expected = [brute_force(read, model) for read in reads]
    assert opening.tolist() == [phred for openings, _ in expected for phred in openings]
    assert extension.tolist() == [phred for _, extensions in expected for phred in extensions]
    assert opening.dtype == extension.dtype == np.uint8


def test_only_the_chosen_reads():
    bases, offsets = codes("A" * 12 + "C" * 12 + "A" * 12), np.array([0, 12, 24, 36])
    opening, extension = gap_penalties(bases, offsets, np.array([2, 0]))
    assert opening[:12].tolist() == opening[24:].tolist() == gap_penalties(bases[:12], offsets[:2])[0].tolist()
    assert set(opening[12:24].tolist()) == {SHORT.opening} and set(extension.tolist()) == {SHORT.extension}


def log_of_slip(flank: str, unit: str, repeats: int, difference: int) -> float:
    """The Phred that a read loses on a haplotype whose tract has another number of repeats."""
    read = codes(flank + unit * repeats + flank[::-1])
    opening, extension = gap_penalties(read, np.array([0, read.size]))
    rows = ReadRows(read, np.full(read.size, 40, np.uint8), opening, extension, np.array([0, read.size]))
    haplotypes = [codes(flank + unit * n + flank[::-1]) for n in (repeats, repeats + difference)]
    offsets = np.cumsum([0, *(h.size for h in haplotypes)])
    pairs = np.zeros(2, np.int32), np.arange(2, dtype=np.int32)
    values, _ = log_likelihoods(rows, np.concatenate(haplotypes), offsets, *pairs)
    return 10 * (values[0] - values[1])


@pytest.mark.parametrize("difference", [1, -1])
@pytest.mark.parametrize(
    ("unit", "repeats"), [("A", 10), ("A", 16), ("CA", 12), ("CA", 20), ("CAG", 14), ("GATA", 10), ("AAATC", 12)]
)
def test_an_error_of_one_unit_costs_what_the_table_says(unit, repeats, difference):
    first, slope, least = SHORT.slips[len(unit) - 1]
    said = max(least, first - slope * (repeats - SHORT.repeats))
    assert abs(log_of_slip("GATTCGTGCCTAGATGTTCCAGT", unit, repeats, difference) - said) < 1.7


def test_a_unit_is_cheaper_than_its_bases_apart():
    flank = "GATTCGTGCCTAGATGTTCCAGT"
    assert log_of_slip(flank, "CATT", 9, 2) - log_of_slip(flank, "CATT", 9, 1) < 12
    assert log_of_slip(flank, "CATT", 1, 1) > 60


def test_no_reads():
    opening, extension = gap_penalties(np.empty(0, np.uint8), np.zeros(1, np.int64))
    assert opening.size == extension.size == 0
