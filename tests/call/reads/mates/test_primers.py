"""BED files of primers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readwarp.call.reads.mates import TOLERANCE
from readwarp.call.reads.mates.primers import NONE, Primers, find_primers, primers_of, read_primers
from readwarp.errors import InputError
from readwarp.index.reference import Reference
from readwarp.ragged import offsets_of

REFERENCE = Reference(("c1", "c2"), offsets_of((1000, 500)), ("",) * 2, np.empty(0, np.uint8))


def test_primers_of_a_scheme(tmp_path):
    path = tmp_path / "scheme.bed"
    path.write_text(
        "# ARTIC\n"
        "c1\t300\t320\tpanel_1_RIGHT\t1\t-\n"
        "c1\t10\t30\tpanel_1_LEFT\t1\t+\n"
        "c1\t20\t44\tpanel_1_LEFT_alt1\t1\t+\n"
        "c1\t700\t720\tpanel_2_RIGHT\n"  # the name says the strand
        "c1\t250\t270\tpanel_2_LEFT\tpool\n"
        "c2\t5\t25\tother\t60\t+\tACGT\n"
    )
    primers = read_primers(path, REFERENCE)
    assert sorted(primers) == [0, 1]
    first = primers[0]
    assert first.start.tolist() == [10, 20, 250, 300, 700] and first.stop.tolist() == [30, 44, 270, 320, 720]
    assert first.is_reverse.tolist() == [False, False, False, True, True]
    assert first.partner.tolist() == [3, 3, 4, 1, 2]  # of two left ones, the one that reaches further in
    assert first.reach.tolist() == [30, 44, 270, 320, 720]
    assert primers[1].partner.tolist() == [NONE]
    assert read_primers(None, REFERENCE) == {}


def nearest_primer(primers: Primers, outer: int, aligned: int, is_reverse: bool) -> int:
    """The oracle: one primer after the other."""
    found, nearest = NONE, np.inf
    for k in np.flatnonzero(primers.is_reverse == is_reverse).tolist():
        low = primers.start[k] - (0 if is_reverse else TOLERANCE)
        high = primers.stop[k] + (TOLERANCE if is_reverse else 0)
        distance = abs(outer - (primers.stop[k] - 1 if is_reverse else primers.start[k]))
        if (low <= outer < high or low <= aligned < high) and distance < nearest:
            found, nearest = k, distance
    return found


PLACES = st.integers(0, 80)


@given(
    st.lists(st.tuples(PLACES, st.integers(1, 30), st.booleans()), min_size=1, max_size=8),
    st.lists(st.tuples(PLACES, st.integers(-12, 12), st.booleans()), max_size=12),
)
def test_the_primer_of_a_read(scheme, reads):
    primers = primers_of([(start, start + size, is_reverse, "") for start, size, is_reverse in scheme])
    outer, further = np.array([read[:2] for read in reads], np.int64).reshape(-1, 2).T
    is_reverse = np.array([read[2] for read in reads], bool)
    rows = zip(outer.tolist(), (outer + further).tolist(), is_reverse.tolist(), strict=True)
    found = find_primers(primers, outer, outer + further, is_reverse)
    assert found.tolist() == [nearest_primer(primers, *row) for row in rows]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("c1\t10\t30\tx\t1", "record 2: expected columns contig, start, end, name, pool and strand"),
        ("c1\t10\t30", "record 2: expected columns contig, start, end, name, pool and strand"),
        ("c9\t10\t30\tx\t1\t+", "record 2: no contig 'c9' in the reference"),
        ("c1\t30\t10\tx\t1\t+", "record 2: ends before it starts"),
    ],
)
def test_bad_lines(tmp_path, line, reason):
    path = tmp_path / "scheme.bed"
    path.write_text(f"c1\t1\t9\tx_LEFT\n{line}\n")
    with pytest.raises(InputError, match="scheme.bed: " + reason):
        read_primers(path, REFERENCE)
