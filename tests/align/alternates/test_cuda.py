"""Reads that are extended on a card get the records of the CPU, also in windows to which hits are lifted."""

import pytest

from helpers.align_oracle import cut_pair, random_bases
from helpers.made_alternates import sam_line, substituted
from readwarp.align import steps
from readwarp.align.alternates import read_alternates
from readwarp.align.insert_models import InsertModels
from readwarp.align.pair import given
from readwarp.config import AlignParameters
from readwarp.device.backend import Backend
from readwarp.index import Index
from readwarp.metrics import Metrics
from readwarp.ragged import columns_of

pytestmark = pytest.mark.cards

ONE = random_bases(300, 41)
FAR = substituted(ONE[40:260], range(3, 220, 9))  # without seeds on contig one
NEAR = substituted(ONE[40:260], range(30, 220, 60))


@pytest.fixture(scope="module")
def placed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "tiny.fa").write_text(f">one\n{ONE}\n>near\n{NEAR}\n>far\n{FAR}\n")
    (folder / "tiny.alt").write_text("".join(sam_line(name, 0, "one", 41, "220M") + "\n" for name in ("near", "far")))
    index = Index.build(folder / "tiny.fa")
    table = read_alternates(folder / "tiny.alt", index.reference)
    return [steps.place(index, backend, alternates=table) for backend in (Backend("cpu"), Backend("cuda", (0,)))]


def test_same_bytes(placed):
    pairs = [cut_pair(bases, start, 130, 48) for bases in (ONE, NEAR, FAR) for start in (10, 60)]
    reads = steps.make_batch([(f"r{i}", bases, None) for i, pair in enumerate(pairs) for bases in pair], True)
    rows, counts = [], []
    for side in placed:
        metrics = Metrics()
        _, made = steps.align_batch(reads, side, InsertModels(given(130, 10)), AlignParameters(), metrics)
        rows.append([array.tobytes() for array in columns_of(made).values()])
        counts.append(metrics.counts)
    assert rows[0] == rows[1] and counts[0] == counts[1]
    assert counts[0]["mapped"] == 12 and counts[0]["lifted_windows"] and counts[0]["supplementary"]
