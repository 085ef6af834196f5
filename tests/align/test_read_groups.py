"""Read groups by what the user says, and by the names of files and reads."""

import gzip
import logging

import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readwarp.align.inputs import open_inputs
from readwarp.align.read_groups import GroupNaming, parse_name, read_group_lines
from readwarp.errors import UsageError
from readwarp.formats.reads.first_name import Instrument, first_name, instrument_of

NONE: list[list[str]] = [[], [], []]


@pytest.mark.parametrize(
    ("path", "group", "sample", "part"),
    [
        ("run/S1_L001_R1_001.fastq.gz", "S1_L001", "S1", "001"),
        ("NA12878_S4_L002_R1_003.fastq.gz", "NA12878_S4_L002", "NA12878", "003"),
        ("a_b_S12_R2_001.fq", "a_b_S12", "a_b", "001"),  # lanes not split
        ("tumor_S2_L004_1.fq.gz", "tumor_S2_L004", "tumor", None),
        ("tumor_L004.R1.fq.gz", "tumor_L004", "tumor", None),
        ("patient_S1_1.fq.gz", "patient_S1", "patient_S1", None),  # may be a sample's own name
        ("patient_S1_R1.fq.gz", "patient_S1", "patient_S1", None),
        ("lane/NA12878_R1_001.fastq.gz", "NA12878", "NA12878", "001"),
        ("x.1.fq", "x", "x", None),
        ("x_2_001.fastq", "x", "x", None),
        ("-", "stdin", "stdin", None),
        ("a.unaligned.bam", "a.unaligned", "a.unaligned", None),
        ("1.fq", "1", "1", None),
        (".fq", ".fq", ".fq", None),
    ],
)
def test_names_of_files(path, group, sample, part):
    assert parse_name(path) == (group, sample, part)


@given(
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,9}", fullmatch=True),
    st.integers(1, 999),
    st.integers(1, 8),
    st.integers(1, 2),
    st.integers(1, 999),
)
def test_every_name_that_illumina_gives(sample, number, lane, mate, part):
    name = f"{sample}_S{number}_L{lane:03}"
    assert parse_name(f"in/{name}_R{mate}_{part:03}.fastq.gz") == (name, sample, f"{part:03}")


def lines_of(naming: GroupNaming, *paths: str, look=lambda path: Instrument()) -> list[str]:
    return read_group_lines(naming, [(path,) for path in paths], [[] for _ in paths], look)


def test_lanes_are_one_sample_and_sets_one_read_group():
    names = [f"f/NA1_S1_L00{lane}_R1_00{part}.fastq.gz" for lane in (1, 2) for part in (1, 2)]
    one, again, two, _ = lines_of(GroupNaming(), *names, look=lambda path: Instrument("ILLUMINA", f"H7.{path[12]}"))
    assert one == again == "@RG\tID:NA1_S1_L001\tSM:NA1\tLB:NA1\tPL:ILLUMINA\tPU:H7.1"
    assert two == "@RG\tID:NA1_S1_L002\tSM:NA1\tLB:NA1\tPL:ILLUMINA\tPU:H7.2"


def test_the_same_lane_of_two_runs_has_two_read_groups():
    lines = lines_of(GroupNaming(), "run1/A_S1_L001_R1_001.fq", "run2/A_S1_L001_R1_001.fq", "x/A_S1_L001_1.fq")
    assert [line.split("\t")[1:3] for line in lines] == [
        [f"ID:A_S1_L001{number}", "SM:A"] for number in ("", ".2", ".3")
    ]


def test_sample_and_library_as_the_user_says():
    assert lines_of(GroupNaming((), "s", None), "a_1.fq", "b_1.fq") == [
        f"@RG\tID:{name}\tSM:s\tLB:s\tPL:ILLUMINA" for name in "ab"
    ]
    assert lines_of(GroupNaming((), None, "l"), "a_1.fq") == ["@RG\tID:a\tSM:a\tLB:l\tPL:ILLUMINA"]
    assert lines_of(GroupNaming((r"@RG\tID:x\tPL:ONT",), "s", "l"), "a") == ["@RG\tID:x\tSM:s\tLB:l\tPL:ONT"]
    assert GroupNaming((), "s").apply("@RG\tID:x\tLB:m\tSM:t\tPU:9") == "@RG\tID:x\tSM:s\tLB:m\tPU:9"
    with pytest.raises(UsageError, match="--sample s: --read-group says SM:t"):
        lines_of(GroupNaming((r"@RG\tID:x\tSM:t",), "s"), "a")
    for wrong in ("", " ", "a\tb", "a\nb"):
        with pytest.raises(UsageError, match="--sample"):
            lines_of(GroupNaming((), wrong), "a")


def test_one_read_group_for_all_or_one_each():
    one, other = r"@RG\tID:x\tSM:s", "@RG\tID:y\tSM:s"
    assert lines_of(GroupNaming((one,)), "a", "b") == ["@RG\tID:x\tSM:s"] * 2
    assert lines_of(GroupNaming((one, other)), "a", "b") == ["@RG\tID:x\tSM:s", other]
    with pytest.raises(UsageError, match="2 read groups for 3 inputs"):
        lines_of(GroupNaming((one, other)), "a", "b", "c")


def test_own_read_groups_are_kept():
    lines = read_group_lines(GroupNaming(), [("a.bam",), ("b.fq",)], [["@RG\tID:q"], []])
    assert lines == ["", "@RG\tID:b\tSM:b\tLB:b\tPL:ILLUMINA"]


@pytest.mark.parametrize(
    ("name", "platform", "unit"),
    [
        ("A00296:43:HCLHLDSXX:1:1616:29884:17738", "ILLUMINA", "HCLHLDSXX.1"),
        ("NS500299:185:HK57NBGXG:3:11101:16144:1046 2:N:0:CGAGGCTG", "ILLUMINA", "HK57NBGXG.3"),
        ("A00296:43:HCLHLDSXX:1:1616:29884:17738:ACGT+NTTA 1:N:0:1", "ILLUMINA", "HCLHLDSXX.1"),  # with UMI
        ("HWUSI-EAS100R:6:73:941:1973#0/1", "ILLUMINA", None),
        ("SRR2838702.5 FCD1DAFACXX:5:1101:13769:2381/1", "ILLUMINA", None),
        ("SRR10.1 A00296:43:HCLHLDSXX:1:1616:29884:17738/1", "ILLUMINA", "HCLHLDSXX.1"),
        ("AV224503:HG002:2301527523:2:10102:0001:0040 1:N:0:1", "ELEMENT", "2301527523.2"),
        ("V300019058L1C001R0010000000/1", "DNBSEQ", "V300019058.1"),
        ("CL100050407L2C001R001_12/1", "DNBSEQ", "CL100050407.2"),
        ("E100030471L1C001R00100000171/1", "DNBSEQ", "E100030471.1"),
        ("FP200000448L3C002R01300123456", "DNBSEQ", "FP200000448.3"),
        ("dbaf8b2c-6a1c-4d44-a0e6-5b9ac6ab5bf5 runid=1", "ONT", None),
        ("m64011_190830_220126/1/ccs", "PACBIO", "m64011_190830_220126"),
        ("m84011_220902_175841_s1/1/ccs/fwd", "PACBIO", "m84011_220902_175841_s1"),
        ("m54006_160504_020705/4391137/0_2154", "PACBIO", "m54006_160504_020705"),
        ("C3P2X:00008:00023", "IONTORRENT", None),
        ("one:3000", None, None),
        ("SRR622461.1", None, None),
        ("read7/1", None, None),
        ("", None, None),
    ],
)
def test_names_of_reads(name, platform, unit):
    assert instrument_of(name) == Instrument(platform, unit)


def test_first_names_of_files(tmp_path):
    name, record = "A1:43:HC:1:16:29:17", "@{} 1:N:0:A\nACGT\n+\nIIII\n"
    (tmp_path / "a.fq").write_text(record.format(name) + record.format("b"))
    (tmp_path / "a.fq.gz").write_bytes(gzip.compress((tmp_path / "a.fq").read_bytes()))
    (tmp_path / "none.fq").write_text("")
    with pysam.AlignmentFile(tmp_path / "a.bam", "wb", header={"SQ": [{"SN": "c", "LN": 9}]}) as out:
        read = pysam.AlignedSegment()
        read.query_name, read.query_sequence, read.flag = name, "ACGT", 4
        out.write(read)
    assert first_name(str(tmp_path / "a.fq"), "fastq") == f"{name} 1:N:0:A"
    assert first_name(str(tmp_path / "a.fq.gz"), "fastq") == f"{name} 1:N:0:A"
    assert first_name(str(tmp_path / "a.bam"), "bam") == name
    assert first_name(str(tmp_path / "none.fq"), "empty") is None
    assert first_name(str(tmp_path / "a.cram"), "cram") is None
    reference = tmp_path / "ref.fa"
    reference.write_text(">c\nACGT\n")
    inputs = open_inputs(reference, [str(tmp_path / name) for name in ("a.fq", "a.bam")], {"single": True})
    assert inputs.read_groups == tuple(f"@RG\tID:{n}\tSM:a\tLB:a\tPL:ILLUMINA\tPU:HC.1" for n in ("a", "a.2"))


@pytest.fixture
def grouped(tmp_path):
    """A reference, and a BAM file with two read groups."""
    groups = [{"ID": str(n), "SM": f"old{n}", "LB": f"lib{n}"} for n in (1, 2)]
    path, reference = tmp_path / "a.bam", tmp_path / "ref.fa"
    pysam.AlignmentFile(path, "wb", header={"HD": {"VN": "1.6", "SO": "queryname"}, "RG": groups}).close()
    reference.write_text(">c\nACGT\n")
    return reference, [str(path)]


def test_the_sample_of_reads_with_groups_of_their_own(grouped):
    inputs = open_inputs(*grouped, {"sample": "new"})
    assert inputs.read_groups == ("@RG\tID:1\tSM:new\tLB:lib1", "@RG\tID:2\tSM:new\tLB:lib2")


def test_groups_of_their_own_are_kept_beside_one_that_is_given(grouped, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("readwarp"), "propagate", True)
    own = ("@RG\tID:1\tSM:old1\tLB:lib1", "@RG\tID:2\tSM:old2\tLB:lib2")
    assert open_inputs(*grouped, {}).read_groups == own and not caplog.messages
    inputs = open_inputs(*grouped, {"read_group": r"@RG\tID:x\tSM:s"})
    assert set(own) < set(inputs.read_groups)
    (said,) = set(caplog.messages)
    assert "a.bam: keeps its 2 own read groups; --read-group is for reads without one" in said


@pytest.mark.parametrize(("preset", "groups"), [("hifi", 2), ("map-ont", 2), ("asm", 2), ("standard", 1), ("auto", 1)])
def test_long_reads_have_no_mates(preset, groups, tmp_path):
    (tmp_path / "ref.fa").write_text(">c\nACGT\n")
    files = [tmp_path / "cell1.fq", tmp_path / "cell2.fq"]
    for path in files:
        path.write_text("@r\nACGT\n+\nIIII\n")
    inputs = open_inputs(tmp_path / "ref.fa", list(map(str, files)), {"preset": preset})
    assert [given.single for given in inputs.inputs] == [groups == 2] * groups


ILLUMINA = {"read_group": r"@RG\tID:x\tPL:ILLUMINA"}


@pytest.mark.parametrize(
    ("preset", "name", "options", "warning"),
    [
        ("hifi", "m64017_191110_150028/4/ccs", {}, None),
        (
            "map-hifi",
            "A1:43:HC:1:16:29:17",
            {},
            "its read names look like ILLUMINA, but --preset is for PACBIO",
        ),
        ("ont", "m64017_191110_150028/4/ccs", {}, "its read names look like PACBIO, but --preset is for ONT"),
        (
            "ont",
            "r1",
            {"read_group": r"@RG\tID:x\tPL:ILLUMINA"},
            "its read group says PL:ILLUMINA, but --preset is for ONT",
        ),
        ("ont", "r1", {"read_group": r"@RG\tID:x"}, None),
        ("standard", "m64017_191110_150028/4/ccs", {}, None),
    ],
)
def test_reads_of_another_instrument_than_the_preset(preset, name, options, warning, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("readwarp"), "propagate", True)
    (tmp_path / "ref.fa").write_text(">c\nACGT\n")
    (tmp_path / "a.fq").write_text(f"@{name}\nACGT\n+\nIIII\n")
    inputs = open_inputs(tmp_path / "ref.fa", [str(tmp_path / "a.fq")], {"preset": preset, **options})
    said = {record.getMessage() for record in caplog.records if "--preset" in record.getMessage()}
    assert said == ({f"{tmp_path}/a.fq: {warning}: is it the right preset?"} if warning else set())
    assert preset != "ont" or "PL:" in inputs.read_groups[0]  # call knows long reads by it
