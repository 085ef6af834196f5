"""The extend step: scores and alignments of reads in windows, compared with the recurrence in plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.alignment_oracle import best, rescored
from helpers.cards import HAS_CARDS
from helpers.seeding import planned
from readwarp.align.batches import Candidates
from readwarp.align.extend import cpu, steps
from readwarp.align.extend.scalar import loss_by_part
from readwarp.align.extend.steps import costs_of
from readwarp.config import MAX_READ_LENGTH, Scoring
from readwarp.device.backend import Backend
from readwarp.device.rows import to_host
from readwarp.formats.common.reads import ReadBatch
from readwarp.metrics import Metrics
from readwarp.pairwise.scalar import LOCAL
from readwarp.ragged import columns_of, replace, take
from readwarp.rules.bases import LETTERS, pack
from readwarp.rules.statuses import Status

if HAS_CARDS:
    from readwarp.align.extend import cuda
    from readwarp.device import memory

SCORINGS = [
    Scoring(),
    Scoring(2, 3, 4, 1, 3),
    Scoring(1, 5, 1, 2, 7),
    Scoring(1, 2, 6, 1, 0),
    Scoring(40, 90, 80, 20, 60),
]


def batch(reads):
    """Code sequences as a ReadBatch."""
    nothing, offsets = np.empty(0, np.uint8), np.zeros(len(reads) + 1, np.int64)
    bases = np.array([code for read in reads for code in read], np.uint8)
    read_offsets = np.concatenate([[0], np.cumsum([len(read) for read in reads])]).astype(np.int64)
    segment, group = np.zeros(len(reads), np.uint8), np.zeros(len(reads), np.int32)
    return ReadBatch(0, 0, bases, bases, read_offsets, nothing, offsets, nothing, offsets, segment, group, segment)


def candidates(rows):
    """(read, strand, window start, window stop, diagonal) rows as Candidates."""
    columns = np.array(rows, np.int64).reshape(-1, 5).T.copy()
    zeros = np.zeros(len(rows), np.int32)
    return Candidates(
        np.arange(len(rows) + 1), columns[0].astype(np.int32), columns[1].astype(np.uint8), columns[2], columns[3],
        columns[4], zeros, zeros, zeros, zeros,
    )  # fmt: skip


def contents(value):
    return [array.tobytes() for array in columns_of(value).values()]


def score(side, reads, *rest):
    """The scores that a side computes for reads and reference on the host."""
    backend = Backend(side.__name__.split(".")[-1], (0,))
    with backend.frame():
        there, windows, bases = backend.to_device((reads, *rest[:2]))
        return to_host(steps.score(steps.extender_of(backend, there, bases, rest[2], Metrics()), windows))


def trace(side, reads, *rest):
    backend = Backend(side.__name__.split(".")[-1], (0,))
    with backend.frame():
        windows, chosen, bases, scoring = rest
        there, chosen, bases = backend.to_device((reads, take(windows, "candidates", chosen), bases))
        extender = steps.extender_of(backend, there, bases, scoring, Metrics())
        return to_host(steps.trace(extender, chosen, steps.score(extender, chosen)))


def packed(reference):
    out = np.zeros(reference.size // 2 + 1, np.uint8)
    pack(LETTERS[reference], 0, out)
    return out


def reverse_complement(read):
    return [code if code > 3 else 3 - code for code in reversed(read)]


def simulated(rng, number, longest, padding=12, errors=0.03, size=2000):
    """(reference with some N, oriented reads, the batch, candidates)."""
    reference = rng.choice(5, size, p=[0.249, 0.249, 0.249, 0.249, 0.004]).astype(np.uint8)
    oriented, rows = [], []
    for read in range(number):
        start, length = int(rng.integers(padding, size - longest - 2 * padding)), int(rng.integers(1, longest + 1))
        codes = reference[start : start + length].tolist()
        codes = [int(rng.integers(0, 5)) if rng.random() < errors else code for code in codes]
        if length > 8 and rng.random() < 0.4:
            place, gap = int(rng.integers(2, length - 4)), int(rng.integers(1, 4))
            inserted = rng.integers(0, 4, gap).tolist()
            codes = (
                codes[:place] + codes[place + gap :] if rng.random() < 0.5 else codes[:place] + inserted + codes[place:]
            )
        oriented.append(codes)
        window = start - int(rng.integers(0, padding)), start + length + int(rng.integers(1, padding))
        rows.append((read, int(rng.integers(0, 2)), *window, start + int(rng.integers(-1, 2)) * (rng.random() < 0.2)))
    reads = [reverse_complement(codes) if row[1] else codes for codes, row in zip(oriented, rows, strict=True)]
    return reference, oriented, batch(reads), candidates(rows)


@pytest.mark.parametrize("scoring", SCORINGS, ids=str)
def test_scores_and_alignments(scoring):
    rng = np.random.default_rng(1)
    reference, oriented, reads, windows = simulated(rng, 120, 50)
    there, bases = np.where(reference > 3, 5, reference), packed(reference)
    scores = score(cpu, reads, windows, bases, scoring)
    found = trace(cpu, reads, windows, np.arange(120), bases, scoring)
    assert {Status.OK, Status.UNGAPPED} == set(scores.status.tolist())
    for c, query in enumerate(oriented):
        start, stop = windows.window_start[c], windows.window_stop[c]
        expected = best(query, there[start:stop].tolist(), costs_of(scoring), LOCAL)
        assert scores.score[c] == expected[0]
        if scores.status[c] == Status.OK and expected[0]:
            assert (scores.query_stop[c], scores.reference_stop[c] - start) == expected[1:]
        cigar = found.cigar[found.cigar_offsets[c] : found.cigar_offsets[c + 1]]
        begin = int(found.query_start[c]), int(found.reference_start[c])
        assert rescored(query, there, *begin, cigar, costs_of(scoring)) == (
            found.score[c], found.edit_distance[c], found.query_stop[c], found.reference_stop[c],
        )  # fmt: skip
        ends = (int(begin[0] == 0) + int(found.query_stop[c] == len(query))) * scoring.end_bonus
        assert found.score[c] + (ends if cigar.size else 0) == scores.score[c]
        assert start <= found.reference_start[c] <= found.reference_stop[c] <= stop


def test_rows_do_not_depend_on_each_other():
    reference, _, reads, windows = simulated(np.random.default_rng(2), 60, 40)
    chosen, bases = np.array([50, 3, 3, 17]), packed(reference)
    all_scores = score(cpu, reads, windows, bases, Scoring())
    assert contents(score(cpu, reads, take(windows, "candidates", chosen), bases, Scoring())) == contents(
        take(all_scores, "candidates", chosen)
    )
    all_traces = trace(cpu, reads, windows, np.arange(60), bases, Scoring())
    assert contents(trace(cpu, reads, windows, chosen, bases, Scoring())) == contents(
        take(all_traces, "extensions", chosen)
    )


@pytest.mark.cards
@pytest.mark.parametrize("scoring", SCORINGS[:2], ids=str)
def test_bases_left_out_are_as_if_they_were_not_there(scoring):
    """The same reads cut, but for where the query positions count from."""
    rng = np.random.default_rng(6)
    reference, oriented, reads, windows = simulated(rng, 120, 50)
    bases, sizes = packed(reference), np.array([len(read) for read in oriented])
    start = rng.integers(0, sizes // 2 + 1).astype(np.int32)
    stop = rng.integers(0, sizes // 2 + 1).clip(0, sizes - start - 1).astype(np.int32)
    kept = [read[first : len(read) - last] for read, first, last in zip(oriented, start, stop, strict=True)]
    cut = batch(
        [reverse_complement(read) if turned else read for read, turned in zip(kept, windows.strand, strict=True)]
    )
    short, whole = (
        replace(windows, diagonal=windows.diagonal + start),
        replace(
            windows, diagonal=windows.diagonal + start, part_start=start, part_stop=(sizes - stop).astype(np.int32)
        ),
    )
    for side in (cpu, cuda):
        scores, expected = score(side, reads, whole, bases, scoring), score(side, cut, short, bases, scoring)
        assert contents(scores) == contents(replace(expected, query_stop=expected.query_stop + start))
        found = trace(side, reads, whole, np.arange(120), bases, scoring)
        expected = trace(side, cut, short, np.arange(120), bases, scoring)
        moved = {name: getattr(expected, name) + start for name in ("query_start", "query_stop")}
        assert contents(found) == contents(replace(expected, **moved))


def test_one_mismatch_is_answered_without_dynamic_programming():
    rng = np.random.default_rng(3)
    reference = rng.integers(0, 4, 400).astype(np.uint8)
    read = reference[100:250].tolist()
    read[70] ^= 1
    scores = score(cpu, batch([read]), candidates([(0, 0, 70, 280, 100)]), packed(reference), Scoring())
    assert (scores.status[0], scores.score[0], scores.reference_stop[0]) == (Status.UNGAPPED, 155, 250)


@pytest.mark.cards
@pytest.mark.parametrize("places", [(70,), (70, 71), (3, 140), (20, 60, 100), (9, 40, 66, 90, 111, 140)])
def test_mismatches_are_answered_without_dynamic_programming(places):
    rng = np.random.default_rng(3)
    reference = rng.integers(0, 4, 400).astype(np.uint8)
    read = reference[100:250].tolist()
    for place in places:
        read[place] ^= 1
    for side in (cpu, cuda):
        scores = score(side, batch([read]), candidates([(0, 0, 70, 280, 100)]), packed(reference), Scoring())
        expected = Status.UNGAPPED, 160 - 5 * len(places), 250
        assert (scores.status[0], scores.score[0], scores.reference_stop[0]) == expected


@pytest.mark.cards
def test_n_costs_one():
    """It takes no dynamic programming where nothing else differs."""
    reference = np.random.default_rng(3).integers(0, 4, 400).astype(np.uint8)
    reference[300:310] = 4
    read, across = reference[100:250].tolist(), reference[250:400].tolist()
    run, both, end = [*read[:70], *[4] * 25, *read[95:]], list(read), [*read[:141], *[4] * 9]
    both[70], both[90] = 4, both[90] ^ 1
    rows = [(0, 0, 70, 280, 100), (1, 0, 70, 280, 100), (2, 0, 70, 280, 100), (3, 0, 230, 400, 250)]
    for side in (cpu, cuda):
        scores = score(side, batch([run, both, end, across]), candidates(rows), packed(reference), Scoring())
        assert scores.score.tolist() == [160 - 2 * 25, 160 - 2 - 5, 146, 160 - 2 * 10]
        assert scores.status[:2].tolist() == [Status.UNGAPPED, Status.OK]


def test_loss_by_a_part_that_is_nowhere():
    """A mismatch; a base clipped; two parts for which two bases are inserted; for which nine are clipped."""
    costs = [Scoring(), Scoring(1, 9, 16, 1, 5), Scoring(1, 40, 18, 1, 40), Scoring(1, 40, 60, 1, 6)]
    assert [loss_by_part(costs_of(each)) for each in costs] == [5, 6, 11, 7]


@st.composite
def repetitive(draw):
    """(reference of few letters, a stretch of it with differences, the stretch's start): many diagonals are alike."""
    unit = draw(st.lists(st.integers(0, 3), min_size=1, max_size=12))
    reference = (unit * 80)[:80]
    for place in draw(st.lists(st.integers(0, 79), max_size=8)):
        reference[place] = draw(st.integers(0, 4))
    start, size = draw(st.integers(8, 30)), draw(st.integers(1, 40))
    read = reference[start : start + size]
    for place in draw(st.lists(st.integers(0, size - 1), max_size=3)):
        read[place] = draw(st.integers(0, 4))
    place, gap = draw(st.integers(0, size)), draw(st.integers(0, 3))
    if draw(st.booleans()):
        read[place:place] = draw(st.lists(st.integers(0, 3), min_size=gap, max_size=gap))
    else:
        del read[place : place + gap]
    return reference, read or [0], start


@pytest.mark.cards
@settings(max_examples=25)
@given(cases=st.lists(repetitive(), min_size=50, max_size=50), scoring=st.sampled_from(SCORINGS))
def test_no_alignment_scores_more_than_one_without_dynamic_programming(cases, scoring):
    reference = np.array([code for codes, _, _ in cases for code in codes], np.uint8)
    reads = batch([read for _, read, _ in cases])
    windows = candidates([(c, 0, 80 * c + 2, 80 * c + 78, 80 * c + start) for c, (_, _, start) in enumerate(cases)])
    here, there = (score(side, reads, windows, packed(reference), scoring) for side in (cpu, cuda))
    assert contents(here) == contents(there)
    codes = np.where(reference > 3, 5, reference).tolist()
    for c in np.flatnonzero(here.status == Status.UNGAPPED).tolist():
        expected = best(cases[c][1], codes[80 * c + 2 : 80 * c + 78], costs_of(scoring), LOCAL)
        assert here.score[c] == expected[0]


def test_a_better_diagonal_in_the_window_is_found():
    """In a tandem repeat, the read matches exactly two units further on."""
    unit = [0, 1, 2, 3, 3, 1, 0]
    reference = np.array([3, 3] + unit * 30, np.uint8)
    read = unit * 5
    reference[10] = 3 - reference[10]
    scores = score(cpu, batch([read]), candidates([(0, 0, 0, 100, 2)]), packed(reference), Scoring())
    assert (scores.status[0], scores.score[0]) == (Status.OK, 35 + 10)


def test_n_matches_nothing():
    reference = np.array([0, 1, 4, 3] * 10, np.uint8)
    scores = score(cpu, batch([[0, 1, 4, 3]]), candidates([(0, 0, 0, 40, 0)]), packed(reference), Scoring(end_bonus=0))
    assert scores.score[0] == 2
    alone = score(cpu, batch([[4] * 20]), candidates([(0, 0, 0, 40, 0)]), packed(reference), Scoring(end_bonus=0))
    traced = trace(
        cpu, batch([[4] * 20]), candidates([(0, 0, 0, 40, 0)]), np.arange(1), packed(reference), Scoring(end_bonus=0)
    )
    assert (alone.score[0], alone.status[0], traced.cigar.size) == (0, Status.OK, 0)


def test_lengths_of_reads():
    rng = np.random.default_rng(4)
    reference = rng.integers(0, 4, 3 * MAX_READ_LENGTH).astype(np.uint8)
    lengths = [0, 1, MAX_READ_LENGTH - 1, MAX_READ_LENGTH, MAX_READ_LENGTH + 1]
    reads = [
        np.delete(reference[100 : 101 + n], n // 2).tolist() if n > 1 else reference[100 : 100 + n].tolist()
        for n in lengths
    ]
    rows = [(k, 0, 90, 120 + n, 100) for k, n in enumerate(lengths)]
    scores = score(cpu, batch(reads), candidates(rows), packed(reference), Scoring())
    assert scores.status.tolist() == [Status.OK, Status.UNGAPPED, Status.OK, Status.OK, Status.TOO_LONG]
    assert scores.score.tolist() == [0, 11, MAX_READ_LENGTH - 1 + 3, MAX_READ_LENGTH + 3, 0]
    found = trace(cpu, batch(reads), candidates(rows), np.arange(5), packed(reference), Scoring())
    assert np.diff(found.cigar_offsets).tolist() == [0, 1, 3, 3, 0]
    assert found.status.tolist() == scores.status.tolist()


def test_nothing_to_do():
    reads, none = batch([]), candidates([])
    assert len(score(cpu, reads, none, np.zeros(1, np.uint8), Scoring()).score) == 0
    assert len(trace(cpu, reads, none, np.arange(0), np.zeros(1, np.uint8), Scoring()).score) == 0


@pytest.mark.cards
@pytest.mark.parametrize("scoring", SCORINGS[:3], ids=str)
def test_cuda_gives_the_same_bytes(scoring):
    reference, _, reads, windows = simulated(np.random.default_rng(5), 1500, 150)
    bases, chosen = packed(reference), np.array([3, 1, 15, 3, 8, *range(100, 1400)])
    ours, theirs = (score(side, reads, windows, bases, scoring) for side in (cpu, cuda))
    assert [array.tobytes() for array in columns_of(ours).values()] == [
        array.tobytes() for array in columns_of(theirs).values()
    ]
    ours, theirs = (trace(side, reads, windows, chosen, bases, scoring) for side in (cpu, cuda))
    assert [array.tobytes() for array in columns_of(ours).values()] == [
        array.tobytes() for array in columns_of(theirs).values()
    ]


@pytest.mark.cards
def test_cuda_proves_answers_of_many_threads_of_a_warp():
    """Reads with mismatches up to the ends of the reference. Their parts may lie elsewhere in the window or beyond."""
    rng, size = np.random.default_rng(11), 9001
    reference = rng.integers(0, 4, size).astype(np.uint8)
    reference[5000] = 4
    reads, rows = [], []
    for read in range(131):
        length, number = int(rng.integers(30, 151)), int(rng.integers(0, 11))
        start = (0, size - length, int(rng.integers(0, size - length)))[read % 3]
        codes = reference[start : start + length].copy()
        codes[rng.choice(length, number, replace=False)] ^= 1
        codes &= 3
        reads.append(codes.tolist())
        rows.append((read, 0, max(start - int(rng.integers(0, 90)), 0), min(start + length + 70, size), start))
        if read % 3 and read % 4 == 0:  # its first bases once more, where its window may end before they do
            copy = rows[-1][3] - int(rng.integers(4, 20))
            reference[copy : copy + 12] = codes[: reference[copy : copy + 12].size]
    ours, theirs = (score(side, batch(reads), candidates(rows), packed(reference), Scoring()) for side in (cpu, cuda))
    assert contents(ours) == contents(theirs)
    is_whole = ours.score == np.array([len(read) + 10 for read in reads])
    assert (ours.status[~is_whole] == Status.UNGAPPED).sum() > 30 and (ours.status == Status.OK).sum() > 40


@pytest.mark.cards
def test_cuda_windows_take_the_bytes_they_say():
    reads, windows = batch([[0, 1, 2, 3]]), candidates([(0, 0, 3, 160, 3), (0, 0, 20, 220, 3)])
    reference = np.random.default_rng(8).integers(0, 5, 300).astype(np.uint8)
    with planned(1 << 20) as workspace, workspace.frame():
        oriented, bases = workspace.upload(reads.bases), workspace.upload(packed(reference))
        before = workspace.high_water
        spans = windows.window_start[::-1], (windows.window_stop - windows.window_start)[::-1]
        pairs = cuda.windows_of(oriented, (np.zeros(2, np.int64), np.full(2, 4)), bases, spans)
        kept, most = memory.rounded(357), cuda.window_bytes(2, 357)
        assert workspace.high_water - before == most
        workspace.empty(1, np.uint8)
        assert workspace.high_water - before == max(most, kept + 256)
        (targets,) = workspace.download(pairs.targets)
    there = np.where(reference > 3, 5, reference)
    assert targets.tolist() == [*there[20:220], *there[3:160]]
    assert pairs.target_starts.tolist() == [0, 200] and pairs.target_lengths.tolist() == [200, 157]
