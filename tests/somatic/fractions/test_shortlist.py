"""Records that wait: which pass, by brute force, and that nothing else of them changes."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from readwarp.metrics import Metrics
from readwarp.somatic.fractions import shortlist as module
from readwarp.somatic.fractions.filters import BY_QUALITY, FILTERS
from readwarp.somatic.fractions.shortlist import Shortlist, ShortlistedRecords, best_threshold

DOUBTS = st.sampled_from([0.0, 1e-9, 0.001, 0.03, 0.049, 0.05, 0.3, 0.9, 1.0]) | st.floats(0, 1)
ROWS = st.lists(st.tuples(*[DOUBTS] * len(BY_QUALITY), st.booleans()), max_size=12)
OTHERS = [row.name for row in FILTERS if not row.quality]


def expected_score(real: np.ndarray, threshold: float) -> float:
    passing = real[real >= threshold]
    return 2 * passing.sum() / (passing.size + real.sum())


@settings(max_examples=100)
@given(st.lists(st.floats(0, 1), max_size=12))
@example([])
@example([0.0])
@example([0.97, 0.97])
@example([1.0, 1.0, 1e-300])
def test_best_threshold_by_brute_force(real):
    real = np.array(real)
    found = best_threshold(real)
    assert 0 <= found <= 0.5
    best = max((expected_score(real, t) for t in real), default=0.0)
    assert found == pytest.approx(best / 2)
    if best:
        assert expected_score(real, found * (1 - 1e-12)) == pytest.approx(best)


def line(number: int, filters: tuple[str, ...], alleles: str = "A\tC", genotype: str = "0/1") -> bytes:
    name = ";".join(filters) or "PASS"
    return f"chr1\t{number + 1}\t.\t{alleles}\t9.9\t{name}\tTLOD=1;DP=5\tGT:AD\t{genotype}:3,{number}\n".encode()


def candidates(rows) -> ShortlistedRecords:
    """Each row: its doubts, and whether it passes the other filters; else it fails all of these."""
    filters = [() if passes else tuple(OTHERS) for *_, passes in rows]
    doubts = np.array([row[:-1] for row in rows]).reshape(-1, len(BY_QUALITY))
    return ShortlistedRecords(
        [line(number, own) for number, own in enumerate(filters)], doubts, np.array([row[-1] for row in rows], bool)
    )


@settings(max_examples=100)
@given(st.lists(ROWS, max_size=4), st.sampled_from([0.0, 0.5, 0.95, 1.0]))
@example(
    [[(1e-90, 0.0, 0.0, 0.0, True), (1e-90, 1.0, 0.0, 0.0, True)]], 0.95
)  # of which the second fails germline alone
@example([[(0.0123, 0.0, 0.0, 0.0, True)]], 1 - 0.0123)  # which is less than 1 - this
def test_filters_by_quality(windows, least):
    waiting, metrics = Shortlist(), Metrics()
    for rows in windows:
        waiting.add(candidates(rows))
    given_ = [text for rows in windows for text in candidates(rows).lines]
    rows = [row for own in windows for row in own]
    threshold = waiting.choose_threshold(least)
    real = [float(np.prod([1 - x for x in doubts])) for *doubts, _ in rows]
    passing = np.array([p for p, row in zip(real, rows, strict=True) if row[-1]])
    assert threshold == max(least, best_threshold(passing))
    found = list(waiting.lines(threshold, metrics))
    assert len(found) == len(given_)
    names = [row.name for row in FILTERS]
    for before, after, p, (*doubts, passes) in zip(given_, found, real, rows, strict=True):
        old, new = (text.split(b"\t") for text in (before, after))
        assert [*old[:6], *old[7:]] == [*new[:6], *new[7:]]
        filters = new[6].decode().split(";")
        by_quality = [row.name for row in BY_QUALITY if row.name in filters]
        assert bool(by_quality) == (p < threshold)
        if by_quality:  # at least the greatest doubt is named
            assert BY_QUALITY[int(np.argmax(doubts))].name in by_quality
            failed = {row.name for row, x in zip(BY_QUALITY, doubts, strict=True) if x > 1 - threshold}
            assert failed <= set(by_quality) and len(by_quality) <= max(1, len(failed))
        if filters == ["PASS"]:
            assert passes and p >= threshold
        else:
            assert set(filters) == {*by_quality, *(() if passes else OTHERS)}
            assert filters == sorted(filters, key=names.index)
    assert metrics.counts["variants"] == len(rows)


def test_more_records_than_memory_holds(monkeypatch):
    """They are in a file then, and come back as they were."""
    monkeypatch.setattr(module, "HELD", 1000)
    windows = [[(0.0, 0.0, 0.0, 0.0, True)] * 50, [], [(0.9, 0.0, 0.0, 0.0, True)] * 70]
    waiting = Shortlist()
    for rows in windows:
        waiting.add(candidates(rows))
    assert waiting._lines._rolled
    found = list(waiting.lines(0.95, Metrics()))
    given_ = [text for rows in windows for text in candidates(rows).lines]
    assert found[:50] == given_[:50]
    assert found[50:] == [text.replace(b"PASS", b"weak_evidence") for text in given_[50:]]


def test_counts_of_what_passes():
    lines = [
        line(0, ()),
        line(1, (), "A\tG", "1/1"),
        line(2, (), "AT\tA"),
        line(3, ("position",)),
        line(4, (), "C\tT", "0/0"),
    ]
    waiting, metrics = Shortlist(), Metrics()
    passes = np.array([True, True, True, False, True])
    waiting.add(ShortlistedRecords(lines, np.array([[0.0] * 4] * 4 + [[0.5, 0.2, 0.0, 0.1]]), passes))
    assert [text.split(b"\t")[6] for text in waiting.lines(0.95, metrics)] == [
        b"PASS", b"PASS", b"PASS", b"position", b"weak_evidence;germline;normal_artifact",
    ]  # fmt: skip
    wanted = {"variants": 5, "variants_pass": 3, "snvs": 2, "indels": 1}
    assert {name: metrics.counts[name] for name in wanted} == wanted
    assert metrics.counts["transitions"] == metrics.counts["transversions"] == 1


def test_nothing_waits():
    waiting = Shortlist()
    assert waiting.choose_threshold(0.95) == 0.95
    assert list(waiting.lines(0.95, Metrics())) == []
