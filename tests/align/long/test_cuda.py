"""Long reads on a card: the bytes of the host, from the kernels and with the memory that they should be."""

import random

import numpy as np
import pytest

pytest.importorskip("numba_cuda")

from helpers.align_oracle import random_bases, reverse_complement
from helpers.seeding import planned
from readwarp.align import steps
from readwarp.align.insert_models import InsertModels
from readwarp.align.long import pieces
from readwarp.align.pair import given
from readwarp.config import PRESETS
from readwarp.device.backend import Backend
from readwarp.device.launch import CardKernel
from readwarp.errors import WorkspaceFullError
from readwarp.finish.writer import Preparer
from readwarp.formats.alignments.sam import Encoder
from readwarp.index import Index
from readwarp.metrics import Metrics
from readwarp.ragged import columns_of

pytestmark = pytest.mark.cards

HERE, CARD = Backend("cpu"), Backend("cuda", (0,))
ONE, TWO = random_bases(9000, 41), random_bases(4000, 42)


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Index:
    path = tmp_path_factory.mktemp("long") / "ref.fa"
    path.write_text(f">one\n{ONE}\n>two\n{TWO}{ONE[2000:3500]}{TWO[:500]}\n")
    return Index.build(path)


def noisy(bases: str, rate: float, chance: random.Random) -> str:
    out = []
    for base in bases:
        kind = chance.choice("XID") if chance.random() < rate else ""
        out.append({"": base, "X": chance.choice("ACGTN"), "I": base + chance.choice("ACGT"), "D": ""}[kind])
    return "".join(out)


@pytest.fixture(scope="module")
def reads():
    """Of both strands and several error rates; inverted within, of two contigs, with foreign ends and a long gap."""
    chance = random.Random(5)
    given = [noisy(ONE[at : at + 1800], rate, chance) for at, rate in ((0, 0.0), (1500, 0.01), (6900, 0.06))]
    given.append(ONE[200:1200] + reverse_complement(ONE[1200:1900]) + noisy(ONE[1900:2600], 0.02, chance))
    given.append(TWO[1000:2200] + noisy(ONE[4000:5000], 0.03, chance))
    given.append(random_bases(150, 43) + noisy(ONE[3000:4000] + ONE[4300:5000], 0.02, chance) + random_bases(60, 44))
    given.append(ONE[5000:5700] + random_bases(90, 45) + ONE[5790:6500])
    given += ["N" * 700, random_bases(600, 46), ONE[100:230]]
    oriented = (read if number % 2 else reverse_complement(read) for number, read in enumerate(given))
    return steps.make_batch([(f"r{number}", read, None) for number, read in enumerate(oriented)], paired=False)


def aligned(reads, index, backend: Backend, preset: str, seeds_on_host: bool = False):
    placed, metrics = steps.place(index, backend, seeds_on_host), Metrics()
    _, rows = steps.align_batch(reads, placed, InsertModels(given(300, 30)), PRESETS[preset].parameters, metrics)
    return {name: array.tobytes() for name, array in columns_of(rows).items()}, metrics.counts


@pytest.mark.parametrize("preset", ["hifi", "ont", "asm"])
def test_the_bytes_of_the_host(preset, reads, index):
    expected, counts = aligned(reads, index, HERE, preset)
    assert counts["mapped"] == 8 and counts["candidates"] > 10
    for seeds_on_host in (False, True):
        assert aligned(reads, index, CARD, preset, seeds_on_host) == (expected, counts)


@pytest.mark.parametrize("cells", [0, 60, 400])
def test_pieces_on_both_sides(cells, reads, index, monkeypatch):
    expected = aligned(reads, index, HERE, "ont")
    monkeypatch.setattr(pieces, "MAX_CELLS_ON_CARD", cells)
    assert aligned(reads, index, CARD, "ont") == expected


def test_kernels_get_device_arrays_on_the_stream_of_the_workspace(reads, index, monkeypatch):
    from readwarp.device import memory

    launched, launch = set(), CardKernel.launch

    def checked(configured, where, *arguments):
        kernel = configured.py_func
        launched.add(kernel.__name__)
        assert not any(isinstance(argument, np.ndarray) for argument in arguments), kernel.__name__
        assert where[2] == memory.current().stream, kernel.__name__
        return launch(configured, where, *arguments)

    monkeypatch.setattr(CardKernel, "launch", checked)
    with planned(8 << 20):
        aligned(reads, index, CARD, "hifi")
    kernels = {"link_stretches", "orient_reads", "unpack_windows", "score_threads", "fill_directions"}
    assert launched > kernels | {"fill_ends", "walk_ends", "copy_ends"}
    needed = set(launched)
    launched.clear()
    with planned(8 << 20):
        steps.warm_up(steps.place(index, CARD), PRESETS["hifi"].parameters, (Encoder(()), Preparer()))
    assert launched >= needed


def test_a_batch_that_does_not_fit_says_so(reads, index):
    with planned(1 << 14), pytest.raises(WorkspaceFullError):
        aligned(reads, index, CARD, "hifi")
