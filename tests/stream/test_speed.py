"""The model of --device auto, by hand and as it must behave."""

import csv
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readwarp.stream.choice import ALIGN, CALL, CommandWork, SideSpeed, min_bases

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
H200 = 132 * 1.98e9  # multiprocessors, Hz
WORK = CommandWork(cores=SideSpeed(40, 1), host=SideSpeed(20, 2), clocks=30)


@pytest.mark.parametrize(
    ("threads", "speed", "bases"),
    [
        (1, 100e9, 250_000_000),  # 40 ns alone, 20 beside a card, which takes 0.3: 5 s / 20 ns
        (4, 100e9, 1_000_000_000),  # 10 and 5
        (16, 100e9, 10_000_000_000),  # 2.5, and 2 with the lock
        (20, 100e9, None),  # 2 and 2
        (64, 100e9, None),  # 1 and 2, both with the lock
        (1, 1e9, 500_000_000),  # the card takes 30
        (2, 1e9, None),  # the card is slower than the cores
        (1, 0, 250_000_000),  # its speed is not known
    ],
)
def test_by_hand(threads, speed, bases):
    found = min_bases(WORK, threads, speed, start=5.0)
    assert found == (bases and pytest.approx(bases, rel=1e-6))


@pytest.mark.parametrize(
    ("threads", "packing", "bases"),
    [
        (1, "BGZF", 250_000_000),  # inflating takes both sides 4.4 ns more
        (12, "gzip", int(5e9 / ((40 + 6.2) / 12 - 3.1))),  # one thread inflates each file: 3.1 ns for both mates' bases
        (16, "gzip", None),  # either side waits for these threads
        (16, "BGZF", int(5e9 / ((40 + 4.4) / 16 - 2))),
    ],
)
def test_a_stream_of_gzip_bounds_both_sides(threads, packing, bases):
    assert min_bases(WORK, threads, H200, 5.0, packing) == (bases and pytest.approx(bases, rel=1e-6))


def test_the_page_has_these_figures():
    """docs/how-to/devices.md, in 10^6 reads of 150 bases a second."""
    rows, cores = {"plain": "text", "BGZF": "BGZF", "gzip": "gzip"}, (2, 8, 16, 32)
    page = (ROOT / "docs/how-to/devices.md").read_text()
    for name, packing in rows.items():
        cells = []
        for threads in cores:
            alone = ALIGN.cores.seconds(threads, packing)
            beside = max(ALIGN.host.seconds(threads, packing), ALIGN.clocks / H200)
            rates = [1e-6 / 150 / alone, 1e-6 / 150 / beside]
            cells.append(", ".join(f"{rate:.{1 + (rate < 1)}f}" for rate in rates) + f": {alone / beside:.1f}")
        assert re.search(rf"^\| {name}.*\| {re.escape(' | '.join(cells))} \|$", page, re.M), (
            f"{name} | {' | '.join(cells)} |"
        )


@given(
    work=st.sampled_from([ALIGN, CALL, WORK]),
    threads=st.integers(1, 256),
    speed=st.floats(1e9, 1e13),
    start=st.floats(0.1, 100),
)
def test_what_makes_a_card_pay_later(work, threads, speed, start):
    least = min_bases(work, threads, speed, start)
    if least is None:
        assert min_bases(work, threads, speed / 2, start) is None
        return
    assert least > 0 and min_bases(work, threads, speed, 2 * start) >= least
    slower = min_bases(work, threads, speed / 2, start)
    assert slower is None or slower >= least
    fewer = min_bases(work, threads, 0, start)
    assert fewer <= least


def test_align_is_as_measured():
    """12 million reads of 150 on an H200 with 16 cores; since then, the card does more of the host's work."""
    with (BENCHMARKS / "results/gpu.csv").open() as file:
        measured = {row["subject"]: float(row["value"]) for row in csv.DictReader(file)}
    bases, of = 12e6 * 150, "align of 6 M pairs -t 16"
    beside = f"{of}, batches of 33 Mbases, cuda"
    assert ALIGN.cores.threads == pytest.approx(1e9 * measured[f"{of}, cpu, CPU time of all"] / bases, rel=0.02)
    assert ALIGN.host.threads < 1e9 * measured[f"{beside}, CPU time of all"] / bases
    assert ALIGN.host.lock == pytest.approx(1e3 / (150 * measured[beside]), rel=0.02)
    assert ALIGN.clocks == pytest.approx(H200 * measured[f"{beside}, busy_seconds"] / bases, rel=0.02)


def test_clocks_of_call_are_the_models():
    """Of the newest rows of each card: kernels when other batches fill the card."""
    work, workload, bases = CALL, "call", 100_000 * 36
    with (BENCHMARKS / "compiled/cards.csv").open() as file:
        speeds = {
            row["card"]: int(row["multiprocessors"]) * float(row["clock_ghz"]) * 1e9 for row in csv.DictReader(file)
        }
    with (BENCHMARKS / "results/model.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["workload"] in (f"{workload}-real", f"{workload}-simulated")]
    newest = {(row["card"], row["workload"]): row["commit"] for row in rows}
    spent = dict.fromkeys(newest, 0.0)
    for row in rows:
        key = row["card"], row["workload"]
        if row["commit"] == newest[key]:
            spent[key] += 1e-6 * float(row["us_shared"]) / int(row["items"]) / bases * speeds[row["card"]]
    assert len({card for card, _ in spent}) >= 3
    assert max(spent.values()) <= work.clocks <= 1.1 * max(spent.values())
