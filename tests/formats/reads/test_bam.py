"""BAM, uBAM and CRAM in: the reads that samtools would write as FASTQ, with their tags and groups."""

import random
from array import array
from contextlib import closing

import numpy as np
import pysam
import pytest

from helpers.batch_samples import Read, Row, alignments_of, bam_records, fastq, random_read, read_all, samtools
from readwarp.errors import InputError
from readwarp.finish.writer import AlignmentWriter
from readwarp.formats.alignments.header import Contig, binary_header, header_text
from readwarp.formats.alignments.sam import Encoder
from readwarp.formats.common.bgzf import EOF_BLOCK, BgzfWriter
from readwarp.formats.reads.bam import read_header
from readwarp.formats.reads.raw import ReadInput
from readwarp.formats.reads.stream import open_reads, parse

LENGTH = 3000
COMPLEMENT = str.maketrans("ACGT", "TGCA")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Templates of the same reads as FASTQ-like records (`reads`) and as aligned BAM in several orders."""
    folder, rng = tmp_path_factory.mktemp("bam"), random.Random(3)
    sequence, _ = random_read(rng, LENGTH)
    (folder / "ref.fa").write_text(f">one\n{sequence}\n")
    (folder / "other.fa").write_text(f">one\n{sequence[::-1]}\n")
    header = {
        "HD": {"VN": "1.6", "GO": "query"},
        "SQ": [{"SN": "one", "LN": LENGTH}],
        "RG": [{"ID": "a", "SM": "s"}, {"ID": "b", "SM": "s"}],
    }
    with pysam.AlignmentFile(str(folder / "grouped.bam"), "wb", header=header) as out:
        for number in range(300):
            for record in template(rng, sequence, number, out.header):
                out.write(record)
    samtools("sort", "-o", folder / "sorted.bam", folder / "grouped.bam")
    samtools("sort", "-n", "-o", folder / "named.bam", folder / "grouped.bam")
    samtools("view", "-C", "-T", folder / "ref.fa", "-o", folder / "sorted.cram", folder / "sorted.bam")
    (folder / "ref.fa.fai").unlink()
    return folder


def template(rng, sequence, number, header):
    """Records of a pair, a single read or a pair whose mate is missing, with tags to keep and to drop."""
    kind = rng.choices(("pair", "single", "orphan"), (8, 2, 1))[0]
    segments = {"pair": (64, 128), "single": (0,), "orphan": (rng.choice((64, 128)),)}[kind]
    for segment in segments:
        start, reverse = rng.randrange(LENGTH - 100), rng.random() < 0.5
        mapped = rng.random() < 0.9
        for flag in (0, 2048, 256) if mapped and rng.random() < 0.2 else (0,):
            record = pysam.AlignedSegment(header)
            record.query_name = f"t{number}"
            record.flag = flag | (segment and segment | 1) | 16 * reverse | (0 if mapped else 4)
            record.query_sequence = sequence[start : start + 60]
            record.query_qualities_str = "".join(chr(33 + rng.randrange(41)) for _ in range(60))
            if mapped:
                record.reference_id, record.reference_start, record.cigarstring = 0, start, "60M"
                record.set_tag("NM", 0)
                record.set_tag("MD", "60")
            record.set_tag("BC", "ACGT" * rng.randrange(3))
            record.set_tag("RG", rng.choice("ab"))
            record.set_tag("zb", [1, -2, 300])
            yield record


@pytest.fixture(scope="module")
def expected(folder):
    """The primary records of the grouped file, read by pysam."""
    names: dict[str, list] = {}
    with pysam.AlignmentFile(str(folder / "grouped.bam")) as file:
        for record in file:
            if not record.flag & 0x900:
                names.setdefault(record.query_name, []).append(record)
    out = []
    for name, records in names.items():
        for record in records:
            bases, qualities = record.query_sequence, record.query_qualities_str
            if record.is_reverse:
                bases, qualities = bases[::-1].translate(COMPLEMENT), qualities[::-1]
            segment = (1 if record.is_read1 else 2) if len(records) == 2 else 0
            tags = b"BCZ" + record.get_tag("BC").encode() + b"\0zbBs\3\0\0\0\1\0\xfe\xff\x2c\1"
            out.append(Read(name, segment, bases, qualities, tags, "ab".index(record.get_tag("RG"))))
    return sorted(out)


def test_fields_of_an_old_alignment(tmp_path):
    """Left out unless nothing was aligned; values of bases are turned with them, and 0x200 stays."""
    stale = {"HP": 1, "MI": "17", "BQ": "@@@@"}
    kept = {"ts": 7, "OQ": "!5I~", "ce": array("H", [0, 0, 1, 300]), "ac": "AACG", "pw": array("B", [1, 2, 3, 4])}
    too_long = {"cd": array("B", [1, 2, 3, 4, 5])}
    turned = kept | {"OQ": "~I5!", "ce": array("H", [300, 1, 0, 0]), "ac": "CGTT"}
    path = str(tmp_path / "old.bam")
    with pysam.AlignmentFile(path, "wb", header={"HD": {"GO": "query"}, "SQ": [{"SN": "one", "LN": 9}]}) as out:
        for name, flag in (("forward", 0x200), ("reverse", 16), ("unaligned", 4), ("mate", 77), ("mate", 141)):
            record = pysam.AlignedSegment(out.header)
            record.query_name, record.flag, record.query_sequence = name, flag, "ACGT"
            if not flag & 4:
                record.reference_id, record.reference_start, record.cigarstring = 0, 2, "4M"
            record.set_tags([*stale.items(), ("TS", "+", "A"), *kept.items(), *too_long.items()])
            out.write(record)
    with closing(open_reads([ReadInput((path,))], 1000)) as batches:
        (reads,) = map(parse, batches)
    assert reads.failed.tolist() == [1, 0, 0, 0, 0]
    whole = tmp_path / "again.sam"
    header = header_text((Contig("one", 9),))
    with AlignmentWriter(str(whole), header) as writer:
        rows = [Row(read, 4, -1, -1, 0, "*") for read in range(len(reads))]
        writer.write(Encoder(("one",), (), text=writer.text).encode(reads, alignments_of(rows)))
    with pysam.AlignmentFile(str(whole), check_sq=False) as file:
        found = [dict(record.get_tags()) for record in file]
    assert [tags.pop("cd").tolist() for tags in found] == [[1, 2, 3, 4]] * 5
    assert found == [kept, turned, *[stale | {"TS": "+"} | kept] * 3]


@pytest.mark.parametrize("name", ["grouped.bam", "sorted.bam", "named.bam", "sorted.cram"])
@pytest.mark.parametrize("batch_bases", [100, 10**6])
def test_reads_come_back_as_they_were_sequenced(folder, expected, name, batch_bases):
    options = {"groups": ("a", "b"), "references": (str(folder / "ref.fa"),)}
    reads = read_all(folder / name, batch_bases=batch_bases, **options)
    assert sorted(reads) == expected
    for i, read in enumerate(reads):
        if read.segment == 1:
            assert (reads[i + 1].name, reads[i + 1].segment) == (read.name, 2)


def test_nothing_is_written_beside_the_inputs(folder, expected):
    assert {path.suffix for path in folder.iterdir()} <= {".fa", ".bam", ".cram"}


def test_ungrouped_without_a_word_in_the_header_is_collated(folder, expected, tmp_path):
    records = bam_records(folder / "sorted.bam").data
    path = rewritten(folder / "sorted.bam", tmp_path / "shuffled.bam", records, "SO:coordinate", "SO:unsorted")
    assert sorted(read_all(path, groups=("a", "b"))) == expected


def rewritten(source, path, records, old, new):
    """The BAM file with another header text and these records."""
    header = read_header(str(source))
    assert old in header
    with path.open("wb") as file:
        writer = BgzfWriter(file)
        writer.write(binary_header(header.replace(old, new)))
        writer.write(records)
        writer.close()
    return path


def test_mates_apart_later_in_the_file(folder, tmp_path):
    """Single reads at the beginning do not reveal that mates are apart later."""
    records, apart = bam_records(folder / "grouped.bam"), bam_records(folder / "sorted.bam")
    starts = records.offsets[:-1]
    single = [i for i, at in enumerate(starts) if not records.data[at + 18] & 1]
    begin = np.concatenate([records.data[records.offsets[i] : records.offsets[i + 1]] for i in single * 40])
    everything = np.concatenate([begin, apart.data])
    path = rewritten(folder / "grouped.bam", tmp_path / "late.bam", everything, "GO:query", "GO:none")
    assert read_error(path)[1] == "mates are not side by side; group them with `samtools collate`"


def read_error(path, batch_bases=1000, **options):
    with pytest.raises(InputError) as caught:
        read_all(path, batch_bases=batch_bases, **options)
    assert caught.value.path == str(path)
    return caught.value.record, caught.value.reason


def test_unaligned_sample(test_data):
    path = test_data / "odd" / "sarscov2_unaligned.bam"
    assert "@RG\tID:1\tLB:lib1" in read_header(str(path))
    reads = read_all(path, groups=("1",))
    assert len(reads) == 100 and all(read.read_group == 0 for read in reads)


def test_damage(folder, tmp_path):
    whole = (folder / "grouped.bam").read_bytes()
    path = tmp_path / "broken.bam"
    path.write_bytes(whole.removesuffix(EOF_BLOCK))
    assert "truncated" in read_error(path)[1]
    for cut in (len(whole) // 2, 30):
        path.write_bytes(whole[:cut])
        assert "truncated" in read_error(path)[1]
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0x55
    path.write_bytes(flipped)
    assert "corrupt" in read_error(path)[1]
    cram = (folder / "sorted.cram").read_bytes()
    path = tmp_path / "broken.cram"
    path.write_bytes(cram[:-38])
    assert "truncated" in read_error(path, references=(str(folder / "ref.fa"),))[1]


def test_damaged_records(folder, tmp_path):
    records = bam_records(folder / "grouped.bam")
    whole = "damaged, or truncated within the record"
    size = "damaged: its size is "
    for place, value, says in ((0, 0, size), (3, 0x7F, size), (12, 0, whole), (23, 0x7F, whole)):
        data = records.data.copy()
        data[records.offsets[7] + place] = value
        path = rewritten(folder / "grouped.bam", tmp_path / "broken.bam", data, "GO:query", "GO:query")
        record, reason = read_error(path, 10**6)
        assert record == 8 and reason.startswith(says)


def test_a_tag_without_an_end(folder, tmp_path):
    records = bam_records(folder / "grouped.bam")
    data = records.data.copy()
    tag = data.tobytes().rindex(b"BCZ")
    stop = records.offsets[np.searchsorted(records.offsets, tag)]
    data[tag + 3 : stop] = ord("x")
    path = rewritten(folder / "grouped.bam", tmp_path / "broken.bam", data, "GO:query", "GO:query")
    assert read_error(path, 10**6)[1] == "a tag is cut off"


def test_cram_without_its_reference(folder, tmp_path, monkeypatch):
    path = tmp_path / "moved.cram"
    path.write_bytes((folder / "sorted.cram").read_bytes())
    monkeypatch.setenv("REF_CACHE", str(tmp_path))
    (folder / "ref.fa").rename(folder / "ref.away")
    try:
        missing = f"{folder}/ref.fa (UR: no such file), REF_CACHE, REF_PATH (not set): give"
        assert f"is not in {folder}/other.fa, {missing}" in read_error(path, references=(str(folder / "other.fa"),))[1]
        assert f"is not in {missing}" in read_error(path)[1]
    finally:
        (folder / "ref.away").rename(folder / "ref.fa")


def test_bam_is_given_alone(folder, tmp_path):
    (tmp_path / "reads.fq").write_bytes(fastq([("a", "A", "I")]))
    with pytest.raises(InputError, match="both mates in one file"):
        read_all(folder / "grouped.bam", tmp_path / "reads.fq")
