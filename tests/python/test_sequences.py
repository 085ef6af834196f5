"""What users of Biopython, dnaio, pysam and NumPy have in their hands is taken as it is, or refused in one sentence."""

from pathlib import Path

import dnaio
import numpy as np
import pysam
import pytest
from Bio.Seq import MutableSeq, Seq
from Bio.SeqRecord import SeqRecord
from hypothesis import given
from hypothesis import strategies as st

from helpers.sequences import aligned_segment, fastx_records, records_of
from readwarp.errors import UsageError
from readwarp.python.sequences import is_single, letters_of, read_of, several

TEXTS = [
    "ACGTN",
    b"ACGTN",
    bytearray(b"ACGTN"),
    memoryview(b"ACGTN"),
    np.str_("ACGTN"),
    Seq("ACGTN"),
    MutableSeq("ACGTN"),
]
ARRAYS = [np.array(list("ACGTN")), np.array(list("ACGTN"), "S1")]


@pytest.mark.parametrize("given", [*TEXTS, *ARRAYS], ids=lambda given: type(given).__name__)
def test_letters(given):
    assert letters_of(given) == b"ACGTN"
    assert is_single(given) and list(several(given, "reads")) == [given]
    assert read_of(given, 7)[:2] == ("7", b"ACGTN")


@pytest.mark.parametrize("kind", ["SeqRecord", "dnaio", "FastxRecord", "AlignedSegment", "tuple", "pyfaidx"])
def test_reads(kind, tmp_path):
    """Name without comment or mate number, sequence and qualities as sequenced."""
    record = records_of("pair", "ACGTT", "I5?!~", tmp_path)[kind]
    read = read_of(record, 0)
    assert (read.name, read.letters) == ("pair", b"ACGTT")
    expected = None if kind == "pyfaidx" else [40, 20, 30, 0, 93]
    assert (None if read.qualities is None else read.qualities.tolist()) == expected
    assert is_single(record) == (kind != "tuple")


def test_reads_of_fasta_have_no_qualities(tmp_path):
    assert read_of(dnaio.SequenceRecord("r", "ACGT"), 0).qualities is None
    assert read_of(SeqRecord(Seq("ACGT"), id="r"), 0).qualities is None
    assert read_of(fastx_records(">r text\nACGT\n", tmp_path)[0], 0) == ("r", b"ACGT", None)


@pytest.mark.parametrize("flag", [0, 16])
def test_alignments_are_read_as_the_machine_read_them(flag):
    segment = aligned_segment("r", "AACGT", "!5?I~", flag)
    read = read_of(segment, 0)
    assert read.letters == (b"ACGTT" if flag else b"AACGT")
    assert read.qualities.tolist() == ([93, 40, 30, 20, 0] if flag else [0, 20, 30, 40, 93])


@given(st.text("ACGTNRacgtn.", max_size=30), st.data())
def test_qualities_as_text_and_as_numbers_are_the_same(letters, data):
    phreds = data.draw(st.lists(st.integers(0, 93), min_size=len(letters), max_size=len(letters)))
    text = "".join(chr(phred + 33) for phred in phreds)
    for qualities in (text, text.encode(), phreds, np.array(phreds, int), np.array(phreds, np.uint8)):
        read = read_of(("r", letters, qualities), 0)
        assert read.qualities.tolist() == phreds and read.qualities.dtype == np.uint8


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("a/1", "a"), ("a/2 comment", "a"), ("a b", "a"), ("/1", "3"), ("", "3"), (None, "3"), (b"x", "x"),
        ("<unknown id>", "3"),
    ],
)  # fmt: skip
def test_names(given, name):
    assert read_of((given, "ACGT"), 3).name == name


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        ("reads.fq", "read 0: has 'e' at position 2, which is not a nucleotide"),
        (("@CO", "ACGT"), "read 0: the name '@CO' is longer than 254 letters, begins with '@'"),
        ("MKVE", "read 0: has 'E' at position 4, which is not a nucleotide"),
        ("AC-GT", "read 0: has '-' at position 3"),
        ("ACGÜ", r"read 0: has '\?' at position 4"),
        (3, "read 0: is of type int, which is neither a sequence nor a read"),
        (None, "read 0: is of type NoneType"),
        (["name", "ACGT"], "read 0: is of type list"),
        (np.zeros(4), "read 0: is of type ndarray"),
        (Path("reads.fq"), "read 0: is of type PosixPath"),
        (("name",), "read 0: 1 item; give"),
        (("name", "ACGT", None, "comment"), "read 0: 4 items; give"),
        ((3, "ACGT"), "read 0: its name is of type int"),
        (("x" * 255, "ACGT"), "read 0: the name 'x{40}' is longer than 254 letters"),
        ((SeqRecord(Seq("AC"), id="r"), SeqRecord(Seq("GT"), id="r")), "read 0: a pair of reads; first reads"),
        (("r", "ACGT", "III"), "read r: quality has 3 letters, sequence 4"),
        (("r", "AC", [1, 94]), "read r: a quality is outside Phred 0 to 93"),
        (("r", "AC", "I "), "read r: a quality is outside Phred 0 to 93"),
        (("r", "AC", [0.5, 1]), "read r: qualities are text in Phred.33, or whole numbers"),
        (SeqRecord(Seq(None, length=5), id="r"), "read r: is not known"),
        (aligned_segment("r", "ACGT", "IIII", 0x100), "read r: a secondary or supplementary alignment"),
        (aligned_segment("r", "ACGT", "IIII", 0x800), "read r: a secondary or supplementary alignment"),
        (pysam.AlignedSegment(), "has no sequence"),
    ],
)  # fmt: skip
def test_refusals_of_reads(read, reason):
    with pytest.raises(UsageError, match=reason):
        read_of(read, 0)


@pytest.mark.parametrize(
    ("reads", "reason"),
    [
        (Path("reads.fq"), "reads: reads.fq is a path; give sequences or reads, or use a function that takes files"),
        ({"r": "ACGT"}, r"reads: a dict is not a list; give its values\(\) or items\(\)"),
        (3, "reads: int is neither a sequence nor a list of them"),
        (None, "reads: NoneType is neither"),
    ],
)
def test_refusals_of_lists(reads, reason):
    with pytest.raises(UsageError, match=reason):
        several(reads, "reads")


def test_columns_of_tables_are_lists():
    pandas, arrow, polars = (pytest.importorskip(name) for name in ("pandas", "pyarrow", "polars"))
    for column in (pandas.Series(["ACGT", "TT"]), arrow.array(["ACGT", "TT"]), polars.Series(["ACGT", "TT"])):
        assert list(several(column, "reads")) == ["ACGT", "TT"]
