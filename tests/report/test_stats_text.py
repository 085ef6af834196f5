"""The texts of the statistics equal those of samtools, byte for byte, but for what says who made them."""

import random
import re
import shutil
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
from readwarp.report.counting import windows
from readwarp.report.counting.one_pass import Counts, count_alignments
from readwarp.report.stats_text import stats_text
from readwarp.report.texts import flagstat_text, idxstats_text

SECTIONS = set(re.findall(r"\w+", "CHK SN FFQ LFQ GCF GCL GCC GCT FBC FTC LBC LTC IS RL FRL LRL MAPQ ID IC COV GCD"))
BY_CYCLE = set(re.findall(r"\w+", "FFQ LFQ MPC GCC GCT FBC FTC LBC LTC IC"))
COMMENTS = 3  # lines that say who made the text


def lines_of(counts: Counts) -> list[str]:
    return "".join(stats_text(counts, "stats")).split("\n")[COMMENTS:]


def check(path: Path, reference: Path | None, *left_out: str, threads: int = 2) -> list[str]:
    """Compare all three texts with samtools; sections that are left out are not. -> lines of `stats`"""
    counts = count_alignments(path, reference, [], threads)
    options = ("--ref-seq", str(reference)) if reference else ()
    found, wanted = lines_of(counts), text_of_samtools(path, "stats", *options)[COMMENTS:]
    if left_out:
        found, wanted = ([line for line in text if line.split("\t")[0] not in left_out] for text in (found, wanted))
    assert found == wanted
    assert "".join(flagstat_text(counts.tables)).split("\n") == text_of_samtools(path, "flagstat")
    assert "".join(idxstats_text(counts.contigs, counts.tables)).split("\n") == text_of_samtools(path, "idxstats")
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


@settings(deadline=None, max_examples=15)
@given(st.randoms(use_true_random=False), st.integers(0, 12), st.booleans())
def test_few_records(tmp_path_factory, contigs, reference, rng, number, with_reference):
    header, folder = header_of(contigs), tmp_path_factory.mktemp("few")
    records = [make_record(rng, header, 40) for _ in range(number)]
    check(write_records(folder / "x.bam", header, records), reference if with_reference else None)


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
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
