"""Make sites, and what reads say about them, for the tests of genotypes."""

import math
from collections.abc import Sequence

import numpy as np

from helpers.making import offsets
from readwarp.call.candidates.batches import Sites
from readwarp.call.likelihoods.batches import Likelihoods, Phase
from readwarp.call.places.bases import Window
from readwarp.call.records.genotypes.genotype import genotype_sites
from readwarp.call.records.genotypes.surroundings import Depths, SitePriors
from readwarp.config import CallParameters
from readwarp.formats.variants.calls import Calls

Allele = tuple[int, str]  # deleted reference bases, inserted ones; "*" for a deletion across the base


def made_sites(places: Sequence[tuple[int, Sequence[Allele]]], forced: Sequence[tuple[int, int]] = ()) -> Sites:
    """Sites at ascending positions, the reference's allele first; an allele (1, base) is a substitution.

    `forced`: (site, allele).
    """
    alleles = [allele for _, own in places for allele in own]
    is_indel = np.array([own[0] == (0, "") for _, own in places], bool)
    begin = np.array([begin for begin, _ in places], np.int64)
    first = offsets(len(own) for _, own in places)
    is_forced = np.zeros(len(alleles), bool)
    for site, allele in forced:
        is_forced[first[site] + allele] = True
    return Sites(
        contig=0,
        begin=begin,
        stop=begin + 1,
        is_indel=is_indel,
        unit=np.ones(begin.size, np.int32),
        allele_offsets=first,
        deleted=np.array([deleted for deleted, _ in alleles], np.int32),
        inserted=np.array(["ACGT*".index(base) for _, bases in alleles for base in bases], np.uint8),
        inserted_offsets=offsets(len(bases) for _, bases in alleles),
        is_forced=is_forced,
        reach=np.ones(len(alleles)),
    )


def substitutions(*places: tuple[int, str], forced: Sequence[tuple[int, int]] = ()) -> Sites:
    """(position, letters of the alleles), the reference's first."""
    return made_sites([(begin, [(1, letter) for letter in letters]) for begin, letters in places], forced)


def made_likelihoods(
    tables: Sequence[Sequence[Sequence[float]]],
    shown: Sequence[Sequence[int]],
    *,
    sample: Sequence[Sequence[int]] | None = None,
    **columns: Sequence[int],
) -> Likelihoods:
    """One table [reads][alleles] of log10 P per site; `columns`: other values of all pairs, concatenated."""
    n = sum(map(len, tables))
    given = {
        "quality": [30] * n,
        "mapping_quality": [60] * n,
        "strand": [i % 2 for i in range(n)],
        "end_distance": [20] * n,
        **columns,
    }
    dtypes = {"quality": np.uint8, "mapping_quality": np.uint8, "strand": np.uint8, "end_distance": np.int32}
    return Likelihoods(
        pair_offsets=offsets(map(len, tables)),
        read=np.arange(n, dtype=np.int32),
        allele=np.array([a for own in shown for a in own], np.int8),
        sample=np.array([s for own in sample for s in own] if sample else [0] * n, np.uint16),
        value_offsets=offsets(sum(map(len, table)) for table in tables),
        values=np.array([value for table in tables for row in table for value in row], np.float64),
        **{name: np.array(given[name], dtype) for name, dtype in dtypes.items()},
    )


def from_bases(
    bases: Sequence[str], alleles: Sequence[str], sample: Sequence[Sequence[int]] | None = None, quality: int = 30
) -> Likelihoods:
    """What the bases of reads say about substitutions; "." says nothing."""
    e = 10 ** (-quality / 10)

    def row(base: str, letters: str) -> list[float]:
        if base == ".":
            return [0.0] * len(letters)
        return [math.log10(1 - e) if base == letter else math.log10(e / 3) for letter in letters]

    tables = [[row(b, letters) for b in own] for own, letters in zip(bases, alleles, strict=True)]
    shown = [[-2 if b == "." else letters.find(b) for b in own] for own, letters in zip(bases, alleles, strict=True)]
    return made_likelihoods(tables, shown, sample=sample)


def made_calls(positions: Sequence[int], alleles: Sequence[tuple[str, ...]], genotypes: Sequence, **columns) -> Calls:
    """Calls of one sample on the first contig, by position, alleles and genotype; blank but for the given columns."""
    n = len(positions)
    blank = {
        "contig": np.zeros(n, np.int32),
        "quality": np.zeros(n),
        "genotype_quality": np.zeros((n, 1), np.int32),
        "depth": np.zeros((n, 1), np.int32),
        "allele_depth": [((),)] * n,
        "likelihoods": [((),)] * n,
        "phase_set": np.full((n, 1), -1, np.int64),
        "filters": [()] * n,
        "annotations": {},
        "strands": np.zeros((n, 1, 4), np.int32),
        "independent": np.zeros((n, 1, 4), np.int32),
        "squares": np.zeros(n, np.int64),
        "phase_name": [("",)] * n,
    }
    own = {"position": np.array(positions, np.int64), "alleles": list(alleles), "genotype": [(g,) for g in genotypes]}
    return Calls(**blank | own | columns)


def call_sites(
    sites: Sites,
    likelihoods: Likelihoods,
    *,
    samples: int = 1,
    ploidy: int | Sequence[int] = 2,
    phase: Phase | None = None,
    parameters: CallParameters | None = None,
    depths: Depths | None = None,
) -> Calls:
    """Call sites in a reference of As; `ploidy`: of all sites, or of each."""
    window = Window(0, 0, 99, np.zeros(99, np.uint8), 0)
    copies = np.full((samples, len(sites)), ploidy, np.int8).T.copy()
    expected = SitePriors(copies, depths)
    return genotype_sites(sites, likelihoods, window, expected, parameters or CallParameters(), phase)
