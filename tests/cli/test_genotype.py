"""`readwarp genotype` on files written by hand: one line in, one line out; lists; bad input."""

import shutil
from pathlib import Path

import pysam
import pytest

from helpers.cohorts import block, indexed, variant, written
from helpers.making import random_sequence, write_fasta
from readwarp.cli import main

SEQUENCE = random_sequence(200, seed=9)[:50] + "ACGTT" + random_sequence(145, seed=10)
CONTIGS = {"one": 200, "two": 60}
LINES = [
    block(0, 50, SEQUENCE[0], [0, 60, 700]),
    variant(50, "A", "C", "0/1", [200, 0, 300, 260, 310, 500], depths=[12, 8, 0], info="MQ=50;FS=1.5;ED=20;AMQ=60"),
    block(51, 200, SEQUENCE[51], [0, 45, 500], 15),
]
REFERENCE_ONLY = [block(0, 200, SEQUENCE[0], [0, 60, 700], 22)]


@pytest.fixture
def reference(tmp_path) -> Path:
    return write_fasta(tmp_path / "ref.fa", {"one": SEQUENCE, "two": random_sequence(60, seed=11)})


@pytest.fixture
def gvcf(tmp_path):
    def gvcf(sample: str, lines=LINES, contigs=CONTIGS, **options) -> Path:
        return indexed(tmp_path / sample, written(lines, sample, contigs, **options))

    return gvcf


def run(*arguments: object) -> int:
    return main(["genotype", *map(str, arguments), "-q", "-t", "2"])


def test_one_line(reference, gvcf, tmp_path, capsys):
    assert run(reference, gvcf("a"), gvcf("b", REFERENCE_ONLY), gvcf("c", [])) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].endswith("FORMAT\ta\tb\tc")
    assert lines[-1] == (
        "one\t51\t.\tA\tC\t162.22\tPASS\t"
        "AC=1;AN=4;AF=0.25;DP=42;QD=8.11;MQ=50;AMQ=60;FS=1.5;ED=20;ExcessHet=3.01;AS_QD=8.11\tGT:GQ:DP:AD:AF:PL:SB\t"
        "0/1:99:20:12,8:0.4:200,0,300:.\t0/0:59:22:22,0:0:0,60,700:.\t./.:0:0:0,0:.:0,0,0:."
    )


def test_lists_regions_and_what_is_made(reference, gvcf, tmp_path, capsys):
    names = [gvcf("a"), gvcf("b", REFERENCE_ONLY)]
    (tmp_path / "list.txt").write_text(f"# a cohort\n{names[0]}\n\n{names[1]}\n")
    outputs = [tmp_path / f"{i}.vcf.gz" for i in range(3)]
    assert run(reference, f"@{tmp_path / 'list.txt'}", "-o", outputs[0]) == 0
    assert run(reference, "--list", tmp_path / "list.txt", "-o", outputs[1], "-r", "one:40-60") == 0
    assert run(reference, *names, "-o", outputs[2], "-r", "one:52-", "-r", "two") == 0
    texts = [pysam.BGZFile(str(path)).read().decode().splitlines() for path in outputs]
    bodies = [[line for line in text if not line.startswith("#")] for text in texts]
    assert bodies[0] == bodies[1] and len(bodies[0]) == 1 and bodies[2] == []
    assert Path(f"{outputs[0]}.tbi").exists()
    assert f"##readwarpCommand=readwarp genotype {reference}" in texts[0][2]
    assert run(reference, *names, "-o", outputs[0]) == 2 and "already exists" in capsys.readouterr().err


def refusals():
    other = random_sequence(1, 1)
    yield "no header", lambda t: "nothing\n", "is not VCF: `readwarp call --gvcf` makes a gVCF from alignments"
    yield "no sample", lambda t: t.replace("\tFORMAT\ta\n", "\n"), "its header names no sample"
    yield "no contig", lambda t: "".join(x for x in t.splitlines(True) if "##contig" not in x), "names no contig"
    yield "another length", lambda t: t.replace("length=200", "length=201"), "'one' has 201 bases, in the reference 200"
    yield "not genomic", lambda t: t.replace("C,<NON_REF>", "C"), "record one:51: its last ALT is not <NON_REF>"
    yield "no PL", lambda t: t.replace("AD:PL", "AD:XX"), "record one:51: its FORMAT has no PL"
    yield "odd PL", lambda t: t.replace("260,310", "x,310"), "record one:51: PL is not a list of whole numbers"
    yield "few PL", lambda t: t.replace("200,0,300,260,310", "200,0,300,260"), "one:51: PL fits no ploidy of 1 to 100"
    yield "odd AD", lambda t: t.replace("12,8,0:", "12:"), "one:51: AD lacks a value for an allele"
    yield (
        "columns",
        lambda t: t.replace("\tGT:GQ", " GT:GQ"),
        "record one:51: the line has no position or alleles, an END before POS, or not as many columns",
    )
    yield "position", lambda t: t.replace("one\t51", "one\tx"), "record one:x: the line has no position"
    yield "order", lambda t: t.replace("one\t51", "one\t151"), "record one:52: lines are not sorted by position"
    yield (
        "REF",
        lambda t: t.replace("\t51\t.\tA\tC", f"\t51\t.\tG\t{other}"),
        "record one:51: REF is G, the reference has A",
    )
    yield "beyond", lambda t: t + t.splitlines()[-2].replace("one\t51", "one\t201") + "\n", "one:201: it is beyond"
    far = lambda t: "".join(t.replace("one\t51", "one\t951").splitlines(True)[:-1])  # noqa: E731
    yield "far beyond", far, "one:951: it is beyond"
    yield (
        "unknown",
        lambda t: t + "\n".join([t.splitlines()[-1].replace("one", "four")]) + "\n",
        "no contig 'four' in",
    )


@pytest.mark.parametrize(("spoil", "reason"), [(s, r) for _, s, r in refusals()], ids=[name for name, *_ in refusals()])
def test_bad_lines(reference, tmp_path, capsys, spoil, reason):
    path, output = tmp_path / "a.vcf", tmp_path / "out.vcf"
    path.write_text(spoil(written(LINES, "a", CONTIGS)))
    assert run(reference, path, "-o", output) == 3
    said = capsys.readouterr().err
    assert said.startswith(f"readwarp: error: {path}: ") and reason in said and said.count("\n") == 1, said
    assert not output.exists()


def test_bad_files(reference, gvcf, tmp_path, capsys):
    good = gvcf("a")

    def refused(*arguments: object, code: int = 3) -> str:
        assert run(reference, *arguments, "-o", tmp_path / "out.vcf.gz") == code
        assert not (tmp_path / "out.vcf.gz").exists()
        return capsys.readouterr().err

    again = tmp_path / "again.g.vcf.gz"
    again.write_bytes(good.read_bytes())
    assert "its sample 'a' is in" in refused(good, again)
    assert "is given twice" in refused(good, good, code=2)
    assert "no such file" in refused(good, tmp_path / "none.g.vcf.gz")
    assert "no gVCF is given" in refused(code=2)
    assert "--max-alleles must be 1 to 100" in refused(good, "--max-alleles", 101, code=2)
    assert "--ploidy must be 1 to 100" in refused(good, "--ploidy", 101, code=2)
    assert "not from stdin" in refused("-", code=2)
    assert "not a list of file names" in refused(f"@{good}")
    lone = Path(shutil.copy(good, tmp_path / "lone.g.vcf.gz"))
    assert "lone.g.vcf.gz: has no index" in refused(lone, "-r", "one")
    Path(f"{lone}.tbi").write_bytes(b"\x1f\x8b rubbish")
    assert "lone.g.vcf.gz.tbi: not a whole index" in refused(lone, "-r", "one")
    lone.write_bytes(good.read_bytes()[:-28])
    assert "truncated" in refused(lone)
    lone.write_bytes(good.read_bytes()[:-60] + good.read_bytes()[-28:])
    assert "lone.g.vcf.gz: " in refused(lone)
    assert "no contig 'three' in the reference" in refused(good, "-r", "three")


ODD = [  # cells, what becomes of them: None: the file is read, else the reason
    ("200,0,300,", "99999999999,0,99999999999,", None),
    ("200,0,300,", "99999999999999999999,0,300,", "PL is not a list of whole numbers"),
    ("200,0,300,", "-5,0,300,", "PL is not a list of whole numbers"),
    ("MQ=50", "MQ=1e400", None),
    ("MQ=50", "MQ=1e200", None),
    ("MQ=50", "MQ=nan", None),
    ("MQ=50", f"RAW_MQandDP={'9' * 5000},1", None),
    ("MQ=50", "LIM=a b,\udcff,<x>", None),
    ("MQ=50", "X=\udcff\udcfe", None),
    (":20:12,8", f":{'9' * 14}:12,8", None),
    ("C,<NON_REF>", "\udcff,<NON_REF>", "ALT is "),
    ("C,<NON_REF>", "R,<NON_REF>", "ALT is R"),
    ("C,<NON_REF>", "C C,<NON_REF>", "ALT is C C"),
    ("END=200", "END=30", "an END before POS"),
    ("END=200", "END=201", "it is beyond the end of its contig, which has 200 bases"),
    ("END=200", "END=2147483646", "it is beyond"),
    ("END=200", "END=99999999999", "it is beyond"),
    ("C,<NON_REF>", "A,<NON_REF>", "REF is an ALT too: A"),
    ("C,<NON_REF>", "C,a,<NON_REF>", "REF is an ALT too: A"),
]


@pytest.mark.parametrize(("old", "new", "reason"), ODD)
def test_odd_cells(reference, tmp_path, capsys, old, new, reason):
    text = written(LINES, "a", CONTIGS)
    assert old in text
    (tmp_path / "a.vcf").write_bytes(text.replace(old, new, 1).encode(errors="surrogateescape"))
    assert run(reference, tmp_path / "a.vcf", "-o", tmp_path / "o.vcf.gz") == (0 if reason is None else 3)
    said = capsys.readouterr().err
    if reason is not None:
        assert f"{tmp_path / 'a.vcf'}: record one:5" in said and reason in said
        return
    with pysam.VariantFile(str(tmp_path / "o.vcf.gz")) as file:
        (record,) = file
    assert record.alleles == ("A", "C") and record.samples["a"]["GT"] == (0, 1)
    assert all(abs(value) < 1e15 for value in record.info.values() if isinstance(value, float))
    assert "LIM" not in record.info


def test_lines_beyond_the_contig(reference, gvcf, capsys):
    far = variant(5_000_000, "A", "C", "0/1", [200, 0, 300, 260, 310, 500])
    assert run(reference, gvcf("a", [*LINES, far])) == 3
    assert "record one:5000001: it is beyond the end of its contig, which has 200 bases" in capsys.readouterr().err
