"""PairHMM on CUDA gives the bytes of the CPU; and which pairs cause which launches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("numba_cuda")
import readwarp
from helpers.hmm_oracle import all_pairs, all_with_status, random_read
from readwarp.call.likelihoods.pairhmm import cpu
from readwarp.call.likelihoods.pairhmm.scalar import FLOAT32, FLOAT64
from readwarp.device.cuda_launch import WARP
from readwarp.rules.statuses import Status

pytestmark = pytest.mark.cards


def test_the_bits_of_the_cpu():
    from readwarp.call.likelihoods.pairhmm import cuda

    rng = np.random.default_rng(3)
    haplotypes = [rng.integers(0, 4, size) for size in (1, 9, 170, 400)]
    haplotypes[1][4] = 4
    lengths = (0, 1, 7, *rng.integers(8, 260, 60))
    reads = [random_read(rng, length, haplotypes[3], unknown=0.1) for length in lengths]
    expected = all_pairs(reads, haplotypes, cpu.log_likelihoods)
    found = all_pairs(reads, haplotypes, cuda.log_likelihoods)
    assert found.tobytes() == expected.tobytes()


def test_the_python_interface():
    on_cpu, on_cuda = (readwarp.pair_hmm(["ACGT", ""], 30, ["ACGTT"], device=device) for device in ("cpu", "cuda"))
    assert on_cuda.tobytes() == on_cpu.tobytes() and on_cuda[1, 0] == 0


def unlike(length):
    """A read unlike a haplotype of 2s: each of its bases costs 6 in log10."""
    return np.zeros(length, int), np.full(length, 60), np.full(length, 60), np.full(length, 60)


def test_pairs_of_a_warp_may_differ_in_size():
    """Pairs in a warp run as long as the longest of them; the last haplotype ends where the array ends."""
    from readwarp.call.likelihoods.pairhmm import cuda

    rng = np.random.default_rng(4)
    haplotypes = [rng.integers(0, 4, size) for size in (1, 70, 33, 5)]
    reads = [random_read(rng, length, haplotypes[1]) for length in (4, 9, 12) * 40]
    expected, found = (all_pairs(reads, haplotypes, side.log_likelihoods) for side in (cpu, cuda))
    assert found.tobytes() == expected.tobytes()


def test_small_sums_again_on_the_card(monkeypatch):
    """Without a look from the host: the launches of float64 are in line before the sums of float32 are known."""
    from readwarp.call.likelihoods.pairhmm import cuda

    runs, run = [], cuda.run
    monkeypatch.setattr(cuda, "run", lambda *arguments: runs.append(run(*arguments)) or runs[-1])
    haplotype, with_unknown = np.full(20, 2), np.array([2, 2, 4, 2])
    reads = [unlike(14), (np.full(9, 2), *unlike(9)[1:]), unlike(15)]
    expected = all_pairs(reads, [haplotype, with_unknown], cpu.log_likelihoods)
    monkeypatch.setattr(cpu, "sum_pairs", lambda *_: pytest.fail("computed on the host"))
    found, status = all_with_status(reads, [haplotype, with_unknown], cuda.log_likelihoods)
    assert found.tobytes() == expected.tobytes() and not status.any()
    assert found[0, 0] < -80 and [np.signbit(run).sum() for run in runs] == [5]  # all but read 1 with haplotype 0


def test_what_no_shape_holds_is_done_on_the_host_and_said(monkeypatch):
    from readwarp.call.likelihoods.pairhmm import cuda

    tables = {FLOAT32: np.array([0, *[404] * 16, 0]), FLOAT64: np.array([0, *[204] * 8, 0])}  # 16 bases, 8 in float64
    monkeypatch.setattr(cuda, "shape_table", tables.get)
    rng = np.random.default_rng(7)
    haplotype = np.full(30, 2)
    reads = [(np.full(n, 2), *unlike(n)[1:]) for n in (8, 16, 17)] + [unlike(n) for n in (8, 16, 17, 120)]
    reads += [random_read(rng, 12, haplotype)]
    values, status = all_with_status(reads, [haplotype], cuda.log_likelihoods)
    expected = all_pairs(reads, [haplotype], cpu.log_likelihoods)
    assert values.tobytes() == expected.tobytes()
    on_host = Status.TOO_LONG
    assert status[:, 0].tolist() == [0, 0, on_host, 0, on_host, on_host, Status.OVERFLOW, 0]


def test_nothing_for_the_card():
    from readwarp.call.likelihoods.pairhmm import cuda

    read = (np.full(700, 2), *unlike(700)[1:])
    values, status = all_with_status([read], [np.full(720, 2)], cuda.log_likelihoods)
    assert values[0, 0] == all_pairs([read], [np.full(720, 2)], cpu.log_likelihoods)[0, 0]
    assert status.tolist() == [[Status.TOO_LONG]]


@pytest.mark.parametrize("length", [1, 24, 25, 101, 148, 151, 250, 512, 640])
def test_shapes_hold_their_reads(length):
    from readwarp.call.likelihoods.pairhmm import cuda

    shape = int(cuda.shape_table(FLOAT32)[length])
    rows, group = divmod(shape, 100)
    assert group in cuda.GROUPS and rows in FLOAT32.rows
    assert length <= group * rows <= max(32, 1.35 * length)


@settings(max_examples=60)
@given(st.data())
def test_every_pair_has_its_place(data):
    """In one segment to begin with, and room in the segment of its float64 shape; and a warp comes to each."""
    from readwarp.call.likelihoods.pairhmm import cuda

    lengths = np.array(data.draw(st.lists(st.integers(1, 700), min_size=1, max_size=30)))
    is_narrow = np.array(data.draw(st.lists(st.booleans(), min_size=lengths.size, max_size=lengths.size)))
    plan, begun, reached = cuda.plan_launches(lengths, is_narrow), [], []
    launches = [(precision, *each) for precision in (FLOAT32, FLOAT64) for each in plan.launches[precision]]
    assert [first for *_, first, _ in launches] == [0, *(last for *_, last in launches)][: len(launches)]
    assert len(plan.warps) == max((last for *_, last in launches), default=0)
    for precision, rows, first, last in launches:
        for segment, ahead in plan.warps[first:last].tolist():
            begin, count, group = plan.segments[segment].tolist()
            reached += range(begin + ahead, begin + ahead + WARP // group)
            here = plan.order[begin : begin + count][ahead : ahead + WARP // group].tolist()
            assert all(lengths[pair] <= group * rows for pair in here)
            assert all(is_narrow[pair] == (precision is FLOAT32) for pair in here)
            begun += here
    stops = [*plan.segments[:, 0].tolist(), plan.order.size][1:]
    for segment, ((begin, count, _), stop) in enumerate(zip(plan.segments.tolist(), stops, strict=True)):
        here = plan.order[begin : begin + count].tolist()
        again = np.flatnonzero((plan.again == segment) & is_narrow & plan.on_card)
        assert here == sorted(here) and begin + count + again.size == stop
    assert set(range(plan.order.size)) <= set(reached)
    assert plan.narrow == (is_narrow & plan.on_card).sum()
    assert sorted(begun) == np.flatnonzero(plan.on_card).tolist()
    assert (plan.on_card == (lengths <= np.where(is_narrow, 640, 320))).all()
