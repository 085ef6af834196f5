"""Files out: complete or absent, readable by htslib, the same for every cut and number of threads."""

import gzip
import io
import os
import random
import subprocess
import sys

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.batch_samples import (
    batches,
    sam_lines,
    samtools,
    write_batches,
)
from helpers.processes import environment_with_tests
from readwarp import __version__
from readwarp.errors import InputError, ReadwarpError, UsageError
from readwarp.finish.writer import AlignmentWriter, Finish
from readwarp.formats.alignments.header import (
    Contig,
    check_ids,
    header_text,
    merge_lines,
    program_lines,
    read_group_line,
)
from readwarp.formats.alignments.sam import Encoder
from readwarp.formats.common.bgzf import BLOCK, EOF_BLOCK, BgzfWriter
from readwarp.formats.common.output_file import OutputFile
from readwarp.formats.reads.bam import read_header

PHIX = 5386


@pytest.fixture(scope="module")
def header():
    return header_text([Contig("phix", PHIX)], "coordinate", ["@RG\tID:a\tSM:s"], program_lines([], "align x"))


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "phix.fa"
    rng = random.Random(1)
    path.write_text(">phix\n" + "".join(rng.choice("ACGT") for _ in range(PHIX)) + "\n")
    return path


def test_all_formats_hold_the_same_records(tmp_path, header, reference):
    for sort in ("none", "coordinate", "name"):
        paths = [tmp_path / f"{sort}.{ending}" for ending in ("sam", "bam", "cram")]
        for path in paths:
            write_batches(path, header, Finish(sort), reference=str(reference))
        lines = [sam_lines(path) for path in paths[:2]]
        with pysam.AlignmentFile(str(paths[2]), reference_filename=str(reference)) as file:
            cram = [record.to_string().split("\tMD:")[0] for record in file]
        assert len(lines[0]) == 800 and lines[0] == lines[1]
        assert [line.split("\t")[:11] for line in cram] == [line.split("\t")[:11] for line in lines[0]]
        samtools("quickcheck", *paths)


def test_nothing_is_left_beside_the_output_or_the_reference(tmp_path, header, reference):
    copy = tmp_path / "phix.fa"
    copy.write_bytes(reference.read_bytes())
    write_batches(tmp_path / "out.cram", header, Finish("coordinate", write_index=True), reference=str(copy))
    assert {path.name for path in tmp_path.iterdir()} == {"out.cram", "out.cram.crai", "phix.fa"}
    assert f"\tUR:{copy}\n" in read_header(str(tmp_path / "out.cram"))


def test_index(tmp_path, header):
    write_batches(tmp_path / "out.bam", header, Finish("coordinate", write_index=True))
    with pysam.AlignmentFile(str(tmp_path / "out.bam")) as file:
        near = sum(1 for _ in file.fetch("phix", 1000, 1100))
        slow = sum(1 for r in file.fetch("phix") if r.reference_start < 1100 and r.reference_end > 1000)
    assert near == slow > 0


def test_long_contigs_get_a_csi_index(tmp_path):
    header = header_text([Contig("phix", 1 << 30)], "coordinate")
    write_batches(tmp_path / "out.bam", header, Finish("coordinate", write_index=True))
    assert (tmp_path / "out.bam.csi").exists()


def test_output_appears_only_when_it_is_complete(tmp_path, header, reference):
    for name in ("out.sam", "out.bam", "out.cram"):
        for sort in ("none", "coordinate"):
            opened = AlignmentWriter(str(tmp_path / name), header, Finish(sort), reference=str(reference))
            with pytest.raises(KeyboardInterrupt), opened as writer:
                writer.write(Encoder(("phix",), ("a",), text=writer.text).encode(*next(batches())))
                assert not (tmp_path / name).exists()
                raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_cram_does_not_depend_on_where_it_is_made(tmp_path, header, reference, monkeypatch):
    """Paths, of the output while it is written and of our copy of the reference, are no part of it."""
    found = []
    for name in ("here", "over/there"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        monkeypatch.setattr("tempfile.tempdir", str(folder))
        write_batches(folder / f"{len(found)}.cram", header, Finish("coordinate"), reference=str(reference))
        found.append((folder / f"{len(found)}.cram").read_bytes())
    assert found[0] == found[1]


def test_a_missing_reference_of_cram(tmp_path, header):
    with pytest.raises(UsageError, match="FASTA"):
        AlignmentWriter(str(tmp_path / "out.cram"), header)
    with pytest.raises(ReadwarpError, match="No such file"):
        AlignmentWriter(str(tmp_path / "out.cram"), header, reference=str(tmp_path / "none.fa"))
    assert list(tmp_path.iterdir()) == []


def test_wrong_options(tmp_path, header):
    wrong = [
        {"path": "out.txt"},
        {"path": "out.bam", "sort": "size"},
        {"path": "out.bam", "mark_duplicates": True},
        {"path": "out.bam", "mark_duplicates": True, "sort": "name"},
        {"path": "out.sam", "write_index": True, "sort": "coordinate"},
        {"path": "out.bam", "write_index": True},
        {"path": "none/out.bam"},
    ]
    for options in wrong:
        with pytest.raises(UsageError):
            AlignmentWriter(str(tmp_path / options.pop("path")), header, Finish(**options))
    assert list(tmp_path.iterdir()) == []


def test_stdout(tmp_path, header):
    code = "import sys, helpers.batch_samples as b; b.write_batches(None, sys.argv[1], b.Finish(sys.argv[2]))"
    plain = header_text([Contig("phix", PHIX)])
    for sort in ("none", "coordinate"):
        command = [sys.executable, "-c", code, plain, sort]
        done = subprocess.run(command, capture_output=True, check=True, env=environment_with_tests())
        write_batches(tmp_path / "out.sam", plain, Finish(sort))
        assert done.stdout == (tmp_path / "out.sam").read_bytes()
        assert done.stdout.startswith(plain.encode())


def test_a_pipe_is_written_as_it_is(tmp_path, header):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE) as reader:
        write_batches(path, header)
        assert reader.communicate()[0].count(b"\nr") == 800
    assert path.is_fifo()


@settings(max_examples=20)
@given(st.lists(st.integers(0, 3 * BLOCK), max_size=8), st.integers(1, 3), st.integers(1, 100))
def test_bgzf_depends_on_the_data_alone(sizes, threads, seed):
    data = np.random.default_rng(seed).integers(0, 1 + seed, sum(sizes), np.uint8)
    outputs = []
    for cuts in (np.cumsum(sizes)[:-1], []):
        out = io.BytesIO()
        writer = BgzfWriter(out, threads)
        for part in np.split(data, cuts):
            writer.write(part)
        writer.close()
        outputs.append(out.getvalue())
    assert outputs[0] == outputs[1] and outputs[0].endswith(EOF_BLOCK)
    assert gzip.decompress(outputs[0]) == data.tobytes()


def test_incompressible_data_fit_their_blocks(tmp_path):
    data, out = np.random.default_rng(1).integers(0, 256, 40 * BLOCK + 17, np.uint8), io.BytesIO()
    writer = BgzfWriter(out)
    writer.write(data)
    writer.close()
    path = tmp_path / "data.gz"
    path.write_bytes(out.getvalue())
    with pysam.BGZFile(str(path)) as file:
        assert file.read() == data.tobytes()


def test_header():
    carried = ["@PG\tID:x\tPN:x", "@PG\tID:readwarp\tPN:readwarp\tPP:x"]
    programs = program_lines(carried, "align  a\tb")
    assert programs == [*carried, f"@PG\tID:readwarp.1\tPN:readwarp\tVN:{__version__}\tCL:align a b\tPP:readwarp"]
    text = header_text([Contig("c", 5, "abc")], "name", ["@RG\tID:a"], programs, ["@CO\thello"])
    assert text.startswith("@HD\tVN:1.6\tSO:queryname\tSS:queryname:natural\n@SQ\tSN:c\tLN:5\tM5:abc\n@RG\tID:a\n@PG")
    assert text.endswith("@CO\thello\n")


def test_read_groups():
    assert read_group_line(r"@RG\tID:a\tSM:b c") == "@RG\tID:a\tSM:b c"
    for wrong in ("ID:a", "@RG\tSM:a", "@RG\tID:", "@RG\tID:a\tS:b", "@RG\tID:a\nx"):
        with pytest.raises(UsageError):
            read_group_line(wrong)
    assert merge_lines(["@RG\tID:a", "@RG\tID:b", "@RG\tID:a"]) == ["@RG\tID:a", "@RG\tID:b"]
    with pytest.raises(UsageError):
        merge_lines(["@RG\tID:a", "@RG\tID:a\tSM:x"])
    check_ids("x.bam", ["@RG\tID:a", "@RG\tID:b", "@RG\tID:a"])
    with pytest.raises(InputError, match=r"^x\.bam: two header lines share the ID a: "):
        check_ids("x.bam", ["@RG\tID:a", "@RG\tID:a\tSM:x"])


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(file: OutputFile):
        file.place.touch()
        return open("/dev/full", "wb")

    monkeypatch.setattr(OutputFile, "open", full)
    writer = AlignmentWriter(str(tmp_path / "a.bam"), "@HD\tVN:1.6\n@SQ\tSN:c\tLN:9\n")
    with pytest.raises(OSError, match="No space left"):
        writer.close()
    assert list(tmp_path.iterdir()) == []
