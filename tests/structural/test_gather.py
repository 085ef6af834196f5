"""What alignments say of structural variants, against plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.making import Read, aligned_reads
from readwarp.config import StructuralParameters
from readwarp.ragged import check, empty
from readwarp.structural.evidence import BETWEEN, PARTIAL, WITHIN, ReadSpans, StructuralEvents, join_evidence
from readwarp.structural.gather import find_splits, gather

PARAMETERS = StructuralParameters(
    min_span=20, min_part=3, max_join=5, min_sv_length=20, max_sv_length=45
)  # of 16 bases in a read


@st.composite
def long_reads(draw):
    """Reads with gaps of all sizes, clips at their ends, and now and then a mate."""
    made = []
    for number in range(draw(st.integers(0, 6))):
        aligned = st.tuples(st.integers(1, 12), st.sampled_from("M=X"))
        gap = st.tuples(st.sampled_from([1, 2, 3, 9, 16, 17, 40]), st.sampled_from("IDNP"))
        inner = [draw(aligned)]
        for _ in range(draw(st.integers(0, 8))):
            inner += [draw(gap), draw(aligned)]
        ends = st.sampled_from([(), ("S",), ("H",), ("H", "S")])
        before, after = ([(draw(st.integers(1, 30)), letter) for letter in draw(ends)] for _ in range(2))
        operations = [*before, *inner, *reversed(after)]
        size = sum(n for n, letter in operations if letter in "MIS=X")
        made.append(
            Read(
                position=draw(st.integers(0, 50)),
                cigar="".join(f"{n}{letter}" for n, letter in operations),
                bases=draw(st.text("ACGTN", min_size=size, max_size=size)),
                qualities=(30,) * size,
                flag=draw(st.sampled_from([0, 16, 0x800, 0x810, 1])),
                name=f"r{number}",
            )
        )
    return sorted(made, key=lambda read: read.position)


def expected(read: Read) -> tuple[tuple, list[tuple]]:
    """The span of a read, and its events: start, stop, place on the read, bases."""
    operations = read.operations
    leading = trailing = 0
    while operations[0][1] in "SH":
        leading += operations.pop(0)[0]
    while operations[-1][1] in "SH":
        trailing += operations.pop()[0]
    hard = sum(n for n, letter in read.operations[:1] if letter == "H")
    p, q, gaps = read.position, leading, []
    for n, letter in operations:
        p_stop, q_stop = p + n * (letter in "MDN=X"), q + n * (letter in "MI=X")
        if letter in "ID" and n >= PARAMETERS.min_part:
            if gaps and p - gaps[-1][1] <= PARAMETERS.max_join:
                gaps[-1] = (gaps[-1][0], p_stop, gaps[-1][2], q_stop)
            else:
                gaps.append((p, p_stop, q, q_stop))
        p, q = p_stop, q_stop
    events = [
        (start, stop, low, high, read.bases[low - hard : high - hard])
        for start, stop, low, high in gaps
        if PARAMETERS.least_length <= abs(high - low - stop + start) <= 45
    ]
    return (read.position, p, leading, q, trailing, read.flag >> 4 & 1), events


@given(long_reads())
def test_spans_and_gaps(reads):
    evidence = gather(aligned_reads(reads), PARAMETERS)
    check(evidence.spans)
    check(evidence.events)
    usable = [read for read in reads if read.stop - read.position >= PARAMETERS.min_span and not read.flag & 1]
    spans, events = zip(*map(expected, usable), strict=True) if usable else ((), ())
    assert list(zip(*(column.tolist() for column in evidence.spans[:6]), strict=True)) == list(spans)
    found = evidence.events
    shown = ["".join("ACGTN"[base] for base in found.bases[a:b]) for a, b in zip(*offsets(found), strict=True)]
    columns = found.start, found.stop, found.query_start, found.query_stop
    rows = list(zip(*(column.tolist() for column in columns), shown, strict=True))
    assert rows == [event for own in events for event in own]
    assert (found.kind == WITHIN).all()


def offsets(events: StructuralEvents):
    return events.base_offsets[:-1].tolist(), events.base_offsets[1:].tolist()


def spans_of(*rows: tuple[int, int, int, int, int, int], name: int = 7) -> ReadSpans:
    """Of one read: start, stop, query_start, query_stop, clipped, strand."""
    spans = empty(ReadSpans, {"spans": len(rows)})
    for column, values in zip(spans, zip(*rows, strict=True), strict=False):
        column[:] = values
    spans.name[:], spans.sample[:] = name, 0
    return spans


@pytest.mark.parametrize(
    ("name", "rows", "event"),
    [
        ("deletion", [(0, 900, 0, 900, 900, 0), (2900, 3800, 900, 1800, 0, 0)], (900, 2900, 900, 900, BETWEEN)),
        ("on reverse", [(0, 900, 0, 900, 900, 1), (2900, 3800, 900, 1800, 0, 1)], (900, 2900, 900, 900, BETWEEN)),
        ("equal bases", [(0, 907, 0, 907, 893, 0), (2900, 3800, 900, 1800, 0, 0)], (900, 2900, 900, 900, BETWEEN)),
        ("insertion", [(0, 900, 0, 900, 1900, 0), (900, 1800, 1900, 2800, 0, 0)], (900, 900, 900, 1900, BETWEEN)),
        ("tandem", [(0, 900, 0, 900, 700, 0), (400, 1100, 900, 1600, 0, 0)], (400, 400, 400, 900, BETWEEN)),
        ("within it", [(500, 900, 0, 400, 300, 0), (400, 700, 400, 700, 0, 0)], (400, 400, -100, 400, PARTIAL)),
        ("elsewhere", [(0, 900, 0, 900, 700, 0), (9000, 9100, 900, 1400, 200, 1), (900, 1100, 1400, 1600, 0, 0)], ...),
    ],
)
def test_splits(name, rows, event):
    event = (900, 900, 900, 1400, BETWEEN) if event is ... else event
    found = find_splits(spans_of(*rows), StructuralParameters())
    check(found)
    columns = found.start, found.stop, found.query_start, found.query_stop, found.kind
    assert [tuple(int(x) for x in row) for row in zip(*columns, strict=True)] == [event]


@pytest.mark.parametrize(
    "rows",
    [
        [(0, 900, 0, 900, 900, 0), (2900, 3800, 900, 1800, 0, 1)],  # on the other strand
        [(2900, 3800, 0, 900, 900, 0), (0, 900, 900, 1800, 0, 0)],  # in another order, and no copy of what both cover
        [(0, 900, 0, 900, 1900, 0), (2000, 2900, 1900, 2800, 0, 0)],  # as long on the read: an inversion, not aligned
        [(0, 900, 0, 900, 900, 0), (930, 1800, 900, 1800, 0, 0)],  # short
        [(0, 900, 0, 900, 900, 0), (900_000, 901_000, 900, 1900, 0, 0)],  # long
        [(0, 900, 0, 900, 900, 0)],
    ],
)
def test_no_splits(rows):
    assert len(find_splits(spans_of(*rows), StructuralParameters())) == 0


def test_a_piece_that_lies_between_does_not_hide_an_insertion():
    """On the same strand and contig, 5,000 bases away: three pairs could be events."""
    rows = [
        (20_000, 21_000, 0, 1000, 1900, 0),
        (26_000, 26_900, 1000, 1900, 1000, 0),
        (21_000, 22_000, 1900, 2900, 0, 0),
    ]
    found = find_splits(spans_of(*rows), StructuralParameters())
    assert (found.start.tolist(), found.length.tolist()) == ([21_000], [900])


def test_spans_of_other_reads_are_no_pairs():
    one, other = spans_of((0, 900, 0, 900, 900, 0)), spans_of((2900, 3800, 900, 1800, 0, 0), name=8)
    both = ReadSpans(*(np.concatenate(columns) for columns in zip(one, other, strict=True)))
    assert len(find_splits(both, StructuralParameters())) == 0


def test_many_reads_of_one_name_are_no_pairs():
    """Which would be tried one against the other."""
    rows = [(1000 * i, 1000 * i + 900, 1000 * i, 1000 * i + 500, 500, 0) for i in range(20_000)]
    assert len(find_splits(spans_of(*rows), StructuralParameters())) == 0


def test_no_evidence():
    evidence = join_evidence([])
    check(evidence.spans)
    check(evidence.events)
    assert len(find_splits(evidence.spans, PARAMETERS)) == 0
