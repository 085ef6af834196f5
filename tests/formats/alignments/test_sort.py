"""Sorting and duplicate marking compared with samtools, with buffers so small that runs are spilled and merged."""

import random
import subprocess

import numpy as np
import pytest

from helpers.batch_samples import Read, Row, alignments_of, bam_records, batch_of, random_read, sam_lines, samtools
from readwarp.formats.alignments import sort
from readwarp.formats.alignments.header import header_text
from readwarp.formats.alignments.output import AlignmentWriter, Finish
from readwarp.formats.alignments.sam import Encoder

CONTIGS = [("one", 5000, ""), ("two", 3000, "")]
GROUPS = ["@RG\tID:a\tSM:s\tLB:x", "@RG\tID:b\tSM:s\tLB:y", "@RG\tID:c\tSM:s\tLB:x"]


def mates(rng, number, group, places):
    """The reads of a template and their rows: mapped, single-end, half-mapped or unmapped, clipped at random."""
    name = f"{rng.choice('qt')}{number:0{rng.randint(1, 6)}}:{rng.randrange(12)}"
    kind = rng.choices(("pair", "single", "half", "none"), (8, 2, 1, 1))[0]
    size = rng.choice((30, 40))
    if kind == "single":
        reads = [Read(name, 0, *random_read(rng, size), b"", group)]
        return reads, [placed(rng, 0, size, 0, places)]
    reads = [Read(name, segment, *random_read(rng, size), b"", group) for segment in (1, 2)]
    if kind == "none":
        return reads, [Row(0, 77, -1, -1, 0, "*"), Row(1, 141, -1, -1, 0, "*")]
    first, last = (placed(rng, i, size, 1 | 64 << i, places) for i in (0, 1))
    if kind == "half":
        last = Row(1, 133 | (first.flag & 16) * 2, first.contig, first.position, 0, "*", first.contig, first.position)
        first = first._replace(flag=first.flag | 8, mate_contig=first.contig, mate_position=first.position)
        return reads, [first, last]
    return reads, [linked(first, last), linked(last, first)]


def placed(rng, index, size, flag, places):
    left, right = rng.choice((0, 0, 3, 7)), rng.choice((0, 0, 5))
    contig, place = rng.choice(places)
    middle = size - left - right
    inner = rng.choice((f"{middle}M", f"5M2D{middle - 5}M", f"5M3I{middle - 8}M"))
    cigar = f"{left}S" * (left > 0) + inner + f"{right}S" * (right > 0)
    position = place + (left if rng.random() < 0.8 else 0)
    return Row(index, flag | rng.choice((0, 16)), contig, position, 60, cigar)


def linked(row, mate):
    tags = b"MCZ" + mate.cigar.encode() + b"\0MQC\x3c"
    flag = row.flag | (mate.flag & 16) * 2
    return row._replace(flag=flag, mate_contig=mate.contig, mate_position=mate.position, tags=tags)


def with_supplementary(rng, rows, places):
    """Some first rows get a second, hard-clipped alignment."""
    out = []
    for row in rows:
        out.append(row)
        if rng.random() < 0.1 and not row.flag & 4:
            length = sum(op for op in lengths(row.cigar, "MIS"))
            contig, place = rng.choice(places)
            cigar = f"10H{length - 10}M"
            out.append(row._replace(flag=row.flag | 0x800, contig=contig, position=place, cigar=cigar))
    return out


def lengths(cigar, letters):
    import re

    return [int(number) for number, letter in re.findall(r"(\d+)(\D)", cigar) if letter in letters]


def templates(seed, count=1500, spread=12, groups=(0,)):
    """Encoded batches of templates at few positions, so that many are duplicates."""
    rng = random.Random(seed)
    places = [(rng.randrange(2), rng.randrange(100, 2000)) for _ in range(spread)]
    encoder = Encoder(("one", "two"), ("a", "b", "c"))
    for first in range(0, count, 100):
        reads, rows = [], []
        for number in range(first, first + 100):
            new, placed_rows = mates(rng, number, rng.choice(groups), places)
            rows += [row._replace(read=row.read + len(reads)) for row in with_supplementary(rng, placed_rows, places)]
            reads += new
        yield encoder.encode(batch_of(reads), alignments_of(rows))


def written(path, batches, order, **options):
    with AlignmentWriter(str(path), header_text(CONTIGS, order, GROUPS), Finish(order, **options)) as writer:
        for batch in batches:
            writer.write(batch)
    return path


@pytest.fixture
def small_frames(monkeypatch):
    """Runs of 60 kB, merged three at a time."""
    monkeypatch.setattr(sort, "MIN_FRAME", 1 << 12)
    monkeypatch.setattr(sort, "MAX_RUNS", 3)
    original = sort.Sorter.__init__

    def small(self, *arguments, **options):
        original(self, *arguments, **options)
        self._capacity, self._frame = 60_000, 1 << 12

    monkeypatch.setattr(sort.Sorter, "__init__", small)


@pytest.mark.parametrize("order", ["coordinate", "name"])
@pytest.mark.parametrize("spilled", [False, True])
def test_order_is_that_of_samtools(tmp_path, order, spilled, request):
    if spilled:
        request.getfixturevalue("small_frames")
    plain = written(tmp_path / "plain.bam", templates(1), "none")
    ours = written(tmp_path / "ours.bam", templates(1), order)
    samtools("sort", *(["-n"] if order == "name" else []), "--no-PG", "-o", tmp_path / "theirs.bam", plain)
    assert np.array_equal(bam_records(ours).data, bam_records(tmp_path / "theirs.bam").data)
    assert sorted(sam_lines(ours)) == sorted(sam_lines(plain))


def test_runs_are_really_merged_in_levels(small_frames):
    sorter = sort.Sorter("coordinate", 0)
    levels = 0
    for batch in templates(2, 3000):
        sorter.add(batch)
        levels = max(levels, *[level for level, _ in sorter._runs], 0)
        assert len(sorter._runs) < 3 * 3
    assert levels >= 2
    total = sum(len(piece) for piece in sorter.sorted())
    assert total == sum(len(batch) for batch in templates(2, 3000))


def test_a_full_temporary_folder(monkeypatch):
    monkeypatch.setattr(sort.tempfile, "TemporaryFile", lambda **options: open("/dev/full", "wb"))  # noqa: SIM115
    sorter = sort.Sorter("coordinate", 0)
    with pytest.raises(OSError, match=r"No space left on device \(for temporary files; TMPDIR sets") as caught:
        for batch in templates(2, 30_000):
            sorter.add(batch)
    assert caught.value.filename == sort.tempfile.gettempdir()
    sorter.close()


def test_memory_does_not_grow_with_the_reads(tmp_path):
    sorter = sort.Sorter("coordinate", 4 << 20)
    batches = list(templates(3, 2000))
    for _ in range(12):
        for batch in batches:
            sorter.add(batch)
        assert sorter._filled <= sorter._buffer.size <= 2 << 20
    assert len(sorter._runs) > 1
    sorter.close()


def markdup(tmp_path, plain, *options):
    fixed, ordered, marked = (tmp_path / f"{step}.bam" for step in ("fixed", "ordered", "marked"))
    samtools("fixmate", "-m", plain, fixed)
    samtools("sort", "-o", ordered, fixed)
    samtools("markdup", *options, ordered, marked)
    return marks(sam_lines(marked))


def marks(lines):
    """What identifies each record, and its flag without the proper pair, which fixmate decides again."""
    out = set()
    for line in lines:
        name, flag, contig, place, _, cigar, *_, bases, qualities = line.split("\t")[:11]
        out.add((name, int(flag) & ~2, contig, place, cigar, bases, qualities))
    return out


@pytest.mark.parametrize("spilled", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_marks_are_those_of_samtools(tmp_path, seed, spilled, request):
    if spilled:
        request.getfixturevalue("small_frames")
    plain = written(tmp_path / "plain.bam", templates(seed, spread=4 + 30 * (seed % 2)), "none")
    batches = templates(seed, spread=4 + 30 * (seed % 2))
    ours = written(tmp_path / "ours.bam", batches, "coordinate", mark_duplicates=True)
    lines = sam_lines(ours)
    marked = sum(int(line.split("\t")[1]) >> 10 & 1 for line in lines)
    assert marked > 100
    assert marks(lines) == markdup(tmp_path, plain)


def test_libraries_are_marked_apart(tmp_path):
    """Read groups a and c share a library: their marks are samtools' for both together, those of b for b alone."""
    ours = sam_lines(written(tmp_path / "ours.bam", templates(9, groups=(0, 1, 2)), "coordinate", mark_duplicates=True))
    plain = written(tmp_path / "plain.bam", templates(9, groups=(0, 1, 2)), "none")
    expected = set()
    for library in ("x", "y"):
        samtools("view", "-b", "-l", library, "-o", tmp_path / f"{library}.bam", plain)
        expected |= markdup(tmp_path, tmp_path / f"{library}.bam")
    assert marks(ours) == expected


def test_real_reads_with_injected_duplicates(tmp_path, test_data):
    """Aligned by bwa mem, if it is installed; the bytes are those of samtools from the fixmate step on."""
    import shutil

    if not shutil.which("bwa"):
        pytest.skip("bwa is not installed")
    import dnaio

    folder, rng = test_data / "na12878_chr21", random.Random(4)
    with (
        dnaio.open(folder / "reads_1.fq.gz", folder / "reads_2.fq.gz") as pairs,
        dnaio.open(tmp_path / "1.fq", tmp_path / "2.fq", mode="w") as out,
    ):
        for number, (first, last) in zip(range(4000), pairs, strict=False):
            out.write(first, last)
            while rng.random() < 0.3:
                name = f"copy{number}_{rng.random()}"
                one, two = (dnaio.SequenceRecord(name, r.sequence, r.qualities) for r in (first, last))
                if rng.random() < 0.3:
                    one.qualities = "#" * len(one.qualities)
                if rng.random() < 0.2:
                    two.sequence = "T" * 20 + two.sequence[20:]
                out.write(*((two, one) if rng.random() < 0.2 else (one, two)))
    reference = tmp_path / "ref.fa"
    reference.write_bytes((folder / "ref.fa").read_bytes())
    subprocess.run(["bwa", "index", reference], check=True, capture_output=True)
    command = ["bwa", "mem", "-R", r"@RG\tID:a\tSM:s", reference, tmp_path / "1.fq", tmp_path / "2.fq"]
    aligned = subprocess.run(command, check=True, capture_output=True).stdout
    (tmp_path / "aligned.sam").write_bytes(aligned)
    samtools("fixmate", "-m", "--no-PG", tmp_path / "aligned.sam", tmp_path / "plain.bam")
    expected = markdup(tmp_path, tmp_path / "plain.bam")
    with AlignmentWriter(
        str(tmp_path / "ours.bam"),
        header_text([("chr21part", 200000, "")], "coordinate", ["@RG\tID:a\tSM:s"]),
        Finish("coordinate", mark_duplicates=True),
    ) as writer:
        writer.write(bam_records(tmp_path / "plain.bam"))
    assert writer.duplicates > 1000
    assert marks(sam_lines(tmp_path / "ours.bam")) == expected
