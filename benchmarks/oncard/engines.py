"""Kernels on simulated pairs: cells per second between the events around their launches, and of the whole engine.

The number of cells is query length times target length, or read length times haplotype length; all count, also for
the traceback, which only computes those near the diagonal.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

import numpy as np

from oncard import Figures, Sizes
from oncard.timing import launches
from readwarp.call.likelihoods.pairhmm import ReadRows
from readwarp.device.cuda_jit import cuda
from readwarp.device.lanes import FORMS, LaneForm
from readwarp.pairwise import cpu
from readwarp.pairwise.pairs import Costs, Pairs, Scheme
from readwarp.pairwise.scalar import LOCAL

SCHEME = Scheme(Costs(1, 4, 6, 1, 5), LOCAL)
SHAPES = ((150, 230), (150, 1400), (250, 400))
ON_CPU = 400_000_000  # cells
READ, HAPLOTYPE = 148, 250


def simulated(number: int, length: int, room: int) -> Pairs:
    """Reads with 2 % substitutions, one in five with a deletion, in windows."""
    rng = np.random.default_rng(1)
    targets = rng.integers(0, 4, (number, room), np.uint8)
    begin = (room - length) // 2
    queries = targets[:, begin : begin + length].copy()
    wrong = rng.random(queries.shape, np.float32) < 0.02
    queries[wrong] = rng.integers(0, 4, int(wrong.sum()), np.uint8)
    cut, size = length // 3, min(4, length // 4)
    queries[::5, cut : length - size] = queries[::5, cut + size :]
    lengths = np.full(number, length), np.full(number, room)
    starts = np.arange(number) * length, np.arange(number) * room
    return Pairs(queries.ravel(), starts[0], lengths[0], targets.ravel(), starts[1], lengths[1])


def pair_hmm_batch(number: int, length: int, size: int) -> tuple:
    """Arguments of log_likelihoods: a read for each pair, 16 haplotypes."""
    rng = np.random.default_rng(2)
    home = rng.integers(0, 4, size, np.uint8)
    haplotypes = np.where(rng.random((16, size)) < 0.02, rng.integers(0, 4, (16, size), np.uint8), home)
    haplotype = (np.arange(number) % 16).astype(np.int32)
    starts = rng.integers(0, size - length + 1, number)
    bases = haplotypes[haplotype[:, None], starts[:, None] + np.arange(length)]
    qualities = (40 - np.minimum(38, rng.exponential(4, bases.size))).astype(np.uint8)
    wrong = rng.random(bases.size) < 10.0 ** (-0.1 * qualities)
    bases = np.where(wrong, rng.integers(0, 4, bases.size, np.uint8), bases.ravel()).astype(np.uint8)
    gaps = np.full(bases.size, 45, np.uint8), np.full(bases.size, 10, np.uint8)
    rows = ReadRows(bases, qualities, *gaps, np.arange(number + 1, dtype=np.int64) * length)
    offsets = np.arange(17, dtype=np.int64) * size
    return rows, haplotypes.astype(np.uint8).ravel(), offsets, np.arange(number, dtype=np.int32), haplotype


def forms() -> list[LaneForm]:
    """The forms of lanes that the card can run, the one expected to be fastest first."""
    capability = tuple(cuda.get_current_device().compute_capability)
    return [form for form in FORMS if capability >= form.since]


@contextmanager
def forced(form: LaneForm) -> Iterator[None]:
    """Make the engine use this form, whatever the card."""
    from readwarp.pairwise import cuda_local

    forms_of = cuda_local.forms_of
    cuda_local.forms_of = lambda _: (form,)
    try:
        yield
    finally:
        cuda_local.forms_of = forms_of


def measured(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Medians of (seconds in kernels, wall seconds), after one run to compile."""
    work()
    kernels, walls = [], []
    for _ in range(repeats):
        with launches() as found:
            started = time.perf_counter()
            work()
            cuda.synchronize()
            walls.append(time.perf_counter() - started)
        kernels.append(sum(found.seconds().values()))
    return median(kernels), median(walls)


def alignments(sizes: Sizes) -> Figures:
    """Scores in each form that the card can run, then tracebacks in the default form."""
    from readwarp.pairwise import cuda as engine

    for length, room in SHAPES:
        number = max(2, sizes.cells // (length * room))
        pairs, shape = simulated(number, length, room), f"{length} x {room}"
        cells = number * length * room / 1e9
        for form in forms():
            with forced(form):
                inside, wall = measured(lambda p=pairs: engine.score_pairs(p, SCHEME), sizes.repeats)
            yield f"score, {form.name}, {shape}, kernels", cells / inside, "10^9 cells/s"
            yield f"score, {form.name}, {shape}, with host and copies", cells / wall, "10^9 cells/s"
        ends = engine.score_pairs(pairs, SCHEME)
        inside, wall = measured(lambda p=pairs, e=ends: engine.trace_pairs(p, SCHEME, e), sizes.repeats)
        yield f"traceback, {shape}, kernels", cells / inside, "10^9 cells/s"
        yield f"traceback, {shape}, kernels", number / inside / 1e6, "10^6 CIGARs/s"
        yield f"traceback, {shape}, with host and copies", number / wall / 1e6, "10^6 CIGARs/s"


def likelihoods(sizes: Sizes) -> Figures:
    from readwarp.call.likelihoods.pairhmm import cuda as engine

    number = max(2, sizes.cells // 4 // (READ * HAPLOTYPE))
    batch, cells = pair_hmm_batch(number, READ, HAPLOTYPE), number * READ * HAPLOTYPE / 1e9
    inside, wall = measured(lambda: engine.log_likelihoods(*batch), sizes.repeats)
    yield f"PairHMM, {READ} x {HAPLOTYPE}, kernels", cells / inside, "10^9 cells/s"
    yield f"PairHMM, {READ} x {HAPLOTYPE}, with host and copies", cells / wall, "10^9 cells/s"


def on_the_cpu(sizes: Sizes) -> Figures:
    """The same on one thread of this machine's processor."""
    from readwarp.call.likelihoods.pairhmm import cpu as pair_hmm

    length, room = SHAPES[0]
    pairs = simulated(max(2, min(ON_CPU, sizes.cells) // (length * room)), length, room)
    ends = cpu.score_pairs(pairs, SCHEME)
    number = max(2, min(ON_CPU, sizes.cells) // (READ * HAPLOTYPE))
    batch = pair_hmm_batch(number, READ, HAPLOTYPE)
    for name, work, cells in (
        (f"score, {length} x {room}", lambda: cpu.score_pairs(pairs, SCHEME), len(pairs) * length * room),
        (
            f"traceback, {length} x {room}",
            lambda: cpu.trace_pairs(pairs, SCHEME, ends),
            len(pairs) * length * room,
        ),
        (f"PairHMM, {READ} x {HAPLOTYPE}", lambda: pair_hmm.log_likelihoods(*batch), number * READ * HAPLOTYPE),
    ):
        work()
        started = time.perf_counter()
        work()
        yield f"CPU, one thread: {name}", cells / (time.perf_counter() - started) / 1e9, "10^9 cells/s"
