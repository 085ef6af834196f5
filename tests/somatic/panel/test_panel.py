"""`readwarp panel`: alleles that several normals show, against a count in plain Python; files that do not fit."""

import random

import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st

import readwarp
from helpers.command_samples import run_main
from readwarp.call.records.genotypes.spell import trim_end
from readwarp.somatic.panel import CLOSE
from readwarp.somatic.panel.collect import fit_beta

HEADER = """##fileformat=VCFv4.2
##contig=<ID=b,length=1000,md5=0123456789abcdef0123456789abcdef>
##contig=<ID=a,length=2000>
##FILTER=<ID=weak_evidence,Description="weak">
##reference=ref.fa
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
##FORMAT=<ID=AD,Number=R,Type=Integer,Description="Reads">
#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t{samples}
"""
ROW = "{}\t{}\t.\t{}\t{}\t.\t{}\t.\tGT:AD\t{}\n"


def write(path, rows, *samples, header=HEADER):
    """rows: contig, POS, REF, ALT, FILTER and a cell for each sample."""
    names = "\t".join(samples or (path.name.split(".")[0],))
    text = header.format(samples=names) + "".join(ROW.format(*row[:5], "\t".join(row[5:])) for row in rows)
    if path.suffix == ".vcf":
        path.write_text(text)
        return path
    plain = path.with_suffix("")
    plain.write_text(text)
    if path.suffix == ".bcf":
        with pysam.VariantFile(str(plain)) as source, pysam.VariantFile(str(path), "wb", header=source.header) as out:
            for record in source:
                out.write(record)
    else:
        pysam.tabix_compress(str(plain), str(path), force=True)
    return path


def read(path):
    """(contig, POS, REF, ALT) -> INFO, in order."""
    with pysam.VariantFile(str(path)) as file:
        assert not list(file.header.samples)
        return {(r.chrom, r.pos, *r.alleles): dict(r.info) for r in file}


def make(folder, *inputs, name="pon.vcf.gz", options=()):
    output = folder / name
    assert run_main(["panel", *inputs, "-o", output, "-q", "-f", *options]) == 0
    return output


def test_genotypes_are_warned_of(tmp_path, capsys):
    fractions = HEADER.replace(
        "##FORMAT=<ID=AD", '##FORMAT=<ID=AF,Number=A,Type=Float,Description="Fraction">\n##FORMAT=<ID=AD'
    )
    files = [
        write(tmp_path / "s.vcf", [], header=fractions),
        write(tmp_path / "t.vcf", []),
        write(tmp_path / "u.vcf", []),
    ]
    make(tmp_path, *files)
    assert "2 files without allele fractions (FORMAT AF), first " + str(files[1]) in capsys.readouterr().err
    make(tmp_path, files[0], options=("--min-samples", "1"))
    assert not capsys.readouterr().err


def test_alleles_of_several_normals(tmp_path):
    """Filters do not matter; reads of an allele that GT does not name, and alleles of one normal, do not count."""
    one = [
        ("b", 10, "A", "C", "PASS", "0/1:90,10"),
        ("b", 12, "A", "G", "PASS", "0/1:5,5"),
        ("a", 7, "ATT", "A,AT", "PASS", "1/2:80,15,5"),
    ]
    two = [
        ("b", 10, "A", "C", "weak_evidence", "0/1:95,5"),
        ("b", 12, "A", "G", "PASS", "0/0:50,1"),
        ("a", 7, "at", "a", "PASS", "0|1:50,10"),
        ("a", 7, "A", "G", "PASS", "0/1:1,9"),
    ]
    three = [
        ("b", 10, "A", "C", ".", "./.:0,0", "0/1:40,10"),
        ("b", 12, "A", "T", ".", "0/1:5,5", "0/0:9,0"),
        ("a", 7, "ATT", "A", ".", "0/1:9,1", "0/0:9,0"),
    ]
    inputs = (
        write(tmp_path / "one.vcf", one),
        write(tmp_path / "two.vcf.gz", two),
        write(tmp_path / "three.bcf", three, "three", "four"),
    )
    path = make(tmp_path, *inputs)
    found = read(path)
    assert list(found) == [("b", 10, "A", "C"), ("a", 7, "AT", "A"), ("a", 7, "ATT", "A")]
    assert [own["NORMALS"] for own in found.values()] == [3, 2, 2]
    assert [own["FRACTION"] for own in found.values()] == [0.75, 0.5, 0.5]
    assert found["b", 10, "A", "C"]["MEANAF"] == pytest.approx((0.1 + 0.05 + 0.2) / 3, rel=1e-3)
    alpha, beta = found["b", 10, "A", "C"]["BETA"]
    assert alpha / (alpha + beta) == pytest.approx(25 / 250, rel=1e-3)
    with pysam.VariantFile(str(path)) as file:
        assert [record.pos for record in file.fetch("a")] == [7, 7]
        assert [(c.name, c.length) for c in file.header.contigs.values()] == [("b", 1000), ("a", 2000)]
        assert "md5=0123456789abcdef0123456789abcdef" in str(file.header) and "##reference=ref.fa" in str(file.header)
    assert len(read(make(tmp_path, *inputs, options=("--min-samples", 1)))) == 6
    assert list(read(make(tmp_path, *inputs, options=("--min-samples", 3), name="p.bcf"))) == [("b", 10, "A", "C")]


@pytest.mark.parametrize("seed", range(12))
def test_counts_are_those_of_plain_python(tmp_path, seed):
    folder, rng = tmp_path, random.Random(seed)
    files, expected = [], {}
    for name in "xyz":
        rows = []
        for contig in "ba":
            for place in sorted(rng.choices(range(1, 6), k=4)):
                other, shows = rng.choice("CGT"), rng.random() < 0.7
                rows.append((contig, place, "A", other, "PASS", f"{'0/1' if shows else '0/0'}:9,3"))
                if shows:
                    expected.setdefault((contig, place, "A", other), set()).add(name)
        files.append(write(folder / f"{name}.vcf", rows))
    least = rng.randrange(1, 4)
    found = read(make(folder, *files, name="o.vcf", options=("--min-samples", least)))
    wanted = {key: len(names) for key, names in expected.items() if len(names) >= least}
    assert {key: own["NORMALS"] for key, own in found.items()} == wanted
    assert list(found) == sorted(found, key=lambda key: ("ba".index(key[0]), key[1:]))


def test_python_and_lists(tmp_path):
    rows = [("b", 10, "A", "C", "PASS", "0/1:90,10")]
    for name in ("x", "y"):
        write(tmp_path / f"{name}.vcf", rows)
    listing = tmp_path / "list.txt"
    listing.write_text(f"{tmp_path}/x.vcf\n{tmp_path}/y.vcf\n")
    result = readwarp.panel(f"@{listing}", output=tmp_path / "p.vcf.gz")
    assert result.metrics.counts["variants"] == 1 and set(result.paths) == {"variants", "variants_index"}
    assert list(read(make(tmp_path, "--list", listing))) == [("b", 10, "A", "C")]


@pytest.mark.parametrize(("mean", "rho"), [(0.02, 0.02), (0.1, 0.05), (0.3, 0.2), (0.5, 0.02)])
def test_beta_is_that_of_simulated_normals(mean, rho):
    rng = random.Random(5)
    number, normals = 1 / rho - 1, 400
    reads = []
    for _ in range(normals):
        share, depth = rng.betavariate(mean * number, (1 - mean) * number), rng.randrange(50, 300)
        reads.append((sum(rng.random() < share for _ in range(depth)), depth))
    alpha, beta = fit_beta(reads)
    assert alpha / (alpha + beta) == pytest.approx(mean, rel=0.15)
    assert 1 / (alpha + beta + 1) == pytest.approx(rho, rel=0.3)


def test_beta_of_few_reads():
    for reads in ([(3, 10)], [(3, 10), (3, 10)], [(0, 0), (1, 1)], [(0, 9), (9, 9)]):
        alpha, beta = fit_beta(reads)
        assert alpha > 0 and beta > 0
        assert CLOSE * 0.99 <= 1 / (alpha + beta + 1) <= 1


@given(st.text("AC", min_size=1, max_size=4), st.text("AC", min_size=1, max_size=4), st.text("AC", max_size=4))
def test_trimmed_pairs_are_what_they_were(reference, other, end):
    short = trim_end((reference + end, other + end))
    lost = len(reference + end) - len(short[0])
    tail = (reference + end)[len(short[0]) :]
    assert (short[0] + tail, short[1] + tail) == (reference + end, other + end) and lost >= min(len(end), lost)
    assert min(map(len, short)) == 1 or short[0][-1] != short[1][-1]


ROWS = [("b", 10, "A", "C", "PASS", "0/1:90,10")]


def refused(tmp_path, capsys, code, *options):
    output = tmp_path / "refused.vcf.gz"
    assert run_main(["panel", "-o", output, "-q", *options]) == code
    assert not output.exists()
    out, error = capsys.readouterr()
    assert out == "" and error.count("\n") == 1
    return error


def test_what_is_refused(tmp_path, capsys):
    good = write(tmp_path / "good.vcf", ROWS)
    assert "no calls of normals are given" in refused(tmp_path, capsys, 2)
    assert "only 1 normal given" in refused(tmp_path, capsys, 2, good)
    assert "is given twice" in refused(tmp_path, capsys, 2, good, good)
    assert "positional arguments" in refused(tmp_path, capsys, 2, "-V", good)
    same = write(tmp_path / "same.vcf", ROWS, "good")
    assert f"{same}: its sample 'good' is in {good} too" in refused(tmp_path, capsys, 3, good, same)
    late = write(tmp_path / "late.vcf", [ROWS[0], ("b", 9, "A", "C", "PASS", "0/1:90,10")])
    said = refused(tmp_path, capsys, 3, good, late)
    assert f"{late}: record 2: records are not sorted by contig and position" in said
    other = write(tmp_path / "other.vcf", ROWS, header=HEADER.replace("length=2000", "length=2001"))
    assert f"{other}: its contigs are not those of {good}" in refused(tmp_path, capsys, 3, good, other)
    bare = write(tmp_path / "bare.vcf", [], header=HEADER.replace("ID=AD", "ID=XD"))
    assert f"{bare}: has no FORMAT field AD" in refused(tmp_path, capsys, 3, good, bare)
    empty = write(tmp_path / "empty.vcf", [("b", 10, "A", "C", "PASS", "0/1:.")])
    assert f"{empty}: record 1: AD lacks a number for each allele" in refused(tmp_path, capsys, 3, good, empty)
    equal = write(tmp_path / "equal.vcf", [("b", 10, "A", "C,a", "PASS", "0/1:90,10,0")])
    assert f"{equal}: record 1: REF is an ALT too: A" in refused(tmp_path, capsys, 3, good, equal)
    broken = tmp_path / "broken.vcf"
    broken.write_text("nothing\n")
    assert f"{broken}: cannot be read" in refused(tmp_path, capsys, 3, good, broken)
    damaged = tmp_path / "damaged.vcf"
    damaged.write_text(good.read_text().replace("AD\tgood", "AD\tbad").replace("MAT\tgood", "MAT\tbad") + "b\tx\n")
    assert f"{damaged}: record 2: cannot be read" in refused(tmp_path, capsys, 3, good, damaged)
    words = write(
        tmp_path / "words.vcf", [], header=HEADER.replace("ID=AD,Number=R,Type=Integer", "ID=AD,Number=R,Type=String")
    )
    assert f"{words}: its header says that FORMAT field AD is not of type Integer" in refused(
        tmp_path, capsys, 3, good, words
    )
    unread = tmp_path / "unread.vcf"
    unread.write_text(write(tmp_path / "own.vcf", ROWS[:1]).read_text().replace("GT:AD\t0/1:", "GT:DP\t0/1:"))
    assert f"{unread}: record 1: AD lacks a number for each allele" in refused(tmp_path, capsys, 3, good, unread)


@pytest.mark.parametrize(("old", "record"), [(b"b,length", None), (b"b\t", 2)])
def test_what_is_not_text(tmp_path, capsys, old, record):
    good, path = write(tmp_path / "good.vcf", ROWS), tmp_path / "strange.vcf"
    text = write(tmp_path / "strange_one.vcf", [ROWS[0], ROWS[0]]).read_bytes()
    at = text.rindex(old)
    path.write_bytes(text[:at] + b"\xff" + text[at + 1 :])
    said = refused(tmp_path, capsys, 3, path, good)
    assert f"{path}: {f'record {record}: ' if record else ''}cannot be read" in said
