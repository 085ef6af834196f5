"""What the page says of long reads equals what plain Python counts; a page of short reads has nothing of it."""

import math
import random
import re
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readwarp.cli import main
from readwarp.errors import InputError
from readwarp.report.headline import find_figures, find_unusual, meanings_of, read_subject
from readwarp.report.inputs import Sample
from readwarp.report.long_plots import in_factors, plot_identity, plot_lengths
from readwarp.report.long_reads import (
    TITLE,
    LongReads,
    longest_in,
    read_long_reads,
    text_of_long_reads,
)
from readwarp.report.page import Heading, make_sections, render
from readwarp.report.phasing import PhaseBlocks
from readwarp.report.plot import Plotter
from readwarp.report.points import n50
from readwarp.report.statistics import make

LENGTH = 60_000
BY_CYCLE = {"quality", "contents", "mismatches"}
LONG_FIGURES = {"lengths", "read-qualities", "identity", "parts"}
CALLS = """\
##fileformat=VCFv4.2
##contig=<ID=one,length=60000>
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
##FORMAT=<ID=PS,Number=1,Type=Integer,Description="Phase set">
#CHROM	POS	ID	REF	ALT	QUAL	FILTER	INFO	FORMAT	x
one	1000	.	A	G	50	PASS	.	GT:PS	0|1:1000
one	2500	.	A	C	50	PASS	.	GT:PS	1|0:1000
one	3000	.	A	AC	50	PASS	.	GT:PS	0|1:1000
one	4000	.	A	G	50	PASS	.	GT	0/1
one	5000	.	A	T	50	PASS	.	GT:PS	1|1:5000
one	6000	.	A	G	50	PASS	.	GT:PS	0|1:6000
one	16000	.	A	G	50	PASS	.	GT:PS	0|1:6000
one	20000	.	A	G	50	PASS	.	GT:PS	0|1:20000
"""


def records(header: pysam.AlignmentHeader, letters: str) -> list[pysam.AlignedSegment]:
    """Reads of 40 to 9,000 bases with errors; some are unmapped, some have two or three parts."""
    rng, out = random.Random(3), []
    for number in range(120):
        length = rng.choice((40, 900, 2000, 5000, 9000))
        start = rng.randrange(LENGTH - length)
        bases = [rng.choice("ACGT") if rng.random() < 0.02 else base for base in letters[start : start + length]]
        record = pysam.AlignedSegment(header)
        record.query_name, record.flag, record.reference_id, record.reference_start = f"r{number}", 0, 0, start
        record.mapping_quality = 60
        gap = rng.choice((0, 1, 30))
        half = length // 2
        record.cigartuples = [(0, half), (1, gap), (0, length - half)] if gap else [(0, length)]
        bases[half:half] = "A" * gap
        record.query_sequence = "".join(bases)
        record.query_qualities = pysam.qualitystring_to_array("".join(rng.choice("+5?I~") for _ in bases))
        pairs = record.get_aligned_pairs(matches_only=True)
        record.set_tag("NM", gap + sum(bases[q] != letters[r] for q, r in pairs))
        if number % 10 == 0:
            record.flag, record.cigartuples, record.mapping_quality = 4, None, 0
            record.reference_id = record.reference_start = -1
            record.set_tag("NM", None)
        if number % 10 == 1:
            record.set_tag("SA", "one,1,+,40M,60,0;" * (1 + number % 4))
        out.append(record)
        if number % 10 == 1:
            other = pysam.AlignedSegment.from_dict(record.to_dict(), header)
            other.flag = 0x800
            out.append(other)
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    rng = random.Random(1)
    letters = "".join(rng.choice("ACGT") for _ in range(LENGTH))
    (folder / "ref.fa").write_text(f">one\n{letters}\n")
    pysam.faidx(str(folder / "ref.fa"))
    head = pysam.AlignmentHeader.from_dict({"HD": {"VN": "1.6"}, "SQ": [{"SN": "one", "LN": LENGTH}]})
    with pysam.AlignmentFile(str(folder / "unsorted.bam"), "wb", header=head) as out:
        for record in records(head, letters):
            out.write(record)
    pysam.sort("-o", str(folder / "x.bam"), str(folder / "unsorted.bam"))
    pysam.index(str(folder / "x.bam"))
    (folder / "x.vcf").write_text(CALLS)
    return folder


@pytest.fixture(scope="module")
def sample(folder) -> Sample:
    return Sample("x", folder / "x.bam", folder / "x.vcf", reference=folder / "ref.fa")


@pytest.fixture(scope="module")
def subject(sample):
    return read_subject(sample, make([sample], None, 2)[0])


@pytest.fixture(scope="module")
def reads(folder):
    with pysam.AlignmentFile(str(folder / "x.bam")) as file:
        return [read for read in file.fetch(until_eof=True) if not read.is_supplementary]


def test_counts_are_those_of_the_records(subject, reads):
    a = subject.alignments
    assert Counter(dict(a.lengths)) == Counter(float(read.query_length) for read in reads)
    assert a.quality_bases == Counter(q for read in reads for q in read.query_qualities)
    means = [-10 * math.log10(np.mean(10 ** (-np.array(read.query_qualities, float) / 10))) for read in reads]
    assert a.long.quality == Counter(round(float(mean), 1) for mean in means)
    strong = [round(100 * sum(base in "GC" for base in read.query_sequence) / read.query_length) for read in reads]
    assert a.long.gc == Counter(map(float, strong))
    mapped = [read for read in reads if not read.is_unmapped]
    parts = [1 + (read.get_tag("SA").count(";") if read.has_tag("SA") else 0) for read in mapped]
    assert a.long.parts == Counter(map(float, parts)) and len(a.long.parts) > 2
    assert a.long.identity.total() == len(mapped)


def test_what_is_shown_first(subject, reads):
    figures = find_figures(subject)
    lengths = sorted((read.query_length for read in reads), reverse=True)
    half = next(length for n, length in enumerate(lengths) if 2 * sum(lengths[: n + 1]) >= sum(lengths))
    assert figures["read N50"] == f"{half:,}" and figures["longest read"] == f"{lengths[0]:,}"
    assert figures["reads"] == f"{len(reads)}" and figures["bases"] == f"{sum(lengths):,}"
    assert figures["split reads"].startswith("11.1") and figures["identity"].startswith("98.")
    assert figures["phased"].startswith("66.7") and figures["phase block N50"] == "10,001"
    assert not {"properly paired", "insert size", "duplicates", "Q30"} & set(figures)
    assert set(figures) <= set(meanings_of(subject))
    assert "differ from the reference" not in " ".join(find_unusual(subject))


def test_figures_by_cycle_are_left_out_and_those_of_long_reads_are_there(subject, sample, folder):
    ids = {plot.caption.id for section in make_sections([subject]) for plot in section.plots}
    assert ids >= {*LONG_FIGURES, "phase-blocks", "gc", "quality-bases", "reads", "mapq", "depth"}
    assert not ids & {*BY_CYCLE, "insert-size", "adapters", "duplicates"}
    sections = (folder / "x.stats.txt").read_text().splitlines()
    assert not [line for line in sections if re.match("(FFQ|LFQ|MPC|GCC|GCT|FBC|FTC|LBC|LTC|IC)\t", line)]
    assert "phase sets" not in render([subject], Heading("x"))


def test_a_page_of_short_and_long_reads_shows_each_its_own(subject, page, made):
    from readwarp.report.inputs import samples_in

    short = samples_in(made.folder)[0]
    both = [read_subject(short, make([short], None, 1)[0]), subject]
    plots = {plot.caption.id: plot for section in make_sections(both) for plot in section.plots}
    assert {*LONG_FIGURES, *BY_CYCLE, "insert-size"} <= set(plots)
    for name in LONG_FIGURES:
        assert [series.colour for series in plots[name].picture.series] == [1]
    for name in BY_CYCLE | {"insert-size"}:
        assert {series.colour for series in plots[name].picture.series} == {0}
    assert plots["quality"].summary.startswith(f"{both[0].name} mean") and ";" not in plots["mismatches"].summary
    assert not any(f'id="{name}"' in page for name in LONG_FIGURES)


def test_a_text_that_is_there_is_used_and_a_damaged_one_is_refused(sample, folder):
    text = folder / "x.long_reads.txt"
    before = text.stat().st_mtime_ns
    make([sample], None, 1)
    assert text.stat().st_mtime_ns == before
    assert read_long_reads(text) == read_long_reads(text)
    for content in ("", "other\n", f"{TITLE}\nidentity\t1\n", f"{TITLE}\nother\t1\t1\n", f"{TITLE}\ngc\tx\t1\n"):
        (folder / "y.txt").write_text(content)
        with pytest.raises(InputError, match="remove the file"):
            read_long_reads(folder / "y.txt")


def test_a_tag_that_is_no_number(folder, tmp_path, capfd):
    with pysam.AlignmentFile(str(folder / "x.bam")) as file:
        header, first = file.header, next(read for read in file if read.query_length > 1000)
    with pysam.AlignmentFile(str(tmp_path / "y.bam"), "wb", header=header) as out:
        first.set_tag("de", "many")
        out.write(first)
    pysam.index(str(tmp_path / "y.bam"))
    assert main(["report", "--bam", str(tmp_path / "y.bam"), "-o", str(tmp_path / "y.html"), "-q"]) == 3
    assert f"y.bam: record {first.query_name}: the tags of a read cannot be read" in capfd.readouterr().err
    assert not (tmp_path / "y.html").exists() and not list(tmp_path.glob("y*.txt"))


def test_a_file_of_one_read_without_anything(tmp_path):
    """Unmapped, no qualities: no figure is empty, none fails."""
    header = {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": "one", "LN": LENGTH}]}
    with pysam.AlignmentFile(str(tmp_path / "y.bam"), "wb", header=header) as out:
        read = pysam.AlignedSegment(out.header)
        read.query_name, read.flag, read.query_sequence = "r", 4, "ACGT" * 500
        out.write(read)
    pysam.index(str(tmp_path / "y.bam"))
    sample = Sample("y", tmp_path / "y.bam")
    subject = read_subject(sample, make([sample], None, 1)[0])
    ids = {plot.caption.id for section in make_sections([subject]) for plot in section.plots}
    assert "lengths" in ids and not ids & {"identity", "parts", "read-qualities"}
    assert find_figures(subject)["identity"] == "-" == find_figures(subject)["read quality"]


@given(
    st.dictionaries(st.integers(0, 10000).map(lambda n: n / 100), st.integers(1, 1 << 40)),
    st.dictionaries(st.integers(0, 93).map(float), st.integers(1, 9)),
)
def test_texts_tell_what_was_counted(tmp_path_factory, identity, bases):
    found = LongReads(identity=Counter(identity), bases=Counter(bases))
    path = tmp_path_factory.getbasetemp() / "long_reads.txt"
    path.write_bytes(text_of_long_reads(found))
    assert read_long_reads(path) == found


def test_the_longest_read_is_read_from_any_text(tmp_path):
    (tmp_path / "a").write_text("nothing\n")
    (tmp_path / "b").write_text("# x\nSN\taverage length:\t5\nSN\tmaximum length:\t1234\n")
    assert [longest_in(tmp_path / name) for name in "ab"] == [0, 1234]


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=60))
def test_n50(lengths):
    ordered = sorted(lengths, reverse=True)
    oracle = next(length for n, length in enumerate(ordered) if 2 * sum(ordered[: n + 1]) >= sum(ordered))
    assert n50(sorted(Counter(map(float, lengths)).items())) == oracle
    assert n50([]) is None


@given(st.dictionaries(st.integers(0, 10**7).map(float), st.integers(1, 100), min_size=1, max_size=50))
def test_bins_of_lengths_hold_everything(counts):
    points = in_factors(sorted(counts.items()))
    assert sum(y for _, y in points) == pytest.approx(1) and points[0][1] == points[-1][1] == 0
    ratios = [b / a for (a, _), (b, _) in pairwise(points)]
    assert ratios == pytest.approx([10 ** (1 / 20)] * len(ratios))


def test_identity_is_binned_within_the_picture(subject):
    plot = plot_identity(Plotter(["x"]), {0: subject.alignments})
    assert plot and sum(plot.picture.series[0].y) == pytest.approx(1, abs=0.02)  # 1 % lies below the axis
    assert plot.picture.x.limits[1] == 100 and 90 < plot.picture.x.limits[0] < 100


def test_of_one_sample_reads_and_their_bases_are_shown(subject):
    alone = plot_lengths(Plotter(["x"]), {0: subject.alignments})
    both = plot_lengths(Plotter(["x", "y"]), {0: subject.alignments, 1: subject.alignments})
    assert alone and both
    assert [s.legend for s in alone.picture.series] == ["bases", "reads"] and len(both.picture.series) == 2


calls = st.tuples(
    st.integers(0, 1), st.sampled_from(("one", "two")), st.integers(1, 5000), st.sampled_from(("7", "8", ".")),
    st.sampled_from(("0|1", "1|0", "1|1", "0/1", "1|2", "./.", ".|1")), st.booleans(),
)  # fmt: skip


@given(st.lists(calls, max_size=40))
def test_phase_blocks(given_calls):
    blocks = PhaseBlocks()
    for sample, contig, position, phase_set, genotype, is_snv in given_calls:
        blocks.add(sample, (contig, str(position)), genotype, phase_set, is_snv)
    groups = defaultdict(list)
    for sample, contig, position, phase_set, genotype, _ in given_calls:
        if genotype in ("0|1", "1|0", "1|2") and phase_set != ".":
            groups[sample, contig, phase_set].append(position)
    lengths = [max(places) - min(places) + 1 for places in groups.values() if len(places) > 1]
    assert Counter(dict(blocks.lengths)) == Counter(map(float, lengths))
    assert blocks.longest == max(lengths, default=0) and blocks.are_long == (blocks.longest >= 1000)
    snvs = [call for call in given_calls if call[5] and call[4] in ("0|1", "1|0", "0/1", "1|2")]
    phased = [call for call in snvs if "|" in call[4] and call[3] != "." and len(groups[*call[:2], call[3]]) > 1]
    assert (blocks.heterozygous_snvs, blocks.phased_snvs) == (len(snvs), len(phased))
    assert blocks.share == len(phased) / max(1, len(snvs))
