"""FASTQ and FASTA in: every wrapping and cut gives the same reads, and every broken file one clear error."""

import gzip
import io
import subprocess
import sys
import tempfile
from contextlib import closing
from itertools import groupby
from pathlib import Path

import dnaio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.batch_samples import Read, fastq, read_all, reads_in
from helpers.fastq_records import IUPAC, after_names, records, titled
from helpers.processes import environment_with_tests
from readwarp.errors import InputError, UsageError
from readwarp.formats.common.bgzf import BgzfWriter
from readwarp.formats.common.source import kind_of
from readwarp.formats.reads.raw import ReadInput
from readwarp.formats.reads.stream import open_reads, parse

CODE_LETTERS = {letter: letter.upper().replace("U", "T") for letter in IUPAC}


def expected_bases(bases: str) -> str:
    return "".join(CODE_LETTERS[b] if CODE_LETTERS[b] in "ACGT" else "N" for b in bases)


def bgzip(data: bytes) -> bytes:
    out = io.BytesIO()
    writer = BgzfWriter(out)
    writer.write(data)
    writer.close()
    return out.getvalue()


WRAPPINGS = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "members": lambda data: gzip.compress(data[: len(data) // 3]) + gzip.compress(data[len(data) // 3 :]),
    "bgzip": bgzip,
}


@settings(max_examples=60)
@given(st.data())
def test_any_wrapping_and_cut_gives_the_same_reads(data):
    made = data.draw(st.lists(records(), max_size=12))
    text = fastq([data.draw(titled(record)) for record in made], data.draw(st.sampled_from(["\n", "\r\n"])))
    if text.endswith(b"\n") and made and made[-1][1] and data.draw(st.booleans()):
        text = text.rstrip(b"\r\n")
    elif data.draw(st.booleans()):
        text += b"\n" * data.draw(st.integers(1, 9))
    expected = [Read(name, 0, expected_bases(bases), quality) for name, bases, quality in made]
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(WRAPPINGS[data.draw(st.sampled_from(sorted(WRAPPINGS)))](text))
        assert read_all(file.name, batch_bases=data.draw(st.integers(1, 300)), single=True) == expected


@settings(max_examples=40)
@given(st.data())
def test_mates_stay_together(data):
    firsts = data.draw(st.lists(records(), max_size=10))
    lasts = [data.draw(records(name)) for name, _, _ in firsts]
    expected = []
    for pair in zip(firsts, lasts, strict=True):
        expected += [Read(f"x{name}", i + 1, expected_bases(b), q) for i, (name, b, q) in enumerate(pair)]
    size = data.draw(st.integers(1, 300))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one, other = data.draw(st.sampled_from([("", ""), (" 1:N:0:A", " 2:N:0:A"), ("/1", "/2 x"), ("\tcomment", "")]))
        (folder / "1.fq").write_bytes(fastq([(f"x{n}{one}", b, q) for n, b, q in firsts]))
        (folder / "2.fq").write_bytes(gzip.compress(fastq([(f"x{n}{other}", b, q) for n, b, q in lasts])))
        both = [r for pair in zip(firsts, lasts, strict=True) for r in pair]
        (folder / "both.fq").write_bytes(fastq([(f"x{n}", b, q) for n, b, q in both]))
        assert read_all(folder / "1.fq", folder / "2.fq", batch_bases=size) == expected
        assert read_all(folder / "both.fq", batch_bases=size, interleaved=True) == expected


@settings(max_examples=60)
@given(st.data())
def test_neighbours_of_one_name_are_mates(data):
    """As for bwa mem -p: of a run of one name, two after two are pairs, and one that is left over is a single read."""
    chosen = data.draw(st.lists(st.sampled_from(["a", "b", "ab", "a.1", "a.2"]), max_size=12))
    runs = [len(list(run)) for _, run in groupby(chosen)]
    segments = [segment for length in runs for segment in [1, 2] * (length // 2) + [0] * (length % 2)]
    made = [data.draw(records(name)) for name in chosen]
    titles = [name + data.draw(after_names) for name in chosen]
    end, size = data.draw(st.sampled_from(["\n", "\r\n"])), data.draw(st.integers(1, 300))
    text = fastq([(title, *row[1:]) for title, row in zip(titles, made, strict=True)], end)
    as_fasta = "".join(f">{title}{end}{row[1]}{end}" for title, row in zip(titles, made, strict=True)).encode()
    for each in (text + b"\n" * data.draw(st.integers(0, 2)), as_fasta):
        with tempfile.NamedTemporaryFile() as file:
            Path(file.name).write_bytes(each)
            with closing(open_reads([ReadInput((file.name,), interleaved=True)], size)) as raws:
                batches = [(raw, parse(raw)) for raw in raws]
        got = [read for _, reads in batches for read in reads_in(reads)]
        assert [read.name for read in got] == chosen
        assert [read.bases for read in got] == [expected_bases(row[1]) for row in made]
        assert [read.segment for read in got] == segments
        counts = [sum(read.segment != 2 for read in reads_in(reads)) for _, reads in batches]
        assert [raw.templates for raw, _ in batches] == counts
        assert [raw.first_template for raw, _ in batches] == [sum(counts[:i]) for i in range(len(counts))]


@pytest.mark.parametrize("batch_bases", [1, 1000])
def test_names_that_fastq_dump_numbers(tmp_path, batch_bases):
    """SRR1.5.1 and SRR1.5.2 are mates in two files; SRR1.1 and SRR1.2, neighbours in one, are two reads."""
    paths = tmp_path / "1.fq", tmp_path / "2.fq"

    def read(firsts, lasts):
        for path, named in zip(paths, (firsts, lasts), strict=True):
            path.write_bytes(fastq([(name, "ACGT", "IIII") for name in named]))
        return [(r.name, r.segment) for r in read_all(*paths, batch_bases=batch_bases)]

    numbered = [[f"SRR1.{spot}.{mate} {spot} length=4" for spot in (1, 2, 9)] for mate in (1, 2)]
    assert read(*numbered) == [(f"SRR1.{spot}", mate) for spot in (1, 2, 9) for mate in (1, 2)]
    plain = [f"SRR1.{spot}" for spot in (1, 2, 3)]
    assert read(plain, plain) == [(name, mate) for name in plain for mate in (1, 2)]
    with pytest.raises(InputError, match=r"record 3: the names of the mates differ: SRR1\.9 and SRR1\.8"):
        read(numbered[0], [*numbered[1][:2], "SRR1.8.2"])
    reason = r"record 3: .* does not end in \.2" if batch_bases == 1 else r"differ: SRR1\.1\.1 and SRR1\.1\.2"
    with pytest.raises(InputError, match=reason):
        read(numbered[0], [*numbered[1][:2], "SRR1.9"])
    with pytest.raises(InputError, match="swap the two files"):
        read(*numbered[::-1])
    with pytest.raises(InputError, match=r"differ: SRR1\.1 and SRR1\.2"):  # out of step
        read(["SRR1.1", "SRR1.3"], ["SRR1.2", "SRR1.3"])
    paths[0].write_bytes(fastq([(name, "ACGT", "IIII") for name in plain]))
    assert {r.segment for r in read_all(paths[0], interleaved=True, batch_bases=batch_bases)} == {0}


def test_batches_are_bounded_and_numbered(tmp_path):
    path = tmp_path / "reads.fq"
    lengths = [10] * 50 + [400] + [10] * 50
    path.write_bytes(fastq([(f"r{i}", "A" * n, "I" * n) for i, n in enumerate(lengths)]))
    batches = [parse(raw) for raw in open_reads([ReadInput((str(path),)), ReadInput((str(path),))], 100)]
    assert [batch.number for batch in batches] == list(range(len(batches)))
    assert all(batch.bases.size <= 100 or len(batch) == 1 for batch in batches)
    assert [batch.source for batch in batches] == sorted(batch.source for batch in batches)
    assert sum(len(batch) for batch in batches) == 202


def test_several_inputs_have_their_read_groups(tmp_path):
    paths = [tmp_path / "a.fq", tmp_path / "b.fq"]
    for path in paths:
        path.write_bytes(fastq([(path.stem, "ACGT", "IIII")]))
    inputs = [ReadInput((str(path),), read_group=group) for group, path in enumerate(paths)]
    batches = [parse(raw) for raw in open_reads(inputs, 1000)]
    assert [batch.read_group.tolist() for batch in batches] == [[0], [1]]


def test_odd_files_agree_with_dnaio(test_data):
    for name in ("portiera_36bp_1.fastq.gz", "variable_length_blank_tail_2.fastq.gz", "phix.1.fastq"):
        with dnaio.open(test_data / "odd" / name) as file:
            whole = [record for record in file if record.name]
        expected = [
            (r.id.removesuffix("/1").removesuffix("/2"), expected_bases(r.sequence), r.qualities) for r in whole
        ]
        got = [(r.name, r.bases, r.qualities) for r in read_all(test_data / "odd" / name, batch_bases=5000)]
        assert got == expected


def test_interleaved_sample(test_data):
    reads = read_all(test_data / "odd" / "sarscov2_interleaved.fastq.gz", interleaved=True)
    assert [read.segment for read in reads] == [1, 2] * (len(reads) // 2) and len(reads) == 200


def test_fasta_over_several_lines(tmp_path):
    path = tmp_path / "reads.fa"
    path.write_bytes(b">a first\nACGT\nACG\n\n>b\r\nac\r\nrn\r\n>empty\n>last\nTTT")
    expected = [
        Read("a", 0, "ACGTACG", None),
        Read("b", 0, "ACNN", None),
        Read("empty", 0, "", ""),
        Read("last", 0, "TTT", None),
    ]
    for size in (1, 7, 1000):
        assert read_all(path, batch_bases=size) == expected


def test_stdin(tmp_path):
    code = "from helpers.batch_samples import read_all; print(read_all('-'))"
    text = gzip.compress(fastq([("a", "ACGT", "IIII")]))
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=text,
        capture_output=True,
        check=True,
        env=environment_with_tests(),
    )
    assert done.stdout.decode().strip() == str([Read("a", 0, "ACGT", "IIII")])


def test_comments_become_tags(tmp_path, test_data):
    reads = read_all(test_data / "odd" / "phix.tags.fastq", comments=True)
    assert [read.tags for read in reads[:2]] == [b"xyZhello\0abC\x7b", b"abS\xc8\x01cdZworld\0"]
    path = tmp_path / "reads.fq"
    comment = "BC:Z:ACGT CO:Z:two words\tza:A:x zb:B:s,1,-2 RG:Z:b zf:f:0.5 zi:i:-70000 zh:H:1AE3"
    path.write_bytes(fastq([(f"r {comment}", "A", "I"), ("plain", "C", "I")]))
    expected = b"BCZACGT\0COZtwo words\0zaAxzbBs\2\0\0\0\1\0\xfe\xffzff\0\0\0\x3fzii\x90\xee\xfe\xffzhH1AE3\0"
    got = read_all(path, comments=True, groups=("a", "b"), read_group=0)
    assert got == [Read("r", 0, "A", "I", expected, 1), Read("plain", 0, "C", "I", b"", 0)]


@pytest.mark.parametrize(
    ("comment", "tags"),
    [
        ("1:N:0:ACGT", b"BCZACGT\0"),
        ("2:Y:18:ACGT+TTGG", b"BCZACGT-TTGG\0"),
        ("1:N:0:7", b""),
        ("1:N:0:", b""),
        ("1:N:0", b""),
        ("1:N:0:ACGT\tRX:Z:AC xa:i:7", b"BCZACGT\0RXZAC\0xaC\7"),
    ],
)
def test_comments_of_illumina_are_barcodes(comment, tags, tmp_path):
    path = tmp_path / "reads.fq"
    path.write_bytes(fastq([(f"r {comment}", "A", "I"), (f"q {comment}", "A", "I")]))
    assert [read.tags for read in read_all(path, comments=True)] == [tags, tags]


@pytest.mark.parametrize(
    ("comment", "tags", "left_out"),
    [
        ("BC:Z:AC\tBC:Z:GT\tBX:Z:b", b"BCZAC\0BXZb\0", 1),
        ("HP:i:1\tXT:A:U\tts:i:7", b"HPC\1XTAUtsC\7", 0),  # not of an alignment, since nothing else says so
        ("NM:i:3\tBC:Z:AC\tHP:i:1\tXT:A:U\tts:i:7\tts:A:+\tcd:B:c,1", b"BCZAC\0tsC\7cdBc\1\0\0\0\1", 4),
        ("SA:Z:chr9,5,+,50M50S,60,0;", b"", 1),
    ],
)
def test_fields_of_comments_that_align_writes_are_left_out(comment, tags, left_out, tmp_path):
    path = tmp_path / "reads.fq"
    path.write_bytes(fastq([("p za:i:1", "A", "I"), (f"r {comment}", "A", "I"), ("q zb:i:2", "A", "I")]))
    with closing(open_reads([ReadInput((str(path),), comments=True)], 1000)) as batches:
        (reads,) = map(parse, batches)
    assert [read.tags for read in reads_in(reads)] == [b"zaC\1", tags, b"zbC\2"]
    assert reads.left_out == left_out


def test_reads_that_failed_the_checks_of_the_instrument(tmp_path):
    path = tmp_path / "reads.fq"
    path.write_bytes(fastq([(f"r 1:{letter}:0:ACGT", "A", "I") for letter in "NYN"]))
    for comments in (True, False):
        with closing(open_reads([ReadInput((str(path),), comments=comments)], 1000)) as batches:
            assert [parse(raw).failed.tolist() for raw in batches] == [[0, int(comments), 0]]


@pytest.mark.parametrize("comment", ["1:N:x:ACGT", "3:N:0:ACGT", "1:X:0:ACGT", "length=100", "1:N:0:ACGT length=100"])
def test_comments_that_are_nothing_known(comment, tmp_path):
    path = tmp_path / "reads.fq"
    path.write_bytes(fastq([(f"r {comment}", "A", "I")]))
    with pytest.raises(InputError, match=r"record 1: its comment is not made of SAM tags .* leave out --comments"):
        read_all(path, comments=True)


GOOD = [(f"read{i}", "ACGTACGT", "IIIIIIII") for i in range(9)]
TEXT = fastq(GOOD)
BAD = {
    "no plus": (TEXT.replace(b"+\n", b"-\n", 1), 1, "third line"),
    "unequal lengths": (TEXT.replace(b"@read2\nACGT", b"@read2\nACG", 1), 3, "quality has 8 letters, sequence 7"),
    "no third line": (TEXT.replace(b"@read3\nACGTACGT\n+\n", b"@read3\nACGTACGT\n", 1), 4, "third line"),
    "no fourth line": (
        TEXT.replace(b"@read3\nACGTACGT\n+\nIIIIIIII\n", b"@read3\nACGTACGT\n+\n", 1),
        4,
        "quality has 6",
    ),
    "bad letter": (TEXT.replace(b"@read8\nACGT", b"@read8\nAC!T", 1), 9, "IUPAC"),
    "gap letter": (TEXT.replace(b"@read8\nACGT", b"@read8\nAC-T", 1), 9, "IUPAC"),
    "bad quality": (TEXT.replace(b"IIIIIIII", b"III III\x7f", 1), 1, "Phred"),
    "no at": (TEXT.replace(b"@read5", b"read5", 1), 6, "'@'"),
    "blank between": (TEXT.replace(b"@read5", b"\n@read5", 1), 6, "blank line"),
    "ends early": (TEXT[:-20], 9, "ends within"),
    "no last quality": (TEXT[:-9], 9, "quality has 0 letters"),
    "binary name": (TEXT.replace(b"@read4", b"@rea\xff4", 1), 5, "name"),
    "long name": (TEXT.replace(b"@read4", b"@" + b"x" * 255, 1), 5, "longer than 254"),
    "not fastq": (b"hello\nworld\n", 1, "not FASTQ"),
}


@pytest.mark.parametrize("batch_bases", [1, 20, 10000])
@pytest.mark.parametrize("case", BAD)
def test_bad_fastq_is_an_error_with_its_place(tmp_path, case, batch_bases):
    text, record, reason = BAD[case]
    path = tmp_path / "reads.fq"
    path.write_bytes(text)
    with pytest.raises(InputError, match=reason) as caught:
        read_all(path, batch_bases=batch_bases)
    assert (caught.value.path, caught.value.record) == (str(path), record)


PAIRS = {
    "fewer firsts": (TEXT, TEXT + fastq(GOOD[:1]), 0, 10, "has 9 reads"),
    "fewer lasts": (TEXT + fastq(GOOD[:3]), TEXT, 1, 10, "has 9 reads"),
    "no lasts": (TEXT, b"", 1, 1, "has 0 reads"),
    "other names": (TEXT, TEXT.replace(b"@read6", b"@raed6"), 1, 7, "names of the mates differ: read6 and raed6"),
    "last broken": (TEXT, TEXT[:-20], 1, 9, "ends within"),
    "fasta": (TEXT, b">a\nACGT\n", 1, None, "FASTA"),
}


@pytest.mark.parametrize("batch_bases", [1, 20, 10000])
@pytest.mark.parametrize("case", PAIRS)
def test_bad_pairs_are_errors(tmp_path, case, batch_bases):
    first, last, wrong, record, reason = PAIRS[case]
    paths = tmp_path / "1.fq", tmp_path / "2.fq"
    paths[0].write_bytes(first)
    paths[1].write_bytes(last)
    with pytest.raises(InputError, match=reason) as caught:
        read_all(*paths, batch_bases=batch_bases)
    assert (caught.value.path, caught.value.record) == (str(paths[wrong]), record)


@pytest.mark.parametrize(
    "comment", ["3:N:0:ACGT", "BC:Z", "BC:i:x", "BC:i:5000000000", "BC:A:xy", "BC:B:q,1", "BC:B:c,", "zf:f:"]
)
def test_a_comment_that_is_no_tag(tmp_path, comment):
    path = tmp_path / "reads.fq"
    path.write_bytes(fastq([GOOD[0], (f"read1 {comment}", "A", "I")]))
    assert len(read_all(path)) == 2
    with pytest.raises(InputError, match="not made of SAM tags") as caught:
        read_all(path, comments=True)
    assert caught.value.record == 2


def test_an_unknown_read_group_in_a_comment(tmp_path):
    path = tmp_path / "reads.fq"
    path.write_bytes(fastq([("r RG:Z:c", "A", "I")]))
    with pytest.raises(InputError, match="read group"):
        read_all(path, comments=True, groups=("a", "b"))


def test_broken_gzip(tmp_path, test_data):
    whole = gzip.compress(fastq([(f"r{i}", "ACGT" * 30, "I" * 120) for i in range(2000)]), 1)
    path = tmp_path / "reads.fq.gz"
    for cut in (20, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError, match="truncated"):
            read_all(path, batch_bases=10**6)
    damaged = bytearray(whole)
    damaged[-6] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(InputError, match="corrupt"):
        read_all(path, batch_bases=10**6)
    with pytest.raises(InputError, match="corrupt"):
        read_all(test_data / "odd" / "test_corrupted_30reads_R1.fastq.gz")


def test_odd_bad_files(test_data):
    for name, record in (
        ("test_quality_mismatch.fastq", 2),
        ("test_truncated_clean.fastq", 3),
        ("test_truncated_halfway.fastq", 2),
    ):
        with pytest.raises(InputError) as caught:
            read_all(test_data / "odd" / name)
        assert caught.value.record == record


def test_nothing_in_it(tmp_path):
    path = tmp_path / "reads.fq"
    for nothing in (b"", b"\n\n\n", gzip.compress(b"")):
        path.write_bytes(nothing)
        assert read_all(path) == read_all(path, path) == read_all(path, interleaved=True) == []


def test_missing_file_and_wrong_use(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_all(tmp_path / "none.fq")
    with pytest.raises(UsageError):
        ReadInput(("a", "b"), interleaved=True)


def test_kinds(test_data):
    kinds = {"phix.1.fastq": "fastq", "phix.fasta": "fasta", "sarscov2_unaligned.bam": "bam"}
    assert {name: kind_of(str(test_data / "odd" / name)) for name in kinds} == kinds


def test_text_stays_as_long_as_an_array_shows_it(tmp_path):
    """Even a part of it, of another type, while blocks are read into memory that nothing shows."""
    path = tmp_path / "a.fq"
    path.write_text("".join(f"@r{i}\n{'ACGT' * (i % 50)}\n+\n{'IHGF' * (i % 50)}\n" for i in range(9000)))
    kept = []
    for number, batch in enumerate(open_reads([ReadInput((str(path),))], 4000)):
        (text,) = batch.chunk.data
        part = text.letters[text.start : text.stop]
        if number % 3 == 0:
            kept.append((part.view("S1"), part.tobytes()))
    assert len(kept) > 50
    assert all(part.view("u1").tobytes() == copy for part, copy in kept)
