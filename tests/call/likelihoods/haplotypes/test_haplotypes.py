"""Haplotypes of regions: the true ones are found, and variants spell each of them exactly."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making import LETTERS, Read, aligned_reads, codes, offsets, random_sequence, tiled
from readwarp.call.candidates.batches import Regions, Sites
from readwarp.call.candidates.pileup import MAX_INDEL
from readwarp.call.likelihoods.batches import Haplotypes
from readwarp.call.likelihoods.haplotypes import MAX_HAPLOTYPES
from readwarp.call.likelihoods.haplotypes.build import build_haplotypes
from readwarp.call.places.bases import Window
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import check as check_batch
from readwarp.ragged import replace
from readwarp.rules.statuses import Status

Variant = tuple[int, int, str]  # begin, deleted, inserted
START = 1000  # where the reference of the tests begins in its contig


def regions_of(reads: AlignedReads, spans: list[tuple[int, int, int, int]]) -> Regions:
    """Regions (start, stop, low, high) with all reads whose aligned bases are within them, uncut."""
    chosen = [np.flatnonzero((reads.position < b) & (reads.reference_stop > a)) for a, b, _, _ in spans]
    read = np.concatenate([*chosen, np.empty(0, np.int64)]).astype(np.int32)
    columns = np.array(spans, np.int64).reshape(-1, 4)
    return Regions(
        contig=0,
        start=columns[:, 0],
        stop=columns[:, 1],
        low=columns[:, 2],
        high=columns[:, 3],
        read_offsets=offsets(map(len, chosen)),
        read=read,
        base_start=reads.read_offsets[read],
        base_stop=reads.read_offsets[read + 1],
        status=np.zeros(len(spans), np.uint8),
        place=np.arange(len(spans)),
        sample=np.zeros(len(spans), np.uint16),
    )


def sites_of(reference: str, variants: list[Variant], forced: list[Variant] = ()) -> Sites:  # type: ignore[assignment]
    """A site with one other allele for each variant; `stop` is as far as the variant could be moved right."""
    rows = sorted({*variants, *forced}, key=lambda v: (v[0] - (v[1] != len(v[2])), v))
    alleles = [a for begin, gone, new in rows for a in ((gone, reference[begin - START :][:gone]), (gone, new))]
    return Sites(
        contig=0,
        begin=np.array([v[0] for v in rows], np.int64),
        stop=np.array([v[0] + v[1] + movable(reference, v) for v in rows], np.int64),
        is_indel=np.array([v[1] != len(v[2]) for v in rows], bool),
        unit=np.ones(len(rows), np.int32),
        allele_offsets=2 * np.arange(len(rows) + 1),
        deleted=np.array([a[0] for a in alleles], np.int32),
        inserted=codes("".join(a[1] for a in alleles)),
        inserted_offsets=offsets(len(a[1]) for a in alleles),
        is_forced=np.array([i % 2 == 1 and rows[i // 2] in forced for i in range(len(alleles))], bool),
        reach=np.ones(len(alleles)),
    )


def movable(reference: str, variant: Variant) -> int:
    begin, gone, new = variant[0] - START, variant[1], variant[2]
    shift = 0
    while gone != len(new) and begin + shift + gone < len(reference) and applied(reference, [variant]) == applied(
        reference, [(variant[0] + shift + 1, gone, (new + reference[begin : begin + shift + 1])[shift + 1 :])]
    ):  # fmt: skip
        shift += 1
    return shift


def applied(reference: str, variants: list[Variant]) -> str:
    """The reference (from START on) with the variants applied, which are ascending and do not overlap."""
    parts, p = [], 0
    for begin, gone, new in variants:
        assert begin - START >= p
        parts += [reference[p : begin - START], new]
        p = begin - START + gone
    return "".join([*parts, reference[p:]])


def leftmost(reference: str, begin: int, gone: int, new: str) -> Variant:
    while (gone == 0) != (new == "") and begin > START:
        last = new[-1] if new else reference[begin - START + gone - 1]
        if last != reference[begin - START - 1]:
            break
        new = last + new[:-1] if new else new
        begin -= 1
    return begin, gone, new


def build(reference: str, reads: list[Read], sites: Sites, spans=None, qualities: int | None = None) -> Haplotypes:
    moved = [replace(read, position=read.position + START) for read in reads]
    made = aligned_reads(moved)
    whole = (START + 60, START + len(reference) - 60, START, START + len(reference))
    regions = regions_of(made, [whole] if spans is None else spans)
    if qualities is not None:
        made = replace(made, qualities=np.full_like(made.qualities, qualities))
    window, ploidy = Window(0, *whole[:2], codes(reference), START), np.full(len(regions), 2)
    haplotypes = build_haplotypes(regions, made, sites, window, ploidy)
    check_batch(haplotypes)
    return haplotypes


def unfolded(haplotypes: Haplotypes, region: int) -> list[tuple[str, list[Variant], int]]:
    """(bases, variants, support) of each haplotype of a region."""
    h, out = haplotypes, []
    for i in range(h.haplotype_offsets[region], h.haplotype_offsets[region + 1]):
        bases = "".join(LETTERS[b] for b in h.bases[h.base_offsets[i] : h.base_offsets[i + 1]])
        variants = [
            (
                int(h.begin[v]),
                int(h.deleted[v]),
                "".join(LETTERS[b] for b in h.inserted[h.inserted_offsets[v] : h.inserted_offsets[v + 1]]),
            )
            for v in range(h.variant_offsets[i], h.variant_offsets[i + 1])
        ]
        out.append((bases, variants, int(h.support[i])))
    return out


def check(reference: str, haplotypes: Haplotypes, spans, asked: int = 0) -> list[list[tuple[str, list[Variant], int]]]:
    """Check what holds for haplotypes of any reads, with so many forced alleles; returns them by region."""
    assert haplotypes.haplotype_offsets.size == len(spans) + 1
    regions = [unfolded(haplotypes, g) for g in range(len(spans))]
    for (start, stop, low, high), region in zip(spans, regions, strict=True):
        assert region[0][:2] == (reference[low - START : high - START], [])
        assert len({bases for bases, _, _ in region}) == len(region) <= MAX_HAPLOTYPES + asked
        assert region[1:] == sorted(region[1:], key=lambda row: (-row[2], [LETTERS.index(c) for c in row[0]]))
        for bases, variants, _ in region[1:]:
            assert variants and all(start <= v[0] < stop and (v[1], v[2]) != (0, "") for v in variants)
            assert all(len(v[2]) == 1 for v in variants if v[1] == len(v[2]))
            assert all(max(v[1], len(v[2])) <= MAX_INDEL for v in variants)
            assert reference[: low - START] + bases + reference[high - START :] == applied(reference, variants)
            for before, variant in zip([None, *variants], variants, strict=False):
                begin = leftmost(reference, *variant)[0]
                assert begin == variant[0] or (before and begin <= before[0] + before[1])
    return regions


def diploid(reference: str, first: list[tuple[int, str, str]], second: list[tuple[int, str, str]], **options):
    """Reads of two haplotypes given as VCF-like (position in reference, REF, ALT)."""
    return tiled([first, second], reference, **options)


def other_base(base: str) -> str:
    return "ACGT"[("ACGT".index(base) + 1) % 4]


def as_variant(reference: str, variant: tuple[int, str, str]) -> Variant:
    position, old, new = variant
    if len(old) == len(new):
        return position + START, 1, new
    return leftmost(reference, position + 1 + START, len(old) - 1, new[1:])


def spelled(reference: str, variants: list[tuple[int, str, str]]) -> str:
    """The reference with variants as they are given: one that is moved left may meet its neighbour."""
    return applied(reference, [(START + position, len(old), new) for position, old, new in sorted(variants)])


def clipped(read: Read) -> Read:
    """The read as an aligner may show it that finds no gaps: clipped from its first insertion or deletion on."""
    operations, bases = read.operations, 0
    for i, (n, o) in enumerate(operations):
        if o in "ID":
            rest = len(read.bases) - bases
            if bases >= rest or bases == 0:
                kept = operations[:i]
                return replace(read, cigar="".join(f"{m}{p}" for m, p in kept) + f"{rest}S")
            return read
        bases += n if o != "D" else 0
    return read


@st.composite
def two_haplotypes(draw):
    """A reference and two lists of variants at least 3 bases apart; the two share some of them."""
    reference = random_sequence(420, draw(st.integers(0, 10**6)))
    lists: tuple[list, list] = ([], [])
    p = 90
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["substitution", "substitution", "insertion", "deletion", "long"]))
        old, new = reference[p], reference[p]
        if kind == "substitution":
            new = draw(st.sampled_from([b for b in "ACGT" if b != old]))
        elif kind == "deletion":
            old = reference[p : p + 1 + draw(st.integers(1, 40))]
        else:
            new += random_sequence(draw(st.integers(1, 80) if kind == "long" else st.integers(1, 5)), p)
        for own in draw(st.sampled_from([(0,), (1,), (0, 1)])):
            lists[own].append((p, old, new))
        p += len(old) + 2 + draw(st.integers(1, 45))
        if p > 300:
            break
    return reference, *lists


@settings(max_examples=60)
@given(two_haplotypes(), st.booleans(), st.booleans())
def test_both_haplotypes_are_assembled(made, has_clips, has_sites):
    reference, first, second = made
    reads = diploid(reference, first, second, step=6, length=150)
    reads = [clipped(read) for read in reads] if has_clips else reads
    sites = sites_of(reference, [as_variant(reference, v) for v in {*first, *second}] if has_sites else [])
    haplotypes = build(reference, reads, sites)
    spans = [(START + 60, START + 360, START, START + 420)]
    (region,) = check(reference, haplotypes, spans)
    found = {bases for bases, _, _ in region}
    assert {spelled(reference, first), spelled(reference, second)} <= found
    assert haplotypes.status[0] == Status.OK


@settings(max_examples=40)
@given(two_haplotypes(), st.integers(0, 10**6), st.integers(3, 25))
def test_any_reads_make_haplotypes_that_their_variants_spell(made, seed, step):
    """With errors, N, low qualities and few reads, haplotypes are well formed and depend on their own reads alone."""
    reference, first, second = made
    random = np.random.default_rng(seed)
    reads = []
    for read in diploid(reference, first, second, step=step, length=100):
        bases = [b if random.random() > 0.02 else random.choice(list("ACGTN")) for b in read.bases]
        qualities = tuple(int(q) for q in random.choice([0, 2, 8, 12, 35], len(bases)))
        read = replace(read, bases="".join(bases), qualities=qualities, name=f"r{random.integers(40)}")
        reads.append(clipped(read) if random.random() < 0.3 else read)
    unknown = int(random.integers(-400, 420))
    if unknown >= 0:
        reference = reference[:unknown] + "N" + reference[unknown + 1 :]
    sites = sites_of(reference, sorted({as_variant(reference, v) for v in {*first, *second}}))
    limits = [60, 150, 152, 360]
    spans = [(START + a, START + b, START + a - 60, START + b + 60) for a, b in pairwise(limits)]
    together = check(reference, build(reference, reads, sites, spans), spans)
    for span, region in zip(spans, together, strict=True):
        assert check(reference, build(reference, reads, sites, [span]), [span]) == [region]


def test_alleles_in_a_long_repeat_where_assembly_fails():
    """A homopolymer longer than every k: no k-mer spans it, and the graph has a cycle."""
    reference = random_sequence(150, 3)[:-1] + "C" + "A" * 70 + "G" + random_sequence(150, 4)[1:]
    shorter, longer = (149, "CAA", "C"), (149, "C", "CAAA")
    reads = diploid(reference, [shorter], [longer], step=8, length=140)
    sites = sites_of(reference, [as_variant(reference, v) for v in (shorter, longer)])
    (region,) = check(reference, build(reference, reads, sites), [(START + 60, START + 310, START, START + 370)])
    assert {spelled(reference, [shorter]), spelled(reference, [longer])} <= {bases for bases, _, _ in region}
    assert len(region) == 3


def test_tandem_duplication_shown_by_clips_alone():
    """The smaller k of assembly have a cycle there, a larger one does not."""
    reference = random_sequence(420, 8)
    copy = reference[180:220]
    reads = [
        clipped(read)
        for read in diploid(reference, [(179, reference[179], reference[179] + copy)], [], step=4, length=150)
    ]
    (region,) = check(
        reference, build(reference, reads, sites_of(reference, [])), [(START + 60, START + 360, START, START + 420)]
    )
    variants = [row[1] for row in region[1:]]
    assert variants == [[leftmost(reference, START + 180, 0, copy)]]


def test_alleles_that_reads_show_together_are_not_taken_apart():
    """Three substitutions in phase make one haplotype, not seven."""
    reference = random_sequence(420, 5)
    other = {p: "ACGT"[("ACGT".index(reference[p]) + 1) % 4] for p in (150, 190, 230)}
    variants = [(p, reference[p], base) for p, base in other.items()]
    reads = diploid(reference, variants, [], step=5, length=150)
    sites = sites_of(reference, [as_variant(reference, v) for v in variants])
    (region,) = check(reference, build(reference, reads, sites), [(START + 60, START + 360, START, START + 420)])
    assert [row[0] for row in region] == [reference, spelled(reference, variants)]


def test_alleles_that_no_read_links_are_combined_in_every_way():
    reference = random_sequence(420, 5)
    variants = [(p, reference[p], "ACGT"[("ACGT".index(reference[p]) + 1) % 4]) for p in (120, 300)]
    reads = diploid(reference, variants, [], step=5, length=100)
    sites = sites_of(reference, [as_variant(reference, v) for v in variants])
    (region,) = check(reference, build(reference, reads, sites), [(START + 60, START + 360, START, START + 420)])
    expected = [[], variants[:1], variants[1:], variants]
    assert {row[0] for row in region} == {spelled(reference, some) for some in expected}


def test_mates_count_once():
    """If both mates of a fragment show a base, it is still one fragment, which is too few for the graph."""
    reference = random_sequence(300, 6)
    changed = reference[:150] + ("A" if reference[150] != "A" else "C") + reference[151:]
    own = [Read(p, "100M", changed[p : p + 100], (35,) * 100, 0, 60, name) for p, name in ((80, "x"), (90, "x"))]
    rest = [replace(read, name=f"y{read.position}") for read in diploid(reference, [], [], step=10, length=100)]
    spans = [(START + 60, START + 240, START, START + 300)]
    (region,) = check(reference, build(reference, own + rest, sites_of(reference, [])), spans)
    assert len(region) == 1
    own[1] = replace(own[1], name="z")
    (region,) = check(reference, build(reference, own + rest, sites_of(reference, [])), spans)
    assert [row[0] for row in region] == [reference, changed]


def test_bases_of_low_quality_join_nothing():
    reference = random_sequence(300, 6)
    changed = reference[:150] + ("A" if reference[150] != "A" else "C") + reference[151:]
    for quality, number in ((0, 1), (9, 1), (10, 2)):
        reads = [
            replace(read, qualities=tuple(quality if i == 75 - read.position + 80 else 35 for i in range(100)))
            for read in tiled([[(150, reference[150], changed[150])]], reference, step=5, length=100)
        ]
        spans = [(START + 60, START + 240, START, START + 300)]
        (region,) = check(reference, build(reference, reads, sites_of(reference, [])), spans)
        assert len(region) == number, quality


def test_forced_alleles_have_a_haplotype_whatever_the_reads_say():
    reference = random_sequence(300, 7)
    forced = [(START + 150, 1, "ACGT"[("ACGT".index(reference[150]) + 2) % 4])]
    forced += [leftmost(reference, START + 170, 0, "ACGTTGCA"), leftmost(reference, START + 190, 6, "")]
    forced.append((START + 210, 2, "TTTTTTT" if reference[210] != "T" else "GGGGGGG"))  # nothing that one CIGAR shows
    spans = [(START + 60, START + 240, START, START + 300)]
    for reads in ([], diploid(reference, [], [], step=5, length=100)):
        (region,) = check(reference, build(reference, reads, sites_of(reference, [], forced)), spans)
        assert {row[0] for row in region[1:]} == {applied(reference, [variant]) for variant in forced}


def test_a_forced_allele_is_spelled_as_asked():
    """The same bases from assembly and CIGARs are spelled in the same way, though their gap lies further left."""
    reference = random_sequence(150, 7) + "CACACACA" + "G" + random_sequence(150, 8)[1:]
    asked = (START + 156, 2, "")
    reads = diploid(reference, [], [(149, reference[149:152], reference[149])], step=5, length=100)
    sites = sites_of(reference, [leftmost(reference, *asked)], [asked])
    spans = [(START + 60, START + 240, START, START + 308)]
    own, shown = sorted(unfolded(build(reference, reads, sites, spans), 0), key=lambda row: row[1])
    assert own[1] == [] and shown[1] == [asked] and shown[0] == applied(reference, [asked])
    assert shown[2] > 5


def test_a_deletion_to_the_end_of_the_contig_may_be_asked_for():
    reference = random_sequence(300, 7)
    asked = leftmost(reference, START + 297, 3, "")
    spans = [(START + 270, START + 300, START + 200, START + 300)]
    for reads in ([], diploid(reference, [], [], step=5, length=100)):
        region = unfolded(build(reference, reads, sites_of(reference, [], [asked]), spans), 0)
        assert [row[:2] for row in region] == [(reference[200:], []), (reference[200:297], [asked])]


def test_the_cap_costs_no_forced_allele_and_no_other_haplotype():
    """There are far more forced alleles than the cap; each has a haplotype, and the reads' haplotypes stay as well."""
    reference = random_sequence(420, 5)
    variants = [(p, reference[p], other_base(reference[p])) for p in (150, 190, 230)]
    reads = diploid(reference, variants[:2], variants[2:], step=5, length=150)
    own = [as_variant(reference, v) for v in variants]
    asked = [(START + p, 1, base) for p in range(140, 240) for base in "ACGT" if base != reference[p]]
    asked += [leftmost(reference, START + p, 0, "GATTACA"[: p % 7 + 1]) for p in range(145, 240, 9)]
    asked += [leftmost(reference, START + p, p % 5 + 1, "") for p in range(145, 240, 9)]
    asked = sorted(set(asked))
    assert len(asked) > 10 * MAX_HAPLOTYPES
    spans = [(START + 60, START + 360, START, START + 420)]
    (without,) = check(reference, build(reference, reads, sites_of(reference, own), spans), spans)
    (region,) = check(reference, build(reference, reads, sites_of(reference, own, asked), spans), spans, len(asked))
    assert {(variant,) for variant in asked} <= {tuple(variants) for _, variants, _ in region}
    assert {row[0] for row in without} <= {row[0] for row in region}
    assert spelled(reference, variants[:2]) in {row[0] for row in without}


def test_choices_are_the_forced_alleles_that_reads_show():
    """A repeat that no k-mer spans: CIGARs show three substitutions together, and none of 200 forced alleles."""
    reference = random_sequence(150, 3)[:-1] + "C" + "A" * 70 + "G" + random_sequence(150, 4)[1:]
    variants = [(p, reference[p], other_base(reference[p])) for p in (235, 240, 245)]
    reads = diploid(reference, variants, [], step=8, length=140)
    shown = [as_variant(reference, v) for v in variants]
    asked = [(START + p, 1, base) for p in range(80, 149) for base in "ACGT" if base != reference[p]]
    spans = [(START + 60, START + 310, START, START + 370)]
    sites = sites_of(reference, [], [*asked, *shown])
    (region,) = check(reference, build(reference, reads, sites, spans), spans, len(asked) + 3)
    assert spelled(reference, variants) in {row[0] for row in region}


def test_too_many_haplotypes_are_cut_by_the_rule():
    """Of 2 ** 7 combinations of unlinked substitutions, the best supported ones remain, and also all forced alleles."""
    reference = random_sequence(900, 9)
    places = range(100, 800, 100)
    variants = [(p, reference[p], "ACGT"[("ACGT".index(reference[p]) + 1) % 4]) for p in places]
    reads = diploid(reference, variants, [], step=5, length=60)
    forced = (START + 450, 3, "")
    sites = sites_of(reference, [as_variant(reference, v) for v in variants], [leftmost(reference, *forced)])
    haplotypes = build(reference, reads, sites)
    (region,) = check(reference, haplotypes, [(START + 60, START + 840, START, START + 900)], asked=1)
    assert len(region) == MAX_HAPLOTYPES + 1
    assert haplotypes.status[0] == Status.CAPACITY
    assert applied(reference, [forced]) in {row[0] for row in region}
    own = [as_variant(reference, v) for v in variants]
    haplotypes = build(reference, reads, sites_of(reference, own, own))  # asked for, and with more support than most
    (every,) = check(reference, haplotypes, [(START + 60, START + 840, START, START + 900)], asked=len(own))
    assert len(every) == MAX_HAPLOTYPES + len(own)
    assert {row[0] for row in region} <= {row[0] for row in every} | {applied(reference, [forced])}


def test_variants_outside_of_the_region_are_taken_back():
    reference = random_sequence(420, 5)
    inside, outside = [(p, reference[p], "ACGT"[("ACGT".index(reference[p]) + 1) % 4]) for p in (180, 230)]
    reads = diploid(reference, [inside, outside], [outside], step=5, length=150)
    sites = sites_of(reference, [as_variant(reference, v) for v in (inside, outside)])
    spans = [(START + 160, START + 200, START + 80, START + 300)]
    (region,) = check(reference, build(reference, reads, sites, spans), spans)
    assert [row[1] for row in region] == [[], [as_variant(reference, inside)]]


@pytest.mark.parametrize("quality", [None, 0, 5])
def test_regions_without_reads_or_sites_have_the_reference_alone(quality):
    reference = random_sequence(300, 7)
    spans = [(START + 60, START + 90, START, START + 150), (START + 100, START + 130, START + 40, START + 190)]
    haplotypes = build(reference, [], sites_of(reference, []), spans)
    assert [len(region) for region in check(reference, haplotypes, spans)] == [1, 1]
    reads = diploid(reference, [], [], step=20, length=100)
    haplotypes = build(reference, reads, sites_of(reference, []), spans, quality)
    assert [len(region) for region in check(reference, haplotypes, spans)] == [1, 1]
    assert len(build(reference, reads, sites_of(reference, []), [])) == 0


def test_a_region_at_the_end_of_the_contig_has_the_alleles_of_alignments():
    """No k-mer lies between the variant and the contig's ends."""
    reference = random_sequence(120, 7)
    near = [(p, reference[p], "ACGT"[("ACGT".index(reference[p]) + 1) % 4]) for p in (4, 114)]
    reads = diploid(reference, near, [], step=2, length=100)
    reads += [replace(read, position=read.position, name=read.name + "b") for read in reads]
    sites = sites_of(reference, [as_variant(reference, v) for v in near])
    spans = [(START, START + 30, START, START + 90), (START + 90, START + 120, START + 30, START + 120)]
    regions = check(reference, build(reference, reads, sites, spans), spans)
    assert [[row[1] for row in region] for region in regions] == [[[], [as_variant(reference, v)]] for v in near]


def test_a_thousand_reads():
    reference = random_sequence(420, 12)
    variants = [(200, reference[200], reference[200] + "ACGTACCTTA"), (260, reference[260:270], reference[260])]
    reads = diploid(reference, variants[:1], variants[1:], step=1, length=150) * 2
    reads = [replace(read, name=f"{read.name}_{i}") for i, read in enumerate(reads)]
    assert len(reads) > 1000
    random = np.random.default_rng(1)
    noisy = []
    for read in reads:
        bases = [b if random.random() > 0.01 else random.choice(list("ACGT")) for b in read.bases]
        noisy.append(replace(read, bases="".join(bases)))
    sites = sites_of(reference, [as_variant(reference, v) for v in variants])
    (region,) = check(reference, build(reference, noisy, sites), [(START + 60, START + 360, START, START + 420)])
    expected = {reference, *(spelled(reference, [variant]) for variant in variants)}
    assert {row[0] for row in region} == expected
