"""Events to variants: clusters, alleles and genotypes, against plain Python and numbers by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.making import codes, random_sequence
from readwarp.call.places.bases import Bases
from readwarp.config import StructuralParameters
from readwarp.index.reference import Reference
from readwarp.ragged import check, empty
from readwarp.rules.bases import pack
from readwarp.structural.alleles import Allele, move_copies, represent, shared_bases, spell
from readwarp.structural.evidence import WITHIN, ReadSpans, StructuralEvents
from readwarp.structural.genotype import Crossings, genotype
from readwarp.structural.records import spell_out
from readwarp.structural.steps import cluster

CONTIG = random_sequence(6000, seed=3)
PARAMETERS = StructuralParameters()


def bases_of(text: str) -> Bases:
    packed = np.zeros(len(text) // 2 + 1, np.uint8)
    pack(np.frombuffer(text.encode(), np.uint8), 0, packed)
    return Bases(Reference(("c",), np.array([0, len(text)]), ("",), packed), 0)


def events_of(rows: list[tuple[int, int, str]], names: list[int] | None = None, sample: int = 0) -> StructuralEvents:
    """Of one read each: start, stop, and what it has instead."""
    sizes = [len(new) for *_, new in rows]
    events = empty(StructuralEvents, {}, base_offsets=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64))
    for column, values in ((events.start, [r[0] for r in rows]), (events.stop, [r[1] for r in rows])):
        column[:] = values
    events.query_start[:], events.query_stop[:] = 1000, 1000 + np.array(sizes, np.int64)
    events.strand[:], events.sample[:], events.kind[:] = 0, sample, WITHIN
    events.name[:] = range(len(rows)) if names is None else names
    events.bases[:] = codes("".join(new for *_, new in rows))
    return events


@st.composite
def scattered(draw):
    rows = []
    for _ in range(draw(st.integers(0, 25))):
        start = draw(st.integers(0, 4000))
        size = draw(st.sampled_from([45, 50, 58, 60, 70, 200, 240, 260, 1200, 1500]))
        rows.append((start, start + size, "") if draw(st.booleans()) else (start, start, "A" * size))
    return events_of(rows, names=[draw(st.integers(0, 9)) for _ in rows])


def chains(rows, value, is_far):
    """Rows sorted by value, cut where neighbours are far."""
    out = []
    for row in sorted(rows, key=value):
        if out and not is_far(value(out[-1][-1])[0], value(row)[0]):
            out[-1].append(row)
        else:
            out.append([row])
    return out


@given(scattered())
def test_clusters(events):
    """Three passes of plain loops."""
    length = np.abs(events.length).tolist()
    start, name = events.start.tolist(), events.name.tolist()

    def by_place(row):
        return start[row], length[row], int(events.stop[row]), 1000, name[row]

    def by_length(row):
        return length[row], start[row], int(events.stop[row]), 1000, name[row]

    def is_far(low, high):
        return high - low > 500

    def differs(low, high):
        return high - low > max(10, 0.25 * low)

    wanted = set()
    for kind in (False, True):
        rows = [row for row in range(len(events)) if (events.length[row] > 0) == kind]
        for near in chains(rows, by_place, is_far):
            for alike in chains(near, by_length, differs):
                for own in chains(alike, by_place, is_far):
                    first = frozenset(min(row for row in own if name[row] == x) for x in {name[row] for row in own})
                    if len(first) >= 2 or max(length[row] for row in first) >= 1000:
                        wanted.add(first)
    assert {frozenset(rows.tolist()) for rows in cluster(events, PARAMETERS)} == wanted


def test_what_most_reads_show_stands_for_a_cluster():
    rows = [(100, 160, ""), (101, 161, ""), (101, 161, ""), (90, 152, ""), (101, 161, "")]
    assert represent(events_of(rows)) in (1, 2, 4)
    inserted = [(100, 100, "ACGT" * 20), (100, 100, "ACGA" * 20), (100, 100, "ACGA" * 20)]
    assert represent(events_of(inserted)) == 1


@given(st.integers(0, 1000), st.integers(0, 80), st.text("ACGT", max_size=80))
def test_an_allele_makes_the_sequence_of_its_event(start, deleted, new):
    text = "AC" * 30 + CONTIG[:40] * 2 + CONTIG[:940]  # repeats, along which alleles move
    length = len(new) - deleted
    if length == 0:
        return
    bases = bases_of(text)
    allele = spell(start, start + deleted, length, codes(new).tobytes(), bases)
    old, spelled = spell_out(allele, bases)
    at = allele.start if allele.deleted and allele.inserted else max(0, allele.start - 1)
    assert text[at : at + len(old)] == old
    assert text[:at] + spelled + text[at + len(old) :] == text[:start] + new + text[start + deleted :]
    assert min(len(old), len(spelled)) == 1 or (old[0] != spelled[0] and old[-1] != spelled[-1])
    if min(len(old), len(spelled)) == 1 and at > 0:
        assert old[-1] != spelled[-1], "not leftmost"


@pytest.mark.parametrize("offset", [0, 1, 300, 699, 700])
@pytest.mark.parametrize("errors", [0, 8])
def test_a_tandem_copy_is_put_before_its_copy(offset, errors):
    """Wherever the aligner has put it, and if one base in 90 of the read is wrong."""
    copy = CONTIG[2000:2700]
    own = list(copy[offset:] + copy[:offset])
    for place in np.random.default_rng(1).choice(np.arange(20, 680), errors, replace=False).tolist():
        own[place] = "ACGT"["CGTA".index(own[place])]
    bases = bases_of(CONTIG)
    events = events_of([(2000 + offset, 2000 + offset, "".join(own))])
    moved = move_copies(events, bases)
    check(moved)
    assert moved.start[0] == moved.stop[0]
    allele = spell(int(moved.start[0]), int(moved.stop[0]), 700, moved.bases.tobytes(), bases)
    assert (allele.start, allele.deleted, allele.length) == (2000, 0, 700)
    made = "".join("ACGTN"[base] for base in allele.inserted)
    assert sum(a != b for a, b in zip(made, copy, strict=True)) <= errors
    assert shared_bases(allele, bases) == 700


@given(st.text("ACGT", min_size=100, max_size=300))
def test_other_insertions_stay(new):
    events = events_of([(2000, 2000, new), (2000, 2120, "")])
    moved = move_copies(events, bases_of(CONTIG))
    assert moved.start.tolist() == [2000, 2000] and moved.bases.tolist() == events.bases.tolist()


def test_shared_bases_of_a_deletion():
    """The contig without one of two copies equals the contig as far as the copies agree."""
    unit = CONTIG[1000:1200]
    changed = unit[:150] + ("A" if unit[150] != "A" else "C") + unit[151:]
    bases = bases_of(CONTIG[:1000] + unit + changed + CONTIG[3000:])
    assert shared_bases(Allele(1000, 200, b"", -200), bases) == 200
    half = bases_of(CONTIG[:1000] + unit + unit[:60] + CONTIG[3000:])
    assert 60 <= shared_bases(Allele(1000, 200, b"", -200), half) < 70
    assert shared_bases(Allele(1000, 200, b"", -200), bases_of(CONTIG)) < 10


@st.composite
def alignments(draw):
    count = draw(st.integers(0, 25))
    spans = empty(ReadSpans, {"spans": count})
    spans.start[:] = [draw(st.integers(0, 900)) for _ in range(count)]
    spans.stop[:] = spans.start + [draw(st.integers(1, 900)) for _ in range(count)]
    spans.query_start[:] = [draw(st.sampled_from([0, 39, 40, 200])) for _ in range(count)]
    spans.query_stop[:] = spans.query_start + spans.stop - spans.start
    spans.clipped[:] = [draw(st.sampled_from([0, 39, 40, 200])) for _ in range(count)]
    spans.strand[:] = 0
    spans.name[:] = [draw(st.integers(0, 12)) for _ in range(count)]
    spans.sample[:] = spans.name % 2
    return spans


@given(alignments(), st.integers(300, 700), st.sampled_from([0, 60, 300]), st.sampled_from([0, 100]), st.integers(0, 4))
def test_counts(spans, start, deleted, shared, number):
    """Reads of two samples by their names, in plain loops."""
    events = events_of([(start, start + deleted, "A" * 100)] * number)
    events.sample[:] = events.name % 2
    counts = Crossings(spans, 2, PARAMETERS).count(start, start + deleted, shared, events)
    rows = list(zip(*(column.tolist() for column in spans), strict=True))
    for sample in (0, 1):
        others = [r for r in rows if r[7] == sample and r[6] >= number]
        clipped, against = [], []
        for at, edge, clip in ((start, 1, 4), (start + deleted, 0, 2)):
            near = [r for r in others if r[clip] >= 40 and min(abs(r[edge] - at), abs(r[edge] - at - shared)) <= 50]
            clipped.append(len({r[6] for r in near}))
            against.append(len({r[6] for r in others if r[0] <= at - 50 and r[1] >= at + shared + 50}))
        shown = sum(1 for x in range(number) if x % 2 == sample)
        assert counts.shown[sample] == shown and counts.clipped[sample] == min(clipped)
        assert counts.carriers[sample] == shown + math.ceil(sum(clipped) / 2)
        assert counts.against[sample] == math.ceil(sum(against) / 2)


@pytest.mark.parametrize(
    ("carriers", "against", "ploidy", "alleles"),
    [
        (0, 10, 2, (0, 0)),
        (5, 5, 2, (0, 1)),
        (10, 0, 2, (1, 1)),
        (2, 12, 2, (0, 0)),  # a seventh of the reads
        (3, 10, 2, (0, 1)),
        (0, 0, 2, (-1, -1)),
        (7, 0, 1, (1,)),
        (1, 7, 1, (0,)),
        (2, 7, 4, (0, 0, 0, 1)),
        (3, 3, 0, ()),
    ],
)
def test_genotypes(carriers, against, ploidy, alleles):
    assert genotype(carriers, against, ploidy, 0.03).alleles == alleles


@given(st.integers(0, 200), st.integers(0, 200), st.integers(1, 6))
def test_likelihoods_are_binomial(carriers, against, ploidy):
    found = genotype(carriers, against, ploidy, 0.03)
    shares = [0.03 + 0.94 * copies / ploidy for copies in range(ploidy + 1)]
    logs = [carriers * math.log10(f) + against * math.log10(1 - f) for f in shares]
    assert all(abs(x + 10 * (y - max(logs))) <= 0.5 + 1e-6 for x, y in zip(found.phred, logs, strict=True))
    assert found.quality == min(99, sorted(found.phred)[1] if carriers + against else 0)
    if carriers + against:
        assert found.phred[sum(found.alleles)] == 0
