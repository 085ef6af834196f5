"""The texts of the statistics equal those of samtools, byte for byte, but for what says who made them."""

import random
import re
import shutil
from collections import Counter
from pathlib import Path

import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.any_records import (
    header_of,
    make_contigs,
    make_record,
    text_of_samtools,
    write_contigs,
    write_records,
)
from readwarp.errors import InputError
from readwarp.report.counting import windows
from readwarp.report.counting.one_pass import FileCounts, count_alignments
from readwarp.report.stats_text import AS, stats_rows
from readwarp.report.texts import flagstat_rows, flagstat_text, idxstats_rows
from readwarp.report.tools import text_of_rows

SECTIONS = set(re.findall(r"\w+", "CHK SN FFQ LFQ GCF GCL GCC GCT FBC FTC LBC LTC IS RL FRL LRL MAPQ ID IC COV GCD"))
BY_CYCLE = set(re.findall(r"\w+", "FFQ LFQ MPC GCC GCT FBC FTC LBC LTC IC"))
COMMENTS = 3  # lines that say who made the text


def lines_of(counts: FileCounts) -> list[str]:
    return text_of_rows(stats_rows(counts, "stats")).decode().split("\n")[COMMENTS:]


def check(path: Path, reference: Path | None, *left_out: str, threads: int = 2) -> list[str]:
    """Compare all three texts with samtools; sections that are left out are not. -> lines of `stats`"""
    counts = count_alignments(path, reference, [], threads)
    options = ("--ref-seq", str(reference)) if reference else ()
    found, wanted = lines_of(counts), text_of_samtools(path, "stats", *options)[COMMENTS:]
    if left_out:
        found, wanted = ([line for line in text if line.split("\t")[0] not in left_out] for text in (found, wanted))
    assert found == wanted
    texts = {
        "flagstat": flagstat_text(flagstat_rows(counts.tables)),
        "idxstats": text_of_rows(idxstats_rows(counts.contigs, counts.tables)),
    }
    assert all(text.decode().split("\n") == text_of_samtools(path, name) for name, text in texts.items())
    return found


@pytest.fixture(scope="module")
def contigs() -> dict[str, str]:
    return make_contigs(random.Random(2))


@pytest.fixture(scope="module")
def reference(tmp_path_factory, contigs) -> Path:
    return write_contigs(tmp_path_factory.mktemp("reference") / "ref.fa", contigs)


@pytest.fixture(scope="module")
def bam(tmp_path_factory, contigs) -> Path:
    """Records of all kinds, many more than a window of the smallest index holds."""
    rng, header = random.Random(6), header_of(contigs)
    records = [make_record(rng, header, 40) for _ in range(6000)]
    return write_records(tmp_path_factory.mktemp("records") / "x.bam", header, records)


@pytest.mark.parametrize("with_reference", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
def test_equal_to_samtools(bam, reference, monkeypatch, with_reference, threads):
    monkeypatch.setattr(windows, "WINDOW", 1 << 14)
    found = check(bam, reference if with_reference else None, threads=threads)
    names = {line.split("\t")[0] for line in found}
    assert names >= SECTIONS and ("MPC" in names) == with_reference


@settings(max_examples=15)
@given(st.randoms(use_true_random=False), st.integers(0, 12), st.booleans())
def test_few_records(tmp_path_factory, contigs, reference, rng, number, with_reference):
    header, folder = header_of(contigs), tmp_path_factory.mktemp("few")
    records = [make_record(rng, header, 40) for _ in range(number)]
    check(write_records(folder / "x.bam", header, records), reference if with_reference else None)


@pytest.mark.weekly
@settings(max_examples=300)
@given(st.randoms(use_true_random=True), st.integers(0, 60), st.booleans())
def test_many_times_few_records(tmp_path_factory, contigs, reference, rng, number, with_reference):
    header, folder = header_of(contigs), tmp_path_factory.mktemp("few")
    records = [make_record(rng, header, 60) for _ in range(number)]
    check(write_records(folder / "x.bam", header, records), reference if with_reference else None)


def test_reads_of_300_bases_and_more(tmp_path, contigs, reference):
    """samtools stats forgets depth when a read is longer than those before (it copies as many bytes as integers)."""
    rng, header = random.Random(7), header_of(contigs)
    records = [make_record(rng, header, rng.choice((40, 400))) for _ in range(300)]
    path = write_records(tmp_path / "x.bam", header, records)
    lengths = [record.query_length for record in records]
    assert sum(length >= 300 for length in lengths) > 20 and max(lengths) < 1000
    check(path, reference, "COV")
    check(path, None, "COV")


def test_reads_of_1000_bases_and_more(tmp_path, contigs, reference):
    """Sections by cycle are left out, and bins of GC-depth are as long as a read."""
    rng, header = random.Random(8), header_of(contigs)
    records = [make_record(rng, header, rng.choice((50, 300, 9_000))) for _ in range(300)]
    path = write_records(tmp_path / "x.bam", header, records)
    assert max(record.query_length for record in records) > 10_000
    found = check(path, reference, "COV", *BY_CYCLE)
    assert not BY_CYCLE & {line.split("\t")[0] for line in lines_of(count_alignments(path, reference, [], 1))} and found
    check(path, None, "COV", *BY_CYCLE)


def test_deep_places(tmp_path, contigs, reference):
    """Depths from 1 to 1000 have a line each, deeper ones share one."""
    rng, header, records = random.Random(9), header_of(contigs), []
    for _ in range(1100):
        record = make_record(rng, header, 5)
        record.flag, record.reference_id, record.reference_start = 0, 0, 600
        record.query_sequence, record.cigarstring = "ACGTA" * 4, rng.choice(("20M", "19M1S", "1M1D19M"))
        records.append(record)
    found = check(write_records(tmp_path / "x.bam", header, records), reference)
    assert any(line.startswith("COV\t[1000<]\t1000\t") for line in found)


@pytest.mark.parametrize("with_reference", [False, True])
def test_no_records(tmp_path, contigs, reference, with_reference):
    path = write_records(tmp_path / "x.bam", header_of(contigs), [])
    check(path, reference if with_reference else None)


def test_unplaced_records_only(tmp_path, contigs, reference):
    rng, header, records = random.Random(10), header_of(contigs), []
    for _ in range(400):
        record = make_record(rng, header, 50)
        record.cigarstring, record.reference_id, record.reference_start = None, -1, -1
        record.flag |= 4
        records.append(record)
    check(write_records(tmp_path / "x.bam", header, records), reference)


def test_real_reads(test_data, tmp_path):
    path = Path(shutil.copy(test_data / "mito" / "HG03478.bam", tmp_path))
    pysam.index(str(path))
    found = check(path, None)
    assert sum(line.startswith("COV\t") for line in found) > 20


def test_cram(tmp_path, contigs, reference):
    """Of records that CRAM can hold."""
    rng, header, records = random.Random(11), header_of(contigs), []
    while len(records) < 2000:
        record = make_record(rng, header, 40)
        runs = record.cigartuples or []
        is_simple = all(length > 0 and operation in (0, 1, 2, 4) for operation, length in runs)
        if is_simple and record.query_sequence and not set(record.query_sequence) - set("ACGTN"):
            record.flag &= ~0xEB  # those of templates, which CRAM puts together anew
            record.next_reference_id = record.next_reference_start = -1
            record.template_length = 0
            record.set_tag("NM", None)
            records.append(record)
    bam, path = write_records(tmp_path / "x.bam", header, records), tmp_path / "x.cram"
    pysam.view("-C", "-T", str(reference), "-o", str(path), str(bam), catch_stdout=False)
    pysam.index(str(path))
    found = check(path, reference)
    assert len(found) > 300


def depth_lines(path: Path) -> list[str]:
    """COV, counted base by base: of all records that are mapped, not secondary, and have bases."""
    depth = Counter[tuple[int, int]]()
    with pysam.AlignmentFile(str(path)) as file:
        for read in file.fetch(until_eof=True):
            if not read.flag & 0x104 and read.query_sequence:
                depth.update((read.reference_id, place) for _, place in read.get_aligned_pairs(matches_only=True))
    return [f"COV\t[{n}-{n}]\t{n}\t{bases}" for n, bases in sorted(Counter(depth.values()).items())]


@pytest.mark.parametrize("cigar", ["{}M", "10M5000N10M", "10M3000D10M"])
def test_depth_of_what_samtools_loses(tmp_path, contigs, cigar):
    """Reads that become longer after a while, and a few that reach far."""
    header, records = header_of(contigs), []
    for number in range(200):
        record = pysam.AlignedSegment(header)
        record.query_name, record.reference_id, record.reference_start = f"r{number}", 0, 47 * number
        is_short = "{" not in cigar and number % 3
        record.cigarstring = "40M" if is_short else cigar.format(300 + 40 * (number // 20))
        record.query_sequence = "A" * record.infer_query_length()
        records.append(record)
    path = write_records(tmp_path / "x.bam", header, records)
    found = [line for line in lines_of(count_alignments(path, None, [], 1)) if line.startswith("COV")]
    assert found == depth_lines(path)
    assert found != [line for line in text_of_samtools(path, "stats") if line.startswith("COV")]


def test_a_mapped_read_without_a_cigar_has_no_aligned_bases(tmp_path, contigs, reference):
    header = header_of(contigs)
    records = [pysam.AlignedSegment(header) for _ in range(2)]
    for record, cigar in zip(records, ("8M", None), strict=True):
        record.query_name, record.reference_id, record.reference_start = "r", 0, 50
        record.cigarstring, record.query_sequence = cigar, "ACGTACGT"
    path = write_records(tmp_path / "x.bam", header, records)
    found = lines_of(count_alignments(path, reference, [], 1))
    assert "SN\treads mapped:\t2" in found and "SN\tbases mapped:\t16\t# ignores clipping" in found
    assert "SN\tbases mapped (cigar):\t8\t# more accurate" in found and "COV\t[1-1]\t1\t8" in found


@pytest.mark.parametrize("change", [{"one": None}, {"one": "ACGT"}])
def test_another_reference_is_refused(bam, tmp_path, contigs, change):
    """One without a contig, or with a shorter one; contigs without reads may be missing."""
    others = {name: letters for name, letters in (contigs | change).items() if letters}
    path = write_contigs(tmp_path / "ref.fa", others)
    with pytest.raises(InputError, match=r"ref\.fa: has no contig one of 90000 bases: is this the reference\?"):
        count_alignments(bam, path, [], 2)
    others = {name: letters for name, letters in contigs.items() if name != "none"}
    count_alignments(bam, write_contigs(tmp_path / "other.fa", others), [], 2)


def test_who_made_it_is_said_where_others_look(bam):
    """MultiQC looks for a phrase in the text, plot-bamstats for the first words."""
    first, second, third, *_ = (
        text_of_rows(stats_rows(count_alignments(bam, None, [], 1), "stats x.bam")).decode().split("\n")
    )
    assert first.startswith("# This file was produced by samtools stats as readwarp ")
    assert second == text_of_samtools(bam, "stats")[1]
    assert third == "# It is what samtools 1.24 writes for:  stats x.bam"
    assert pysam.__samtools_version__ == AS, "look at the changes of samtools stats"
