"""Calls that need more copies than there are."""

import numpy as np
import pytest

from readwarp.batches import Calls
from readwarp.call.genotypes.calls import mark_overlaps


def made(*rows: tuple[int, tuple[str, ...], tuple, float]) -> Calls:
    n = len(rows)
    positions, alleles, genotypes, qualities = zip(*rows, strict=True)
    return Calls(
        contig=np.zeros(n, np.int32),
        position=np.array(positions, np.int64),
        alleles=list(alleles),
        quality=np.array(qualities),
        genotype=[genotype if isinstance(genotype[0], tuple) else (genotype,) for genotype in genotypes],
        genotype_quality=np.zeros((n, 1), np.int32),
        depth=np.zeros((n, 1), np.int32),
        allele_depth=[((),)] * n,
        likelihoods=[((),)] * n,
        phase_set=np.full((n, 1), -1, np.int64),
        filters=[()] * n,
        annotations={},
        strands=np.zeros((n, 1, 4), np.int32),
        independent=np.zeros((n, 1, 4), np.int32),
        squares=np.zeros(n, np.int64),
        phase_name=[],
    )


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
