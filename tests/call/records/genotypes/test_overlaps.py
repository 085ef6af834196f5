"""Calls that need more copies than there are."""

import numpy as np
import pytest

from helpers.making_sites import made_calls
from readwarp.call.records.genotypes.calls import mark_overlaps
from readwarp.formats.variants.calls import Calls


def made(*rows: tuple[int, tuple[str, ...], tuple, float]) -> Calls:
    positions, alleles, genotypes, qualities = zip(*rows, strict=True)
    every = [genotype if isinstance(genotype[0], tuple) else (genotype,) for genotype in genotypes]
    return made_calls(positions, alleles, genotypes, genotype=every, quality=np.array(qualities))


DELETION = (10, ("ACGT", "A"), (1, 1), 100.0)  # takes 11 to 13


@pytest.mark.parametrize(
    ("rows", "marked"),
    [
        ([DELETION, (13, ("T", "C"), (0, 1), 50.0)], [1]),
        ([DELETION, (13, ("T", "TA"), (0, 1), 500.0)], [0]),
        ([DELETION, (14, ("T", "C"), (1, 1), 500.0)], []),
        ([DELETION, (10, ("A", "C"), (1, 1), 500.0)], []),
        ([(10, ("ACGT", "A"), (0, 1), 9.0), (12, ("G", "C"), (0, 1), 5.0)], []),
        ([(10, ("ACGT", "A"), (0, 1), 9.0), (12, ("G", "C"), (1, 1), 5.0)], [1]),
        ([(10, ("ACGT", "ACG", "A"), (1, 2), 9.0), (13, ("T", "C"), (0, 1), 9.0)], [1]),
        ([(10, ("AC", "A"), (1,), 9.0), (11, ("C", "T"), (1,), 10.0)], [0]),
        ([DELETION, (11, ("CG", "C"), (1, 1), 90.0), (12, ("G", "A"), (1, 1), 80.0)], [1, 2]),
        ([(10, ("AC", "A"), ((0, 1), (0, 0)), 9.0), (11, ("C", "T"), ((0, 1), (1, 1)), 10.0)], []),
        ([(10, ("AC", "A"), ((0, 0), (0, 1)), 9.0), (11, ("C", "T"), ((0, 1), (1, 1)), 10.0)], [0]),
        ([(10, ("AC", "A"), ((1, 1), (-1, -1)), 9.0), (11, ("C", "T"), ((-1, -1), (1, 1)), 10.0)], []),
    ],
)
def test_the_worse_one_is_marked(rows, marked):
    filters = mark_overlaps(made(*rows)).filters
    assert [i for i, f in enumerate(filters) if f == ("Overlap",)] == marked
    assert all(f in ((), ("Overlap",)) for f in filters)
