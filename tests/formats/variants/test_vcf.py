"""VCF text, its containers, and regions."""

from pathlib import Path

import numpy as np
import pysam
import pytest

from readwarp.call.records.genotypes.filters import FILTERS
from readwarp.call.records.variant_job import FIELDS
from readwarp.errors import ReadwarpError, UsageError
from readwarp.formats.common.output_file import OutputFile
from readwarp.formats.variants.calls import Calls
from readwarp.formats.variants.vcf import (
    Header,
    VariantWriter,
    count_text,
    format_calls,
    kind_of,
    lines_of,
    number_text,
)

NAMES, LENGTHS = ("c1", "HLA-A*01:01", "HLA-A*01:01:02"), (1000, 500, 700)
CONTIGS = [(name, length, "0" * 32) for name, length in zip(NAMES, LENGTHS, strict=True)]
NAN = float("nan")


def by_allele(*values: tuple[float, ...]) -> np.ndarray:
    out = np.empty(len(values), object)
    for row, own in enumerate(values):
        out[row] = own
    return out


def made_calls() -> Calls:
    """Two samples; the second has no reads at the first site, and is phased at the second."""
    return Calls(
        contig=np.array([0, 1], np.int32),
        position=np.array([9, 499], np.int64),
        alleles=[("A", "C", "G"), ("GT", "G")],
        quality=np.array([30.0, 12.346]),
        genotype=[((1, 2), (-1, -1)), ((0, 1), (1, 0))],
        genotype_quality=np.array([[40, 0], [12, 99]], np.int32),
        depth=np.array([[20, 0], [8, 30]], np.int32),
        allele_depth=[((1, 10, 9), (0, 0, 0)), ((4, 4), (15, 14))],
        likelihoods=[((300, 200, 150, 180, 0, 160), (0,) * 6), ((12, 0, 80), (200, 0, 210))],
        phase_set=np.array([[-1, -1], [-1, 449]]),
        filters=[(), ("LowQual", "StrandBias")],
        annotations={
            "DP": np.array([20, 12345678]),
            "QD": np.array([1.5, 0.325]),
            "MQRankSum": np.array([-0.5, NAN]),
            "AS_QD": by_allele((2.5, 0.75), (0.33,)),
        },
        strands=np.array([[[1, 0, 10, 9], [-1] * 4], [[2, 2, 2, 2], [9, 6, 7, 7]]], np.int32),
        independent=np.array([[[0, 0, 8, 8], [-1] * 4], [[2, 1, 2, 2], [9, 6, 5, 6]]], np.int32),
        squares=np.array([72000, 136800]),
        phase_name=[("", ""), ("", "450_A_T")],
    )


LINES = (
    "c1\t10\t.\tA\tC,G\t30\tPASS\tAC=1,1;AN=2;AF=0.5,0.5;DP=20;QD=1.5;MQRankSum=-0.5;AS_QD=2.5,0.75\t"
    "GT:GQ:DP:AD:AF:PL:SB\t1/2:40:20:1,10,9:0.5,0.45:300,200,150,180,0,160:1,0,10,9\t./.:0:0:0,0,0:.:0,0,0,0,0,0:.\n"
    "HLA-A*01:01\t500\t.\tGT\tG\t12.346\tLowQual;StrandBias\tAC=2;AN=4;AF=0.5;DP=12345678;QD=0.325;AS_QD=0.33\t"
    "GT:GQ:DP:AD:AF:PL:PGT:PID:PS:SB\t0/1:12:8:4,4:0.5:12,0,80:.:.:.:2,2,2,2\t"
    "1|0:99:30:15,14:0.483:200,0,210:1|0:450_A_T:450:9,6,7,7\n"
)
GENOMIC = (
    "DP=20;QD=1.5;MQRankSum=-0.5;RAW_MQandDP=72000,20\tGT:AD:DP:GQ:PL:SB:SBI\t"
    "1/2:1,10,9:20:40:300,200,150,180,0,160:1,0,10,9:0,0,8,8\t"
    "./.:0,0,0:0:0:0,0,0,0,0,0:.:.",
    "DP=12345678;QD=0.325;RAW_MQandDP=136800,38\tGT:AD:DP:GQ:PGT:PID:PL:PS:SB:SBI\t"
    "0/1:4,4:8:12:.:.:12,0,80:.:2,2,2,2:2,1,2,2\t"
    "1|0:15,14:30:99:1|0:450_A_T:200,0,210:450:9,6,7,7:9,6,5,6",
)


def test_fields_of_a_gvcf():
    lines = [line.decode() for _, line in format_calls(made_calls(), ["c1", "HLA-A*01:01"], is_genomic=True)]
    assert tuple(line.rstrip("\n").split("\t", 7)[7] for line in lines) == GENOMIC


def header() -> str:
    made = Header(CONTIGS, ["NA 1", "b"], "readwarp call a b", "a", FIELDS.information, FILTERS, extra=["##more=1"])
    return made.text()


def write(path, longest=1000) -> None:
    with VariantWriter(None if path is None else str(path), header(), longest) as writer:
        writer.write(lines_of(made_calls(), NAMES))


def test_lines():
    assert lines_of(made_calls(), NAMES).decode() == LINES


def test_rows_know_their_position():
    rows = format_calls(made_calls(), NAMES)
    assert [position for position, _ in rows] == [9, 499]
    assert b"".join(line for _, line in rows).decode() == LINES


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (0.12345, "0.123"), (100.0, "100"), (7, "7"), (-0.5, "-0.5"), (-0.0001, "0")]
)
def test_numbers_are_short(value, text):
    assert number_text(value) == text


def test_no_genotype_known():
    assert count_text(((-1, -1),), 3) == "AC=0,0;AN=0"
    assert count_text(((1, 1, 2), (0,)), 3) == "AC=2,1;AN=4;AF=0.5,0.25"


@pytest.mark.parametrize(("name", "index"), [("a.vcf", None), ("a.vcf.gz", ".tbi"), ("a.bcf", ".csi")])
def test_containers(tmp_path, capfd, name, index):
    path = tmp_path / name
    write(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, *([name + index] if index else [])])
    with pysam.VariantFile(str(path)) as file:
        assert list(file.header.samples) == ["NA 1", "b"]
        assert [(c, file.header.contigs[c].length) for c in file.header.contigs] == list(
            zip(NAMES, LENGTHS, strict=True)
        )
        records = list(file)
        assert [(r.chrom, r.pos, r.alleles) for r in records] == [
            ("c1", 10, ("A", "C", "G")),
            ("HLA-A*01:01", 500, ("GT", "G")),
        ]
        assert records[0].samples[0]["PL"] == (300, 200, 150, 180, 0, 160)
        assert records[1].samples[1].phased and records[1].samples[1]["PS"] == 450
        assert list(records[1].filter) == ["LowQual", "StrandBias"]
        if index:
            assert [r.pos for r in file.fetch("HLA-A*01:01", 400, 500)] == [500]
    assert capfd.readouterr().err == ""


def test_every_name_in_a_line_is_declared(tmp_path):
    """If one is not, htslib warns and adds it."""
    path = tmp_path / "a.vcf"
    write(path)
    text = path.read_text()
    for kind, names in (
        ("INFO", tuple(row.name for row in FIELDS.information)),
        ("FILTER", ("PASS", *(row.name for row in FILTERS))),
        ("FORMAT", ("GT", "GQ", "DP", "AD", "PL", "PGT", "PID", "PS", "SB", "AF")),
    ):
        assert all(f"##{kind}=<ID={name}," in text for name in names)
    assert "##source=readwarp" in text and "##readwarpCommand=readwarp call a b" in text
    assert text.splitlines()[-4] == "##more=1"


def test_long_contigs_take_csi(tmp_path):
    write(tmp_path / "a.vcf.gz", longest=1 << 29)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.vcf.gz", "a.vcf.gz.csi"]


def test_stdout(capsysbinary):
    write(None)
    assert capsysbinary.readouterr().out.decode() == header() + LINES


def test_abort_leaves_nothing(tmp_path):
    writer = VariantWriter(str(tmp_path / "a.vcf.gz"), header(), 1000)
    writer.write(LINES.encode())
    writer.abort()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.vcf", "a.vcf.gz", "a.bcf"])
def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch, name):
    def full(file: OutputFile):
        file.place.touch()
        return open("/dev/full", "wb")

    monkeypatch.setattr(OutputFile, "open", full)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.vcf.gz", "a.bcf"])
def test_what_fails_at_the_end_leaves_nothing(tmp_path, monkeypatch, name):
    """There is no space for the index; htslib cannot parse a line, so BCF cannot be made."""
    verbosity = pysam.get_verbosity()
    if name == "a.vcf.gz":
        monkeypatch.setattr(OutputFile, "index_path", lambda self, ending: Path("/dev/full"))
    writer = VariantWriter(str(tmp_path / name), header(), 1000)
    writer.write(b"c1\tnowhere\n")
    with pytest.raises((OSError, ReadwarpError)):
        writer.close()
    assert list(tmp_path.iterdir()) == [] and pysam.get_verbosity() == verbosity


def test_nothing_under_the_name_before_the_end(tmp_path):
    path = tmp_path / "a.vcf"
    writer = VariantWriter(str(path), header(), 1000)
    writer.write(LINES.encode())
    assert not path.exists()
    writer.close()
    assert path.read_text() == header() + LINES


@pytest.mark.parametrize("name", ["a.txt", "vcf", "a.vcf.bz2"])
def test_other_endings(name):
    with pytest.raises(UsageError, match=r"must end in \.vcf"):
        kind_of(name)
