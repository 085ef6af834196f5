"""Reads of a region as arrays: equal to pysam's, and errors that name the file and the reason."""

import random
import shutil
import tempfile
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pysam
import pytest

from helpers.making import LETTERS, OPERATIONS, Read, random_sequence, segment, write_bam
from readwarp.call.reads.inputs import choose_samples, samples_of
from readwarp.errors import InputError
from readwarp.formats.alignments.regions import EXCLUDED, AlignedReader, ReadFilter

CONTIGS = {"one": 90_000, "HLA-A*01:01": 500, "empty": 4000}


def made_reads(number: int, length: int, seed: int) -> list[Read]:
    random.seed(seed)
    out = []
    for i in range(number):
        size = random.randrange(30, 120)
        cigar = random.choice([f"{size}M", f"5S{size - 5}M", f"10M2D{size - 10}M", f"3H12M4I{size - 16}M", f"{size}="])
        position = random.randrange(0, length - size - 2)
        bases = "".join(random.choices("ACGTN", k=size))
        flag = random.choice([0, 16, 99, 147, 4, 256, 512, 1024, 2048])
        qualities = tuple(random.choices(range(60), k=size))
        out.append(Read(position, cigar, bases, qualities, flag, random.randrange(61), f"read/{i}" * (1 + i % 5)))
    return out


@pytest.fixture(scope="module")
def bam(tmp_path_factory):
    records = [("one", r) for r in made_reads(9000, 90_000, 1)] + [("HLA-A*01:01", r) for r in made_reads(80, 500, 2)]
    path = tmp_path_factory.mktemp("aligned") / "made.bam"
    groups = [{"ID": "a", "SM": "x"}, {"ID": "b", "SM": "x"}, {"ID": "c", "SM": "y"}]
    return write_bam(path, CONTIGS, records, {"RG": groups})


def expected(path, contig, start, stop, keep, reference=None):
    with pysam.AlignmentFile(str(path), reference_filename=reference) as file:
        return [
            r
            for r in file.fetch(contig, start, stop)
            if r.mapping_quality >= keep.min_mapping_quality and not r.flag & keep.excluded_flags
        ]


def assert_equal(reads, records):
    assert reads.position.tolist() == [r.reference_start for r in records]
    assert reads.reference_stop.tolist() == [r.reference_end for r in records]
    assert reads.flag.tolist() == [r.flag for r in records]
    assert reads.mapping_quality.tolist() == [r.mapping_quality for r in records]
    for i, record in enumerate(records):
        span = slice(reads.read_offsets[i], reads.read_offsets[i + 1])
        cigar = reads.cigar[reads.cigar_offsets[i] : reads.cigar_offsets[i + 1]]
        assert "".join(LETTERS[b] for b in reads.bases[span]) == record.query_sequence
        assert reads.qualities[span].tolist() == list(record.query_qualities)
        assert "".join(f"{c >> 4}{OPERATIONS[c & 15]}" for c in cigar) == record.cigarstring
    by_name = dict(zip(reads.name_hash.tolist(), (r.query_name for r in records), strict=True))
    assert len(by_name) == len({r.query_name for r in records})


REGIONS = [(0, 0, 90_000), (0, 0, 1), (0, 16_380, 16_390), (0, 40_000, 41_000), (0, 89_999, 90_000), (1, 0, 500)]


@pytest.mark.parametrize("kind", ["bai", "csi"])
def test_equal_to_pysam(bam, tmp_path, kind):
    path = bam
    if kind == "csi":
        path = shutil.copy(bam, tmp_path / "copy.bam")
        pysam.index("-c", str(path))
    reader, keep = AlignedReader(path), ReadFilter(20)
    for contig, start, stop in REGIONS:
        records = expected(path, list(CONTIGS)[contig], start, stop, keep)
        assert_equal(reader.read(contig, start, stop, keep), records)
    assert len(reader.read(2, 0, 4000, keep)) == 0
    reader.close()


@pytest.mark.parametrize("shift", [12, 14, 16])
def test_csi_of_any_width(bam, tmp_path, shift):
    path = shutil.copy(bam, tmp_path / "copy.bam")
    pysam.index("-c", "-m", str(shift), str(path))
    reader, keep = AlignedReader(path), ReadFilter()
    for start in range(0, 90_000, 7919):
        assert_equal(reader.read(0, start, start + 50, keep), expected(path, "one", start, start + 50, keep))
    reader.close()


def test_reads_far_apart(tmp_path):
    """Windows of the index without a read of their own, and a read that spans many of them."""
    reads = [Read(10, "5M", "ACGTA", (30,) * 5), Read(70_000, "5M400000N5M", "ACGTACGTAC", (30,) * 10)]
    reads += [Read(900_000, "5M", "ACGTA", (30,) * 5)]
    path = write_bam(tmp_path / "far.bam", {"c": 1_000_000}, [("c", r) for r in reads])
    for option in ("-b", "-c"):
        pysam.index(option, str(path))
        reader = AlignedReader(path)
        found = [len(reader.read(0, at, at + 10, ReadFilter())) for at in (0, 8, 69_999, 200_000, 470_000, 899_999)]
        assert found == [0, 1, 1, 1, 1, 1]
        reader.close()
        for index in tmp_path.glob("far.bam.*"):
            index.unlink()


@pytest.fixture
def cram(tmp_path):
    """A CRAM file, its reference, and the BAM file that it was made from."""
    reference, sequence = tmp_path / "ref.fa", random_sequence(3000)
    reference.write_text(f">c\n{sequence}\n")
    reads = [Read(p, "50M", sequence[p : p + 50], tuple(range(1, 51)), name=f"r{p}") for p in range(0, 2900, 7)]
    bam = write_bam(tmp_path / "a.bam", {"c": 3000}, [("c", r) for r in reads])
    cram = tmp_path / "a.cram"
    with (
        pysam.AlignmentFile(str(bam)) as file,
        pysam.AlignmentFile(str(cram), "wc", template=file, reference_filename=str(reference)) as out,
    ):
        for record in file:
            out.write(record)
    pysam.index(str(cram))
    return cram, reference, bam


def test_cram_equals_bam(cram):
    path, reference, bam = cram
    with closing(AlignedReader(path, reference)) as reader:
        keep = ReadFilter()
        assert_equal(reader.read(0, 500, 1500, keep), expected(bam, "c", 500, 1500, keep))


def test_a_cram_reader_that_rests_has_no_process(cram, monkeypatch, tmp_path):
    """A process that is forked then has none to share; what htslib writes for one has no name that could remain."""
    path, reference, bam = cram
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    before, keep = children.read_text(), ReadFilter()
    with closing(AlignedReader(path, reference)) as reader:
        assert children.read_text() != before
        reader.rest()
        assert children.read_text() == before
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        with reader._cram.reading([("c", 500, 1500)]) as copy:
            assert copy.stat().st_size and not any(temporary.iterdir())
        assert_equal(reader.read(0, 500, 1500, keep), expected(bam, "c", 500, 1500, keep))
        assert children.read_text() != before
    assert children.read_text() == before


@pytest.fixture
def grouped(tmp_path):
    """Twelve reads with group a, b, c or d, none, or one that the header lacks; c and a are one sample."""
    path = tmp_path / "groups.bam"
    groups = [{"ID": "a", "SM": "x"}, {"ID": "b", "SM": "y"}, {"ID": "c", "SM": "x"}, {"ID": "d"}]
    contigs = {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": "c", "LN": 100}]}
    header = pysam.AlignmentHeader.from_dict({**contigs, "RG": groups})
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        for i in range(12):
            record = segment(header, Read(i, "4M", "ACGT", (30,) * 4, name=f"r{i}"), "c")
            record.set_tags([("XA", "text"), ("XB", [1, 2, 3]), ("XC", 1.5), ("XD", 70000)])
            if i % 6:
                record.set_tag("RG", " abcde"[i % 6])
            out.write(record)
    pysam.index(str(path))
    reader = AlignedReader(path)
    yield reader
    reader.close()


def test_samples_by_read_group(grouped):
    assert grouped.samples() == {"x": ("a", "c"), "y": ("b",)}
    assert choose_samples([grouped]) == ("x", "y")
    groups = tuple(samples_of(grouped).values())
    assert groups == (("a", "c"), ("b",))
    reads = grouped.read(0, 0, 100, ReadFilter(samples=groups))
    assert list(zip(reads.position.tolist(), reads.sample.tolist(), strict=True)) == [
        *((1, 0), (2, 1), (3, 0), (7, 0), (8, 1), (9, 0))
    ]
    assert reads.unassigned.tolist() == [0, 4, 5, 6, 10, 11]
    every = grouped.read(0, 0, 100, ReadFilter())
    assert len(every) == 12 and not every.sample.any() and every.unassigned.size == 0


@pytest.mark.parametrize(
    ("wanted", "names", "positions"),
    [
        (["y"], ("y",), [2, 8]),
        (["y", "x"], ("y", "x"), [1, 2, 3, 7, 8, 9]),
        (["y,x", "y"], ("y", "x"), [1, 2, 3, 7, 8, 9]),
    ],
)
def test_samples_that_are_asked_for(grouped, wanted, names, positions):
    chosen = choose_samples([grouped], wanted)
    groups = tuple(samples_of(grouped)[name] for name in chosen)
    assert chosen == names
    reads = grouped.read(0, 0, 100, ReadFilter(samples=groups))
    assert reads.position.tolist() == positions and reads.unassigned.tolist() == [0, 4, 5, 6, 10, 11]
    assert {names[sample] for sample in reads.sample} == set(names)


def test_samples_that_are_not_there(grouped):
    with pytest.raises(InputError, match=r"groups\.bam: no read group of sample 'z' \(there are: x, y\)"):
        choose_samples([grouped], ["x,z"])


def test_one_sample_has_every_read(tmp_path):
    """It has them whatever their read groups say, and also if the header names no sample."""
    reads = [("c", Read(i, "4M", "ACGT", (30,) * 4, name=f"r{i}")) for i in range(3)]
    for name, groups in (
        ("s", [{"ID": "1", "SM": "s"}, {"ID": "2", "SM": "s"}]),
        ("made", [{"ID": "1"}]),
        ("made", []),
    ):
        reader = AlignedReader(write_bam(tmp_path / "made.one.bam", {"c": 100}, reads, {"RG": groups}))
        assert choose_samples([reader]) == choose_samples([reader], [name]) == (name,)
        assert len(reader.read(0, 0, 100, ReadFilter(samples=()))) == 3
        reader.close()


def test_too_many_samples(tmp_path):
    groups = [{"ID": str(i), "SM": f"s{i}"} for i in range(32768)]
    reader = AlignedReader(write_bam(tmp_path / "many.bam", {"c": 100}, [], {"RG": groups}))
    with pytest.raises(InputError, match=r"many\.bam: 32,768 samples: at most 32,767 can be called together"):
        choose_samples([reader])
    assert len(choose_samples([reader], [f"s{i}" for i in range(300)])) == 300
    reader.close()


def test_a_name_with_a_comma_is_not_split(tmp_path):
    groups = [{"ID": str(i), "SM": name} for i, name in enumerate(["a,b", "a", "b"])]
    reader = AlignedReader(write_bam(tmp_path / "comma.bam", {"c": 100}, [], {"RG": groups}))
    assert choose_samples([reader], ["a,b"]) == ("a,b",)
    assert choose_samples([reader], ["b,a"]) == ("b", "a")
    reader.close()


def test_reads_without_bases_or_qualities(tmp_path):
    path = tmp_path / "bare.bam"
    header = pysam.AlignmentHeader.from_dict({"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": "c", "LN": 100}]})
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        for bases in ("ACGT", None):
            record = pysam.AlignedSegment(header)
            record.query_name, record.reference_id, record.reference_start = "r", 0, 3
            record.mapping_quality, record.cigarstring, record.query_sequence = 60, "4M", bases
            out.write(record)
    pysam.index(str(path))
    reader = AlignedReader(path)
    reads = reader.read(0, 0, 100, ReadFilter())
    assert reads.qualities.tolist() == [255] * 4
    reader.close()


def alignments(path, rows, length: int = 100) -> AlignedReader:
    """A BAM file of (position, CIGAR, bases), fitting each other or not; the index is that of one where they do.

    htslib writes others but does not read them. Without compression, records of one size lie at the same places.
    """
    fitting = [(at, [(0, len(bases or "") or 1)] + [(0, 0)] * (len(cigar) - 1), bases) for at, cigar, bases in rows]
    fitting = [(at, cigar if own else [], bases) for (at, cigar, bases), (_, own, _) in zip(fitting, rows, strict=True)]
    _write_as_is(path, fitting, length)
    pysam.index(str(path))
    _write_as_is(path, rows, length)
    return AlignedReader(path)


def _write_as_is(path, rows, length: int) -> None:
    header = pysam.AlignmentHeader.from_dict(
        {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": "c", "LN": length}]}
    )
    with pysam.AlignmentFile(str(path), "wbu", header=header) as out:
        for position, cigar, bases in rows:
            record = pysam.AlignedSegment(header)
            record.query_name, record.reference_id, record.reference_start = "r", 0, position
            record.mapping_quality, record.cigar, record.query_sequence = 60, cigar, bases
            record.query_qualities = [30] * len(bases or "")
            out.write(record)


MISFITS = [
    ([(0, 11)], "its CIGAR has an unknown"),
    ([(0, 9)], "its CIGAR has an unknown"),
    ([(4, 4), (0, 4), (1, 3), (2, 3)], "its CIGAR has an unknown"),
    ([(0, 1 << 20)], "its CIGAR has an unknown"),
    ([(0, 10), (9, 4)], "its CIGAR has an unknown"),  # B, which no specification has any more
    ([(0, 5), (2, 60), (0, 5)], "lies on a contig that"),
    ([(0, 10), (3, 60)], "lies on a contig that"),
]


@pytest.mark.parametrize(("cigar", "reason"), MISFITS)
def test_reads_that_their_cigars_do_not_fit(tmp_path, cigar, reason):
    """Kernels that index by such a CIGAR would go out of bounds."""
    rows = [(3, [(0, 10)], "ACGTACGTAC"), (41, cigar, "ACGTACGTAC")]
    reader = alignments(tmp_path / "x.bam", rows)
    for keep in (ReadFilter(), ReadFilter(min_mapping_quality=61)):  # those left out are looked at, too
        with pytest.raises(InputError, match=rf"x\.bam: record r near c:42: {reason}"):
            reader.read(0, 0, 100, keep)
    reader.close()


def test_the_last_base_of_a_contig_can_be_aligned(tmp_path):
    reader = alignments(tmp_path / "x.bam", [(90, [(0, 10), (4, 3)], "ACGTACGTACGTA")])
    assert reader.read(0, 0, 100, ReadFilter()).reference_stop.tolist() == [100]
    reader.close()


def test_alignments_without_bases_are_left_out(tmp_path):
    """They are between mates of their name that have bases, and no step sees them."""
    rows = [(3, [(0, 10)], "ACGTACGTAC"), (4, [(4, 5), (0, 90)], None), (5, [(0, 9)], None), (6, [], "ACGT")]
    reader = alignments(tmp_path / "x.bam", [*rows, (7, [(0, 10)], "ACGTACGTAC")])
    reads = reader.read(0, 0, 100, ReadFilter())
    assert reads.position.tolist() == [3, 7] and reads.read_offsets.tolist() == [0, 10, 20]
    assert reads.cigar.tolist() == [160, 160]
    reader.close()


def test_flags_left_out():
    assert EXCLUDED == 0x4 | 0x100 | 0x200 | 0x400


def damaged(bam, tmp_path, change) -> AlignedReader:
    path = tmp_path / "damaged.bam"
    data = bytearray(bam.read_bytes())
    path.write_bytes(change(data))
    shutil.copy(f"{bam}.bai", f"{path}.bai")
    return AlignedReader(path)


def test_truncated(bam, tmp_path):
    with pytest.raises(InputError, match=r"damaged\.bam: .*truncated"):
        damaged(bam, tmp_path, lambda data: data[: len(data) // 2])


def test_damaged_block(bam, tmp_path):
    def change(data):
        data[len(data) // 2] ^= 0xFF
        return data

    reader = damaged(bam, tmp_path, change)
    with pytest.raises(InputError, match=r"damaged\.bam: .*(damaged|truncated or not BGZF)"):
        reader.read(0, 0, 90_000, ReadFilter())
    reader.close()


def test_no_index(bam, tmp_path):
    path = shutil.copy(bam, tmp_path / "bare.bam")
    with pytest.raises(InputError, match="has no index"):
        AlignedReader(path)


def test_broken_index(bam, tmp_path):
    path = shutil.copy(bam, tmp_path / "bad.bam")
    (tmp_path / "bad.bam.bai").write_bytes(b"BAI\x01\x05\x00")
    with pytest.raises(InputError, match="damaged index"):
        AlignedReader(path)


def test_not_alignments(tmp_path):
    path = tmp_path / "text.bam"
    path.write_text("no alignments at all\n")
    with pytest.raises(InputError, match="neither BAM nor CRAM"):
        AlignedReader(path)


def test_not_sorted(bam, tmp_path):
    path = tmp_path / "unsorted.bam"
    reads = [Read(p, "10M", "A" * 10, (30,) * 10, name=str(p)) for p in (50, 20, 80)]
    header = pysam.AlignmentHeader.from_dict({"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": "c", "LN": 100}]})
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        for read in reads:
            out.write(segment(header, read, "c"))
    other = write_bam(tmp_path / "sorted.bam", {"c": 100}, [("c", r) for r in reads])
    shutil.copy(f"{other}.bai", f"{path}.bai")
    reader = AlignedReader(path)
    with pytest.raises(InputError, match="not sorted by position"):
        reader.read(0, 0, 100, ReadFilter())
    reader.close()


@pytest.mark.parametrize("order", ["unsorted", "queryname"])
def test_header_says_not_sorted(tmp_path, order):
    path = write_bam(tmp_path / "x.bam", {"c": 9}, [], {"HD": {"VN": "1.6", "SO": order}})
    with pytest.raises(InputError, match="is not sorted by coordinate"):
        AlignedReader(path)


@pytest.mark.parametrize("option", ["-b", "-c"])
@pytest.mark.parametrize("kind", ["longer", "shorter", "contigs", "empty", "without reads"])
def test_index_of_another_file(kind, option, bam, tmp_path):
    """As long as reads could be missed, or places are read that are none."""
    reads = [("one", r) for r in made_reads(9000, 90_000, 1)]
    records = {"longer": reads * 2, "shorter": reads[:4000], "contigs": reads, "empty": []}.get(kind, reads)
    contigs = {**CONTIGS, "more": 10} if kind == "contigs" else CONTIGS
    other = write_bam(tmp_path / "other.bam", contigs, records)
    pysam.index(option, str(other))
    path, index = tmp_path / "made.bam", f".{'bai' if option == '-b' else 'csi'}"
    if kind == "without reads":
        write_bam(path, CONTIGS, [])
    else:
        shutil.copy(bam, path)
    for old in tmp_path.glob("made.bam.*"):
        old.unlink()
    shutil.copy(f"{other}{index}", f"{path}{index}")
    with pytest.raises(InputError, match=rf"made\.bam\{index}: does not belong to .*made\.bam"):
        AlignedReader(path)


def test_reads_without_a_place_at_the_end(tmp_path):
    path = tmp_path / "x.bam"
    header = pysam.AlignmentHeader.from_dict({"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": "c", "LN": 100}]})
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        for flag in (0, 4):
            record = segment(header, Read(3, "4M", "ACGT", (30,) * 4), "c")
            if flag:
                record.flag, record.reference_id, record.reference_start, record.cigarstring = 4, -1, -1, None
            out.write(record)
    pysam.index(str(path))
    reader = AlignedReader(path)
    assert len(reader.read(0, 0, 100, ReadFilter())) == 1 and reader.has_reads(0)
    reader.close()


def test_index_without_reads(tmp_path):
    path = write_bam(tmp_path / "none.bam", {"c": 9, "d": 7}, [])
    reader = AlignedReader(path)
    assert len(reader.read(0, 0, 9, ReadFilter())) == 0
    assert np.array_equal(reader.read(0, 0, 9, ReadFilter()).read_offsets, [0])
    reader.close()
