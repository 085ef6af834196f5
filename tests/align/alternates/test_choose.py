"""Which place of a read wins where some are on ALT contigs, how sure it is, and what follows it."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readwarp.align.alternates import Alternates, choose
from readwarp.align.alternates.choose import TIE
from readwarp.align.alternates.lift import find_loci
from readwarp.align.batches import Candidates, Scores
from readwarp.align.insert_models import InsertModels, InsertSizes
from readwarp.align.places import Places, places_of
from readwarp.align.records import choose as choose_among
from readwarp.align.records.choose import ALTERNATE, PRIMARY, SECONDARY, SUPPLEMENTARY, Choices
from readwarp.align.steps import make_batch
from readwarp.config import AlignParameters, RecordParameters
from readwarp.formats.common.reads import ReadBatch
from readwarp.ragged import replace

SIZES = InsertModels(InsertSizes(mean=300.0, deviation=30.0, low=180, high=420, pairs=1000, other_orientations=0))
LENGTH, PERFECT = 100, 110
# one, two: primary assembly; a, b, c: ALT contigs at 200,000, 300,000 and 400,000; c is aligned to nothing
CONTIGS = np.array([0, 100_000, 200_000, 300_000, 400_000, 500_000], np.int64)
A, B, C = 200_000, 300_000, 400_000
TABLE = Alternates(
    CONTIGS,
    np.array([False, False, True, True, True]),
    start=np.array([A, A + 50_000, B], np.int64),
    stop=np.array([A + 40_000, A + 60_000, B + 40_000], np.int64),
    image=np.array([10_000, 59_999, 10_000], np.int64),  # the second run is reversed; b is an alternative as a is
    strand=np.array([0, 1, 0], np.uint8),
)


class Place(NamedTuple):
    v: int
    strand: int
    score: int
    stop: int = LENGTH  # on the read


def batch(number: int, paired: bool = False) -> ReadBatch:
    return make_batch([("r", "A" * LENGTH, None)] * number, paired)


def places_for(reads: list[list[Place]]) -> Places:
    rows = [(r, *place) for r, read in enumerate(reads) for place in read]
    read, v, strand, score, stop = np.array(rows, np.int64).reshape(-1, 5).T
    offsets = np.cumsum([0, *map(len, reads)])
    start = np.zeros(read.size, np.int32)
    candidates = Candidates(
        offsets,
        read.astype(np.int32),
        strand.astype(np.uint8),
        v,
        v + LENGTH,
        v,
        start,
        stop.astype(np.int32),
        start,
        start,
    )
    status = np.zeros(read.size, np.uint8)
    return places_of(
        candidates, Scores(score.astype(np.int32), stop.astype(np.int32), v + stop, status), AlignParameters()
    )


def chosen(reads: list[list[Place]], paired: bool = False, **records: object) -> Choices:
    parameters = AlignParameters(records=RecordParameters(**records))
    given = batch(len(reads), paired), places_for(reads), SIZES, parameters, np.zeros(len(reads), np.int32)
    return choose(*given, TABLE)


def rows(choices: Choices, read: int = 0) -> list[tuple[int, int, int]]:
    """(candidate, role, MAPQ) of a read."""
    part = slice(choices.choice_offsets[read], choices.choice_offsets[read + 1])
    columns = (choices.candidate, choices.role, choices.mapping_quality)
    return list(zip(*(column[part].tolist() for column in columns), strict=True))


def test_a_copy_on_an_alt_contig_is_no_rival():
    """15,000 on contig one is 5,000 on contigs a and b."""
    here, there, elsewhere = Place(15_000, 0, PERFECT), Place(A + 5000, 0, PERFECT), Place(B + 5000, 0, PERFECT - 5)
    assert rows(chosen([[here, there, elsewhere]])) == [(0, PRIMARY, 60), (1, SECONDARY, 0), (2, SECONDARY, 0)]
    plain = choose_among(
        batch(1), places_for([[here, there]]), SIZES, AlignParameters(), np.zeros(1, np.int32), CONTIGS
    )
    assert plain.mapping_quality[0] == 0


def test_a_better_hit_follows_the_place():
    made = chosen([[Place(B + 5000, 0, 100), Place(15_000, 0, 90), Place(A + 5000, 0, PERFECT)]])
    assert rows(made) == [(1, PRIMARY, 60), (2, ALTERNATE, 60), (0, SECONDARY, 0)]
    assert made.score.tolist() == [90, PERFECT, 100] and made.second_score.tolist() == [0, 0, 0]


def test_a_reversed_stretch():
    """54,999 on contig one is 55,000 on contig a, on the other strand, and what is before it is after that."""
    there, here = Place(A + 55_000, 0, PERFECT), Place(55_000 - LENGTH, 1, 90)
    assert rows(chosen([[there, here]])) == [(1, PRIMARY, 60), (0, ALTERNATE, 60)]
    loci = find_loci(batch(1), places_for([[there]]), TABLE)
    assert (loci.start[0], loci.stop[0], loci.strand[0], loci.diagonal[0]) == (54_900, 55_000, 1, 54_900)
    same_strand = here._replace(strand=0)
    assert rows(chosen([[there, same_strand]]))[0] == (1, PRIMARY, 60)  # it has no other place on the assembly
    assert [row[1] for row in rows(chosen([[there, same_strand]]))] == [PRIMARY, ALTERNATE]


def test_the_locus_with_the_best_hit_wins():
    """A paralog at 70,000 is nearer to the read than its own place, but an ALT contig of its own place is nearest."""
    paralog, own, hit = Place(70_000, 0, 95), Place(15_000, 0, 90), Place(A + 5000, 0, PERFECT)
    assert rows(chosen([[paralog, own]]))[0][0] == 0
    made = chosen([[paralog, own, hit]])
    assert [row[:2] for row in rows(made)] == [(1, PRIMARY), (2, ALTERNATE), (0, SECONDARY)]
    alone = chosen([[Place(15_000, 0, PERFECT - TIE), paralog]])  # as if the read were as near there as to the hit
    assert rows(made)[0][2] == rows(alone)[0][2] > 20
    assert made.second_score[:2].tolist() == [95, 95]


def test_of_equal_loci_that_which_needs_no_hit_wins():
    for name in range(20):
        own, other, hit = Place(70_000 + name, 0, PERFECT), Place(15_000, 0, 90), Place(A + 5000, 0, PERFECT)
        (first, *_) = rows(chosen([[hit, other, own]]))
        assert first[:2] == (2, PRIMARY) and first[2] < 10


def test_places_of_one_locus_keep_their_distances():
    """In a tandem repeat, the hit does not tell which of two equal places is right."""
    hit, near, far = Place(A + 5000, 0, PERFECT), Place(15_000, 0, 90), Place(15_030, 0, 90)
    assert rows(chosen([[hit, near, far]]))[0][2] == 0 == rows(chosen([[near, far]]))[0][2]


def test_without_a_place_on_the_primary_assembly():
    """A read is placed on an ALT contig; one alternative of a stretch is no rival of another one, other loci are."""
    a, b = Place(A + 5000, 0, PERFECT), Place(B + 5000, 0, PERFECT)
    (first, *others) = rows(chosen([[a, b]]))
    assert first[1:] == (PRIMARY, 60) and [row[1] for row in others] == [SECONDARY]
    assert rows(chosen([[a, Place(A + 20_000, 0, PERFECT)]]))[0][2] == 0
    assert rows(chosen([[a, Place(C + 5000, 0, PERFECT)]]))[0][2] == 0
    weak = Place(15_000, 0, 39)  # its record might have less than 30
    assert rows(chosen([[a, weak]]))[0][:2] == (0, PRIMARY) and rows(chosen([[a, weak._replace(score=40)]]))[0][0] == 1


def test_hits_without_a_lift_over():
    """They are no rivals, and follow the place if they are better; other hits are their rivals."""
    place, hit = Place(15_000, 0, 90), Place(C + 700, 0, PERFECT)
    assert rows(chosen([[place, hit]])) == [(0, PRIMARY, 60), (1, ALTERNATE, rows(chosen([[hit, place]]))[1][2])]
    assert 20 < rows(chosen([[place, hit]]))[1][2] <= 60
    assert rows(chosen([[place, hit, Place(C + 9000, 0, PERFECT)]]))[1][1:] == (ALTERNATE, 0)
    assert rows(chosen([[Place(15_000, 0, PERFECT), hit]])) == [(0, PRIMARY, 60), (1, SECONDARY, 0)]
    in_locus = Place(A + 5000, 0, PERFECT)  # of equal hits it comes first, whatever the order
    for hits in ([in_locus, hit], [hit, in_locus]):
        made = chosen([[place, *hits]])
        assert made.role.tolist() == [PRIMARY, ALTERNATE, SECONDARY]
        assert hits[made.candidate[1] - 1] == in_locus and made.mapping_quality.tolist() == [60, 60, 0]


def test_hits_on_loose_bases_have_no_locus():
    """45,000 of contig a is aligned to nothing."""
    loci = find_loci(batch(1), places_for([[Place(A + 45_000, 0, PERFECT), Place(99_950, 0, 50)]]), TABLE)
    assert loci.start.tolist() == [-1, 99_950] and loci.is_alternate.tolist() == [1, 0]
    made = chosen([[Place(A + 45_000, 0, PERFECT), Place(55_000, 0, 90)]])
    assert [row[:2] for row in rows(made)] == [(1, PRIMARY), (0, ALTERNATE)]


def test_another_part_of_the_read_is_not_concerned():
    """The first 60 bases are at 15,000 and on contig a, the rest is at 70,000."""
    part, hit, rest = Place(15_000, 0, 55, 60), Place(A + 5000, 0, 65, 60), Place(70_000, 1, 45, 40)
    made = chosen([[part, hit, rest]])
    assert [row[:2] for row in rows(made)] == [(0, PRIMARY), (2, SUPPLEMENTARY), (1, ALTERNATE)]
    assert made.mapping_quality[1] == chosen([[rest]]).mapping_quality[0]


def test_mates_are_paired_on_the_primary_assembly():
    """Each mate's best hit is on another ALT contig; the pair is proper, and the mate's MAPQ does not fall."""
    first = [Place(A + 5000, 0, PERFECT), Place(15_000, 0, 90)]
    last = [Place(B + 5200, 1, PERFECT), Place(15_200, 1, 95)]
    made = chosen([first, last], paired=True)
    assert made.proper.tolist() == [1, 1]
    assert [row[:2] for row in rows(made)] == [(1, PRIMARY), (0, ALTERNATE)]
    assert [row[:2] for row in rows(made, 1)] == [(3, PRIMARY), (2, ALTERNATE)]
    assert made.mapping_quality.tolist() == [60, 60, 60, 60]
    both = chosen([first[:1], [Place(A + 5200, 1, PERFECT), *last]], paired=True)  # the first mate has no other place
    assert both.proper.tolist() == [0, 0] and rows(both)[0][:2] == (0, PRIMARY) and rows(both, 1)[0][:2] == (3, PRIMARY)


def test_how_many_hits_are_listed():
    hits = [Place(A + 5000 + 2 * i, 0, PERFECT - i) for i in range(12)]
    roles = chosen([[Place(15_000, 0, PERFECT), *hits]]).role.tolist()
    assert roles == [PRIMARY, *[SECONDARY] * 12]  # XA names all of them, but only up to five others
    made = chosen([[Place(15_000, 0, PERFECT), *hits[::-1]]], secondary_records=True, max_secondary=3)
    assert made.candidate.tolist() == [0, 12, 11, 10]  # the best ones
    others = [Place(60_000 + 1000 * i, 0, PERFECT) for i in range(2)]
    made = chosen([[Place(15_000, 0, PERFECT), *hits, *others]], secondary_records=True, max_secondary=3)
    assert sorted(made.candidate.tolist()) == [0, 1, 13, 14] and made.candidate[-1] == 1
    assert chosen([[Place(15_000, 0, 100), Place(A + 5000, 0, 79)]]).role.tolist() == [PRIMARY]


def test_reads_without_hits_on_alt_contigs_are_chosen_as_ever():
    reads = [[Place(15_000, 0, PERFECT), Place(70_000, 1, 100)], [], [Place(20_000, 0, 20)], [Place(99_000, 1, 80)]]
    given = batch(4), places_for(reads), SIZES, AlignParameters(), np.zeros(4, np.int32)
    for made, plain in zip(chosen(reads), choose_among(*given, CONTIGS), strict=True):
        assert (made == plain).all() and made.dtype == plain.dtype


places = st.builds(
    Place,
    st.sampled_from((15_000, 15_020, 16_000, 70_000, A + 5000, A + 5020, A + 6000, B + 5000, C + 5000)),
    st.integers(0, 1),
    st.integers(20, PERFECT),
    st.just(LENGTH),
)


@given(read=st.lists(places, min_size=1, max_size=8, unique_by=lambda place: place[:2]))
def test_scores_of_loci_are_those_of_plain_python(read):
    """The place is that of `records.choose` among the places on the primary assembly, with scores made here."""
    loci = find_loci(batch(1), places_for([read]), TABLE)
    usable = [i for i, place in enumerate(read) if place.v < A and place.score - 10 >= 30]

    def alike(i: int, j: int) -> bool:
        apart = loci.start[i] >= loci.stop[j] or loci.start[j] >= loci.stop[i]
        return loci.start[i] >= 0 <= loci.start[j] and loci.strand[i] == loci.strand[j] and not apart

    worth = {i: read[i].score for i in usable}
    for i, place in enumerate(read):
        group = [j for j in usable if place.v >= A and place.score >= 40 and alike(i, j)]
        gain = place.score - TIE - max((read[j].score for j in group), default=PERFECT)
        worth |= {j: max(worth[j], read[j].score + gain) for j in group}
    made = chosen([read])
    if not usable:
        assert made.candidate.size == 0 or made.role[0] == PRIMARY
        return
    kept = [i for i, place in enumerate(read) if place.v < A]
    own = places_for([[read[i] for i in kept]])
    own = replace(own, score=np.array([worth.get(i, read[i].score) for i in kept], np.int32))
    plain = choose_among(batch(1), own, SIZES, AlignParameters(), np.zeros(1, np.int32), CONTIGS)
    mine = np.isin(made.candidate, kept)
    assert [kept[i] for i in plain.candidate] == made.candidate[mine].tolist()
    assert (plain.mapping_quality == made.mapping_quality[mine]).all() and (plain.role == made.role[mine]).all()
    follows = made.candidate[made.role == ALTERNATE].tolist()
    assert all(read[i].v >= A and read[i].score > read[made.candidate[0]].score for i in follows) and len(follows) < 2


@pytest.mark.parametrize("secondary", [0, 2, 72])
def test_each_candidate_is_listed_once(secondary):
    read = [Place(15_000, 0, 90), *(Place(A + 5000 + i, 0, 90 + i) for i in range(9)), Place(C + 50, 1, 105)]
    made = chosen([read] * 3, secondary_records=True, max_secondary=secondary)
    for r in range(3):
        found = rows(made, r)
        assert len({row[0] for row in found}) == len(found) == min(2 + secondary, len(read))
