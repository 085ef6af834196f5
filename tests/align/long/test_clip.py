"""Alignments cut down to their best runs, compared with every stretch of runs."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from readwarp.align.long.clip import AlignedSpans, CigarRuns, clip_ends
from readwarp.rules.cigar import DELETION, INSERTION, MATCH

BONUS = 5
RUN = st.tuples(st.integers(1, 60), st.integers(-40, 60))  # length and score of a run of M
GAP = st.tuples(st.sampled_from([INSERTION, DELETION]), st.integers(1, 300))
Alignment = tuple[list[tuple[int, int, int]], int, int]  # runs: operation, length, score; clipped before and after


@st.composite
def alignments(draw) -> Alignment:
    runs = []
    for number, (length, score) in enumerate(draw(st.lists(RUN, min_size=1, max_size=6))):
        if number:
            operation, gap = draw(GAP)
            runs.append((operation, gap, -min(6 + gap, draw(st.sampled_from([20, 100, 1000])))))
        runs.append((MATCH, length, min(score, length)))
    runs.append((DELETION, 1, -7))
    runs.append((MATCH, 20, 20))  # an anchor: no chain is without one
    return runs, draw(st.sampled_from([0, 10])), draw(st.sampled_from([0, 10]))


def best_stretch(alignment: Alignment) -> int:
    """The score, with bonuses, of the best stretch from a run of M to one."""
    runs, before, after = alignment
    found = []
    for i in range(0, len(runs), 2):
        for j in range(i, len(runs), 2):
            score = sum(s for _, _, s in runs[i : j + 1])
            score += BONUS * (i == 0 and before == 0) + BONUS * (j == len(runs) - 1 and after == 0)
            found.append(score)
    return max(found)


@settings(max_examples=400)
@given(st.lists(alignments(), max_size=4))
def test_the_best_stretch_is_kept(rows):
    sizes = [len(runs) for runs, _, _ in rows]
    flat = [run for runs, _, _ in rows for run in runs]
    offsets = np.cumsum([0, *sizes]).astype(np.int64)
    runs = CigarRuns(
        offsets.copy(),
        np.array([length << 4 | operation for operation, length, _ in flat], np.uint32),
        np.array([score for _, _, score in flat], np.int32),
        np.array([length for _, length, _ in flat], np.int32),
    )
    on_query = [sum(n for operation, n, _ in each if operation != DELETION) for each, _, _ in rows]
    on_reference = [sum(n for operation, n, _ in each if operation != INSERTION) for each, _, _ in rows]
    start = np.array([before for _, before, _ in rows], np.int64)
    stop = start + np.array(on_query, np.int64)
    spans = AlignedSpans(
        start.copy(),
        stop.copy(),
        stop + np.array([after for _, _, after in rows], np.int64),
        np.full(len(rows), 1000, np.int64),
        1000 + np.array(on_reference, np.int64),
        *(np.empty(len(rows), np.int32) for _ in range(2)),
    )
    made = clip_ends(runs, BONUS, spans)
    assert made == runs.offsets[-1]
    for row, alignment in enumerate(rows):
        cigar = runs.cigar[runs.offsets[row] : runs.offsets[row + 1]].tolist()
        whole = [length << 4 | operation for operation, length, _ in alignment[0]]
        at = next(
            i
            for i in range(0, len(whole), 2)
            if whole[i : i + len(cigar)] == cigar
            and spans.query_start[row] == start[row] + sum(run >> 4 for run in whole[:i] if run & 15 != DELETION)
        )
        kept = alignment[0][at : at + len(cigar)]
        score = sum(s for _, _, s in kept)
        reached = int(spans.query_start[row] == 0) + int(spans.query_stop[row] == spans.query_length[row])
        assert score + BONUS * reached == best_stretch(alignment) and score == spans.score[row]
        assert spans.edits[row] == sum(n for _, n, _ in kept)
        assert spans.query_stop[row] - spans.query_start[row] == sum(n for o, n, _ in kept if o != DELETION)
        assert spans.reference_stop[row] - spans.reference_start[row] == sum(n for o, n, _ in kept if o != INSERTION)
