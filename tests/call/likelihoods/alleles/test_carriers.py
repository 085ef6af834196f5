"""Haplotypes of other samples: every region is compared with every allele of its place, by as few as are needed."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making import offsets
from readwarp.call.candidates.batches import Regions
from readwarp.call.likelihoods.alleles.compare import WeighedReads
from readwarp.call.likelihoods.alleles.select import Selection
from readwarp.call.likelihoods.alleles.weigh import (
    find_carriers,
    join_selections,
    join_tables,
    take_carriers,
    variants_of,
)
from readwarp.call.likelihoods.batches import Haplotypes
from readwarp.call.likelihoods.pairhmm import ReadRows

POOL = [(30, 1, b"\x03"), (36, 1, b"\x02"), (34, 4, b""), (40, 0, b"\x01\x01"), (50, 1, b"\x00")]


def haplotypes_of(regions: list[list[tuple]]) -> Haplotypes:
    """Haplotypes of each region, by their variants. `support` numbers them."""
    every = [variants for own in regions for variants in own]
    flat = [variant for variants in every for variant in variants]
    return Haplotypes(
        haplotype_offsets=offsets(map(len, regions)),
        bases=np.zeros(len(every), np.uint8),
        base_offsets=offsets([1] * len(every)),
        support=np.arange(len(every), dtype=np.int32),
        variant_offsets=offsets(map(len, every)),
        begin=np.array([v[0] for v in flat], np.int64),
        deleted=np.array([v[1] for v in flat], np.int32),
        inserted=np.frombuffer(b"".join(v[2] for v in flat), np.uint8),
        inserted_offsets=offsets(len(v[2]) for v in flat),
        status=np.zeros(len(regions), np.uint8),
    )


def weighed_of(rows: list[int], place: list[int], haplotypes: Haplotypes) -> WeighedReads:
    """The value of a pair is the number of its row and, after the point, that of its haplotype."""
    number, n = sum(rows), len(rows)
    zeros, nothing = np.zeros(n, np.int64), np.empty(0, np.uint8)
    regions = Regions(
        *(0, zeros, zeros, zeros, zeros, offsets(rows), np.arange(number, dtype=np.int32)),
        *(np.zeros(number, np.int64), np.zeros(number, np.int64), np.zeros(n, np.uint8)),
        *(np.array(place), np.arange(n, dtype=np.uint16)),
    )
    first, stop = haplotypes.haplotype_offsets[:-1], haplotypes.haplotype_offsets[1:]
    values = [
        row + haplotypes.support[h] / 1000
        for g in range(n)
        for row in range(regions.read_offsets[g], regions.read_offsets[g + 1])
        for h in range(first[g], stop[g])
    ]
    read_rows = ReadRows(nothing, nothing, nothing, nothing, np.zeros(number + 1, np.int64))
    pairs = offsets(np.array(rows) * (stop - first))
    alone, status = np.arange(number), np.zeros(len(values), np.uint8)
    return WeighedReads(regions, haplotypes, read_rows, alone, pairs, np.array(values), status)


@settings(max_examples=200)
@given(st.data())
def test_every_region_gets_every_allele_of_its_place(data):
    place = sorted(data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=6)))
    place = np.unique(place, return_inverse=True)[1].tolist()
    one = st.lists(st.sampled_from(POOL), unique=True, max_size=3).map(sorted)
    regions = [[[], *data.draw(st.lists(one, max_size=3, unique_by=tuple))] for _ in place]
    haplotypes = haplotypes_of(regions)
    variants, count = variants_of(haplotypes), len(haplotypes)
    stays = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), bool)
    stays[haplotypes.haplotype_offsets[:-1]] = True
    before, bounds = stays.copy(), haplotypes.haplotype_offsets
    number = place[-1] + 1
    wanted = [{v for g, at in enumerate(place) if at == p for h in range(bounds[g], bounds[g + 1]) if before[h]
               for v in variants[h]} for p in range(number)]  # fmt: skip
    rows = data.draw(st.lists(st.integers(0, 3), min_size=len(place), max_size=len(place)))
    weighed = weighed_of(rows, place, haplotypes)
    carriers = find_carriers(weighed, variants, stays, wanted)
    for g, at in enumerate(place):
        own = [h for h in range(bounds[g], bounds[g + 1]) if stays[h]]
        have = {v for h in own for v in variants[h]}
        assert wanted[at] <= have | {v for h in carriers[g] for v in variants[h]}
        for i, h in enumerate(carriers[g]):  # none for nothing
            others = {v for other in carriers[g][:i] for v in variants[other]}
            assert before[h] and place[np.searchsorted(bounds, h, side="right") - 1] == at
            assert wanted[at] & set(variants[h]) - have - others
    more = weighed_of(rows, place, take_carriers(haplotypes, carriers))
    joined, numbers = join_tables(weighed, more)
    selected = Selection(np.zeros(0, bool), stays, bounds[:-1].astype(np.int32)[:, None])
    selected = join_selections(selected, numbers, len(joined.haplotypes))
    assert selected.best[:, 0].tolist() == joined.haplotypes.haplotype_offsets[:-1].tolist()
    at = 0
    for g in range(len(place)):
        chosen = slice(joined.haplotypes.haplotype_offsets[g], joined.haplotypes.haplotype_offsets[g + 1])
        names = [*range(bounds[g], bounds[g + 1]), *carriers[g]]
        assert joined.haplotypes.support[chosen].tolist() == names
        assert selected.stays[chosen].tolist() == [
            *stays[bounds[g] : bounds[g + 1]].tolist(),
            *[True] * len(carriers[g]),
        ]
        for row in range(joined.regions.read_offsets[g], joined.regions.read_offsets[g + 1]):
            assert joined.values[at : at + len(names)].tolist() == [row + name / 1000 for name in names]
            at += len(names)
    assert at == joined.values.size == joined.pair_offsets[-1]
