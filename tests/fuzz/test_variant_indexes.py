"""Mutated .tbi and .csi of VCF.gz and BCF: genotype makes the calls that it makes with the right index, or names it."""

import gzip

import pytest

from helpers.command_samples import fasta
from helpers.fuzz_variants import CONTIGS, as_bcf, bgzf, change_numbers, genomic, index_of
from helpers.fuzzing import Case, campaign

INDEXES = ("b.vcf.gz.tbi", "b.vcf.gz.csi", "b.bcf.csi")
REGIONS = ("one:20000-20500", "one:40000-40100,one:70000-90000", "two", "one:89000-90000,two:1-2000", "two:39000-40000")


@pytest.fixture(scope="session")
def cohort(tmp_path_factory, server):
    """The reference, a file and its index by the index's name, and the calls by region."""
    folder = tmp_path_factory.mktemp("indexed")
    (folder / "ref.fa").write_text(fasta(CONTIGS))
    text, files = genomic("b", 2), {}
    for name in INDEXES:
        content = bgzf(text if "vcf" in name else as_bcf(folder, text))
        files[name] = content, index_of(folder, content, name[-3:])
        (folder / name[:-4]).write_bytes(content)
        (folder / name).write_bytes(bgzf(files[name][1]))
    calls = {}
    for region in REGIONS:
        for name in INDEXES:
            server.warm_up(folder, ["genotype", "ref.fa", name[:-4], "-o", "o.vcf", "-q", "-f", "-r", region])
            found = b"".join(x for x in (folder / "o.vcf").read_bytes().splitlines(True) if x[:1] != b"#")
            assert calls.setdefault(region, found) == found != b""
    return folder / "ref.fa", files, calls


@pytest.mark.slow
def test_indexes(pytestconfig, server, cohort, tmp_path):
    def make(chance):
        reference, files, calls = cohort
        name, region = chance.choice(INDEXES), chance.choice(REGIONS)
        content, index = files[name]
        how = chance.choice(("bytes", "decompressed", "numbers", "numbers", "numbers"))
        if how == "bytes":
            damaged = chance.bytes(bgzf(index))
        else:
            damaged = chance.bytes(index) if how == "decompressed" else change_numbers(chance, index)
            damaged = gzip.compress(damaged) if chance.random() < 0.2 else bgzf(damaged)
        given = {"ref.fa": reference, name[:-4]: content, name: damaged, "expected.txt": calls[region]}
        arguments = ["genotype", "ref.fa", name[:-4], "-o", "o.vcf", "-q", "-r", region]
        checks = [("helpers.fuzz_checks:same_body", ["o.vcf", "expected.txt"])]
        return Case(f"{how} of {name}", given, arguments, damaged=name, checks=checks)

    campaign(pytestconfig, server, tmp_path, "indexes", make)
