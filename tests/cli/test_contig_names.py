"""A reference whose contigs are called 1 and MT, and files that call them chr1 and chrM: refused, with a remedy."""

from pathlib import Path

import pysam
import pytest

from helpers.command_samples import fasta, letters, run_main
from helpers.making import write_bam

LENGTHS = {"1": 3000, "MT": 500}
OTHER = {"chr1": 3000, "chrM": 500}
ABSENT = "no contig 'chr1' in the reference, which calls it '1'"
HEAD = "##fileformat=VCFv4.2\n##contig=<ID=chr1>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    (folder / "ref.fa").write_text(fasta({name: letters(size, size) for name, size in LENGTHS.items()}))
    write_bam(folder / "own.bam", LENGTHS, [])
    write_bam(folder / "chr.bam", OTHER, [])
    write_bam(folder / "hg18.bam", {"chr1": 2999}, [])
    (folder / "chr.bed").write_text("chr1\t1\t50\n")
    (folder / "chr.interval_list").write_text("@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:3000\nchr1\t1\t50\t+\tx\n")
    (folder / "chr.vcf").write_text(HEAD + "chr1\t5\t.\tA\tC\t.\t.\t.\n")
    genomic = HEAD.replace("\tINFO\n", "\tINFO\tFORMAT\ts\n") + "chr1\t5\t.\tA\t<NON_REF>\t.\t.\tEND=9\tGT:GQ\t0/0:9\n"
    (folder / "chr.g.vcf").write_text(genomic)
    return folder


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("call ref.fa chr.bam", "none of its contigs ('chr1', 'chrM') is in the reference, which has '1', 'MT': take"),
        ("call ref.fa hg18.bam", "aligned to a different reference, whose 'chr1' has 2999 bases, '1' here has 3000"),
        ("call ref.fa own.bam -r chr1:5-9", f"chr1:5-9: {ABSENT}"),
        ("call ref.fa own.bam -r 1,chrM", "1,chrM: no contig '1,chrM' in the reference"),
        ("call ref.fa own.bam -L chr1", f"chr1: no such file, and {ABSENT}"),
        ("call ref.fa own.bam -L chr.bed", f"chr.bed: record 1: {ABSENT}: rename"),
        ("call ref.fa own.bam -L chr.interval_list", f"chr.interval_list: record 3: {ABSENT}: rename"),
        ("call ref.fa own.bam --alleles chr.vcf", f"chr.vcf: record 1: {ABSENT}: rename"),
        ("call ref.fa own.bam --primers chr.bed", f"chr.bed: record 1: {ABSENT}: rename"),
        ("call ref.fa own.bam --ploidy-bed chr.bed", f"chr.bed: record 1: {ABSENT}: rename"),
        ("genotype ref.fa chr.g.vcf", f"its header names no contig of the reference: {ABSENT}: rename"),
    ],
)
def test_the_other_name_is_said(arguments, said, data, monkeypatch, capsys):
    monkeypatch.chdir(data)
    before = set(data.iterdir())
    assert run_main([*arguments.split(), "-o", "out.vcf", "-q"]) == 3
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1, error
    assert set(data.iterdir()) == before


def test_the_remedy_for_alignments_works(data, tmp_path):
    """What the message says, by samtools, makes a file that is called."""
    text = pysam.view("-H", "--no-PG", str(data / "chr.bam")).replace("SN:chrM", "SN:MT").replace("SN:chr", "SN:")
    (tmp_path / "header.sam").write_text(text)
    (tmp_path / "own.bam").write_bytes(b"")
    pysam.reheader("-P", str(tmp_path / "header.sam"), str(data / "chr.bam"), save_stdout=str(tmp_path / "own.bam"))
    assert run_main(["call", data / "ref.fa", tmp_path / "own.bam", "-o", tmp_path / "o.vcf", "-q"]) == 0


def test_several_regions(data, tmp_path, capsys):
    assert (
        run_main(["call", data / "ref.fa", data / "own.bam", "-r", "1:1-1,000,MT", "-o", tmp_path / "o.vcf", "-q"]) == 0
    )
