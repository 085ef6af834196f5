"""Groups of templates of unsorted BAM: the same blocks however the reads are cut into batches, on either side."""

import gzip
import random
from contextlib import closing
from itertools import islice

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
from helpers.batch_samples import Read, Row, alignments_of, batch_of
from helpers.cards import HAS_GPU
from helpers.group_names import beginning, begins
from readwarp.device import nvcomp
from readwarp.device.backend import Backend
from readwarp.device.memory import current
from readwarp.device.rows import to_host
from readwarp.finish import cuda_blocks
from readwarp.finish.cuda_blocks import CardBlocks
from readwarp.finish.groups import cut_groups, list_starts
from readwarp.finish.writer import AlignmentWriter, Finish, Prepared
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.sam import Encoder
from readwarp.formats.common.bgzf import BLOCK, CompressedBlocks, blocks_of
from readwarp.metrics import Metrics
from readwarp.ragged import concatenate, take

pytestmark = [pytest.mark.cards, pytest.mark.skipif(HAS_GPU and not nvcomp.library(), reason="needs nvCOMP")]
CARD = Backend("cuda", (0,))
HEADER = "@HD\tVN:1.6\n@SQ\tSN:one\tLN:9999\n"


BEGINNING = tuple(islice(beginning(), 9))


def templates(seed: int, pairs: int, starts: int, twice: bool = False) -> Encoded:
    """Pairs with bases enough for several blocks; so many of them begin groups. twice: the next has the same name."""
    rng = random.Random(seed)
    names = [f"other{number}" for number in range(pairs)]
    assert not any(map(begins, names))
    for place, name in zip(rng.sample(range(pairs), starts), BEGINNING, strict=False):
        names[place : place + 1 + twice] = [name] * (1 + twice)
    names = names[:pairs]
    reads = [
        Read(name, mate, "".join(rng.choices("ACGT", k=900)), "I" * 900, b"", -1) for name in names for mate in (1, 2)
    ]
    rows = [Row(read, more | (77, 141)[read % 2], -1, -1, 0, "*") for read in range(len(reads)) for more in (0, 0x900)]
    return Encoder(("one",)).encode(batch_of(reads), alignments_of(rows))


def begin_groups(records: Encoded) -> list[int]:
    """The first of four records of each template whose name has the hash."""
    return [row for row in range(0, len(records), 4) if begins(name_of(records, row))]


def cut_there(records: Encoded) -> tuple:
    with CARD.on(), CARD.frame():
        return cut_groups(CARD.to_device(records))


def test_starts_are_first_records_of_templates_with_the_hash():
    records = templates(1, 50, 7)
    assert len(begin_groups(records)) == 7
    expected = records.offsets[begin_groups(records)].tolist()
    assert list_starts(len(records), records).place.tolist() == expected
    with CARD.on(), CARD.frame():
        there = CARD.to_device(records)
        assert to_host(list_starts(len(records), there)).place.tolist() == expected


def name_of(records: Encoded, row: int) -> str:
    first = int(records.offsets[row]) + 36
    return records.data[first:].tobytes().split(b"\0", 1)[0].decode()


@pytest.mark.parametrize("starts", [0, 1, 2, 9])
def test_a_batch_is_cut_into_what_it_was(starts):
    records = templates(2, 120, starts)
    before, *groups = cut_there(records)
    assert [isinstance(group, CompressedBlocks) for group in groups] == (
        [True, False] if starts > 1 else [False] * starts
    )
    there = b"".join(
        gzip.decompress(group.data.tobytes()) if isinstance(group, CompressedBlocks) else group.tobytes()
        for group in (before, *groups)
    )
    assert there == records.data.tobytes() == b"".join(group.tobytes() for group in cut_groups(records))


def test_little_memory_changes_no_block(monkeypatch):
    records = templates(3, 300, 5)
    (expected,) = [group for group in cut_there(records) if isinstance(group, CompressedBlocks)]
    with CARD.on(), CARD.frame():
        there = CARD.to_device(records)
        monkeypatch.setattr(type(current()), "left", property(lambda _: 2 * cuda_blocks.work_bytes(1)))
        found = [group for group in cut_groups(there) if isinstance(group, CompressedBlocks)]
    assert len(found) > 2
    assert b"".join(group.data.tobytes() for group in found) == expected.data.tobytes()
    assert np.array_equal(np.concatenate([group.sizes for group in found]), expected.sizes)


@pytest.mark.parametrize("seed", range(6))
def test_the_file_does_not_depend_on_batches_or_sides(seed, tmp_path):
    rng, records = random.Random(seed), templates(seed, 400, 8, twice=seed % 2 == 1)
    written = []
    for batches in (1, 2, 7, 40):
        path = tmp_path / f"{batches}.bam"
        cuts = sorted(4 * cut for cut in rng.sample(range(1, 400), batches - 1))
        with closing(CardBlocks(CARD, 64 << 20, 8 << 30, Metrics())) as compressor:
            finish = Finish(compressor=compressor)
            with AlignmentWriter(str(path), HEADER, finish) as writer:
                for first, stop in zip([0, *cuts], [*cuts, len(records)], strict=True):
                    batch = take(records, "records", slice(first, stop))
                    groups = cut_there(batch) if rng.random() < 0.7 else cut_groups(batch)
                    writer.add(Prepared(stop - first, groups))
        written.append(path.read_bytes())
    assert written.count(written[0]) == len(written)
    data = gzip.decompress(written[0])
    assert data.endswith(records.data.tobytes())
    sizes = blocks_of(written[0])[1]
    assert max(sizes) == BLOCK
    assert sum(size < BLOCK for size in sizes) == len(begin_groups(records)) + 2  # what is before them, the end


def test_groups_join(tmp_path):
    """What a batch leaves of a group is joined with what the next has of it."""
    records = templates(8, 30, 1)
    halves = [take(records, "records", slice(0, 60)), take(records, "records", slice(60, 120))]
    joined = [np.concatenate([group for half in halves for group in cut_groups(half)])]
    assert np.array_equal(joined[0], concatenate(halves, "records").data)
