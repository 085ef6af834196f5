"""readwarp.pairwise on a card gives the bytes of the CPU for every mode and kind of pair, at real sizes."""

from itertools import product

import numpy as np
import pytest

import readwarp
from readwarp.config import Scoring
from readwarp.device.lanes import FORMS
from readwarp.pairwise.api import MatrixScoring
from readwarp.ragged import columns_of

pytestmark = pytest.mark.gpu

MODES = ("local", "global", "semiglobal")
SHAPES = {  # query and target lengths, pairs
    "reads in windows": (150, 230, 20_000),
    "rescue windows": (150, 1400, 4000),
    "long reads": (250, 400, 8000),
    "longer than any tile": (3000, 3500, 50),
}


def related(shape, rng, scale, unknown=0.0):
    """Codes of pairs; each query is a piece of its target with substitutions and an indel, some with N."""
    length, room, number = shape
    queries, targets = [], []
    for _ in range(max(8, number // scale)):
        target = rng.integers(0, 4, room).astype(np.uint8)
        start, cut, size = rng.integers(0, room - length + 1), rng.integers(1, length), rng.integers(0, 4)
        piece = target[start : start + length].copy()
        query = np.concatenate((piece[:cut], rng.integers(0, 4, size).astype(np.uint8), piece[cut + size :]))[:length]
        errors = rng.random(query.size) < 0.03
        query[errors] = rng.integers(0, 4, errors.sum())
        query[rng.random(query.size) < unknown] = 4
        queries.append(query)
        targets.append(target)
    return queries, targets


def same_on_both(device, queries, targets, **options):
    cpu, cuda = (readwarp.pairwise(queries, targets, **options, device=side) for side in ("cpu", device))
    for field in columns_of(cpu):
        a, b = getattr(cpu, field), getattr(cuda, field)
        assert (a is None) == (b is None), field
        if a is not None:
            assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), field
    return cpu


@pytest.mark.parametrize(("kind", "mode", "traceback"), [*product(SHAPES, MODES, (False, True))])
def test_modes_and_shapes(kind, mode, traceback, device, scale):
    pairs = related(SHAPES[kind], np.random.default_rng(1), scale)
    assert (same_on_both(device, *pairs, mode=mode, traceback=traceback).score != 0).any()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize("kind", SHAPES)
def test_every_form_that_the_card_can_run(form, kind, device, scale, monkeypatch):
    from readwarp.device.cuda_jit import cuda
    from readwarp.pairwise import cuda_local

    if tuple(cuda.gpus[int(device.partition(":")[2] or 0)].compute_capability) < form.since:
        pytest.skip(f"{form.name} needs compute capability {form.since}")
    monkeypatch.setattr(cuda_local, "forms_of", lambda _: (form,))
    same_on_both(device, *related(SHAPES[kind], np.random.default_rng(6), scale, unknown=0.01), mode="local")


@pytest.mark.parametrize("mode", MODES)
def test_unknown_bases_and_odd_lengths(mode, device, scale):
    rng = np.random.default_rng(2)
    queries, targets = related(SHAPES["reads in windows"], rng, scale, unknown=0.05)
    for row in range(0, len(queries), 3):
        queries[row] = queries[row][: rng.integers(0, queries[row].size)]
        targets[row] = targets[row][rng.integers(0, targets[row].size) :]
    same_on_both(device, queries, targets, mode=mode, traceback=True)


@pytest.mark.parametrize("match", [1, 15, 40, 300])
@pytest.mark.parametrize("mode", MODES)
def test_scores_that_narrow_lanes_cannot_hold(mode, match, device, scale):
    """Pairs whose scores pass 2048 or 32767, together with unrelated ones that stay small."""
    rng = np.random.default_rng(3)
    length = 250
    queries, targets = related((length, length + 20, 2000), rng, scale)
    targets[::2] = [rng.integers(0, 4, length + 20).astype(np.uint8) for _ in targets[::2]]
    scoring = Scoring(match, 4 * match, 6 * match, match, 0)
    scores = same_on_both(device, queries, targets, scoring=scoring, mode=mode, traceback=True).score
    if match == 300:
        assert (scores > 32767).any() and (scores < 32767).any()


@pytest.mark.parametrize("mode", MODES)
def test_repeats_have_many_equal_alignments(mode, device, scale):
    rng = np.random.default_rng(4)
    queries = [np.tile(rng.integers(0, 4, size), 60)[:120] for size in rng.integers(1, 7, 4000 // scale)]
    targets = [np.tile(query[:12], 20)[:200] for query in queries]
    pairs = ([sequence.astype(np.uint8) for sequence in side] for side in (queries, targets))
    same_on_both(device, *pairs, mode=mode, traceback=True)


@pytest.mark.parametrize("mode", MODES)
def test_substitution_matrix(mode, device, scale):
    rng = np.random.default_rng(5)
    alphabet, number = "ARNDCQEGHILKMFPSTWYV", 3000 // scale
    half = np.triu(rng.integers(-4, 4, (20, 20)))
    scoring = MatrixScoring(half + half.T + 6 * np.eye(20, dtype=int), alphabet, 11, 1)
    queries = ["".join(rng.choice(list(alphabet), 180)) for _ in range(number)]
    targets = [query[3:] + query[:5] for query in queries]
    same_on_both(device, queries, targets, scoring=scoring, mode=mode, traceback=True)
