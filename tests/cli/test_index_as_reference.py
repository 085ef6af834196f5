"""An index in the place of the reference, in every command and in Python."""

import pysam
import pytest

import readwarp
from helpers.command_samples import CONTIGS, record, run_main, sam_lines
from readwarp.index import index_path


@pytest.fixture(scope="module")
def alone(reference, tmp_path_factory):
    """The index, without its reference beside it."""
    path = tmp_path_factory.mktemp("index") / "ref.rwx"
    path.write_bytes(index_path(reference).read_bytes())
    return path


def lines_of(path) -> list[str]:
    with pysam.AlignmentFile(str(path)) as file:
        return [read.to_string() for read in file.fetch(until_eof=True)]


def calls_of(path) -> list[str]:
    return [line for line in pysam.BGZFile(str(path)).read().decode().splitlines() if not line.startswith("##")]


def test_every_command_takes_it(alone, reference, mates, tmp_path, write):
    made = {}
    for name, given in (("fasta", reference), ("index", alone)):
        folder = tmp_path / name
        assert run_main(["run", given, *mates, "-o", folder, "-q", "-t", "1"]) == 0
        bam = folder / "s.bam"
        assert run_main(["call", given, bam, "--gvcf", "-o", folder / "s.g.vcf.gz", "-q"]) == 0
        assert run_main(["genotype", given, folder / "s.g.vcf.gz", "-o", folder / "all.vcf.gz", "-q"]) == 0
        assert run_main(["align", given, bam, "-o", folder / "u.cram", "-q"]) == 0
        assert run_main(["align", given, folder / "u.cram", "-o", folder / "again.bam", "-q"]) == 0
        parts = [folder / "again.bam", "-o", folder / "m.cram", "--reference", given, "--sort", "coordinate", "-q"]
        assert run_main(["merge", *parts]) == 0
        page = ["--bam", bam, "--reference", given, "-o", folder / "page.html"]
        assert run_main(["report", *page, "-q"]) == 0 and (folder / "page.html").exists()
        reads = [lines_of(folder / name) for name in ("s.bam", "again.bam")]
        with pysam.AlignmentFile(str(folder / "m.cram"), reference_filename=str(reference)) as file:
            reads.append([read.to_string() for read in file])
        made[name] = reads, [calls_of(folder / name) for name in ("s.vcf.gz", "s.g.vcf.gz", "all.vcf.gz")]
    assert made["fasta"] == made["index"] and made["index"][0][0]


def test_pairwise_takes_its_contigs(alone, reference, write, capfd):
    read = write("read.fa", ">r\n" + CONTIGS["one"][500:560] + "\n")
    texts = []
    for targets in (reference, alone):
        assert run_main(["pairwise", read, targets]) == 0
        texts.append(capfd.readouterr().out)
    assert texts[0] == texts[1] and texts[0].startswith("r\tone\t60\t0\t60\t500\t560")


def test_an_index_elsewhere(reference, mates, tmp_path, capfd):
    copy = tmp_path / "ref.fa"
    copy.write_text(reference.read_text())
    place = tmp_path / "index" / "x.rwx"
    place.parent.mkdir()
    texts = []
    for options in (["--index", place], ["--index", place], []):
        assert run_main(["align", copy, *mates, *options, "--no-pg", "-t", "1"]) == 0
        captured = capfd.readouterr()
        texts.append(captured.out)
        assert (f"building the index {place}" in captured.err) == (len(texts) == 1)
    assert texts[0] == texts[1] == texts[2] and sam_lines(texts[0])


def test_an_index_of_an_index(alone, tmp_path, capsys):
    assert run_main(["index", alone]) == 2
    assert "is an index already (-o FILE makes one with other seeds from it)" in capsys.readouterr().err
    assert run_main(["index", alone, "--preset", "short", "-o", tmp_path / "short.rwx", "-q"]) == 0
    assert readwarp.Index.open(tmp_path / "short.rwx").parameters.k == 16
    assert run_main(["align", alone, "--index", tmp_path / "short.rwx", tmp_path / "x.fq"]) != 0


def test_in_python(alone, mates, tmp_path):
    (found,) = readwarp.Aligner(str(alone)).align([CONTIGS["two"][100:200]])
    assert (found.contig, found.position) == ("two", 100)
    options = {"sort": "coordinate", "write_index": True}
    bam = readwarp.align(alone, *mates, output=tmp_path / "a.bam", **options).paths["alignments"]
    assert list(readwarp.Caller(alone).call(bam)) == []


def test_the_cache_is_said(reference, tmp_path, monkeypatch, capfd):
    copy, reads = tmp_path / "ref.fa", tmp_path / "a.fq"
    copy.write_text(reference.read_text())
    reads.write_text(record("a", CONTIGS["one"][5:105]))
    monkeypatch.setenv("READWARP_INDEX_DIR", str(tmp_path / "cache"))
    assert run_main(["align", copy, reads, "-o", tmp_path / "a.sam"]) == 0
    (kept,) = (tmp_path / "cache").iterdir()
    said = capfd.readouterr().err
    assert f"building the index {kept}" in said and f"{kept} in READWARP_INDEX_DIR (elsewhere: --index FILE or" in said
    assert run_main(["align", copy, reads, "-o", tmp_path / "b.sam"]) == 0
    assert f"readwarp: using the index {kept}" in capfd.readouterr().err and list((tmp_path / "cache").iterdir()) == [
        kept
    ]
