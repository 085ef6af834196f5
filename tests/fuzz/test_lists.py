"""Mutated texts that say where to call and what: places, ploidies, primers, alleles, lists; ALT contigs, adapters and
a report's files."""

import gzip

import pytest

from helpers.command_samples import CONTIGS, write_pairs
from helpers.fuzz_variants import as_bcf, bgzf, change_cells, change_records
from helpers.fuzzing import Case, campaign
from helpers.made_alternates import write_reference

BED = b"one\t100\t2000\ta\t0\t+\none\t2500\t3000\tb\ntwo\t0\t3000\tc\t1\t-\n"
PICARD = b"@HD\tVN:1.6\n@SQ\tSN:one\tLN:6000\n@SQ\tSN:two\tLN:3000\none\t101\t2000\t+\ta\ntwo\t1\t3000\t-\tb\n"
REGIONS = b"one:100-2,000\none:2500-3000\ntwo\n"
PLOIDIES = b"one\t0\t6000\t2\ntwo\t0\t1500\t1\ntwo\t1500\t3000\t0\nr\t0\t0\t2\n"
PRIMERS = b"one\t100\t120\tp_1_LEFT\t1\t+\none\t400\t420\tp_1_RIGHT\t1\t-\ntwo\t10\t30\tp_2_LEFT\t2\t+\n"
ALLELES = "".join(
    f"{name}\t{place + 1}\t.\t{bases[place]}\t{'ACGT'['ACGT'.index(bases[place]) - 1]},{bases[place]}TG\t.\t.\t.\n"
    for name, bases in CONTIGS.items()
    for place in range(50, len(bases) - 50, 400)
)
HEAD = "##fileformat=VCFv4.2\n##contig=<ID=one,length=6000>\n##contig=<ID=two,length=3000>\n"
ALLELES = f"{HEAD}#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n{ALLELES}".encode()
VALUES = (b"", b"-1", b"0", b"99999999999999999999", b"x", b"1e5", b".", b"two", b"one", b"\xff")
ADAPTERS = b">one\nAGATCGGAAGAGCACACGTC\n>two\nCTGTCTCTTATACACATCT\nNNAC\n"
REPORTED = ("--vcf", "r.vcf.gz", "--reference", "ref.fa", "-L", "r.bed")
ONE = ("--min-samples", "1")
LISTED = {"call": "r.bam", "genotype": "g.vcf.gz", "panel": "r.vcf.gz"}  # by the command that reads lists
GIVEN = {  # option, name, content
    "bed": ("-L", "l.bed", BED),
    "intervals": ("-L", "l.interval_list", PICARD),
    "regions": ("-L", "l.list", REGIONS),
    "excluded": ("--exclude-regions", "l.bed", BED),
    "ploidies": ("--ploidy-bed", "l.bed", PLOIDIES.replace(b"r\t0\t0\t2\n", b"")),
    "primers": ("--primers", "l.bed", PRIMERS),
    "alleles": ("--alleles", "l.vcf", ALLELES),
}


@pytest.fixture(scope="session")
def made(tmp_path_factory, server):
    """A folder with a reference, its index, sorted alignments, calls and metrics."""
    folder = tmp_path_factory.mktemp("lists")
    write_pairs(folder, 200)
    server.warm_up(folder, ["run", "ref.fa", "r_1.fq", "r_2.fq", "-o", "out", "-q"])
    for option, name, content in GIVEN.values():
        (folder / name).write_bytes(content)
        server.warm_up(folder, ["call", "ref.fa.rwx", "out/r.bam", option, name, "-o", "o.vcf", "-q", "-f"])
    server.warm_up(folder, ["call", "ref.fa", "out/r.bam", "--alleles", "l.vcf", "-o", "r.vcf.gz", "-q"])
    server.warm_up(folder, ["call", "ref.fa", "out/r.bam", "--gvcf", "-o", "g.vcf.gz", "-q"])
    server.warm_up(folder, ["genotype", "ref.fa.rwx", "g.vcf.gz", "-o", "o.vcf", "-q", "-f"])
    server.warm_up(folder, ["panel", *ONE, "r.vcf.gz", "-o", "o.vcf", "-q", "-f"])
    (folder / "r.bed").write_bytes(BED)
    server.warm_up(folder, ["report", "--bam", "out/r.bam", *REPORTED, "-o", "page.html", "-q"])
    write_reference(folder, "alt.fa")
    (folder / "alt.fa.alt").rename(folder / "known.alt")
    (folder / "a.fa").write_bytes(ADAPTERS)
    reads = ("r_1.fq", "r_2.fq", "-o", "o.sam", "-q", "-f")
    server.warm_up(folder, ["align", "alt.fa", *reads, "--alt", "known.alt"])
    server.warm_up(folder, ["align", "ref.fa", *reads, "--trim", "--adapter", "a.fa"])
    return folder


def base_of(made):
    return {"ref.fa.rwx": made / "ref.fa.rwx", "r.bam": made / "out/r.bam", "r.bam.bai": made / "out/r.bam.bai"}


@pytest.mark.slow
def test_places(pytestconfig, server, made, tmp_path):
    def make(chance):
        kind = chance.choice(list(GIVEN))
        option, name, content = GIVEN[kind]
        if kind == "alleles":
            content = change_cells(chance, content) if chance.random() < 0.8 else chance.bytes(content)
        elif chance.random() < 0.5:
            content = chance.bytes(content)
        else:
            lines = [line.split(b"\t") for line in content.splitlines()]
            line = chance.choice(lines)
            line[chance.randrange(len(line))] = chance.choice((*VALUES, str(chance.integer()).encode()))
            content = b"\n".join(map(b"\t".join, lines)) + b"\n"
        if chance.random() < 0.3:
            name, content = f"{name}.gz", chance.choice((gzip.compress, bgzf))(content)
            content = chance.bytes(content) if chance.random() < 0.5 else content
        arguments = ["call", "ref.fa.rwx", "r.bam", option, name, "-o", "o.vcf", "-q"]
        checks = [("helpers.fuzz_checks:variants", ["o.vcf"])]
        return Case(kind, {**base_of(made), name: content}, arguments, damaged=name, checks=checks)

    campaign(pytestconfig, server, tmp_path, "places", make)


@pytest.mark.slow
def test_alleles_in_bcf(pytestconfig, server, made, tmp_path_factory, tmp_path):
    data = as_bcf(tmp_path_factory.mktemp("bcf"), ALLELES)

    def make(chance):
        how = chance.choice(("bytes", "decompressed", "records"))
        content = {"bytes": lambda: chance.bytes(bgzf(data)), "decompressed": lambda: bgzf(chance.bytes(data))}
        content = content.get(how, lambda: bgzf(change_records(chance, data)))()
        arguments = ["call", "ref.fa.rwx", "r.bam", "--alleles", "l.bcf", "-o", "o.vcf", "-q"]
        checks = [("helpers.fuzz_checks:variants", ["o.vcf"])]
        return Case(how, {**base_of(made), "l.bcf": content}, arguments, damaged="l.bcf", checks=checks)

    campaign(pytestconfig, server, tmp_path, "alleles", make, 0.3)


@pytest.mark.slow
def test_lists_of_files(pytestconfig, server, made, tmp_path):
    def make(chance):
        command, name = chance.choice(list(LISTED.items()))
        content = chance.bytes(f"# files\n{name}\n\n  {name}\n".encode())
        given = chance.choice((["@l.txt"], ["--file-list", "l.txt"]))
        first = ONE if command == "panel" else ["ref.fa.rwx"]
        files = {**base_of(made), "l.txt": content} | {each: made / each for each in ("g.vcf.gz", "r.vcf.gz")}
        return Case(f"bytes, {command}", files, [command, *first, *given, "-o", "o.vcf", "-q"])

    campaign(pytestconfig, server, tmp_path, "list", make, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--alt", "--adapter"])
def test_aligned(pytestconfig, server, made, tmp_path, option):
    """ALT contigs and adapters."""
    reference, name, more = ("alt.fa", "known.alt", []) if option == "--alt" else ("ref.fa", "a.fa", ["--trim"])
    shared = {each: made / each for each in (reference, f"{reference}.rwx", "r_1.fq", "r_2.fq")}
    whole = (made / name).read_bytes()

    def make(chance):
        content = change_cells(chance, whole) if option == "--alt" and chance.random() < 0.7 else chance.bytes(whole)
        arguments = ["align", reference, "r_1.fq", "r_2.fq", option, name, *more, "-o", "o.sam", "-q"]
        checks = [("helpers.fuzz_checks:alignments", ["o.sam"])]
        return Case(option, shared | {name: content}, arguments, damaged=name, checks=checks)

    campaign(pytestconfig, server, tmp_path, option, make, 0.1)


@pytest.mark.slow
def test_reports(pytestconfig, server, made, tmp_path):
    def make(chance):
        files = {name: made / "out" / name for name in ("r.bam", "r.bam.bai", "metrics.json")}
        files |= {name: made / name for name in ("r.vcf.gz", "ref.fa", "r.bed")}
        damaged = chance.choice(("r.vcf.gz", "metrics.json", "ref.fa", "r.bed"))
        whole = files[damaged].read_bytes()
        how = "bytes"
        if damaged == "r.vcf.gz" and chance.random() < 0.7:
            how, files[damaged] = "cells", bgzf(change_cells(chance, gzip.decompress(whole)))
        else:
            files[damaged] = chance.bytes(whole)
        arguments = ["report", "--bam", "r.bam", *REPORTED, "--metrics", "metrics.json", "-q", "-o", "p.html"]
        return Case(f"{how} of {damaged}", files, arguments, damaged=damaged)

    campaign(pytestconfig, server, tmp_path, "report", make, 0.1)
