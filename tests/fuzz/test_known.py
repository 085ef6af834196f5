"""Mutated calls of normals given to panel, and mutated alleles of a population and a panel given to call."""

import gzip

import pysam
import pytest

from helpers.command_samples import CONTIGS, write_pairs
from helpers.fuzz_variants import as_bcf, bgzf, change_cells, change_numbers, change_records, index_of
from helpers.fuzzing import Case, campaign

VARIANTS = "helpers.fuzz_checks:variants"
HEAD = "##fileformat=VCFv4.2\n##contig=<ID=one,length=6000>\n##contig=<ID=two,length=3000>\n"
DEPTHS = (
    '##FORMAT=<ID=GT,Number=1,Type=String,Description="g">\n##FORMAT=<ID=AD,Number=R,Type=Integer,Description="d">\n'
)
SHARES = '##INFO=<ID=AF,Number=A,Type=Float,Description="f">\n'
COLUMNS = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
PLACES = [(name, place, bases[place]) for name, bases in CONTIGS.items() for place in range(50, len(bases) - 50, 100)]


def others(base):
    return f"{'ACGT'['ACGT'.index(base) - 1]},{base}TG"


def normal(sample):
    cells = "\t.\t.\t.\tGT:AD\t0/1/2:30,4,3\n"
    lines = [f"{name}\t{place + 1}\t.\t{base}\t{others(base)}{cells}" for name, place, base in PLACES]
    return f"{HEAD}{DEPTHS}{COLUMNS}\tFORMAT\t{sample}\n{''.join(lines)}".encode()


def known():
    lines = [f"{name}\t{place + 1}\t.\t{base}\t{others(base)}\t.\t.\tAF=0.2,1e-05\n" for name, place, base in PLACES]
    return f"{HEAD}{SHARES}{COLUMNS}\n{''.join(lines)}".encode()


@pytest.fixture(scope="session")
def made(tmp_path_factory, server):
    """The folder, and the alleles by form: the decompressed file and its index."""
    folder = tmp_path_factory.mktemp("known")
    write_pairs(folder, 200)
    server.warm_up(folder, ["run", "ref.fa", "r_1.fq", "r_2.fq", "-o", "out", "-q"])
    forms = {}
    for name, index, content in (("k.vcf.gz", "tbi", known()), ("k.bcf", "csi", as_bcf(folder, known()))):
        forms[name] = content, index_of(folder, bgzf(content), index), f"{name}.{index}"
        (folder / name).write_bytes(bgzf(content))
        (folder / forms[name][2]).write_bytes(bgzf(forms[name][1]))
        for option in ("--population", "--panel-of-normals"):
            arguments = ["call", "ref.fa.rwx", "out/r.bam", "--somatic", option, name, "-o", "o.vcf", "-q", "-f"]
            server.warm_up(folder, arguments)
    for sample in "ab":
        (folder / f"{sample}.vcf").write_bytes(normal(sample))
    server.warm_up(folder, ["panel", "a.vcf", "b.vcf", "-o", "pon.vcf", "-q"])
    return folder, forms


@pytest.mark.slow
def test_panels(pytestconfig, server, made, tmp_path_factory, tmp_path):
    text = normal("b")
    data = as_bcf(tmp_path_factory.mktemp("bcf"), text)

    def make(chance):
        how, name = chance.choice(("cells", "cells", "bytes", "compressed", "records", "decompressed")), "b.vcf"
        if how in ("records", "decompressed"):
            content, name = bgzf(change_records(chance, data) if how == "records" else chance.bytes(data)), "b.bcf"
        elif how == "compressed":
            content, name = chance.bytes(chance.choice((gzip.compress, bgzf))(text)), "b.vcf.gz"
        else:
            content = change_cells(chance, text) if how == "cells" else chance.bytes(text)
        names = chance.choice((["a.vcf", name], [name, "a.vcf"]))
        files = {"a.vcf": made[0] / "a.vcf", name: content}
        arguments = ["panel", *names, "-o", "o.vcf", "-q"]
        named = "b." if names[0] == "a.vcf" else None  # what differs in the second file is its fault
        return Case(how, files, arguments, named, [(VARIANTS, ["o.vcf"])])

    campaign(pytestconfig, server, tmp_path, "panel", make, 0.5)


@pytest.mark.slow
def test_known_alleles(pytestconfig, server, made, tmp_path):
    folder, forms = made
    shared = {"ref.fa.rwx": folder / "ref.fa.rwx", "r.bam": folder / "out/r.bam", "r.bam.bai": folder / "out/r.bam.bai"}

    def make(chance):
        name = chance.choice(list(forms))
        content, index, index_name = forms[name]
        how = chance.choice(("content", "content", "content", "decompressed", "bytes", "index"))
        if how == "content":
            content = change_cells(chance, content) if name == "k.vcf.gz" else change_records(chance, content)
            index = reindexed(tmp_path, bgzf(content), index_name[-3:], index)
        content = chance.bytes(content) if how == "decompressed" else content
        files = {name: bgzf(content), index_name: bgzf(index)}
        if how == "bytes":
            files[name] = chance.bytes(files[name])
        if how == "index":
            files[index_name] = bgzf(change_numbers(chance, index)) if chance.random() < 0.7 else chance.bytes(index)
        option = chance.choice(("--population", "--panel-of-normals"))
        arguments = ["call", "ref.fa.rwx", "r.bam", "--somatic", option, name, "-o", "o.vcf", "-q"]
        return Case(f"{how} of {name}", shared | files, arguments, damaged=name, checks=[(VARIANTS, ["o.vcf"])])

    campaign(pytestconfig, server, tmp_path, "known", make, 0.5)


def reindexed(folder, content, kind, index):
    """The index of mutated content, or the old one where htslib does not make one."""
    if kind == "csi":
        return index
    verbosity = pysam.set_verbosity(0)
    try:
        return index_of(folder, content, kind)
    except (OSError, ValueError, IndexError):
        return index
    finally:
        pysam.set_verbosity(verbosity)
