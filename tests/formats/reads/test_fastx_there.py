"""FASTQ parsed on a card gives the batch of the host, or nothing where the host has to say what is wrong."""

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.batch_samples import fastq
from helpers.fastq_records import records, titled
from readwarp.device import memory
from readwarp.device.rows import is_on_card, to_host
from readwarp.errors import InputError
from readwarp.formats.common.reads import ReadBatch, bring_reads
from readwarp.formats.reads import fastx
from readwarp.formats.reads.raw import RawBatch, ReadInput
from readwarp.formats.reads.stream import open_reads
from readwarp.ragged import check, columns_of, replace, take

pytestmark = pytest.mark.cards


def batches(*texts: bytes, size: int, interleaved: bool = False) -> Iterator[RawBatch]:
    """The raw batches of files with these texts."""
    with tempfile.TemporaryDirectory() as folder:
        paths = tuple(str(Path(folder) / f"{number}.fq") for number in range(len(texts)))
        for path, text in zip(paths, texts, strict=True):
            Path(path).write_bytes(text)
        with closing(open_reads([ReadInput(paths, interleaved=interleaved, read_group=3)], size)) as raws:
            yield from raws


def parsed_there(raw: RawBatch, longest: int = fastx.ANY_LENGTH) -> ReadBatch | None:
    """The reads as the card parses them, on the host."""
    workspace = memory.current()
    with workspace.frame():
        beside = workspace.upload(np.zeros(1, np.uint8))
        with workspace.frame():
            reads = fastx.parse_beside(raw, beside, longest)
        workspace.upload(np.full(4096, 7, np.uint8))  # where the text was
        assert reads is None or is_on_card((reads.bases,))
        return to_host(reads)


def parsed(raw: RawBatch) -> ReadBatch | None:
    try:
        return fastx.parse(raw)
    except InputError:
        return None


def assert_same(one: ReadBatch | None, other: ReadBatch | None) -> None:
    assert (one is None) == (other is None)
    if one is None or other is None:
        return
    check(one)
    for name, column in columns_of(one).items():
        expected = getattr(other, name)
        assert column.tobytes() == expected.tobytes() if isinstance(column, np.ndarray) else column == expected, name


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_batch_of_the_host(data):
    """Single reads, neighbours of one name and two files, with all letters, comments and line ends."""
    size, end = data.draw(st.integers(1, 400)), data.draw(st.sampled_from(["\n", "\r\n"]))
    made = data.draw(st.lists(records(), min_size=1, max_size=10))
    if data.draw(st.booleans()):
        lasts = [data.draw(records(name)) for name, _, _ in made]
        texts = [fastq([(f"x{name}", *rest) for name, *rest in each], end) for each in (made, lasts)]
    else:
        texts = [fastq([data.draw(titled(record)) for record in made], end)]
    for raw in batches(*texts, size=size, interleaved=len(texts) == 1 and data.draw(st.booleans())):
        assert fastx.is_plain(raw)
        assert_same(parsed_there(raw), fastx.parse(raw))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_changed_bytes(data):
    """Whatever is wrong, the card does not parse it; what is right, it parses as the host does."""
    made = data.draw(st.lists(records(), min_size=1, max_size=6))
    lasts = [data.draw(records(name)) for name, _, _ in made]
    texts = [bytearray(fastq([(f"x{name}", *rest) for name, *rest in each], "\n")) for each in (made, lasts)]
    for _ in range(data.draw(st.integers(1, 2))):
        text = data.draw(st.sampled_from(texts))
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.sampled_from(b"@+>\r x\x00\xffACN~/1"))
    try:
        for raw in batches(*map(bytes, texts), size=10_000):
            assert_same(parsed_there(raw), parsed(raw))
    except InputError:
        return  # not even whole records


@pytest.mark.parametrize(
    "wrong",
    [
        "x",
        "@a\nAC\nx\nII\n",
        "@a\nAC\n+b\nII\n",
        "@a\nAC\n+\nI\n",
        "@a\nA!\n+\nII\n",
        "@a\nAC\n+\nI \n",
        "@@\nA\n+\nI\n",
    ],
)
def test_what_is_wrong_is_left_to_the_host(wrong):
    good = "@b\nACGT\n+\nIIII\n"
    text = good * 3 + wrong + ("" if len(wrong) > 1 else good) + good
    (raw,) = batches(text.encode(), size=1000)
    assert parsed_there(raw) is None and parsed(raw) is None


@pytest.mark.parametrize("letters", [254, 255])
def test_the_longest_name(letters):
    (raw,) = batches(f"@{'n' * letters}\nACGT\n+\nIIII\n".encode(), size=1000)
    assert (parsed_there(raw) is None) == (letters == 255)


def test_names_of_mates_differ():
    (raw,) = batches(b"@a\nA\n+\nI\n@b\nA\n+\nI\n", b"@a\nA\n+\nI\n@c\nA\n+\nI\n", size=1000)
    assert parsed_there(raw) is None


@pytest.mark.parametrize("longest", [99, 100])
def test_long_reads_are_left_to_the_host(longest):
    (raw,) = batches(b"@a\nAC\n+\nII\n" + fastq([("b", "A" * 100, "I" * 100)], "\n"), size=1000)
    assert (parsed_there(raw, longest) is None) == (longest == 99)


def test_many_reads():
    """More lines than a tile of a scan has, and letters than a block of threads."""
    random = np.random.default_rng(1)
    rows = [(f"r{i}", "ACGTN"[i % 5] * size, "F" * size) for i, size in enumerate(random.integers(0, 200, 3000))]
    text = fastq(rows, "\n")
    (raw,) = batches(text, text, size=1 << 20)
    assert_same(parsed_there(raw), fastx.parse(raw))


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_some_reads_come_down(data):
    """Any of them, without qualities."""
    made = data.draw(st.lists(records(), min_size=1, max_size=12))
    (raw,) = batches(fastq(made, "\n"), size=1 << 16)
    rows = np.array(data.draw(st.lists(st.integers(0, len(made) - 1), max_size=20)), np.int64)
    reads, workspace = fastx.parse(raw), memory.current()
    with workspace.frame():
        some = bring_reads(workspace.on_card(reads), rows)
    expected = take(reads, "reads", rows)
    assert_same(replace(some, qualities=expected.qualities), expected)
