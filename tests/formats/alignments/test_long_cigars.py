"""CIGARs of more operations than BAM's field holds: written to CG, and read from there, as htslib does."""

import random
from contextlib import closing

import pysam
import pytest

from helpers.alignment_bytes import OPERATIONS, Bam, bgzf
from helpers.batch_samples import Read, Row, alignments_of, batch_of, sam_lines
from helpers.binning_indexes import read_index
from readwarp.cli import main
from readwarp.errors import InputError
from readwarp.finish.writer import AlignmentWriter, Finish
from readwarp.formats.alignments.header import Contig, header_text
from readwarp.formats.alignments.regions import AlignedReader, FileForm, ReadFilter
from readwarp.formats.alignments.sam import Encoder

LENGTH = 400_000
REFERENCE = "".join(random.Random(1).choices("ACGT", k=LENGTH))
HEADERS = {sort: header_text([Contig("one", LENGTH)], sort, ["@RG\tID:a\tSM:s"]) for sort in ("none", "coordinate")}
COMPLEMENT = str.maketrans("ACGT", "TGCA")
MOST = 65_535


def made(operations: int, start: int, clips: str = "") -> tuple[str, str]:
    """CIGAR, with clips of 7 bases, and all bases of a read whose runs alternate M with I and D."""
    runs, bases, at = [], [], start
    for i in range(operations - 2 * len(clips)):
        count, letter = (3 - i // 2 % 2, "M") if i % 2 == 0 else (1 + i % 3, "ID"[i // 2 % 2])
        runs.append(f"{count}{letter}")
        bases.append("A" * count if letter == "I" else "" if letter == "D" else REFERENCE[at : at + count])
        at += 0 if letter == "I" else count
    clip = "CCCCCCC" if clips else ""
    return f"7{clips}" * len(clips) + "".join(runs) + f"7{clips}" * len(clips), clip + "".join(bases) + clip


CASES = [  # name, flag, operations, first base, clips, whether it has bases
    ("least", 0, MOST + 1, 10, "", True),
    ("most", 0, MOST, 20, "", True),
    ("long", 16, 70_001, 30, "S", True),
    ("clipped", 2064, 70_001, 40, "H", True),
    ("bare", 256, 70_001, 50, "", False),
    ("short", 0, 3, 60, "", True),
]


@pytest.fixture(scope="module")
def batch():
    """Reads and their records."""
    reads, rows = [], []
    for number, (name, flag, operations, start, clips, has_bases) in enumerate(CASES):
        cigar, bases = made(operations, start, clips)
        bases = bases[::-1].translate(COMPLEMENT) if flag & 16 else bases
        reads.append(Read(name, 0, bases, "I" * len(bases), b"zzZtext\0", 0))
        rows.append(Row(number, flag, 0, start, 60, cigar, tags=b"XXC\x07", has_bases=has_bases))
    return batch_of(reads), alignments_of(rows)


@pytest.fixture(scope="module")
def folder(batch, tmp_path_factory):
    """The batch as BAM, as SAM, as CRAM, and as sorted BAM with an index."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "ref.fa").write_text(f">one\n{REFERENCE}\n")
    finishes = {name: Finish() for name in ("part.bam", "a.sam")}
    finishes |= {name: Finish("coordinate", write_index=True) for name in ("a.bam", "a.cram")}
    for name, finish in finishes.items():
        with AlignmentWriter(
            str(folder / name), HEADERS[finish.sort], finish, reference=str(folder / "ref.fa")
        ) as writer:
            writer.write(Encoder(("one",), ("a",), text=writer.text).encode(*batch))
    return folder


def lines_of(folder, name: str) -> list[list[str]]:
    """Fields of the records by name, tags sorted; without NM and MD, which htslib adds to CRAM."""
    lines = [line.split("\t") for line in sam_lines(folder / name)]
    return sorted([*line[:11], *sorted(tag for tag in line[11:] if tag[:2] not in ("NM", "MD"))] for line in lines)


def test_pysam_shows_the_true_cigar(batch, folder):
    records = {record.query_name: record for record in pysam.AlignmentFile(str(folder / "a.bam"))}
    for name, _, operations, start, clips, has_bases in CASES:
        record, (cigar, bases) = records[name], made(operations, start, clips)
        assert record.cigarstring == cigar and len(record.cigartuples) == operations
        assert not record.has_tag("CG") and record.get_tag("zz") == "text" and record.get_tag("RG") == "a"
        assert record.query_sequence == (None if not has_bases else bases[7:-7] if clips == "H" else bases)
    assert lines_of(folder, "a.bam") == lines_of(folder, "a.sam") == lines_of(folder, "a.cram")


def test_what_stands_in_the_field(folder):
    """As htslib writes it, which gives each record the bin of what is covered."""
    pysam.view("-b", "-o", str(folder / "theirs.bam"), str(folder / "a.sam"), catch_stdout=False)
    ours, theirs = (
        {r.name[:-1]: r for r in Bam.read(folder / name).records if r.name} for name in ("a.bam", "theirs.bam")
    )
    assert [name for name, *_ in CASES if ours[name.encode()].numbers[OPERATIONS] == 2] == [
        "least",
        "long",
        "clipped",
        "bare",
    ]
    for name, own in ours.items():
        assert (own.numbers, own.cigar, own.bases) == (theirs[name].numbers, theirs[name].cigar, theirs[name].bases)


def test_samtools_takes_the_file_and_its_index(folder):
    path = str(folder / "a.bam")
    pysam.quickcheck(path)
    pysam.index("-o", str(folder / "theirs.bai"), path)
    assert read_index(folder / "a.bam.bai") == read_index(folder / "theirs.bai")
    end = max(record.reference_end for record in pysam.AlignmentFile(path))
    for place in (f"one:{end}-{end}", f"one:{end + 1}-{end + 9}", "one:65-66", "one:1-11"):
        counted = pysam.view("-c", path, place)
        with pysam.AlignmentFile(path) as file:
            first, last = (int(number) for number in place[4:].split("-"))
            overlap = [r for r in file if r.reference_start < last and r.reference_end >= first]
        assert int(counted) == len(overlap)


@pytest.mark.parametrize("options", [[], ["--sort", "coordinate", "--mark-duplicates", "--write-index"]])
@pytest.mark.parametrize("output", ["o.bam", "o.cram"])
def test_merge_keeps_them(folder, tmp_path, options, output):
    names = ["--reference", str(folder / "ref.fa"), "-o", str(tmp_path / output)]
    assert main(["merge", str(folder / "part.bam"), *names, *options, "-q"]) == 0
    assert lines_of(tmp_path, output) == lines_of(folder, "a.bam")


@pytest.mark.parametrize("how", ["a.bam", "a.cram", "without an index"])
def test_regions_are_read_with_them(folder, tmp_path, how):
    path, form = folder / how, FileForm()
    if how == "without an index":
        path, form = tmp_path / "b.bam", FileForm(scan=True)
        path.write_bytes((folder / "a.bam").read_bytes())
    reader = AlignedReader(path, folder / "ref.fa", form=form)
    for start, stop in ((0, LENGTH), (100_000, 100_100), (64, 65)):
        reads = reader.read(0, start, stop, ReadFilter(excluded_flags=0))
        with pysam.AlignmentFile(str(folder / "a.bam")) as file:
            expected = [r for r in file.fetch("one", start, stop) if r.query_sequence]
        assert reads.position.tolist() == [r.reference_start for r in expected]
        assert reads.reference_stop.tolist() == [r.reference_end for r in expected]
        assert len(set(reads.name_hash.tolist())) == len(expected)
        codes = [run >> 4 for run in reads.cigar.tolist()]
        assert codes == [count for r in expected for _, count in r.cigartuples]
    reader.close()


def test_alignments_are_reads_again(folder, tmp_path):
    """CG, which tells of the old alignment, does not travel with the bases."""
    from readwarp.formats.reads.raw import ReadInput
    from readwarp.formats.reads.stream import open_reads, parse

    batches = [parse(raw) for raw in open_reads([ReadInput((str(folder / "part.bam"),))], 1 << 20)]
    tags = {tag for batch in batches for tag in batch.tags.tobytes().split(b"\0") if tag}
    assert tags == {b"XXC\x07zzZtext"}


@pytest.mark.parametrize("damage", ["type", "operation", "length"])
def test_a_tag_that_lies_is_refused(folder, tmp_path, damage, capsys):
    bam, sorted_bam = Bam.read(folder / "part.bam"), Bam.read(folder / "a.bam")
    record = next(record for record in bam.records if record.name == b"long\0")
    place = record.tags.index(b"CGBI")
    changed = {"type": (place + 3, b"f"), "operation": (place + 408, b"\x1f"), "length": (place + 408, b"\xf0")}
    at, byte = changed[damage]
    record.tags = record.tags[:at] + byte + record.tags[at + 1 :]
    path, sorted_path = tmp_path / "x.bam", tmp_path / "y.bam"
    path.write_bytes(bgzf(bam.bytes()))
    sorted_bam.records = bam.records
    sorted_path.write_bytes(bgzf(sorted_bam.bytes()))
    assert main(["merge", str(path), "-o", str(tmp_path / "o.bam"), "-q"]) == 3
    reason = "the tag CG, which should hold its CIGAR" if damage == "type" else "its CIGAR has an unknown"
    assert f"x.bam: record 3: {reason}" in capsys.readouterr().err
    reader = AlignedReader(sorted_path, form=FileForm(scan=True))
    with pytest.raises(InputError, match=rf"y\.bam: record long near one:31: {reason}"):
        reader.read(0, 0, LENGTH, ReadFilter())
    reader.close()


def test_without_the_tag_the_two_operations_are_all_there_is(tmp_path):
    """As for htslib."""
    with pysam.AlignmentFile(str(tmp_path / "x.bam"), "wb", text="@SQ\tSN:one\tLN:1000\n") as file:
        record = pysam.AlignedSegment(file.header)
        record.query_name, record.flag, record.query_sequence = "r", 0, "ACGT"
        record.reference_id, record.reference_start, record.cigarstring = 0, 7, "4S9N"
        file.write(record)
    with closing(AlignedReader(tmp_path / "x.bam", form=FileForm(scan=True))) as reader:
        reads = reader.read(0, 0, 1000, ReadFilter())
    assert reads.cigar.tolist() == [4 << 4 | 4, 9 << 4 | 3]


@pytest.fixture(scope="module")
def aligned(tmp_path_factory):
    """A read of 900,000 bases with a mismatch each 25, whose CIGAR has 72,001 operations with --eqx."""
    folder, chance = tmp_path_factory.mktemp("aligned"), random.Random(2)
    bases = "".join(chance.choices("ACGT", k=1_000_000))
    (folder / "ref.fa").write_text(f">one\n{bases}\n")
    read = list(bases[50_000:950_000])
    for at in range(12, len(read), 25):
        read[at] = read[at].translate(str.maketrans("ACGT", "CGTA"))
    letters = "".join(read)[::-1].translate(COMPLEMENT)
    (folder / "r.fq").write_text(f"@r\n{letters}\n+\n{'I' * len(letters)}\n")
    for name in ("o.sam", "o.bam", "o.paf", "s.bam", "s.cram"):
        options = ["--sort", "coordinate", "--write-index"] if name[0] == "s" else []
        options += ["--preset", "hifi", "--eqx", "--no-pg", "-q", "-o", str(folder / name)]
        assert main(["align", str(folder / "ref.fa"), str(folder / "r.fq"), *options]) == 0
    return folder


def test_a_read_of_900_000_bases(aligned):
    (line,) = lines_of(aligned, "o.sam")
    assert line[1:6] == ["16", "one", "50001", "60", "12=1X" + "24=1X" * 35_999 + "12="]
    assert lines_of(aligned, "o.bam") == [line] == lines_of(aligned, "s.bam")
    paf = (aligned / "o.paf").read_text().rstrip("\n").split("\t")
    assert paf[1:5] == ["900000", "0", "900000", "-"]
    assert paf[6:11] == ["1000000", "50000", "950000", "864000", "900000"]
    assert paf[-1] == f"cg:Z:{line[5]}"
    with pysam.AlignmentFile(str(aligned / "s.cram"), reference_filename=str(aligned / "ref.fa")) as file:
        assert [record.cigarstring for record in file] == ["900000M"]  # CRAM has no = and X


@pytest.mark.parametrize("name", ["s.bam", "s.cram"])
def test_the_end_of_a_read_of_900_000_bases(aligned, name, tmp_path):
    """It overlaps a region far from its position, in its file and for `readwarp call`."""
    with closing(AlignedReader(aligned / name, aligned / "ref.fa")) as reader:
        reads = reader.read(0, 949_990, 950_000, ReadFilter())
        assert (reads.position.tolist(), reads.reference_stop.tolist()) == ([50_000], [950_000])
    calls = ["-L", "one:949990-950000", "-o", str(tmp_path / "o.vcf"), "-q"]
    assert main(["call", str(aligned / "ref.fa"), str(aligned / name), *calls]) == 0
