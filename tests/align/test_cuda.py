"""All steps with CUDA kernels give the bytes of the CPU, and the kernels' arrays are where they should be."""

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
from helpers.align_oracle import cut_pair, random_bases
from helpers.seeding import planned
from readwarp.align import steps
from readwarp.align.insert_models import InsertModels
from readwarp.align.pair import given
from readwarp.align.places import Genome
from readwarp.config import AlignParameters, RecordParameters, Scoring
from readwarp.device import memory
from readwarp.device.backend import Backend
from readwarp.device.launch import CardKernel
from readwarp.finish.signatures import Libraries
from readwarp.finish.writer import Preparer
from readwarp.formats.alignments.sam import Encoder
from readwarp.index import Index
from readwarp.metrics import Metrics
from readwarp.ragged import columns_of, offsets_of, replace
from readwarp.rules.bases import unpack

pytestmark = pytest.mark.cards

HERE, CARD = Backend("cpu"), Backend("cuda", (0,))


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Index:
    path = tmp_path_factory.mktemp("tiny") / "tiny.fa"
    copy = random_bases(120, 31)
    path.write_text(f">one\n{random_bases(150, 32)}{copy}{random_bases(120, 33)}{copy}\n>two\n{random_bases(90, 34)}\n")
    return Index.build(path)


@pytest.fixture(scope="module")
def reads(index):
    """Pairs of 48 bases: exact, with a deletion, in a repeat, with a mate without seeds, with many N, unmapped."""
    one = "".join("ACGT"[code] for code in _unpacked(index, 510))
    pairs = [cut_pair(one, start, 130, 48) for start in (10, 60, 170)]
    first, last = cut_pair(one, 20, 131, 49)
    pairs.append((first[:24] + first[25:], last[:48]))
    first, last = cut_pair(one, 30, 130, 48)
    damaged = "".join("ACGT"[("ACGT".index(base) + (i % 12 == 5)) % 4] for i, base in enumerate(last))
    pairs.append((first, damaged))
    pairs.append((one[60:76] + "N" + one[77:93] + "N" + one[94:108], "N" * 48))
    pairs.append((random_bases(48, 35), "N" * 48))
    named = [(f"r{i}", bases, None) for i, pair in enumerate(pairs) for bases in pair]
    return steps.make_batch(named, True)


def _unpacked(index: Index, size: int) -> np.ndarray:
    out = np.empty(size, np.uint8)
    unpack(index.reference.packed, 0, size, out)
    return out


def aligned(reads, index, backend: Backend, seeds_on_host: bool = False):
    placed, parameters, metrics = steps.place(index, backend, seeds_on_host), AlignParameters(), Metrics()
    _, rows = steps.align_batch(reads, placed, InsertModels(given(130, 10)), parameters, metrics)
    return [array.tobytes() for array in columns_of(rows).values()], metrics.counts


def test_same_bytes_wherever_seeds_are(reads, index):
    expected, counts = aligned(reads, index, HERE)
    assert counts["mapped"] == 11 and counts["rescue_windows"] and counts["dp_cells"]
    for seeds_on_host in (False, True):
        assert aligned(reads, index, CARD, seeds_on_host) == (expected, counts)


def prepared(reads, index, backend: Backend, encoder: Encoder, parameters: AlignParameters, preparer: Preparer):
    placed, metrics = steps.place(index, backend), Metrics()
    made = steps.prepare_batch(reads, placed, InsertModels(given(130, 10)), parameters, metrics, (encoder, preparer))
    metrics.counts.pop("encoded_on_card", None)
    data = made.run.records.data if made.run else np.concatenate(made.groups)
    return data.tobytes(), made.records, made.reach, metrics.counts


LIBRARIES = Libraries.of(["@RG\tID:first\tLB:one", "@RG\tID:second\tLB:two"])
PREPARERS = (
    Preparer(),
    Preparer("name"),
    Preparer("coordinate"),
    Preparer("coordinate", LIBRARIES),
    Preparer("coordinate", LIBRARIES, by_umi=True),
)
RECORDS = {
    "default": RecordParameters(),
    "every tag": RecordParameters(cs="long", eqx=True, secondary_records=True, five_prime_primary=True),
    "short cs": RecordParameters(cs="short", splits_as_secondary=True, soft_clip_supplementary=True),
}


@pytest.mark.parametrize("options", RECORDS.values(), ids=RECORDS)
@pytest.mark.parametrize("group", [-1, 1])
def test_same_records(reads, index, options, group):
    tags = np.frombuffer(b"BCZAC\0XXiabcd", np.uint8)
    sizes = np.where(np.arange(len(reads)) % 3 == 1, tags.size, 0)
    reads = replace(reads, read_group=np.full(len(reads), group, np.int32), tag_offsets=offsets_of(sizes))
    reads = replace(reads, tags=np.tile(tags, int((sizes > 0).sum())), failed=(np.arange(len(reads)) % 2).astype("u1"))
    encoder, parameters = Encoder(index.reference.names, ("first", "second")), AlignParameters(records=options)
    for preparer in PREPARERS:
        expected = prepared(reads, index, HERE, encoder, parameters, preparer)
        assert len(expected[0]) > 1000
        assert prepared(reads, index, CARD, encoder, parameters, preparer) == expected


def test_seeds_on_the_host_take_nothing_of_the_card(index, monkeypatch):
    moved = []
    monkeypatch.setattr(Backend, "resident", lambda self, value: moved.append((self.name, value)) or value)
    placed = steps.place(index, CARD, seeds_on_host=True)
    assert moved == [("cpu", index), ("cuda", index.reference)]
    assert placed.there is index and placed.seeding == HERE


def test_seeding_takes_the_bytes_it_says(reads, index):
    from readwarp.align.chain import cuda as chain
    from readwarp.align.seed import cpu, cuda

    placed, n = steps.place(index, CARD), len(reads)
    anchors = cpu.find_seeds(reads, index, Genome.of(index.reference), index.parameters, Scoring()).anchors.size
    with planned(1 << 20) as workspace, workspace.frame():
        there = CARD.to_device(reads, *steps.ON_DEVICE)
        chains = steps.find_chains(reads, there, placed, AlignParameters(), Metrics())
    uploaded = memory.rounded(reads.bases.size) + memory.rounded(8 * (n + 1))
    seeding = cuda.device_bytes(n, reads.bases.size, index.parameters.t, anchors, anchors)
    kept = chain.kept_bytes(n, chains.score.size)
    assert workspace.high_water == uploaded + seeding + chain.device_bytes(n, anchors) + kept


def test_kernels_get_device_arrays_on_the_stream_of_the_workspace(reads, index, monkeypatch):
    """Once an index is on the card, nothing is allocated, and no kernel copies an array from the host by itself."""
    from readwarp.device import memory

    placed = steps.place(index, CARD)
    launched, launch = set(), CardKernel.launch

    def checked(configured, where, *arguments):
        kernel = configured.py_func
        launched.add(f"{kernel.__module__.split('.')[-2]} {kernel.__name__}")
        assert not any(isinstance(argument, np.ndarray) for argument in arguments), kernel.__name__
        assert where[2] == memory.current().stream, kernel.__name__
        return launch(configured, where, *arguments)

    monkeypatch.setattr(CardKernel, "launch", checked)
    with planned(8 << 20):
        monkeypatch.setattr(memory, "resident", None)
        _, rows = steps.align_batch(reads, placed, InsertModels(given(130, 10)), AlignParameters(), Metrics())
    assert len(rows) == len(reads)
    assert launched > {
        "seed sketch_reads", "seed look_up", "seed choose", "seed emit", "seed sort_anchors", "device grid",
        "chain chain_reads", "chain close_up", "extend orient_reads", "extend score_ungapped",
        "extend unpack_windows", "extend trace_ungapped",
    }  # fmt: skip
    engine = {name for name in launched if name.startswith("pairwise ")}
    assert engine and not engine & {"pairwise score_threads", "pairwise trace_threads"}  # the fast ones were taken


def test_an_error_says_during_which_step_it_came_up(reads, index, monkeypatch):
    from readwarp.align.chain import cpu

    def broken(*_):
        raise RuntimeError("unspecified launch failure")

    monkeypatch.setattr(cpu, "chain_hits", broken)
    with pytest.raises(RuntimeError, match="unspecified launch failure") as caught:
        aligned(reads, index, HERE)
    assert caught.value.__notes__ == ["during chain"]
