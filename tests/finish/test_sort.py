"""Sorting and duplicate marking compared with samtools, with buffers so small that runs are spilled and merged."""

import random
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.batch_samples import Read, Row, alignments_of, bam_records, batch_of, sam_lines, samtools
from helpers.random_templates import templates, written
from readwarp.finish import duplicates, runs, signatures, sort
from readwarp.finish.order import ORDERS, UNPLACED_KEY, coordinate_key, gather, order_by_coordinate
from readwarp.finish.writer import AlignmentWriter, Finish, Preparer
from readwarp.formats.alignments.header import Contig, header_text
from readwarp.formats.alignments.sam import Encoder
from readwarp.ragged import concatenate, take

SMALL = sort.SortSizes(capacity=60_000, piece=16_000, frame=4_000)


@pytest.fixture
def small_runs(monkeypatch):
    """Runs of 30 kB go to files, of which four are merged at once, in pieces of 16 kB."""
    monkeypatch.setattr(sort.SortSizes, "of", lambda memory, threads: SMALL)
    monkeypatch.setattr(runs, "IN_MEMORY", 2_000)


def sorter_of(memory):
    """A sorter, and a function that gives it a batch."""
    sorter = sort.Sorter("coordinate", memory)
    return sorter, lambda batch: sorter.add(Preparer("coordinate").prepare(batch).run)


@pytest.mark.parametrize("order", ["coordinate", "name"])
@pytest.mark.parametrize("spilled", [False, True])
def test_order_is_that_of_samtools(tmp_path, order, spilled, request):
    if spilled:
        request.getfixturevalue("small_runs")
    plain = written(tmp_path / "plain.bam", templates(1), "none")
    ours = written(tmp_path / "ours.bam", templates(1), order)
    samtools("sort", *(["-n"] if order == "name" else []), "--no-PG", "-o", tmp_path / "theirs.bam", plain)
    assert np.array_equal(bam_records(ours).data, bam_records(tmp_path / "theirs.bam").data)
    assert sorted(sam_lines(ours)) == sorted(sam_lines(plain))


def test_files_are_really_merged_in_levels(small_runs):
    sorter, add = sorter_of(0)
    levels = 0
    for batch in templates(2, 3000):
        add(batch)
        levels = max(levels, *[level for level, _ in sorter._files], 0)
        assert len(sorter._files) <= 3 * SMALL.most_runs
    assert levels >= 2
    total = sum(len(piece) for piece in sorter.sorted())
    assert total == sum(len(batch) for batch in templates(2, 3000))


def test_a_full_temporary_folder(monkeypatch):
    monkeypatch.setattr(runs.tempfile, "TemporaryFile", lambda **options: open("/dev/full", "wb"))  # noqa: SIM115
    sorter, add = sorter_of(0)
    with pytest.raises(OSError, match=r"No space left on device \(for temporary files; TMPDIR sets") as caught:
        for batch in templates(2, 30_000):
            add(batch)
    assert caught.value.filename == runs.tempfile.gettempdir()
    sorter.close()


def test_memory_does_not_grow_with_the_reads():
    sorter, add = sorter_of(4 << 20)
    batches = list(templates(3, 2000))
    for _ in range(12):
        for batch in batches:
            add(batch)
        assert sum(batch.records.data.size for batch in sorter._batches) <= 1 << 20
    assert len(sorter._files) > 1
    sorter.close()


@pytest.mark.parametrize("order", ["coordinate", "name"])
@pytest.mark.parametrize("size", [1, 700, 16_000, 1 << 30])
def test_stretches_of_any_size_are_one_sort(order, size):
    """Equal keys, of which there are many, stay in input order, wherever the output is cut."""
    sort_records, batches = ORDERS[order], list(templates(5, 900, spread=3))
    together = concatenate(batches, "records")
    expected = gather(together, sort_records([together], 0), 0)
    ordered = [gather(batch, sort_records([batch], 0), 0) for batch in batches]
    half = [runs.MemoryRun(records, runs.frames_of(records, 0, 1_000)) for records in ordered[:4]]
    files = [runs.FileRun.write([runs.pack(records, 0, 1_500)], 0) for records in ordered[4:]]
    merging = [*half, *files]
    pieces = [
        sort.merge_stretch(merging, s, sort_records, 0) for s in sort.stretches_of(merging, sort_records, 0, size)
    ]
    assert len(pieces) == 1 if size == 1 << 30 else len(pieces) > 10
    assert np.array_equal(concatenate(pieces, "records").data, expected.data)
    for file in files:
        file.close()


@given(st.lists(st.integers(0, 60), min_size=1, max_size=40), st.integers(0, 9), st.integers(1, 8), st.randoms())
def test_windows_have_all_that_lies_near(gaps, reach, size, rng):
    """Each record is in one window, with all records of its contig whose positions are twice the reach away."""
    places = np.cumsum(gaps)
    rows = [Row(i, 0, int(place) % 2000 > 1000, int(place), 60, "4M") for i, place in enumerate(places)]
    rows = [row._replace(contig=-1, position=-1, flag=4, cigar="*") if rng.random() < 0.1 else row for row in rows]
    reads = batch_of([Read(str(i), 0, "ACGT", "IIII", b"", -1) for i in range(len(rows))])
    records = Encoder(("one", "two")).encode(reads, alignments_of(rows))
    records = gather(records, order_by_coordinate([records], 0), 0)
    signed, _ = signatures.sign(records, np.arange(len(records)), signatures.Libraries.of([]))
    pieces = [take(signed, "records", slice(i, i + size)) for i in range(0, len(signed), size)]
    keys = [coordinate_key(signed.data, at + signatures.SKIP) for at in signed.offsets[:-1]]
    done = 0
    for window in duplicates.windows_of(iter(pieces), reach):
        before, own, after = (sum(map(len, part)) for part in window)
        stop = done + own
        near = [k for k in range(len(keys)) if keys[k] < UNPLACED_KEY]
        needed = [k for k in near if done < stop and keys[done] - 4 * reach <= keys[k] <= keys[stop - 1] + 4 * reach]
        assert all(done - before <= k < stop + after for k in needed)
        joined = concatenate([*window.before, *window.records, *window.after], "records")
        assert np.array_equal(joined.data, take(signed, "records", slice(done - before, stop + after)).data)
        done = stop
    assert done == len(keys)


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
        request.getfixturevalue("small_runs")
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
        header_text([Contig("chr21part", 200000)], "coordinate", ["@RG\tID:a\tSM:s"]),
        Finish("coordinate", mark_duplicates=True),
    ) as writer:
        writer.write(bam_records(tmp_path / "plain.bam"))
    assert writer.duplicates > 1000
    assert marks(sam_lines(tmp_path / "ours.bam")) == expected
