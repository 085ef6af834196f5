"""gVCFs of other callers, written by hand as these write them: HaplotypeCaller, DeepVariant, bcftools."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.cohorts import COLUMNS, found_in, lines_of_text
from helpers.jobs import genotype_cohort
from helpers.making import write_fasta
from readwarp.call.records.genotypes.annotations import strand_phred
from readwarp.call.records.genotypes.cohort import read_information
from readwarp.config import JointParameters
from readwarp.errors import InputError
from readwarp.formats.variants.genomic_numbers import real_in

SEQUENCE = "GATTACAGGCTAAACCTGTC" * 10
CONTIGS = {"one": SEQUENCE}

HEADERS = {
    "gatk": """##ALT=<ID=NON_REF,Description="x">
##FILTER=<ID=LowQual,Description="Low quality">
##GVCFBlock0-1=minGQ=0(inclusive),maxGQ=1(exclusive)
##source=HaplotypeCaller
##contig=<ID=one,length=200>
##contig=<ID=chrUn_decoy,length=1234>""",
    "deepvariant": """##FILTER=<ID=RefCall,Description="x">
##DeepVariant_version=1.6.1
##contig=<ID=one,length=200>
##INFO=<ID=END,Number=1,Type=Integer,Description="x">""",
    "bcftools": """##bcftoolsVersion=1.16+htslib-1.16
##ALT=<ID=*,Description="x">
##INFO=<ID=END,Number=1,Type=Integer,Description="x">
##INFO=<ID=MinDP,Number=1,Type=Integer,Description="x">
##contig=<ID=one,length=200>""",
}
BODIES = {  # the same: a substitution at 50, a deletion after 90, reference elsewhere
    "gatk": """
one 1 . G <NON_REF> . . END=49 GT:DP:GQ:MIN_DP:PL 0/0:30:84:28:0,84,1260
one 50 . C T,<NON_REF> 400.64 . BaseQRankSum=0.1;DP=32;ExcessHet=0.00;MLEAC=1,0;MLEAF=0.5,0.0;MQRankSum=0.000;\
RAW_MQandDP=104976,32;ReadPosRankSum=-0.5 GT:AD:DP:GQ:PGT:PID:PL:PS:SB \
0|1:18,14,0:32:99:0|1:50_C_T:408,0,600,462,642,1104:50:10,8,7,7
one 51 . T <NON_REF> . . END=89 GT:DP:GQ:MIN_DP:PL 0/0:31:90:30:0,90,1300
one 90 . C <NON_REF> . . . GT:DP:GQ:MIN_DP:PL ./.:0:0:0:0,0,0
one 91 . TAA T,<NON_REF> 600 . DP=30;RAW_MQandDP=108000,30 GT:AD:DP:GQ:PL:SB \
1/1:0,30,0:30:90:615,90,0,615,90,615:0,0,15,15
one 94 . A <NON_REF> . . END=200 GT:DP:GQ:MIN_DP:PL 0/0:30:90:30:0,90,1260
""",
    "deepvariant": """
one 1 . G <*> 0 . END=49 GT:GQ:MIN_DP:PL 0/0:50:28:0,84,839
one 50 . C T,<*> 40.1 PASS . GT:GQ:DP:AD:VAF:PL 0/1:39:32:18,14,0:0.4375,0:40,0,45,990,990,990
one 51 . T <*> 0 . END=90 GT:GQ:MIN_DP:PL 0/0:50:30:0,90,899
one 91 . TAA T,<*> 45 PASS . GT:GQ:DP:AD:VAF:PL 1/1:41:30:0,30,0:1,0:45,41,0,990,990,990
one 94 . A <*> 0 . END=150 GT:GQ:MIN_DP:PL 0/0:50:30:0,90,899
one 151 . T C,<*> 0 RefCall . GT:GQ:DP:AD:VAF:PL ./.:20:30:26,4,0:0.13,0:0,19,35,990,990,990
one 152 . A <*> 0 . END=200 GT:GQ:MIN_DP:PL 0/0:50:30:0,90,899
""",
    "bcftools": """
one 1 . G . . . END=49;MinDP=28 GT:DP 0/0:28
one 50 . C T 222 . DP=32;DP4=10,8,7,7;MQ=57 GT:PL:DP:AD 0/1:255,0,255:32:18,14
one 51 . T . . . END=89;MinDP=30 GT:DP 0/0:30
one 90 . C . . . MinDP=30 GT:DP 0/0:30
one 91 . T . 284 . DP=30;MQ=60 GT:PL:DP:AD 0/0:0:30:30
one 91 . TAA T 200 . INDEL;IDV=30;IMF=1;DP=30;MQ=60 GT:PL 1/1:230,90,0
one 92 . A . . . END=200;MinDP=30 GT:DP 0/0:30
""",
}


def text_of(caller: str, sample: str, body: str | None = None) -> str:
    """Columns are separated by blanks in BODIES."""
    head = f"##fileformat=VCFv4.2\n{HEADERS[caller]}\n{COLUMNS}\t{sample}\n"
    return head + lines_of_text(BODIES[caller] if body is None else body)


@pytest.fixture
def reference(tmp_path):
    return write_fasta(tmp_path / "ref.fa", CONTIGS)


@pytest.fixture
def files(tmp_path):
    """A file of each caller; its sample has the caller's name."""
    paths = [tmp_path / f"{caller}.g.vcf" for caller in HEADERS]
    for caller, path in zip(HEADERS, paths, strict=True):
        path.write_text(text_of(caller, caller))
    return paths


def rows_of(path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines() if line[0] != "#"]


def values_of(row: list[str], sample: int) -> dict[str, str]:
    return dict(zip(row[8].split(":"), row[9 + sample].split(":"), strict=True))


@pytest.mark.parametrize("caller", HEADERS)
def test_each_alone_has_its_own_calls(reference, files, tmp_path, caller):
    output = tmp_path / "out.vcf"
    genotype_cohort(reference, [tmp_path / f"{caller}.g.vcf"], output)
    snv, deletion = rows_of(output)
    assert (snv[1], snv[3], snv[4], snv[6]) == ("50", "C", "T", "PASS")
    assert (deletion[1], deletion[3], deletion[4], deletion[6]) == ("91", "TAA", "T", "PASS")
    assert values_of(snv, 0)["GT"] in ("0/1", "0|1") and values_of(deletion, 0)["GT"] == "1/1"
    assert values_of(snv, 0)["DP"] == "32" and values_of(snv, 0)["AD"] == "18,14"
    assert values_of(deletion, 0)["DP"] == "30"
    assert values_of(deletion, 0)["AD"] == ("." if caller == "bcftools" else "0,30")


def test_all_together(reference, files, tmp_path):
    output = tmp_path / "out.vcf"
    genotype_cohort(reference, files, output)
    snv, deletion = rows_of(output)
    assert [values_of(snv, i)["GT"].replace("|", "/") for i in range(3)] == ["0/1"] * 3
    assert [values_of(deletion, i)["GT"] for i in range(3)] == ["1/1"] * 3
    information = dict(x.split("=") for x in snv[7].split(";"))
    squares = (104976, 57 * 57 * 32)  # RAW_MQandDP of GATK; MQ and DP of bcftools; DeepVariant has neither
    assert float(information["MQ"]) == pytest.approx(math.sqrt(sum(squares) / 64), abs=0.01)
    assert information["DP"] == "96"


def test_ambiguous_letters_of_the_reference_in_alt(tmp_path):
    """As bcftools writes them."""
    reference = write_fasta(tmp_path / "ref.fa", {"one": f"{SEQUENCE[:90]}R{SEQUENCE[91:]}"})
    path, output = tmp_path / "a.g.vcf", tmp_path / "out.vcf"
    path.write_text(text_of("bcftools", "a", "one 91 . R RTTTT 200 . INDEL;IDV=30;DP=30;MQ=60 GT:PL 1/1:230,90,0\n"))
    genotype_cohort(reference, [path], output)
    assert [row[1:5] for row in rows_of(output)] == [["91", ".", "N", "NTTTT"]]


def test_phase_by_ps_or_by_pgt_and_pid(reference, tmp_path):
    body = BODIES["gatk"]
    older = body.replace("0|1:18", "0/1:18").replace(":PL:PS:SB", ":PL:SB").replace("1104:50:", "1104:")
    assert "0|1:50_C_T" in older
    for number, own in enumerate((body, older)):
        path, output = tmp_path / f"{number}.g.vcf", tmp_path / "out.vcf"
        path.write_text(text_of("gatk", "s", own))
        genotype_cohort(reference, [path], output)
        snv, deletion = rows_of(output)
        assert (values_of(snv, 0)["GT"], values_of(snv, 0)["PS"]) == ("0|1", "50")
        assert values_of(deletion, 0)["GT"] == "1/1"


def test_a_prior_is_not_spent_twice(reference, files, tmp_path):
    """QUAL of DeepVariant alone is its own; among many samples of the reference its genotype stays."""
    output = tmp_path / "out.vcf"
    genotype_cohort(reference, [tmp_path / "deepvariant.g.vcf"], output)
    assert [float(row[5]) for row in rows_of(output)] == pytest.approx([40.0, 45.0], abs=0.5)
    weak = BODIES["deepvariant"].replace(":40,0,45,990", ":12,0,45,990")
    others = []
    for number in range(60):
        others.append(tmp_path / f"ref{number}.g.vcf")
        plain = "one 1 . G <NON_REF> . . END=200 GT:DP:GQ:MIN_DP:PL 0/0:30:90:28:0,90,1260\n"
        others[-1].write_text(text_of("gatk", f"r{number}", plain))
    shown = {}
    for caller in ("deepvariant", "gatk"):
        path = tmp_path / "weak.g.vcf"
        path.write_text(text_of(caller, "weak", weak.replace("<*>", "<NON_REF>")))
        genotype_cohort(reference, [path, *others], output)
        shown[caller] = {row[1]: values_of(row, 0)["GT"] for row in rows_of(output)}
    assert shown["deepvariant"]["50"] == "0/1"
    assert "50" not in shown["gatk"]  # the same numbers as likelihoods: one in 122 copies is less likely than an error


def test_blocks_without_likelihoods(tmp_path):
    """GQ tells them, else the depth: each read halves the likelihood of a heterozygous genotype."""
    body = """
one 1 . G . . . END=49 GT:DP 0/0:20
one 50 . C . . . END=60 GT:GQ:DP 0/0:30:50
one 61 . C . . . END=70 GT:DP 0:20
one 71 . C . . . END=80 GT:DP ./.:20
one 81 . C <*> . . END=90 GT:DP:PL 0/0:20:.
one 91 . C <*> . . END=100 GT:DP:GL 0/0:20:0,-3.25,-4.5e1
one 101 . C <*> . . END=110 GT:DP:PL 0/0:.:.,.,.
"""
    other = "".join(
        f"one {p} . C T,<*> . . . GT:DP:AD:PL 0/1:9:5,4,0:90,0,90,99,99,99\n" for p in (20, 55, 65, 75, 85, 95, 105)
    )
    paths = [tmp_path / "blocks.vcf", tmp_path / "other.vcf"]
    for path, own in zip(paths, (body, other), strict=True):
        path.write_text(text_of("bcftools", path.stem, own))
    sites, _, found = found_in(paths, {"one": 200})
    shown = [
        found.phred[found.phred_offsets[2 * s] : found.phred_offsets[2 * s + 1]].tolist() for s in range(len(sites))
    ]
    read = [-10 * math.log10((0.99 * (2 - k) / 2 + 0.01 * k / 2) / 0.99) for k in range(3)]
    assert shown[0] == [0, round(20 * read[1]), round(20 * read[2])]
    assert shown[1] == [0, 30, round(30 * read[2] / read[1])]
    assert shown[2] == [0, round(20 * read[2])]  # haploid
    assert shown[3] == [0, 0, 0]
    assert shown[4] == shown[0]
    assert shown[5] == [0, 33, 450]
    assert shown[6] == [0, 0, 0]
    assert found.ploidy[:, 0].tolist() == [2, 2, 1, 2, 2, 2, 2]


def test_likelihoods_of_another_length(tmp_path):
    """PL over the listed alleles alone, beside <NON_REF>; GT tells whether three values are haploid or diploid."""
    lines = [
        "one 20 . C T,<*> . . . GT:DP:AD:PL 0/1:9:5,4:90,0,95\n",
        "one 20 . C T,<*> . . . GT:DP:AD:PL 1:9:0,9,0:90,0,95\n",
    ]
    paths = [tmp_path / "a.vcf", tmp_path / "b.vcf"]
    for path, own in zip(paths, lines, strict=True):
        path.write_text(text_of("deepvariant", path.stem, own))
    _, _, found = found_in(paths, {"one": 200})
    assert found.ploidy.tolist() == [[2, 1]] and not found.status.any()
    assert found.phred.tolist() == [90, 0, 95, 90, 0]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("one 20 . C T . . . GT:PL 0/1:90,0,90\n", "one:20: its last ALT is not <NON_REF>"),
        ("one 20 . C T,<NON_REF> . . . GT:AD 0/1:9,9,0\n", "one:20: its FORMAT has no PL and no GL"),
        ("one 20 . C <NON_REF> . . END=30 GT 0/0\n", "one:20: its FORMAT has no PL and no GL"),
        ("one 20 . C T,<NON_REF> . . . GT:GL 0/1:-9,0.5,-9,-9,-9,-9\n", "one:20: PL is not a list"),
        ("one 20 . C T,<NON_REF> . . . GT:PL 0/1:9,0,9,9\n", "one:20: PL fits no ploidy"),
        ("chrUn_decoy 20 . C <NON_REF> . . END=30 GT:DP 0/0:9\n", "no contig 'chrUn_decoy' in the reference"),
    ],
)
def test_lines_that_cannot_be_used(reference, tmp_path, body, reason):
    path = tmp_path / "bad.g.vcf"
    other = tmp_path / "good.g.vcf"
    other.write_text(text_of("gatk", "good", "one 20 . C T,<NON_REF> . . . GT:PL 0/1:90,0,90,99,99,99\n"))
    path.write_text(text_of("gatk", "bad", body))
    with pytest.raises(InputError, match=r"bad\.g\.vcf") as error:
        genotype_cohort(reference, [path, other], tmp_path / "out.vcf")
    assert reason in str(error.value)
    assert not (tmp_path / "out.vcf").exists()


@given(st.floats(-1e6, 0, allow_nan=False))
def test_logarithms(value):
    for spelled in (repr(value), f"{value:.4f}", f"{value:.3e}"):
        text = np.frombuffer(spelled.encode(), np.uint8)
        assert real_in(text, 0, text.size) == pytest.approx(float(spelled), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("spelled", ["", "x", "-", "1", "-1x", "-1e", "nan", "-1e-x", ".", "-0e999", f"-0.{'1' * 400}"])
def test_what_is_no_logarithm(spelled):
    text = np.frombuffer(spelled.encode() or b" ", np.uint8)
    assert real_in(text, 0, len(spelled)) == 1.0


def test_mapping_quality_by_its_raw_form():
    assert float(read_information("DP=3;RAW_MQandDP=10800,3")["MQ"]) == 60.0
    assert read_information("MQ=55;RAW_MQandDP=0,0")["MQ"] == "55"
    assert "MQ" not in read_information("DP=3;DB")


def test_what_limits_left_out_is_said(reference, tmp_path, caplog):
    """INFO LIM has what the files have, and `alleles` where --max-alleles leaves some out."""
    paths = []
    for number, alt in enumerate("TAG"):
        paths.append(tmp_path / f"{number}.g.vcf")
        body = f"one 50 . C {alt},<NON_REF> 300 . LIM=depth,reads GT:DP:AD:PL 0/1:30:15,15,0:300,0,300,345,345,645\n"
        paths[-1].write_text(
            text_of("gatk", f"s{number}", body + "one 52 . A C,<NON_REF> 300 . DP=9 GT:PL 0/1:300,0,300,345,345,645\n")
        )
    for most, limits in ((3, "depth,reads"), (2, "alleles,depth,reads")):
        genotype_cohort(reference, paths, tmp_path / "out.vcf", parameters=JointParameters(max_alts=most))
        rows = rows_of(tmp_path / "out.vcf")
        assert [f"LIM={limits}" in row[7].split(";") for row in rows] == [True, False]
        assert "LIM" not in rows[1][7]
    assert "1 site with more alleles than --max-alleles: the rarest are left out" in caplog.text


def test_strand_bias_of_independent_reads(reference, tmp_path):
    """FS is that of the sums of SBI, or SB in files without; FORMAT SB stays as it is."""
    columns = (
        "GT:DP:AD:PL:SB:SBI 0/1:40:20,20,0:300,0,300,345,345,645:20,0,0,20:2,1,1,2",
        ("GT:DP:AD:PL:SB 0/1:6:3,3,0:60,0,60,69,69,129:1,2,2,1"),
    )
    paths = []
    for number, own in enumerate(columns):
        paths.append(tmp_path / f"{number}.g.vcf")
        paths[-1].write_text(text_of("gatk", f"s{number}", f"one 50 . C T,<NON_REF> 300 . DP=40 {own}\n"))
    genotype_cohort(reference, paths, tmp_path / "out.vcf")
    (row,) = rows_of(tmp_path / "out.vcf")
    assert f"FS={strand_phred(3, 3, 3, 3):g}" in row[7].split(";")
    assert [values_of(row, i)["SB"] for i in (0, 1)] == ["20,0,0,20", "1,2,2,1"] and "SBI" not in row[8]
