"""The depth of the report, against one that is counted base by base."""

import random

import numpy as np
import pysam
import pytest

from readwarp.report.counting import coverage, windows
from readwarp.report.counting.coverage import bin_width
from readwarp.report.counting.depth import count_once
from readwarp.report.counting.one_pass import count_alignments

LENGTHS = {"long": 5000, "a": 60, "empty": 300, "b": 90, "c": 40}


@pytest.fixture(scope="module")
def bam(tmp_path_factory):
    """Pairs that overlap, are spliced and deleted, on contigs of several lengths; some reads do not count."""
    path = tmp_path_factory.mktemp("coverage") / "x.bam"
    rng = random.Random(8)
    header = pysam.AlignmentHeader.from_dict(
        {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": n, "LN": m} for n, m in LENGTHS.items()]}
    )
    reads = []
    for number in range(400):
        contig = rng.choice([0, 0, 0, 1, 3, 4])
        for flag in (0x41, 0x81):
            read = pysam.AlignedSegment(header)
            read.query_name, read.mapping_quality = f"p{number}", 60
            read.flag = flag | rng.choice([0] * 8 + [0x400, 0x200, 0x100, 0x800])
            read.cigarstring = rng.choice(["30M", "10=5X15M", "12M3D18M", "10M20N20M", "5S25M", "12M6I12M"])
            read.query_sequence = "A" * 30
            span = read.query_alignment_length and sum(n for op, n in read.cigartuples if op in (0, 2, 3, 7, 8))
            length = list(LENGTHS.values())[contig]
            if span > length:
                continue
            read.reference_id, read.reference_start = contig, rng.randrange(length - span + 1) // 40 * 40
            reads.append(read)
    reads.sort(key=lambda read: (read.reference_id, read.reference_start))
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        for read in reads:
            out.write(read)
    pysam.index(str(path))
    return path


@pytest.fixture(scope="module")
def counted(bam) -> dict[str, list[int]]:
    """Depth at each base of each contig."""
    covering = {name: [set() for _ in range(length)] for name, length in LENGTHS.items()}
    with pysam.AlignmentFile(str(bam)) as file:
        for read in file:
            if not read.flag & 0x704:
                for _, place in read.get_aligned_pairs(matches_only=True):
                    covering[read.reference_name][place].add(read.query_name)
    return {name: [len(names) for names in places] for name, places in covering.items()}


@pytest.mark.parametrize("window", [64, 150, 1 << 17])
@pytest.mark.parametrize("threads", [1, 3])
def test_genome(bam, counted, monkeypatch, window, threads):
    """Windows are single contigs, parts of one, and several small ones; mates may lie on both sides of an edge."""
    monkeypatch.setattr(windows, "WINDOW", window)
    found = count_alignments(bam, None, (), threads).depth
    flat = [depth for depths in counted.values() for depth in depths]
    assert max(flat) > 5 and found.bases.tolist() == np.bincount(flat).tolist()
    assert found.width == 5
    wanted = [
        (name, start, min(start + 5, len(depths)), sum(depths[start : start + 5]) / len(depths[start : start + 5]))
        for name, depths in counted.items()
        for start in range(0, len(depths), 5)
    ]
    assert [row[:3] for row in found.bin_means] == [row[:3] for row in wanted]
    assert [row[3] for row in found.bin_means] == pytest.approx([row[3] for row in wanted])


@pytest.mark.parametrize("window", [64, 1 << 17])
def test_targets(bam, counted, monkeypatch, window, tmp_path):
    """Nested and overlapping ones count once in the distribution; those beyond a contig's end are cut there."""
    monkeypatch.setattr(windows, "WINDOW", window)
    monkeypatch.setattr(coverage, "DEEP", 3)
    places = [("long", 100, 900), ("long", 200, 300), ("long", 850, 1000), ("b", 0, 500)]
    given = tmp_path / "targets.bed"
    given.write_text("".join(f"{name}\t{start}\t{stop}\tnamed\t0\t+\n" for name, start, stop in places))
    found = count_alignments(bam, None, [str(given)], 2).depth
    wanted = [*counted["long"][100:1000], *counted["b"]]
    assert found.bases.tolist() == np.bincount(wanted).tolist()
    ends = {name: len(depths) for name, depths in counted.items()}
    wanted_rows = [(name, start, min(stop, ends[name]), "named") for name, start, stop in places]
    assert sorted(row[:4] for row in found.target_means) == sorted(wanted_rows)
    parts = [counted[name][start:stop] for name, start, stop, _ in (row[:4] for row in found.target_means)]
    assert [row[4] for row in found.target_means] == pytest.approx([sum(part) / len(part) for part in parts])
    assert [row[5] for row in found.target_means] == pytest.approx([np.mean(np.array(part) >= 3) for part in parts])


def test_runs_of_one_name_count_once():
    name = np.array([7, 7, 7, 9, 7], np.int64)
    start, stop = np.array([10, 5, 30, 5, 0]), np.array([20, 15, 40, 50, 100])
    found = sorted(zip(*(x.tolist() for x in count_once(name, start, stop)), strict=True))
    assert [span for span in found if span[0] < span[1]] == [(0, 100), (5, 50)]


@pytest.mark.parametrize(
    ("length", "width"), [(1, 1), (1500, 1), (1501, 2), (200_000, 200), (3_100_000_000, 5_000_000)]
)
def test_bins_are_round(length, width):
    assert bin_width(length) == width and length / width <= coverage.BINS
