"""Consensus reads of files, against the rules in plain Python (helpers/consensus_oracle.py)."""

import gzip
import sys
from collections import Counter

import numpy as np
import pysam
import pytest

import readwarp
from helpers.consensus_oracle import consensus_of
from helpers.memory import watch
from readwarp.errors import InputError, MemoryBudgetError, UsageError
from readwarp.molecules.memory import MemoryPlan

HEADER = {
    "HD": {"VN": "1.6", "SO": "coordinate"},
    "SQ": [{"SN": "c1", "LN": 4000}],
    "RG": [{"ID": "lane", "SM": "sample", "LB": "library"}],
}


def read_all(path):
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        return list(file)


def check(records, made, is_duplex, **rules):
    """Every read: bases, qualities, tags. Qualities may differ by 1 where rounding decides."""
    expected = consensus_of(records, is_duplex, **rules)
    assert len(made) == len(expected)
    for record in made:
        segment = 0 if not record.is_paired else 1 if record.is_read1 else 2
        wanted = expected[record.get_tag("MI"), segment]
        columns, strands = wanted["columns"], wanted["strands"]
        assert record.is_unmapped and (segment == 0 or record.mate_is_unmapped)
        assert record.query_name == f"library.lane:{record.get_tag('MI')}"
        assert record.query_sequence == "".join(column["base"] for column in columns)
        differ = np.subtract(record.query_qualities, [column["quality"] for column in columns])
        assert abs(differ).max() <= (2 if is_duplex else 1) and np.count_nonzero(differ) <= len(differ) // 50
        assert record.get_tag("RX") == wanted["umi"]
        depth, errors = [c["depth"] for c in columns], [c["errors"] for c in columns]
        assert (record.get_tag("cD"), record.get_tag("cM")) == (max(depth), min(depth))
        assert record.get_tag("cE") == pytest.approx(sum(errors) / max(1, sum(depth)))
        if not is_duplex:
            assert list(record.get_tag("cd")) == depth and list(record.get_tag("ce")) == errors
            continue
        for letter, strand in zip("ab", strands, strict=True):
            assert record.has_tag(f"{letter}d") == (strand is not None)
            if strand is None:
                assert (record.get_tag("bD"), record.get_tag("bM"), record.get_tag("bE")) == (0, 0, 0)
                continue
            assert list(record.get_tag(f"{letter}d")) == [column["depth"] for column in strand]
            assert list(record.get_tag(f"{letter}e")) == [column["errors"] for column in strand]
            assert record.get_tag(f"{letter}c") == "".join(column["base"] for column in strand)
            assert record.get_tag(f"{letter}D") == max(column["depth"] for column in strand)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("limits", [(1, 1, 0), (1, 1, 1), (3, 2, 1)])
def test_duplexes(seed, limits, families, tmp_path):
    records_of, write = families
    path = write(tmp_path / "in.bam", records_of(seed))
    readwarp.consensus(path, output=tmp_path / "out.bam", duplex=True, min_reads=list(limits))
    check(read_all(path), read_all(tmp_path / "out.bam"), True, limits=limits)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("least", [1, 2, 3])
def test_strands(seed, least, families, tmp_path):
    records_of, write = families
    path = write(tmp_path / "in.bam", records_of(seed))
    readwarp.consensus(path, output=tmp_path / "out.bam", min_reads=least, min_input_base_quality=12)
    check(read_all(path), read_all(tmp_path / "out.bam"), False, limits=(least,), lowest=12)


def test_single_reads(families, tmp_path):
    records_of, write = families
    path = write(tmp_path / "in.bam", records_of(5, molecules=20, paired=False))
    result = readwarp.consensus(path, output=tmp_path / "out.bam")
    check(read_all(path), read_all(tmp_path / "out.bam"), False)
    assert result.metrics.counts["consensus_reads"] == result.metrics.counts["molecules"] == 20


def test_nothing_depends_on_threads_batches_or_order(families, tmp_path, monkeypatch):
    records_of, write = families
    records = records_of(7, molecules=40)
    path = write(tmp_path / "in.bam", records)
    readwarp.consensus(path, output=tmp_path / "one.bam", duplex=True, threads=1, no_pg=True)
    monkeypatch.setattr("readwarp.molecules.job.plan_memory", lambda _: MemoryPlan(1, 1 << 20, 1 << 17))
    monkeypatch.setattr("readwarp.formats.alignments.stored.CHUNK", 3000)
    readwarp.consensus(path, output=tmp_path / "other.bam", duplex=True, threads=3, no_pg=True)
    assert (tmp_path / "one.bam").read_bytes() == (tmp_path / "other.bam").read_bytes()
    records.sort(key=lambda record: record.get_tag("MI"))
    grouped = write(tmp_path / "grouped.bam", records, SO="unsorted", GO="query")
    readwarp.consensus(grouped, output=tmp_path / "grouped.out.bam", duplex=True)
    told = [Counter(map(str, read_all(tmp_path / name))) for name in ("one.bam", "grouped.out.bam")]
    assert told[0] == told[1]


def test_a_mate_on_another_contig_is_waited_for(families, tmp_path):
    records_of, write = families
    records = records_of(9, molecules=1)
    lasts = [record for record in records if record.is_read2]
    for record in lasts:
        record.reference_id, record.reference_start = 1, 3000
    for record in records:
        record.next_reference_id = 0 if record.is_read2 else 1
        record.next_reference_start = record.next_reference_start if record.is_read2 else 3000
    path = write(tmp_path / "in.bam", [record for record in records if not record.is_read2] + lasts)
    readwarp.consensus(path, output=tmp_path / "out.bam")
    made = read_all(tmp_path / "out.bam")
    assert made and len(made) == 2 * len({record.get_tag("MI") for record in made})


def test_one_molecule_number_at_two_places_is_two_molecules(families, tmp_path):
    records_of, write = families
    near, far = records_of(3, molecules=1, paired=False), records_of(3, molecules=1, paired=False)
    for record in far:
        record.reference_id = 1
    path = write(tmp_path / "in.bam", near + far)
    result = readwarp.consensus(path, output=tmp_path / "out.bam")
    one, other = read_all(tmp_path / "out.bam")
    assert str(one) == str(other) and result.metrics.counts["molecules"] == 2


def test_at_most_so_many_reads(families, tmp_path):
    records_of, write = families
    path = write(tmp_path / "in.bam", records_of(2, molecules=20))
    readwarp.consensus(path, output=tmp_path / "out.bam", max_reads=2)
    depths = [record.get_tag("cD") for record in read_all(tmp_path / "out.bam")]
    assert max(depths) == 2


def test_filters(families, tmp_path):
    records_of, write = families
    path = write(tmp_path / "in.bam", records_of(2, molecules=20))
    readwarp.consensus(path, output=tmp_path / "all.bam", duplex=True, min_reads=[1, 1, 0])
    given = {"max_base_error_rate": 0.3, "max_read_error_rate": 0.1, "max_no_calls": 0.4}
    given |= {"min_consensus_base_quality": 30, "require_single_strand_agreement": True}
    readwarp.consensus(path, output=tmp_path / "out.bam", duplex=True, min_reads=[1, 1, 0], **given)
    every = {(r.query_name, r.is_read1): r for r in read_all(tmp_path / "all.bam")}
    left = read_all(tmp_path / "out.bam")
    assert 0 < len(left) < len(every)
    for record in left:
        assert record.query_sequence.count("N") / record.query_length <= 0.4
        before = every[record.query_name, record.is_read1]
        for i, (base, quality) in enumerate(zip(record.query_sequence, record.query_qualities, strict=True)):
            strands = {record.get_tag(tag)[i] for tag in ("ac", "bc") if record.has_tag(tag)}
            if base != "N":
                assert quality >= 30 and len(strands) == 1 and base == before.query_sequence[i]


def test_fastq_holds_the_same_reads(families, tmp_path):
    records_of, write = families
    path = write(tmp_path / "in.bam", records_of(4))
    readwarp.consensus(path, output=tmp_path / "out.bam")
    readwarp.consensus(path, output=tmp_path / "out.fq.gz")
    lines = gzip.decompress((tmp_path / "out.fq.gz").read_bytes()).decode().split("\n")
    for number, record in enumerate(read_all(tmp_path / "out.bam")):
        name, bases, _, qualities = lines[4 * number : 4 * number + 4]
        mate = f"/{1 if record.is_read1 else 2}" if record.is_paired else ""
        tags = [
            f"{tag}:{'iZ'[isinstance(record.get_tag(tag), str)]}:{record.get_tag(tag)}"
            for tag in ("MI", "RX", "cD", "cM")
        ]
        assert name == "\t".join([f"@{record.query_name}{mate}", *tags])
        assert (bases, qualities) == (record.query_sequence, pysam.qualities_to_qualitystring(record.query_qualities))


def test_bad_input(families, tmp_path):
    records_of, write = families
    records = records_of(1)
    out = tmp_path / "out.bam"

    def refused(reason, records, kind=InputError, order=None, **options):
        path = write(tmp_path / "bad.bam", records, **order or {})
        with pytest.raises(kind, match=reason):
            readwarp.consensus(path, output=out, **options)
        assert not out.exists()

    refused("out of order", records[::-1])
    refused("sorted by name", records, order={"SO": "queryname"})
    names = sorted(records, key=lambda record: record.query_name[::-1])
    refused("other reads elsewhere", names, order={"SO": "unsorted", "GO": "query"})
    refused("--min-reads", records, kind=UsageError, min_reads=[1, 2, 3], duplex=True)
    refused("--min-reads", records, kind=UsageError, min_reads=[3, 2])
    refused("needs --duplex", records, kind=UsageError, require_single_strand_agreement=True)
    records[3].set_tag("MI", "12")
    refused("bad.bam.*/A or /B", records, duplex=True)
    records[3].query_qualities = None
    refused("no base qualities", records)
    for record in records:
        record.set_tag("MI", None)
    refused(r"has UMIs \(RX\) but no molecules \(MI\): run `readwarp merge --umi tag --mark-duplicates`", records)
    for record in records:
        record.set_tag("RX", None)
    refused("no aligned read has the tag MI", records)


def write_deep(path, pairs: int) -> None:
    """One molecule with so many pairs, and others beside it."""
    header = pysam.AlignmentHeader.from_dict(HEADER)
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        for place, flag in ((1000, 99), (1050, 147)):
            for pair in range(pairs):
                record = pysam.AlignedSegment(header)
                record.query_name, record.flag, record.reference_id, record.reference_start = f"r{pair}", flag, 0, place
                record.mapping_quality, record.cigartuples = 60, [(0, 150)]
                record.next_reference_id, record.next_reference_start = 0, 2050 - place
                record.query_sequence, record.query_qualities = "ACGGT" * 30, pysam.qualitystring_to_array("F" * 150)
                record.set_tags([("MI", "deep" if pair % 10 else f"m{pair}", "Z"), ("RX", "ACGT", "Z")])
                out.write(record)


def test_a_molecule_beyond_memory_is_named(tmp_path):
    write_deep(tmp_path / "in.bam", 3000)
    with pytest.raises(
        MemoryBudgetError, match=r"^--memory is too small: .* deep \(MI\): .* take \d+.* at least$"
    ) as told:
        readwarp.consensus(tmp_path / "in.bam", output=tmp_path / "out.bam", memory=135 << 20)
    assert not (tmp_path / "out.bam").exists()
    needed = float(str(told.value).split()[-3].removesuffix("M"))
    readwarp.consensus(tmp_path / "in.bam", output=tmp_path / "out.bam", memory=int(needed * 2**20) + (2 << 20))
    with pytest.raises(MemoryBudgetError, match=r"^--memory 9M is too small: consensus needs 134M at least"):
        readwarp.consensus(tmp_path / "in.bam", output=tmp_path / "no.bam", memory=9 << 20)


@pytest.mark.slow
def test_the_peak_stays_within_memory(tmp_path):
    """Of a molecule that took 0.6 GB."""
    write_deep(tmp_path / "in.bam", 50_000)
    command = [sys.executable, "-m", "readwarp", "consensus", tmp_path / "in.bam", "--no-pg", "-q", "-t", 2]
    code, peak, errors = watch([*command, "--memory", "400M", "-o", tmp_path / "out.bam"])
    assert code == 0 and peak < 400 << 20, errors
    assert watch([*command, "-o", tmp_path / "free.bam"]).code == 0
    assert (tmp_path / "out.bam").read_bytes() == (tmp_path / "free.bam").read_bytes()
