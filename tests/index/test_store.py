"""The index file: what is written comes back, and files that are damaged, foreign or incomplete are refused."""

import hashlib
import json
import os
import pickle
import random
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from helpers.seeding import random_letters, write_fasta
from readwarp import Index, index
from readwarp.config import PRESETS, SeedParameters
from readwarp.errors import InputError
from readwarp.formats.common import index_file
from readwarp.index import index_path, open_or_build, store
from readwarp.metrics import Metrics

SEEDS = [preset.parameters.seed for preset in PRESETS.values()]

LETTERS = random_letters(random.Random(8), 40_000)


@pytest.fixture
def reference(tmp_path):
    return write_fasta(tmp_path / "ref.fa", [LETTERS, "ACGTN" * 9])


@pytest.fixture
def saved(reference):
    open_or_build(reference, SeedParameters())
    return index_path(reference)


def damaged(path, place: int, change: int = 0x55):
    data = bytearray(path.read_bytes())
    data[place] ^= change
    path.write_bytes(data)


def same(one: Index, other: Index) -> bool:
    arrays = ("bucket_starts", "tags", "positions")
    return (
        all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays)
        and np.array_equal(one.reference.packed, other.reference.packed)
        and np.array_equal(one.reference.contig_offsets, other.reference.contig_offsets)
        and (one.reference.names, one.reference.md5) == (other.reference.names, other.reference.md5)
        and (one.parameters.k, one.parameters.s, one.parameters.t)
        == (other.parameters.k, other.parameters.s, other.parameters.t)
    )


@pytest.mark.parametrize("p", SEEDS, ids=PRESETS)
def test_comes_back_as_it_was(reference, tmp_path, p):
    index = Index.build(reference, p)
    index.save(tmp_path / "x.rwx")
    back = Index.open(tmp_path / "x.rwx")
    assert same(index, back)
    for array in (back.tags, back.positions, back.bucket_starts, back.reference.packed, back.reference.contig_offsets):
        assert not array.flags.writeable and array.ctypes.data % array.itemsize == 0
    Index.verify(tmp_path / "x.rwx")


def test_empty_index_comes_back(tmp_path):
    index = Index.build(write_fasta(tmp_path / "ref.fa", ["ACGT"]))
    index.save(tmp_path / "x.rwx")
    assert same(index, Index.open(tmp_path / "x.rwx"))


def test_same_bytes_each_time(reference, tmp_path):
    for name, threads in (("a", 1), ("b", 2)):
        Index.build(reference, threads=threads).save(tmp_path / name, reference)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("expected", [[], [10**9] * 1000], ids=["less", "more"])
def test_checksums_that_take_another_room_than_expected(saved, monkeypatch, expected):
    """They come before the arrays, and are known after them."""
    monkeypatch.setattr(index_file, "BLOCK", 1 << 7)
    index = Index.build(saved.with_suffix(""))
    index.save(saved, force=True)
    whole = saved.read_bytes()
    assert whole[4000:4096].strip(b" ,0123456789") == b""  # the checksums take more than a page
    monkeypatch.setattr(store, "_expected", lambda blocks: expected)
    index.save(saved, force=True)
    assert saved.read_bytes() == whole
    Index.open(saved)


@pytest.mark.parametrize("place", [0, 24, 64, 200])
def test_whole_huge_pages_are_written_at_once(tmp_path, monkeypatch, place):
    """Where pages have 64 bytes: but for both ends, each write is of whole ones, and all is written in order."""
    monkeypatch.setattr(index_file, "HUGE_PAGE", 64)
    monkeypatch.setattr(index_file, "BLOCK", 100)
    rng, writes = random.Random(place), []
    parts = [np.frombuffer(rng.randbytes(2 * rng.choice([0, 1, 5, 20, 32, 300])), np.uint16) for _ in range(60)]
    with (tmp_path / "file").open("w+b", buffering=0) as file:
        column = store.StoredColumn(file, place)
        monkeypatch.setattr(
            column, "_write", lambda data: writes.append(len(data)) or store.StoredColumn._write(column, data)
        )
        for part in parts:
            column.append(part)
        column.close()
        file.seek(place)
        data = file.read()
    assert data == b"".join(part.tobytes() for part in parts)
    assert column.checksums == [zlib.crc32(data[start : start + 100]) for start in range(0, len(data), 100)]
    ends = np.cumsum([size for size in writes if size]) + place
    assert not np.any(ends[:-1] % 64) and np.count_nonzero(np.diff(ends) > 64)


@pytest.mark.parametrize(("free", "flag"), [(1 << 40, "hg"), (1000, "rr")])
def test_how_the_system_is_to_read_it(saved, monkeypatch, caplog, free, flag):
    """In huge pages where memory has room for it, else (with a warning) page by page: VmFlags of proc_pid_smaps(5)."""
    if flag == "hg" and not Path("/sys/kernel/mm/transparent_hugepage").exists():
        pytest.skip("this kernel has no huge pages")
    monkeypatch.setattr(index, "free_memory", lambda: free)
    opened = Index.open(saved)
    mapped = Path("/proc/self/smaps").read_text().partition(str(saved))[2]
    assert flag in re.search(r"^VmFlags: (.*)$", mapped, re.MULTILINE)[1].split()
    assert opened.tags.size
    assert ("does not fit into 80% of the free memory (1000); seeds" in caplog.text) == (flag == "rr")


@pytest.fixture
def wide(reference, monkeypatch):
    """An index as for a reference beyond 2^32 bases, with as many seeds."""
    narrow = Index.build(reference)
    monkeypatch.setattr(index_file, "NARROW", 100)
    index = Index.build(reference)
    for name in ("bucket_starts", "positions"):
        assert getattr(narrow, name).dtype == np.uint32 and getattr(index, name).dtype == np.uint64
    assert same(narrow, index)
    return index


def test_wide_numbers_come_back(wide, reference, tmp_path, monkeypatch):
    """The version of the file is 4, which older programs refuse."""
    wide.save(tmp_path / "a", reference)
    monkeypatch.setattr(index_file, "NARROW", 1 << 32)  # the file says what it has
    back = Index.open(tmp_path / "a")
    assert same(wide, back) and back.positions.dtype == back.bucket_starts.dtype == np.uint64
    assert pickle.loads(pickle.dumps(back)).positions.dtype == np.uint64
    back.save(tmp_path / "b", reference)
    whole = (tmp_path / "a").read_bytes()
    assert (tmp_path / "b").read_bytes() == whole and whole[8:12] == b"\4\0\0\0"
    facts = store.ReferenceIndexFile(tmp_path / "a").description
    assert facts["wide"] == ["bucket_starts", "positions"]
    (tmp_path / "a").write_bytes(whole[:8] + b"\3\0\0\0" + whole[12:])
    with pytest.raises(InputError, match=r"damaged index \(version\)"):
        Index.open(tmp_path / "a")


@pytest.mark.parametrize(
    "value", [["tags"], ["packed"], ["positions", "x"], "positions", None, [5], [["positions"]], {}]
)
def test_wide_arrays_that_lie(saved, value):
    facts = store.ReferenceIndexFile(saved).description | {"wide": value}
    fault = index_file.find_fault(facts)
    assert fault in ("wide", "description") or (value == {} and fault is None)


def test_narrow_arrays_that_cannot_hold_their_numbers(saved, monkeypatch):
    facts = store.ReferenceIndexFile(saved).description
    assert index_file.find_fault(facts) is None
    for limit, wide in ((20_000, ["positions"]), (5_000, ["bucket_starts", "positions"])):
        monkeypatch.setattr(index_file, "NARROW", limit)
        checksums = {name: [0] * -(-size * 8 // index_file.BLOCK) for name, size in facts["sizes"].items()}
        facts["checksums"] |= {name: checksums[name] for name in wide}
        assert index_file.find_fault(facts | {"wide": wide}) is None
        assert index_file.find_fault(facts | {"wide": wide[:-1]}) == "wide"


def test_damage_is_found_wherever_it_is(saved):
    size = saved.stat().st_size
    whole = saved.read_bytes()
    found = 0
    for place in [0, 9, 13, 20, 60, *range(4096, size, 4001)]:
        damaged(saved, place)
        try:
            Index.open(saved)
        except InputError as error:
            assert str(saved) in str(error)
            found += 1
        else:  # only the unused room between two arrays
            assert whole[place] == 0
        saved.write_bytes(whole)
    assert found > 20
    Index.open(saved)


def test_all_blocks_are_checked(saved, monkeypatch):
    monkeypatch.setattr(index_file, "BLOCK", 1 << 9)
    monkeypatch.setattr(index_file, "ALONE", 2)
    Index.build(saved.with_suffix("")).save(saved, force=True)
    Index.open(saved)
    file = store.ReferenceIndexFile(saved)
    for name in index_file.DTYPES:
        place = file.array(name).ctypes.data - file.data.ctypes.data + 600 // file.array(name).itemsize * 2
        damaged(saved, place)
        with pytest.raises(InputError, match=rf"damaged index \({name}, block [0-9]+\); build it again"):
            Index.open(saved)
        damaged(saved, place)
    Index.verify(saved)


LIES = [  # key, value, what the error names
    ("names", ["c0"], "names"),
    ("names", ["c0", "c 1"], "names"),
    ("names", ["c0", "c0"], "names"),
    ("names", ["c0", 5], "names"),
    ("names", None, "description"),
    ("lengths", [40_045, 0], "lengths"),
    ("lengths", [-5, 40_050], "lengths"),
    ("lengths", [40_000, "45"], "description"),
    ("lengths", [40_000, 60], "packed"),
    ("md5", ["", ""], "md5"),
    ("parameters", {"k": 40, "s": 36, "t": 2}, "parameters"),
    ("parameters", {"k": 20, "s": 16, "t": 2.0}, "parameters"),
    ("source", {"size": 5}, "source"),
    ("sizes", {"packed": 20_023}, "description"),
    ("checksums", {}, "description"),
]


def repacked(path, description, **arrays):
    """The index with another description and other arrays, and right checksums."""
    file = store.ReferenceIndexFile(path)
    arrays = {name: arrays.get(name, file.array(name)) for name in index_file.DTYPES}
    blocks = {name: range(0, array.nbytes, index_file.BLOCK) for name, array in arrays.items()}
    checksums = {
        name: [zlib.crc32(arrays[name].tobytes()[i : i + index_file.BLOCK]) for i in blocks[name]] for name in arrays
    }
    assemble(path, json.dumps({**file.description, "checksums": checksums, **description}).encode(), arrays.values())


def assemble(path, text, arrays=()):
    """An index file by the layout that is documented."""
    whole = struct.pack("<8sII", b"readwarp", 3, len(text)) + hashlib.sha256(text).digest() + text
    for array in arrays:
        whole += bytes(-len(whole) % 4096) + array.tobytes()
    path.unlink()  # and not changed, since it is mapped
    path.write_bytes(whole + bytes(-len(whole) % 4096))


@pytest.mark.parametrize(("key", "value", "named"), LIES)
def test_descriptions_that_lie(saved, key, value, named):
    repacked(saved, {key: value})
    with pytest.raises(InputError, match=rf"ref\.fa\.rwx: damaged index \({named}\); build it again"):
        Index.open(saved)


@pytest.mark.parametrize("text", [b"\xff", b'{"names": ', b"[" * 100_000, b"5", b"9" * 5000, b"{}"])
def test_descriptions_that_are_none(saved, text):
    assemble(saved, text)
    with pytest.raises(InputError, match=r"damaged index \(description\); build it again"):
        Index.open(saved)


def test_arrays_that_lie(saved):
    whole, file = saved.read_bytes(), store.ReferenceIndexFile(saved)
    last = file.array("positions").size - 1
    for name, place, value, named in [
        ("positions", 3, 40_045 - 19, "positions beyond the reference"),
        ("bucket_starts", 0, 1, "bucket_starts out of order"),
        ("bucket_starts", 9, last, "bucket_starts out of order"),
        ("bucket_starts", -1, last + 2, "bucket_starts out of order"),
    ]:
        array = file.array(name).copy()
        array[place] = value
        repacked(saved, {}, **{name: array})
        with pytest.raises(InputError, match=rf"damaged index \({named}\); build it again"):
            Index.open(saved)
        saved.write_bytes(whole)


@pytest.mark.parametrize("cut", [1, 5000])
def test_truncation(saved, cut):
    saved.write_bytes(saved.read_bytes()[:-cut])
    with pytest.raises(InputError, match="damaged index"):
        Index.open(saved)


@pytest.mark.parametrize("data", [b"", b"readwarp", b">c0\nACGT\n" * 20, b"readwarp" + bytes(40)])
def test_no_index_at_all(tmp_path, data):
    path = tmp_path / "x.rwx"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"x\.rwx: "):
        Index.open(path)


def test_missing(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        Index.open(tmp_path / "x.rwx")


def test_another_version(saved):
    data = bytearray(saved.read_bytes())
    data[8:12] = struct.pack("<I", 1)
    saved.write_bytes(data)
    with pytest.raises(InputError, match="is of version 1, but this readwarp reads 3 and 4; build it again"):
        Index.open(saved)


def test_other_parameters(saved, reference):
    with pytest.raises(InputError, match=r"made with k=20 s=16, asked for k=16 s=14"):
        open_or_build(reference, PRESETS["short"].parameters.seed)
    assert open_or_build(reference).parameters == SeedParameters()


def test_built_once_then_opened(reference):
    metrics = Metrics()
    built = open_or_build(reference, SeedParameters(), 2, metrics)
    assert metrics.counts["index_built"] == 1
    changed = index_path(reference).stat().st_mtime_ns
    assert same(built, open_or_build(reference, SeedParameters(), 2, metrics))
    assert metrics.counts["index_built"] == 1 and index_path(reference).stat().st_mtime_ns == changed


def test_another_reference(saved, reference, tmp_path):
    for contigs in ([LETTERS, "ACGTN" * 8], [LETTERS[1:] + "A", "ACGTN" * 9], [LETTERS]):
        write_fasta(reference, contigs)
        with pytest.raises(InputError, match="made from another reference"):
            open_or_build(reference)
    write_fasta(reference, [LETTERS, "ACGTN" * 9], width=70)  # the same contigs, laid out otherwise
    assert open_or_build(reference).reference.names == ("c0", "c1")


def test_no_reference_beside_the_index(saved, reference):
    reference.unlink()
    with pytest.raises(InputError, match="no such file"):
        open_or_build(reference)


def test_folder_that_cannot_be_written(reference, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setenv("READWARP_INDEX_DIR", f"{reference}/none")
    metrics = Metrics()
    assert open_or_build(reference, metrics=metrics).positions.size > 0
    assert metrics.counts["index_not_saved"] == 1 and not index_path(reference).exists()


def test_nothing_is_left_of_a_write_that_fails(reference, monkeypatch):
    index = Index.build(reference)

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "_write", full)
    with pytest.raises(OSError, match="No space"):
        index.save(index_path(reference))
    assert [path.name for path in reference.parent.iterdir()] == ["ref.fa"]


def test_two_processes_at_once(reference):
    program = "import sys; from readwarp.index import open_or_build; print(open_or_build(sys.argv[1]))"
    command = [sys.executable, "-c", program, str(reference)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = {process.communicate()[0] for process in running}
    assert [process.returncode for process in running] == [0, 0, 0] and len(said) == 1
    Index.verify(index_path(reference))
    assert sorted(path.name for path in reference.parent.iterdir()) == ["ref.fa", "ref.fa.rwx"]
