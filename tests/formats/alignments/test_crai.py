"""Indexes of CRAM files: those that samtools makes are accepted, others refused by name; a child that crashes."""

import gzip

import pysam
import pytest

from readwarp.errors import InputError
from readwarp.formats.alignments.crai import contigs_of_cram
from readwarp.formats.alignments.cram import CramFile

CONTIGS = {"one": 60_000, "two": 40_000, "none": 900}


@pytest.fixture(params=["one", "several"])
def cram(tmp_path, request):
    """Slices of 100 records; of one contig each, or of several."""
    header = {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": n, "LN": size} for n, size in CONTIGS.items()]}
    head = pysam.AlignmentHeader.from_dict(header)
    places = [(contig, 1 + 100 * i) for contig in ("one", "two") for i in range(250)]
    bases = "ACGTA" * 10
    lines = [f"r{i}\t0\t{contig}\t{pos}\t60\t50M\t*\t0\t0\t{bases}\t*" for i, (contig, pos) in enumerate(places)]
    lines += [f"u{i}\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\t*" for i in range(150)]
    (tmp_path / "x.sam").write_text(str(head) + "\n".join(lines) + "\n")
    options = ["no_ref", "seqs_per_slice=100", *(["multi_seq_per_slice=1"] if request.param == "several" else [])]
    options = [word for option in options for word in ("--output-fmt-option", option)]
    pysam.view("-C", *options, "-o", str(tmp_path / "x.cram"), str(tmp_path / "x.sam"), catch_stdout=False)
    pysam.index(str(tmp_path / "x.cram"))
    return tmp_path / "x.cram"


def test_contigs(cram):
    assert contigs_of_cram(cram) == {0, 1}


@pytest.mark.parametrize("cram", ["one"], indirect=True)
def test_lines_that_lie(cram):
    index = cram.with_name("x.cram.crai")
    lines = gzip.decompress(index.read_bytes()).decode().splitlines()
    changes = [lines[1:], lines[:-1], [*lines, lines[0].replace("0\t", "1\t", 1)]]
    for column in range(5):
        numbers = lines[1].split("\t")
        numbers[column] = str(int(numbers[column]) + 1)
        changes.append([lines[0], "\t".join(numbers), *lines[2:]])
    reason = f"{index}: damaged, older than {cram}, or not its index: make it again"
    for changed in changes:
        index.write_text("\n".join(changed) + "\n")
        with pytest.raises(InputError, match=reason):
            contigs_of_cram(cram)


@pytest.mark.parametrize("text", ["x\t1\t1\t1\t1\t1\n", "0\t1\n", "0\t1\t1\t1\t1\t1" + "9" * 99 + "\n"])
def test_lines_that_are_none(cram, text):
    cram.with_name("x.cram.crai").write_text(text)
    with pytest.raises(InputError, match=r"x\.cram\.crai: not a whole index \(its lines are not of numbers\)"):
        contigs_of_cram(cram)


def test_records_and_a_crash(cram, tmp_path):
    file = CramFile(cram, (), tmp_path)
    try:
        assert file.text.startswith("@HD")
        assert [r.query_name for r in file.fetch(("two", 0, 60))] == ["r250"]
        file._idle[0]._process.kill()
        file._idle[0]._process.wait()
        with pytest.raises(InputError, match=r"x\.cram: record near one:1: cannot be decoded \(htslib crashed\)"):
            file.records([("one", 0, 100)])
    finally:
        file.close()
