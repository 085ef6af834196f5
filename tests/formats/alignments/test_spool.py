"""A stream of alignments, from any kind of pipe, is read like the file it comes from; nothing stays on disk."""

import io
import os
import random
import sys
import threading

import numpy as np
import pysam
import pytest

from helpers.making import Read, random_sequence, write_bam, write_fasta
from readwarp.errors import InputError
from readwarp.formats.alignments import spool
from readwarp.formats.alignments.regions import AlignedReader, ReadFilter
from readwarp.formats.common.bgzf import EOF_BLOCK

SEQUENCE = random_sequence(60_000, seed=3)
CONTIGS = {"one": 60_000, "none": 50_000, "HLA-A*01:01": 40_000}
SPANS = [(0, 0, 60_000), (0, 16_380, 16_390), (0, 59_000, 60_000), (1, 0, 50_000), (2, 0, 10), (2, 30_000, 40_000)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Reference and BAM: 9,000 reads, some of them across several windows of the index, and two unmapped ones."""
    folder, chance, reads = tmp_path_factory.mktemp("spool"), random.Random(5), []
    for i in range(9000):
        contig = chance.choice(["one", "HLA-A*01:01"])
        start = chance.randrange(CONTIGS[contig] - 20_000 if i % 500 == 0 else CONTIGS[contig] - 100)
        cigar = "50M18000N50M" if i % 500 == 0 else "100M"
        reads.append((contig, Read(start, cigar, SEQUENCE[start : start + 100], (30,) * 100, 0, 60, f"r{i}")))
    bam = write_bam(folder / "made.bam", CONTIGS, reads, {"RG": [{"ID": "1", "SM": "s"}]})
    return write_fasta(folder / "ref.fa", {n: SEQUENCE[:length] for n, length in CONTIGS.items()}), bam


@pytest.fixture
def piped(tmp_path, monkeypatch):
    """A reader of bytes that come through a named pipe in small pieces; the temporary folder is `scratch`."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    readers, threads = [], []

    def piped(data: bytes, reference=None) -> AlignedReader:
        pipe = tmp_path / "pipe.bam"
        os.mkfifo(pipe)

        def feed() -> None:
            with pipe.open("wb", buffering=0) as file:
                for i in range(0, len(data), 7919):
                    try:
                        file.write(data[i : i + 7919])
                    except BrokenPipeError:
                        return

        threads.append(threading.Thread(target=feed))
        threads[-1].start()
        readers.append(AlignedReader(pipe, reference))
        return readers[-1]

    yield piped
    for reader in readers:
        reader.close()
    for thread in threads:
        thread.join()
    assert list(scratch.iterdir()) == []


def assert_same(reader: AlignedReader, path, reference=None) -> None:
    file = AlignedReader(path, reference)
    for span in SPANS:
        ours, theirs = (r.read(*span, ReadFilter()) for r in (reader, file))
        for field in ("position", "reference_stop", "name_hash", "cigar", "bases", "qualities", "read_offsets"):
            assert np.array_equal(getattr(ours, field), getattr(theirs, field)), (span, field)
    assert [reader.has_reads(i) for i in range(3)] == [True, False, True]
    assert reader.samples() == file.samples() == {"s": ("1",)}
    file.close()


def converted(bam, mode: str, reference, path) -> bytes:
    with (
        pysam.AlignmentFile(str(bam)) as file,
        pysam.AlignmentFile(str(path), mode, template=file, reference_filename=str(reference)) as out,
    ):
        for record in file:
            out.write(record)
    return path.read_bytes()


@pytest.mark.parametrize("mode", ["wb", "wbu", "w", "wc"])
def test_a_stream_equals_its_file(mode, made, piped, tmp_path):
    reference, bam = made
    assert_same(piped(converted(bam, mode, reference, tmp_path / "x"), reference), bam)


@pytest.mark.parametrize(("mode", "size"), [("wb", 997), ("wc", 97)])
def test_pieces_that_cut_everywhere(mode, size, made, piped, tmp_path, monkeypatch):
    monkeypatch.setattr(spool, "CHUNK", size)
    assert_same(piped(converted(made[1], mode, made[0], tmp_path / "x"), made[0]), made[1])


def test_standard_input(made, monkeypatch):
    with made[1].open("rb") as file:
        monkeypatch.setattr(sys, "stdin", file)
        reader = AlignedReader(spool.Path("-"))
    assert_same(reader, made[1])
    assert reader.path.name == "stdin"
    reader.close()


def unsorted(bam) -> bytes:
    with pysam.AlignmentFile(str(bam)) as file:
        records = list(file)
        text = str(file.header) + "\n".join(r.to_string() for r in (*records[5:], *records[:5])) + "\n"
    return text.encode()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda bam: b"", r"pipe\.bam: is empty"),
        (lambda bam: b"no alignments\n" * 9, r"pipe\.bam: cannot be read as BAM, CRAM or SAM"),
        (lambda bam: bam.read_bytes()[: -len(EOF_BLOCK)], r"pipe\.bam: truncated: no BGZF EOF marker"),
        (lambda bam: bam.read_bytes()[:100_000], r"pipe\.bam: truncated: no BGZF EOF marker"),
        (lambda bam: bam.read_bytes()[:40], r"pipe\.bam: truncated: no BGZF EOF marker"),
        (lambda bam: bam.read_bytes()[:60_000] + bytes(70_000), r"pipe\.bam: damaged block after byte 0"),
        (lambda bam: bam.read_bytes() + bytes(3 << 20), r"pipe\.bam: damaged: no BGZF block at byte \d+"),
        (unsorted, r"pipe\.bam: record near .*:\d+: reads are not sorted by position"),
        (lambda bam: b"@HD\tVN:1.6\tSO:queryname\n@SQ\tSN:c\tLN:9\n", "is not sorted by coordinate"),
        (lambda bam: b"@HD\tVN:1.6\n", "names no contig"),
    ],
)
def test_streams_that_are_refused(change, says, made, piped):
    with pytest.raises(InputError, match=says):
        piped(change(made[1]))


def test_a_damaged_block(made, piped):
    data = bytearray(made[1].read_bytes())
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(InputError, match=r"pipe\.bam: (damaged|truncated)"):
        piped(bytes(data))


def test_cram_without_its_reference(made, piped, tmp_path):
    gone = write_fasta(tmp_path / "gone.fa", {n: SEQUENCE[:length] for n, length in CONTIGS.items()})
    cram = converted(made[1], "wc", gone, tmp_path / "x")
    gone.unlink()
    other = write_fasta(tmp_path / "other.fa", {n: SEQUENCE[-length:] for n, length in CONTIGS.items()})
    with pytest.raises(InputError, match=r"pipe\.bam: the sequence of its contig .* is not in .*other\.fa"):
        piped(cram, other)


def test_a_full_disk(made, monkeypatch):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", lambda **options: Full())
    with made[1].open("rb") as file:
        monkeypatch.setattr(sys, "stdin", file)
        with pytest.raises(OSError, match=r"No space left on device \(for temporary files; TMPDIR sets"):
            AlignedReader(spool.Path("-"))
