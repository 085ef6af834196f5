"""The report shows what plain Python counts in the same BAM and VCF."""

import math
import re
from collections import Counter, defaultdict
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readwarp.report.alignment_plots import library_size, unique_share
from readwarp.report.alignments import base_contents
from readwarp.report.coverage_plots import plot_along
from readwarp.report.drawing import NAMED, Axis, Picture, Series, counts_in, spread_of, tick_places
from readwarp.report.headline import find_figures, read_subject
from readwarp.report.inputs import Sample, samples_in
from readwarp.report.numbers import count_text, number_text, tick_text
from readwarp.report.plot import Plotter, interpolate
from readwarp.report.points import cumulative, mean, median, share_from
from readwarp.report.read_plots import plot_adapters
from readwarp.report.statistics import make
from readwarp.report.svg import draw


@pytest.fixture(scope="module")
def subject(made):
    samples = samples_in(made.folder)
    return read_subject(samples[0], make(samples, None, 2)[0])


@pytest.fixture(scope="module")
def reads(made):
    with pysam.AlignmentFile(str(made.folder / "x.bam")) as file:
        return list(file)


def present(points):
    return {x: y for x, y in points if y}


def by_cycle(read, values):
    """In the order of sequencing."""
    return list(values)[::-1] if read.is_reverse else list(values)


def test_counts_of_reads(subject, reads):
    flagstat = subject.alignments.flagstat
    assert flagstat["primary"] == len(reads) == flagstat["paired"]
    assert flagstat["mapped"] == sum(not r.is_unmapped for r in reads)
    assert flagstat["proper"] == sum(r.is_proper_pair for r in reads)
    assert flagstat["duplicates"] == sum(r.is_duplicate for r in reads) > 0
    assert subject.alignments.contigs == [("one", 3000, flagstat["mapped"]), ("two", 500, 0)]


def test_insert_sizes_and_mapping_qualities(subject, reads):
    firsts = Counter(abs(r.template_length) for r in reads if r.is_read1 and r.template_length)
    assert present(subject.alignments.insert_sizes) == firsts
    sure = Counter(r.mapping_quality for r in reads if not (r.is_unmapped or r.is_duplicate))
    assert present(subject.alignments.mapping_qualities) == sure


def test_depth_leaves_out_duplicates_and_counts_overlapping_mates_once(subject, reads):
    names: list[set[str]] = [set() for _ in range(3500)]
    for read in reads:
        if not (read.is_unmapped or read.is_duplicate):
            for _, place in read.get_aligned_pairs(matches_only=True):
                names[place].add(read.query_name)
    counted = Counter(len(covering) for covering in names)
    assert present(subject.alignments.depth) == counted
    assert mean(subject.alignments.depth) == pytest.approx(sum(d * n for d, n in counted.items()) / 3500)
    assert share_from(subject.alignments.depth, 10) == sum(n for d, n in counted.items() if d >= 10) / 3500


def test_qualities_by_cycle(subject, reads):
    for points, last in ((subject.alignments.quality_first, False), (subject.alignments.quality_last, True)):
        rows = [by_cycle(r, r.query_qualities) for r in reads if r.is_read2 == last]
        assert [x for x, _ in points] == list(range(1, 81))
        assert [y for _, y in points] == pytest.approx([sum(column) / len(rows) for column in zip(*rows, strict=True)])


def test_mismatches_by_cycle(subject, reads, made):
    wrong = [0] * 80
    for read in reads:
        differs = [False] * 80
        for position, place in () if read.is_unmapped else read.get_aligned_pairs(matches_only=True):
            differs[position] = read.query_sequence[position] != made.letters[place]
        for cycle, differing in enumerate(by_cycle(read, differs)):
            wrong[cycle] += differing
    assert sum(wrong) > 1000
    assert [y for _, y in subject.alignments.mismatches] == pytest.approx([n / len(reads) for n in wrong])


def test_gc(subject, reads):
    """samtools' bins for a read of 80 bases are half a base to the right of its percentage."""
    for points, last in ((subject.alignments.gc_first, False), (subject.alignments.gc_last, True)):
        shares = [sum(b in "GC" for b in r.query_sequence) / 0.8 for r in reads if r.is_read2 == last]
        assert mean(points) == pytest.approx(sum(shares) / len(shares) + 0.625, abs=0.3)
        assert median(points) == pytest.approx(sorted(shares)[len(shares) // 2] + 0.625, abs=1.3)


def test_bases_by_quality_and_by_cycle(subject, reads):
    qualities = Counter(quality for read in reads for quality in read.query_qualities)
    assert subject.alignments.quality_bases == qualities
    known = sum(n for quality, n in qualities.items() if quality >= 30) / qualities.total()
    assert find_figures(subject)["Q30"] == number_text(known, True)
    forward = [read.get_forward_sequence() for read in reads]
    contents = subject.alignments.contents
    assert list(contents) == list("ACGT")
    for base, points in contents.items():
        assert [x for x, _ in points] == list(range(1, 81))
        shares = [sum(letters[cycle] == base for letters in forward) / len(reads) for cycle in range(80)]
        assert [y for _, y in points] == pytest.approx(shares, abs=6e-5)


def test_n_by_cycle():
    rows = {"GCT": [["1", "25.00", "25.00", "25.00", "25.00"]], "GCC": [["1", "20", "30", "25", "25", "3.00", "0"]]}
    assert base_contents(defaultdict(list, rows))["N"] == [(1.0, 0.03)]


def test_adapters_by_cycle(subject):
    """Pairs of 60 and 70 bases, read for 80 cycles, show adapter from cycles 61 and 71 on."""
    changed = replace(subject.alignments, insert_sizes=[(60.0, 10.0), (70.0, 30.0), (200.0, 60.0)])
    plot = plot_adapters(Plotter(["x"]), {0: changed})
    (line,) = plot.picture.series
    shares = dict(zip(line.x, line.y, strict=True))
    assert [shares[cycle] for cycle in (1, 60, 61, 70, 71, 80)] == [0, 0, 0.1, 0.1, 0.4, 0.4]
    assert plot.summary.startswith("40.0")


def test_duplicates_by_depth():
    """A library of as many fragments as reads: 1 - 1/e are different; at twice the depth (1 - 1/e^2) / 2."""
    size = library_size(1 - math.exp(-1))
    assert size == pytest.approx(1) and unique_share(2, size) == pytest.approx((1 - math.exp(-2)) / 2)
    assert library_size(0.999) == pytest.approx(500, rel=0.01)


def test_cumulative_and_spread():
    points = [(0.0, 2.0), (3.0, 1.0), (7.0, 1.0)]
    assert cumulative(points, [0.0, 1.0, 3.0, 4.0, 7.0, 8.0]) == [
        *((0.0, 1), (1.0, 0.5), (3.0, 0.5), (4.0, 0.25), (7.0, 0.25), (8.0, 0))
    ]
    rows = [[float(n * m) for m in (1, 2)] for n in range(7)]
    wanted = np.percentile(rows, (0, 25, 50, 75, 100), axis=0)
    assert np.allclose(spread_of(rows), wanted)
    line = [(1.0, 10.0), (3.0, 30.0)]
    assert interpolate(line, [0.0, 1.0, 2.0, 3.0, 4.0]) == [0, 10, 20, 30, 0]


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e7), st.integers(3, 9))
def test_ticks_are_round_and_inside(low, length, most):
    places = tick_places(low, low + length, most)
    steps = np.diff(places)
    assert 1 <= len(places) <= most + 1 and all(low - 1e-6 * length <= x <= low + (1 + 1e-6) * length for x in places)
    assert np.allclose(steps, steps[:1], rtol=1e-3) and all(f"{step:.0e}"[0] in "125" for step in steps)


def test_numbers_at_an_axis_are_written_in_full():
    """All of an axis look alike; none is 0.5k beside 1,000."""
    assert [tick_text(value) for value in (0, 0.5, 250, 1000, 1500, 50_000, 2_000_000)] == [
        *("0", "0.5", "250", "1,000", "1,500", "50,000", "2,000,000")
    ]
    assert [count_text(n, "indel") for n in (0, 1, 1234)] == ["0 indels", "1 indel", "1,234 indels"]


def test_ticks_of_counts_are_whole_numbers():
    bars = Picture("bars", NAMED, Axis("calls"), [Series("", 0, [0, 1], [1, 3])], ["a", "b"])
    assert counts_in(bars) and tick_places(0, 3.4, least=1.0) == [0, 1, 2, 3]
    assert not counts_in(bars._replace(y=Axis("calls", percent=True)))
    assert not counts_in(bars._replace(series=[Series("", 0, [0], [0.5])]))
    ticks = re.findall(r'<text x="46"[^>]*>([^<]*)</text>', str(draw(bars)))
    assert ticks == ["0", "1", "2", "3"]


def test_positions_have_one_unit():
    for length, label, end in (
        (3_000_000, "position in c, Mb", 3),
        (250_000, "position in c, kb", 250),
        (9000, "position in c", 9000),
    ):
        rows = [("c", start, start + length // 10, 30.0) for start in range(0, length, length // 10)]
        plot = plot_along(Plotter(["s"]), {0: SimpleNamespace(along=rows)})
        assert (plot.picture.x.label, plot.picture.x.limits[1]) == (label, end)
        assert plot.picture.series[0].x[0] == pytest.approx(end / 20)


def test_variants(subject):
    """Six calls pass. The one with two other alleles has an insertion and a deletion, of two bases each."""
    v = subject.variants
    assert (v.summary["records"], v.summary["SNPs"], v.summary["indels"]) == (6, 3, 3)
    assert (v.transitions, v.transversions) == (2, 1)
    assert {change: n for change, n in v.substitutions.items() if n} == {"A>G": 1, "C>T": 1, "A>C": 1}
    assert v.indel_lengths == {-2: 2, 2: 2} and (v.snvs, v.insertions, v.deletions) == (3, 2, 2)


def test_genotypes(subject):
    found = subject.variants.genotypes
    assert found.filters == {"PASS": 6, "LowQual": 2, "StrandBias": 1}
    assert (found.passed, found.failed, found.heterozygous, found.homozygous) == (6, 2, 4, 2)
    assert found.balance_snvs == {20: 1, 10: 1} and found.balance_indels == {24: 1}
    assert found.depth == {20: 2, 18: 1, 12: 1, 11: 1, 10: 1}
    assert found.quality_passed.total() == 6 and found.quality_failed == {3: 1, 2: 1}


def test_headline(subject, reads):
    shown = find_figures(subject)
    mapped = 100 * sum(not r.is_unmapped for r in reads) / len(reads)
    assert (
        shown["reads"] == "1,200"
        and shown["mapped"] == f"{mapped:.2f}\N{NO-BREAK SPACE}%" == "95.00\N{NO-BREAK SPACE}%"
    )
    errors = sum(r.get_tag("NM") for r in reads if not r.is_unmapped)
    aligned = sum(n for r in reads if not r.is_unmapped for op, n in r.cigartuples if op in (0, 1))
    assert shown["mismatches"] == f"{100 * errors / aligned:.2f}\N{NO-BREAK SPACE}%"
    assert (shown["SNVs"], shown["indels"], shown["Ts/Tv"], shown["het/hom"]) == ("3", "3", "2.00", "2.00")
    assert shown["reads/s"] == "12,345"


def test_real_reads_without_calls_or_reference(test_data, tmp_path):
    """A BAM of another aligner, statistics in a folder of their own, and nothing but the BAM."""
    bam = tmp_path / "in" / "HG03478.bam"
    bam.parent.mkdir()
    bam.write_bytes((test_data / "mito" / bam.name).read_bytes())
    pysam.index(str(bam))
    samples = [Sample("HG03478", bam)]
    found = read_subject(samples[0], make(samples, tmp_path, 2)[0])
    with pysam.AlignmentFile(str(bam)) as file:
        reads, length = list(file), sum(file.lengths)
    assert found.alignments.flagstat["total"] == len(reads)
    assert found.alignments.mismatches == [] and found.variants is None
    assert sum(n for _, n in found.alignments.depth) == length > 16569
    assert sorted(path.name for path in bam.parent.iterdir()) == ["HG03478.bam", "HG03478.bam.bai"]
