"""Bad input to align: exit code 3, a line with file, record and reason, and no output file."""

import gzip
from pathlib import Path

import pysam
import pytest

from helpers.command_samples import CONTIGS, fasta, letters, pairs, record, run_main

ONE = record("a", CONTIGS["one"][:100])


@pytest.fixture
def refused(reference, tmp_path, capsys):
    """Run align, expect it to refuse, and return the message."""

    def refused(*files: object, ref: object = reference, code: int = 3) -> str:
        output = tmp_path / "out.bam"
        before = set(tmp_path.iterdir())
        assert run_main(["align", ref, *files, "-o", output, "-q", "-t", "2"]) == code
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("readwarp: error: ") and said.err.count("\n") == 1, said.err
        assert set(tmp_path.iterdir()) == before
        return said.err.removeprefix("readwarp: error: ").strip()

    return refused


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ONE + "@b\nACGT\n", "record 2: "),
        (ONE + "@b\nACGT\n+\n", "record 2: "),
        (ONE + "@b\nACGT\n+\nIII\n", "record 2: quality has 3 letters, sequence 4"),
        (ONE + "@b\nACGT\n+\nIIIII\n" + ONE, "record 2: quality has 5 letters, sequence 4"),
        (ONE + "@b\nAC!T\n+\nIIII\n", "record 2: "),
        (ONE + "@b\nACJT\n+\nIIII\n", "record 2: "),
        (ONE + "@b\nACGT\n+\nII I\n", "record 2: "),
        (ONE + "@b\nACGT\n+\nII\x7fI\n", "record 2: "),
        (ONE + "b\nACGT\n+\nIIII\n", "record 2: "),
        (ONE + "@@CO\nACGT\n+\nIIII\n", "record 2: the name begins with '@'"),
        (ONE + "@@SQ/1 x\nACGT\n+\nIIII\n", "record 2: the name begins with '@'"),
        (">a\nACGT\n>@CO\nACGT\n", "record 2: the name begins with '@'"),
        (ONE + "@b\nACGT\nIIII\n@c\nACGT\n+\nIIII\n", "record 2: "),
        (ONE + "\n" + ONE, "record 2: "),
        ("once upon a time\n", "record 1: not FASTQ"),
        ("@just one line", "record 1: "),
    ],
)
def test_broken_fastq(text, says, refused, write):
    path = write("reads.fq", text)
    assert refused(path).startswith(f"{path}: {says}")


def test_binary_text(refused, write):
    path = write("reads.fq", bytes(range(256)) * 20)
    assert refused(path).startswith(path)


def mate_files(write, first, last):
    return write("m_1.fq", "".join(first)), write("m_2.fq", "".join(last))


@pytest.mark.parametrize("shorter", [0, 1])
def test_unequal_read_counts(shorter, refused, write):
    made = pairs(50)
    texts = [[record(n, a) for n, a, _ in made], [record(n, b) for n, _, b in made]]
    texts[shorter] = texts[shorter][:30]
    files = mate_files(write, *texts)
    said = refused(*files)
    assert said.startswith(f"{files[shorter]}: record 31: has 30 reads")
    assert files[1 - shorter] in said


def test_names_of_mates_differ(refused, write):
    made = pairs(50)
    first = [record(f"{n}/1", a) for n, a, _ in made]
    last = [record(f"{n}/2", b) for n, _, b in made]
    last[20] = record("other/2", made[20][2])
    files = mate_files(write, first, last)
    said = (
        f"{files[1]}: record 21: the names of the mates differ: {made[20][0]} and other (different libraries, files out"
    )
    assert refused(*files).startswith(said)


def test_lanes_whose_first_reads_are_given_before_all_last_ones(refused, write):
    """As `*_R1.fq *_R2.fq` in a shell expands."""
    made = [pairs(20, seed) for seed in (1, 2)]
    texts = [[record(f"L{lane}.{row[0]}", row[mate]) for row in made[lane]] for mate in (1, 2) for lane in (0, 1)]
    names = ["L1_R1.fq", "L2_R1.fq", "L1_R2.fq", "L2_R2.fq"]
    files = [write(name, "".join(text)) for name, text in zip(names, texts, strict=True)]
    said = refused(*files)
    assert said.startswith(f"{files[1]}: record 1: the names of the mates differ")
    assert f"both hold first reads: give files in the order R1 R2 R1 R2, {files[0]} {files[2]} ..." in said


@pytest.mark.parametrize("keep", [0.2, 0.6, 0.98])
def test_truncated_gzip(keep, refused, write):
    whole = gzip.compress("".join(record(n, a) for n, a, _ in pairs(2000)).encode())
    path = write("t.fq.gz", whole[: int(len(whole) * keep)])
    assert refused(path).startswith(f"{path}: ")


def test_corrupt_gzip(refused, write):
    whole = bytearray(gzip.compress("".join(record(n, a) for n, a, _ in pairs(2000)).encode()))
    whole[len(whole) // 2] ^= 0xFF
    path = write("c.fq.gz", bytes(whole))
    assert refused(path).startswith(f"{path}: ")


def test_files_of_other_projects(refused, test_data):
    """Truncated files, unequal lengths, and gzip with a wrong CRC."""
    odd = test_data / "odd"
    assert "record" in refused(odd / "test_truncated_halfway.fastq")
    assert "record" in refused(odd / "test_quality_mismatch.fastq")
    assert "record 2: quality has 91 letters" in refused(odd / "variable_length_blank_tail_1.fastq.gz")
    corrupt = [odd / f"test_corrupted_30reads_R{i}.fastq.gz" for i in (1, 2)]
    assert str(corrupt[0]) in refused(*corrupt)


def unaligned_bam(path: Path, reads: int = 3000) -> bytes:
    with pysam.AlignmentFile(str(path), "wb", header={"HD": {"VN": "1.6"}}) as out:
        for name, first, _ in pairs(reads):
            read = pysam.AlignedSegment(out.header)
            read.query_name, read.flag, read.query_sequence = name, 4, first
            read.query_qualities = pysam.qualitystring_to_array("I" * len(first))
            out.write(read)
    return path.read_bytes()


def test_bam_without_its_last_block(refused, tmp_path):
    path = tmp_path / "u.bam"
    path.write_bytes(unaligned_bam(path)[:-28])
    assert refused(path).startswith(f"{path}: ")


def test_bam_with_a_damaged_block(refused, tmp_path):
    path = tmp_path / "u.bam"
    data = bytearray(unaligned_bam(path))
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))
    assert refused(path).startswith(f"{path}: ")


def test_cram_of_another_reference(refused, tmp_path, reference):
    """The contigs have the same names and lengths, but other bases."""
    other = tmp_path / "other.fa"
    other.write_text(fasta({name: letters(len(s), 77) for name, s in CONTIGS.items()}))
    pysam.faidx(str(other))
    path = tmp_path / "r.cram"
    header = {"HD": {"VN": "1.6"}, "SQ": [{"SN": name, "LN": len(s)} for name, s in CONTIGS.items()]}
    bases = pysam.FastaFile(str(other)).fetch("one")
    with pysam.AlignmentFile(str(path), "wc", header=header, reference_filename=str(other)) as out:
        for i in range(100):
            read = pysam.AlignedSegment(out.header)
            read.query_name, read.flag, read.query_sequence = f"r{i}", 0, bases[i : i + 100]
            read.query_qualities = pysam.qualitystring_to_array("I" * 100)
            read.reference_id, read.reference_start, read.cigarstring = 0, i, "100M"
            out.write(read)
    other.unlink()
    assert refused(path).startswith(f"{path}: the sequence of its contig one (M5 ")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "holds no sequence"),
        (">a\n", ""),
        (">a\nACGT\n>a\nACGT\n", ""),
        (">a\nAC!T\n", ""),
        ("ACGT\n", ""),
    ],
)
def test_broken_reference(text, says, refused, write):
    ref, reads = write("bad.fa", text), write("r.fq", ONE)
    said = refused(reads, ref=ref)
    assert said.startswith(f"{ref}: ") and says in said


def test_index_of_another_version(refused, write, reference, tmp_path):
    ref, reads = write("ref.fa", reference.read_text()), write("r.fq", ONE)
    index = bytearray(Path(f"{reference}.rwx").read_bytes())
    index[8] += 1  # the version
    (tmp_path / "ref.fa.rwx").write_bytes(index)
    assert refused(reads, ref=ref).startswith(f"{ref}.rwx: ")


def test_index_of_another_reference(refused, write, reference, tmp_path):
    ref, reads = write("ref.fa", fasta({"one": letters(6000, 5)})), write("r.fq", ONE)
    (tmp_path / "ref.fa.rwx").write_bytes(Path(f"{reference}.rwx").read_bytes())
    assert "another reference" in refused(reads, ref=ref)


def test_missing_files(refused, tmp_path, write):
    assert refused(tmp_path / "no.fq") == f"{tmp_path / 'no.fq'}: no such file or directory"
    reads = write("r.fq", ONE)
    assert refused(reads, ref=tmp_path / "no.fa") == f"{tmp_path / 'no.fa'}: no such file or directory"


def test_usage(refused, write, tmp_path):
    reads = write("r.fq", ONE)
    assert "are not pairs" in refused(reads, reads, reads, code=2)
    assert "must be" in refused(reads, "-R", "ID:x", code=2)
    assert "needs --sort coordinate" in refused(reads, "--mark-duplicates", "--sort", "name", code=2)


def test_device_that_is_not_there(refused, write):
    reads = write("r.fq", ONE)
    assert "--device cuda:9: " in refused(reads, "--device", "cuda:9", code=4)
    assert "not one of auto, cpu, cuda" in refused(reads, "--device", "tpu", code=2)


def test_memory_that_is_not_enough(refused, write):
    said = refused(write("r.fq", ONE), "--memory", "20M", code=5)
    assert said.startswith("--memory 20M is too small: one batch needs ")


@pytest.mark.parametrize("option", ["--memory", "--vram"])
def test_memory_without_its_unit(option, refused, write):
    assert f"{option}: '4' is 4 bytes: perhaps 4G" in refused(write("r.fq", ONE), option, "4", code=2)


@pytest.mark.parametrize("command", ["align", "run"])
def test_a_forgotten_reference_is_not_indexed(command, write, tmp_path, capsys):
    reads = [write(name, ONE) for name in ("a_1.fq", "a_2.fq")]
    assert run_main([command, *reads, "-o", tmp_path / "out.sam" if command == "align" else tmp_path / "out"]) == 3
    said = capsys.readouterr().err
    assert "the first argument must be the reference" in said and "index" not in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a_1.fq", "a_2.fq"]
