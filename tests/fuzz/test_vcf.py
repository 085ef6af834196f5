"""Mutated gVCFs in text and BCF given to genotype, and mutated VCFs of alleles given to call."""

import bz2
import gzip

import pytest

from helpers.command_samples import fasta
from helpers.fuzz_variants import CONTIGS, as_bcf, bgzf, change_cells, change_records, genomic
from helpers.fuzzing import Case, campaign

CHECKS = [("helpers.fuzz_checks:variants", ["o.vcf.gz"])]


@pytest.fixture(scope="session")
def cohort(tmp_path_factory, server):
    """The reference, and two gVCFs."""
    folder = tmp_path_factory.mktemp("cohort")
    (folder / "ref.fa").write_text(fasta(CONTIGS))
    texts = genomic("a", 1), genomic("b", 2)
    for number, text in enumerate(texts):
        (folder / f"{number}.vcf.gz").write_bytes(bgzf(text))
    server.warm_up(folder, ["genotype", "ref.fa", "0.vcf.gz", "1.vcf.gz", "-o", "o.vcf.gz", "-q"])
    return folder / "ref.fa", texts


def case(chance, reference, first, how, name, content):
    files = {"ref.fa": reference, "a.vcf.gz": bgzf(first), name: content}
    names = ["a.vcf.gz", name] if chance.random() < 0.5 else [name, "a.vcf.gz"]
    return Case(how, files, ["genotype", "ref.fa", *names, "-o", "o.vcf.gz", "-q"], damaged=name, checks=CHECKS)


def mutate_text(chance, text):
    how = chance.choice(("cells", "cells", "cells", "bytes"))
    return how, (change_cells if how == "cells" else type(chance).bytes)(chance, text)


@pytest.mark.slow
def test_genomic_vcf(pytestconfig, server, cohort, tmp_path):
    def make(chance):
        reference, (first, second) = cohort
        if chance.random() < 0.25:
            pack, name = chance.choice(((bgzf, "b.vcf.gz"), (gzip.compress, "b.vcf.gz"), (bz2.compress, "b.vcf.bz2")))
            return case(chance, reference, first, "compressed", name, chance.bytes(pack(second)))
        how, text = mutate_text(chance, second)
        name = chance.choice(("b.vcf", "b.vcf.gz"))
        return case(chance, reference, first, how, name, bgzf(text) if name.endswith("gz") else text)

    campaign(pytestconfig, server, tmp_path, "vcf", make)


@pytest.mark.slow
def test_genomic_bcf(pytestconfig, server, cohort, tmp_path_factory, tmp_path):
    reference, (first, second) = cohort
    data = as_bcf(tmp_path_factory.mktemp("bcf"), second)

    def make(chance):
        how = chance.choice(("bytes", "decompressed", "records", "records"))
        if how == "bytes":
            content = chance.bytes(bgzf(data))
        else:
            content = bgzf(chance.bytes(data) if how == "decompressed" else change_records(chance, data))
        return case(chance, reference, first, how, "b.bcf", content)

    campaign(pytestconfig, server, tmp_path, "bcf", make)
