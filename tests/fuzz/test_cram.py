"""Mutated CRAM, .crai, .fai and .gzi, given to align, call and report."""

import gzip

import pysam
import pytest

from helpers.command_samples import CONTIGS, fasta, pairs, record
from helpers.fuzz_variants import bgzf
from helpers.fuzzing import Case, campaign


@pytest.fixture(scope="session")
def made(tmp_path_factory, server):
    """A folder with a reference, plain and bgzipped, a sorted CRAM, and what align and call make of it."""
    folder = tmp_path_factory.mktemp("cram")
    (folder / "ref.fa").write_text(fasta(CONTIGS))
    (folder / "ref.fa.gz").write_bytes(bgzf(fasta(CONTIGS).encode()))
    for name in ("ref.fa", "ref.fa.gz"):
        pysam.faidx(str(folder / name))
    reads = pairs(300)
    for mate in (1, 2):
        (folder / f"r_{mate}.fq").write_text("".join(record(f"{read[0]}/{mate}", read[mate]) for read in reads))
    for name in ("ref.fa", "ref.fa.gz"):
        server.warm_up(folder, ["index", name, "-q"])
    server.warm_up(folder, ["align", "ref.fa", "r_1.fq", "r_2.fq", "-o", "r.bam", "-q", "--sort", "coordinate"])
    options = ["-C", "--reference", str(folder / "ref.fa"), "--output-fmt-option", "seqs_per_slice=100"]
    pysam.view(*options, "-o", str(folder / "r.cram"), str(folder / "r.bam"), catch_stdout=False)
    pysam.index(str(folder / "r.cram"))
    server.warm_up(folder, ["align", "ref.fa", "r.cram", "-o", "o.bam", "-q"])
    server.warm_up(folder, ["call", "ref.fa", "r.cram", "--gvcf", "-o", "e.vcf", "-q"])
    return folder


@pytest.mark.slow
def test_cram(pytestconfig, server, made, tmp_path):
    cram, crai = (made / "r.cram").read_bytes(), gzip.decompress((made / "r.cram.crai").read_bytes())
    names = ["ref.fa", "ref.fa.fai", "ref.fa.rwx", "r.cram.crai"]

    def make(chance):
        files = {name: made / name for name in names} | {"r.cram": cram}
        damaged, reference = "r.cram", "ref.fa"
        how = chance.choice(("cram", "cram", "cram", "crai", "crai", "fai", "gzi", "reference"))
        if how == "cram":
            files["r.cram"] = chance.bytes(cram)
        elif how == "crai":
            whole = chance.random() < 0.3
            files["r.cram.crai"] = chance.bytes(gzip.compress(crai)) if whole else gzip.compress(chance.bytes(crai))
        elif how == "fai":
            files["ref.fa.fai"] = chance.bytes((made / "ref.fa.fai").read_bytes())
            damaged = None
        elif how == "gzi":
            reference, damaged = "ref.fa.gz", None
            files |= {name: made / name for name in ("ref.fa.gz", "ref.fa.gz.fai", "ref.fa.gz.rwx")}
            files["ref.fa.gz.gzi"] = chance.bytes((made / "ref.fa.gz.gzi").read_bytes())
        else:
            files = {**files, "ref.fa": chance.bytes((made / "ref.fa").read_bytes())}
            del files["ref.fa.rwx"], files["ref.fa.fai"]
            damaged = None
        if how not in ("crai", "reference") and chance.random() < 0.5:
            arguments = ["align", reference, "r.cram", "-o", "o.bam", "-q"]
            checks = [("helpers.fuzz_checks:alignments", ["o.bam"])]
        else:
            files["expected.txt"] = b"".join(
                line for line in (made / "e.vcf").read_bytes().splitlines(True) if line[:1] != b"#"
            )
            arguments = ["call", reference, "r.cram", "--gvcf", "-o", "o.vcf", "-q"]
            same = [("helpers.fuzz_checks:same_body", ["o.vcf", "expected.txt"])]
            checks = same if how != "reference" else [("helpers.fuzz_checks:variants", ["o.vcf"])]
        return Case(how, files, arguments, damaged=damaged, checks=checks)

    campaign(pytestconfig, server, tmp_path, "cram", make, 0.4)
