"""Regions compared with plain Python, and what windows and depth must not change."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making import (
    QUERY,
    REFERENCE,
    Read,
    aligned_reads,
    no_mates,
    offsets,
    random_sequence,
    reads_of,
    window_of,
)
from readwarp.call.candidates.batches import Regions, Sites
from readwarp.call.candidates.pileup import MAX_INDEL, count_window
from readwarp.call.candidates.regions import FLANK, MIN_BASES, MIN_FLANK, REACHES, SPARE
from readwarp.call.candidates.regions.clips import add_clipped, find_clip_places
from readwarp.call.candidates.regions.find import find_regions, split_samples, thin_reads
from readwarp.call.candidates.sites.find import find_sites
from readwarp.call.places.targets import MAX_REGION
from readwarp.call.reads.mates.pairs import merge_mates
from readwarp.config import CallParameters
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.ragged import replace
from readwarp.rules.hashes import spread
from readwarp.rules.statuses import Status

LENGTH = 700
Mark = tuple[int, int, int, bool, int]  # place, first, last, is_wide, deleted
Place = tuple[int, int, bool, tuple[int, ...]]  # begin, stop, is_indel, deleted bases of the other alleles


def sites_of(places: list[Place]) -> Sites:
    deleted = [[0 if is_indel else 1, *others] for _, _, is_indel, others in places]
    number = sum(map(len, deleted))
    return Sites(
        contig=0,
        begin=np.array([begin for begin, _, _, _ in places], np.int64),
        stop=np.array([stop for _, stop, _, _ in places], np.int64),
        is_indel=np.array([is_indel for _, _, is_indel, _ in places], bool),
        unit=np.ones(len(places), np.int32),
        allele_offsets=offsets(map(len, deleted)),
        deleted=np.array([x for own in deleted for x in own], np.int32),
        inserted=np.empty(0, np.uint8),
        inserted_offsets=np.zeros(number + 1, np.int64),
        is_forced=np.zeros(number, bool),
        reach=np.ones(number),
    )


def snv(begin: int) -> Place:
    return begin, begin + 1, False, (1,)


def clip_places(reads: list[Read], low: int, high: int) -> dict[str, list[int]]:
    """Places where a good clip begins or ends in enough of the reads that cover the base on the aligned side."""
    shown: dict[str, list[int]] = {"ending": [], "beginning": []}
    for read in reads:
        own = [(n, o) for n, o in read.operations if o != "H"]
        first = next(i for i, (n, o) in enumerate(own) if n and o in "M=X")
        for side, part, at in (("ending", own[first:], read.stop), ("beginning", own[:first], read.position)):
            size = next((n for n, o in part if o == "S"), 0)
            clipped = read.qualities[:size] if side == "beginning" else read.qualities[len(read.bases) - size :]
            if size >= 8 and sum(clipped) >= 15 * size and low < at < high:
                shown[side].append(at)
    found = {}
    for side, places in shown.items():
        aligned = {p: sum(r.position <= p - (side == "ending") < r.stop for r in reads) for p in set(places)}
        found[side] = [p for p in sorted(aligned) if places.count(p) >= max(2, 0.05 * aligned[p])]
    return found


def marks_of(places: list[Place], clips: dict[str, list[int]]) -> list[Mark]:
    marks = [(b, b - indel, stop, indel, max(gone) if indel else 0) for b, stop, indel, gone in places]
    marks += [(p, p - 1, p + 1, True, 0) for p in clips["ending"] + clips["beginning"]]
    for place in clips["ending"]:
        behind = [p for p in clips["beginning"] if p > place]
        if behind and behind[0] - place <= MAX_INDEL:
            marks.append((place, place - 1, behind[0] + 1, True, behind[0] - place))
    return marks


def united(marks: list[Mark], level: int) -> list[tuple[int, int, list[Mark]]]:
    """Runs of positions that widened marks cover, found by painting every position."""
    wider = [(m[1] - REACHES[level][m[3]], m[2] + REACHES[level][m[3]], m) for m in marks]
    painted = {p for first, last, _ in wider for p in range(first, last)}
    inner = {p for first, last, _ in wider for p in range(first + 1, last)}
    runs = []
    for start in sorted(p for p in painted if p - 1 not in painted):
        stop = next(p for p in range(start, start + 10_000) if p not in painted)
        # touching is not overlapping: a run splits where no mark spans the border
        borders = [p for p in range(start + 1, stop) if p not in inner]
        for first, last in zip([start, *borders], [*borders, stop], strict=True):
            runs.append((first, last, [m for a, b, m in wider if first <= a and b <= last]))
    return runs


def expected_spans(marks: list[Mark]) -> list[tuple[int, int, list[Mark], Status]]:
    out = []
    for level in range(len(REACHES)):
        left = []
        for start, stop, own in united(marks, level):
            if stop - start > MAX_REGION:
                left.append((start, stop, own))
            elif level or len(own) > 1 or own[0][3]:
                out.append((start, stop, own, Status.TOO_LONG if level else Status.OK))
        marks = [mark for _, _, own in left for mark in own]
    for start, stop, own in left:
        for part in sorted({m[0] // MAX_REGION for m in own}):
            low, high = max(start, part * MAX_REGION), min(stop, (part + 1) * MAX_REGION)
            out.append((low, high, [m for m in own if m[0] // MAX_REGION == part], Status.TOO_LONG))
    return sorted(out, key=lambda x: x[0])


def pieces(read: Read):
    """Runs of (reference position or None, index) of the read's bases between the operations that split it."""
    runs, run, p, q = [], [], read.position, 0
    for size, operation in read.operations:
        is_split = operation == "N" or (operation in "ID" and size > MAX_INDEL)
        for k in range(size if operation in QUERY and not is_split else 0):
            run.append((p + k if operation in "M=X" else None, q + k))
        if is_split:
            runs, run = [*runs, run], []
        q += size if operation in QUERY else 0
        p += size if operation in REFERENCE else 0
    return [r for r in (*runs, run) if any(at is not None for at, _ in r)]


def expected_bases(read: Read, start: int, stop: int, low: int, high: int) -> tuple[int, int] | None:
    best, out = 0, None
    for run in pieces(read):
        aligned = [(i, at) for i, (at, _) in enumerate(run) if at is not None]
        shared = min(aligned[-1][1] + 1, stop) - max(aligned[0][1], start)
        if shared <= best:
            continue
        best, (first, p0), (last, p1) = shared, aligned[0], aligned[-1]
        diagonal = {i: p0 - first + i for i in range(first)} | {i: p1 - last + i for i in range(last, len(run))}
        at = [diagonal.get(i, place) for i, (place, _) in enumerate(run)]
        kept = [i for i, place in enumerate(at) if place is not None and low <= place < high]
        out = (run[kept[0]][1], run[kept[-1]][1] + 1) if kept else None
    return out if out and out[1] - out[0] >= MIN_BASES else None


def listed(regions: Regions, reads: AlignedReads):
    """Each region as (start, stop, low, high, status, [(read, from, to)]); bases count within the read."""
    rows = []
    for g in range(len(regions)):
        span = range(regions.read_offsets[g], regions.read_offsets[g + 1])
        first = [int(reads.read_offsets[regions.read[r]]) for r in span]
        own = [
            (int(regions.read[r]), int(regions.base_start[r]) - f, int(regions.base_stop[r]) - f)
            for r, f in zip(span, first, strict=True)
        ]
        numbers = (int(x[g]) for x in (regions.start, regions.stop, regions.low, regions.high, regions.status))
        rows.append((*numbers, own))
    return rows


def found(reads: list[Read], places: list[Place], start=0, stop=LENGTH, low=0, high=LENGTH, max_reads=1000):
    batch = aligned_reads(reads)
    window = window_of("A" * (stop - start), low, high, start)
    regions, within = find_regions(batch, find_clip_places(batch, window), sites_of(places), window)
    regions = thin_reads(regions, batch, np.full(len(regions), max_reads))
    return listed(regions, batch), within.tolist(), regions


def expected(reads: list[Read], places: list[Place], start: int, stop: int, low: int, high: int):
    reads = sorted(reads, key=lambda read: read.position)
    rows, spans = [], expected_spans(marks_of(places, clip_places(reads, low, high)))
    for i, (first, last, own, status) in enumerate(spans):
        first, last, reach = max(first, start), min(last, stop), max(last, *(m[2] for m in own))
        before = spans[i - 1][1] if i else -FLANK
        behind = spans[i + 1][0] if i + 1 < len(spans) else stop + FLANK
        inner_low = max(first - FLANK, min(before, first - MIN_FLANK), start)
        inner_high = min(reach + FLANK, max(behind, reach + MIN_FLANK), stop)
        room = SPARE + min(sum(m[4] for m in own), max(m[2] for m in own) - min(m[1] for m in own))
        bases = [(i, expected_bases(r, first, last, inner_low, inner_high)) for i, r in enumerate(reads)]
        taking = [(i, *span) for i, span in bases if span]
        rows.append((first, last, max(inner_low - room, start), min(inner_high + room, stop), status, taking))
    return rows


@st.composite
def long_reads(draw):
    """Reads with a few long operations, some of which split a read, that pile up at few places."""
    made = []
    for _ in range(draw(st.integers(0, 14))):
        middle = draw(st.lists(st.tuples(st.integers(1, 40), st.sampled_from("MMM=XIDDNP")), max_size=4))
        if draw(st.integers(0, 5)) == 0:
            middle.append((MAX_INDEL + draw(st.integers(0, 1)), draw(st.sampled_from("ID"))))
        clips = [draw(st.sampled_from([0, 3, 8, 12, 80])) for _ in range(2)]
        ends = [draw(st.integers(1, 60)) for _ in range(2)]
        operations = [(clips[0], "S"), (ends[0], "M"), *middle, (ends[1], "M"), (clips[1], "S")]
        operations = [(n, o) for n, o in operations if n]
        position = draw(st.sampled_from([0, 100, 130, 260, 300]))
        if draw(st.booleans()):  # end, not begin, with the others
            position = max(0, position + 200 - sum(n for n, o in operations if o in REFERENCE))
        size = sum(n for n, o in operations if o in QUERY)
        qualities = (draw(st.sampled_from([5, 14, 15, 30])),) * size
        cigar = "".join(f"{n}{o}" for n, o in operations)
        made.append(Read(position, cigar, "A" * size, qualities, name=draw(st.sampled_from("abcdef"))))
    return [read for read in made if read.stop <= LENGTH]


@st.composite
def any_places(draw):
    made = []
    for begin in sorted(draw(st.sets(st.integers(1, LENGTH - 80), max_size=25))):
        if draw(st.integers(0, 3)):
            made.append(snv(begin))
        else:
            deleted = tuple(draw(st.lists(st.integers(0, 30), min_size=1, max_size=2)))
            made.append((begin, begin + max(deleted) + draw(st.integers(0, 30)), True, deleted))
    return sorted(made, key=lambda place: place[0] - place[2])


@settings(max_examples=150)
@given(long_reads() | reads_of(LENGTH), any_places(), st.integers(0, 40), st.integers(600, LENGTH))
def test_equals_plain_python(reads, places, start, stop):
    reads = [r for r in reads if any(n and o in "M=X" for n, o in r.operations)]
    places = [place for place in places if start < place[0] and place[1] < stop]
    rows, within, _ = found(reads, places, start, stop, start, stop)
    assert rows == expected(reads, places, start, stop, start, stop)
    assert within == [any(row[0] <= place[0] < row[1] for row in rows) for place in places]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(300, 1900), st.integers(0, 60)), max_size=120), st.booleans())
def test_crowded_places_are_cut(drawn, crowded):
    """Regions never overlap or grow too long. Each indel is in one, and so is each substitution near another."""
    places = [(b, b + n, True, (n,)) if n > 40 else snv(b) for b, n in sorted(dict(drawn).items())]
    if crowded:
        places = [snv(b) for b in range(400, 1500, 3)] + [p for p in places if p[0] >= 1500]
    places.sort(key=lambda place: place[0] - place[2])
    rows, within, _ = found([], places, stop=2100, high=2100)
    assert rows == expected([], places, 0, 2100, 0, 2100)
    assert all(stop - start <= MAX_REGION for start, stop, *_ in rows)
    assert all(a[1] <= b[0] for a, b in pairwise(rows))
    for i, (place, inside) in enumerate(zip(places, within, strict=True)):
        near = any(abs(place[0] - other[0]) <= 8 for j, other in enumerate(places) if i != j)
        assert inside or not (place[2] or near)


def shaken(reference: str, seed: int, number: int = 1500) -> list[Read]:
    """Pairs of error-prone reads of 80 bases; some places attract gaps, clips or substitutions, some all of them."""
    rng = np.random.default_rng(seed)
    hot = {int(x): "SID"[i % 3] for i, x in enumerate(rng.integers(0, len(reference), 60))}
    wild = int(rng.integers(1200, len(reference) - 2500))
    made = []
    for i in range(number):
        start = int(rng.integers(0, len(reference) - 120))
        bases = list(reference[start : start + 80])
        for k in range(80):
            if (wild <= start + k < wild + 1100 and (start + k) % 4 == 0 and i % 2) or rng.random() < 0.004:
                bases[k] = "ACGT"["CGTA".index(bases[k])]
        cigar = "80M"
        inside = [p for p in hot if start + 10 <= p < start + 70]
        if inside and i % 3:
            k, kind = inside[0] - start, hot[inside[0]]
            if kind == "S":
                cigar = f"{k}M{80 - k}S" if i % 2 else f"{k}S{80 - k}M"
                start += 0 if i % 2 else k
            elif kind == "D":
                size = 1 + inside[0] % 30
                bases[k:] = list(reference[start + k + size : start + 80 + size])
                cigar = f"{k}M{size}D{80 - k}M"
            else:
                size = 1 + inside[0] % 9
                bases[k:] = list("ACGT" * 3)[:size] + bases[k : 80 - size]
                cigar = f"{k}M{size}I{80 - k - size}M"
        made.append(Read(start, cigar, "".join(bases), (30,) * 80, 0, 60, f"r{i // 2}"))
    return sorted(made, key=lambda read: read.position)


def regions_between(reads: list[Read], reference: str, low: int, high: int, max_reads: int):
    """The regions of a window, with reads named by their index in `reads`."""
    chosen = [i for i, read in enumerate(reads) if read.position < high and read.stop > low]
    batch = aligned_reads([reads[i] for i in chosen])
    merge_mates(batch, np.arange(len(batch)))
    window, p = window_of(reference, low, high), CallParameters()
    places, sites = find_clip_places(batch, window), find_sites(count_window(batch, window, p), window, p)
    sites, _ = add_clipped(batch, places, sites, window, no_mates)
    regions, within = find_regions(batch, places, sites, window)
    regions = thin_reads(regions, batch, np.full(len(regions), max_reads))
    rows = [(*row[:5], [(chosen[r], a, b) for r, a, b in row[5]]) for row in listed(regions, batch)]
    return rows, list(zip(sites.begin.tolist(), sites.is_indel.tolist(), within.tolist(), strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_windows_do_not_matter(seed):
    """Within 1 kb of its ends a window finds what the whole contig does."""
    reference = random_sequence(6000, seed)
    reads = shaken(reference, seed)
    rows, sites = regions_between(reads, reference, 0, 6000, 25)
    statuses = {row[4] for row in rows}
    assert statuses == {Status.OK, Status.TOO_LONG, Status.CAPACITY}
    rng = np.random.default_rng(seed)
    for _ in range(12):
        low = int(rng.integers(0, 3500))
        high = int(rng.integers(low + 2200, 6001))
        own_rows, own_sites = regions_between(reads, reference, low, high, 25)
        start, stop = low + 1000 if low else 0, high - 1000 if high < 6000 else 6000
        assert [r for r in own_rows if start <= r[0] < stop] == [r for r in rows if start <= r[0] < stop]
        assert [s for s in own_sites if start <= s[0] < stop] == [s for s in sites if start <= s[0] < stop]


def test_a_clean_substitution_is_simple():
    reads = [Read(100, "100M", "A" * 100, (30,) * 100)]
    assert found(reads, [snv(150), snv(159)])[:2] == ([], [False, False])
    rows, within, _ = found(reads, [snv(150), snv(158)])
    assert within == [True, True]
    assert [row[:2] for row in rows] == [(146, 163)]


def test_clips_that_face_each_other_join():
    """A deletion of 120 bases that only clips show is one region, with room for it."""
    reads = [Read(100 + i, f"{100 - i}M{10 + i}S", "A" * 110, (30,) * 110, name=f"a{i}") for i in range(3)]
    reads += [Read(320, f"{10 + i}S{100 - i}M", "A" * 110, (30,) * 110, name=f"b{i}") for i in range(3)]
    rows, _, _ = found(reads, [])
    assert [row[:4] for row in rows] == [(179, 341, 0, 341 + FLANK + SPARE + 120)]
    assert [bases for _, *bases in rows[0][5]] == [[23, 110], [22, 110], [21, 110], [0, 87], [0, 88], [0, 89]]


def test_clips_over_the_contig_end_are_no_place():
    reads = [Read(0, "20S60M", "A" * 80, (30,) * 80), Read(0, "20S60M", "A" * 80, (30,) * 80)]
    reads += [Read(LENGTH - 60, "60M20S", "A" * 80, (30,) * 80) for _ in range(3)]
    assert found(reads, [])[0] == []
    rows, _, _ = found(reads, [(30, 32, True, (1,))])
    assert [bases for _, *bases in rows[0][5]] == [[20, 80], [20, 80]]


def test_deep_regions_are_thinned_by_name():
    reads = [Read(100, "80M", "A" * 80, (30,) * 80, name=f"r{i // 2}") for i in range(10_000)]
    rows, _, regions = found(reads, [(140, 142, True, (1,))], max_reads=1001)
    batch = aligned_reads(reads)
    chosen = [read for read, _, _ in rows[0][5]]
    assert rows[0][4] == Status.CAPACITY
    assert len(chosen) == 1000
    assert chosen == sorted(chosen)
    assert all(i ^ 1 in set(chosen) for i in chosen)
    rank = spread(batch.name_hash)
    assert rank[chosen].max() < np.delete(rank, chosen).min()
    assert regions.read.dtype == np.int32


def test_samples_are_thinned_apart():
    """The few reads of one sample stay, though another one has many."""
    reads = aligned_reads([Read(100, "80M", "A" * 80, (30,) * 80, name=f"r{i}") for i in range(60)])
    reads = replace(reads, sample=np.array([i % 6 == 0 for i in range(60)], np.uint16))
    sites, window = sites_of([(140, 142, True, (1,))]), window_of("A" * LENGTH)
    every, _ = find_regions(reads, find_clip_places(reads, window), sites, window)
    every = split_samples(every, reads)
    for most, numbers, status in (
        ([50, 50], [50, 10], [Status.OK, Status.OK]),
        ([20, 50], [20, 10], [Status.CAPACITY, Status.OK]),
        ([50, 5], [50, 5], [Status.OK, Status.CAPACITY]),
    ):
        regions = thin_reads(every, reads, np.array(most))
        assert np.bincount(reads.sample[regions.read]).tolist() == np.diff(regions.read_offsets).tolist() == numbers
        assert regions.status.tolist() == status


def test_one_name_only_is_thinned_in_file_order():
    rows, _, _ = found([Read(100, "80M", "A" * 80, (30,) * 80)] * 40, [(140, 142, True, (1,))], max_reads=7)
    assert [read for read, _, _ in rows[0][5]] == list(range(7))


def test_nothing_makes_nothing():
    rows, within, regions = found([], [])
    assert (rows, within) == ([], [])
    assert regions.read_offsets.tolist() == [0]
