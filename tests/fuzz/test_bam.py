"""Mutated BAM, and SAM of a stream, given to merge, align and call."""

import copy

import pysam
import pytest

from helpers.alignment_bytes import Bam
from helpers.bam_mutations import mutate
from helpers.command_samples import CONTIGS, fasta, pairs, record
from helpers.fuzzing import Case, campaign, try_on_both

TAGS = "BC:Z:ACGT-TT XB:B:s,1,-2,3 XC:B:f,0.5 XA:A:c XH:H:1AE3 XF:f:1.5 XI:i:-70000"
CHECK = "helpers.fuzz_checks:alignments"


def make_files(folder, server):
    """The reference, its index, alignments unsorted and sorted with an index; kernels are compiled on the way."""
    (folder / "ref.fa").write_text(fasta(CONTIGS))
    for mate in (1, 2):
        texts = (record(f"{pair[0]} {TAGS}", pair[mate]) for pair in pairs(60))
        (folder / f"r_{mate}.fq").write_text("".join(texts))
    reads = ["ref.fa", "r_1.fq", "r_2.fq"]
    server.warm_up(folder, ["align", *reads, "-C", "-o", "part.bam", "-q"])
    sorting = ["--sort", "coordinate", "--mark-duplicates", "--write-index", "-q"]
    server.warm_up(folder, ["merge", "part.bam", "-o", "sorted.bam", *sorting])
    server.warm_up(folder, ["merge", "part.bam", "-o", "named.bam", "--sort", "name", "-q"])
    server.warm_up(folder, ["align", "ref.fa", "part.bam", "-o", "again.sam", "-q"])
    server.warm_up(folder, ["call", "ref.fa", "sorted.bam", "-o", "calls.vcf", "-q"])
    (folder / "sorted.sam").write_bytes(pysam.samtools.view("-h", str(folder / "sorted.bam")).encode())
    return folder


@pytest.fixture(scope="session")
def files(tmp_path_factory, server):
    return make_files(tmp_path_factory.mktemp("bam"), server)


@pytest.fixture(scope="session")
def checked_files(tmp_path_factory, checking_server):
    return make_files(tmp_path_factory.mktemp("checked-bam"), checking_server)


def maker(files, command):
    """A function that makes a case of one of the commands, with mutated alignments."""
    bams = {name: Bam.read(files / name) for name in ("part.bam", "sorted.bam")}
    shared = {name: files / name for name in ("ref.fa", "ref.fa.rwx")}

    def make_merge(chance):
        what, data = mutate(chance, copy.deepcopy(bams["part.bam"]))
        output = chance.choice(("o.bam", "o.bam", "o.sam", "o.cram"))
        options = chance.choice(([], ["--sort", "coordinate"], ["--sort", "name"], ["--mark-duplicates"]))
        if options == ["--mark-duplicates"]:
            options = ["--sort", "coordinate", "--mark-duplicates"]
        if options and "coordinate" in options and output != "o.sam" and chance.random() < 0.5:
            options = [*options, "--write-index"]
        arguments = ("merge", "x.bam", "-o", output, *options, "--reference", "ref.fa", "-q")
        named = None if what == "header" else "x.bam"  # an M5 that differs is the reference's fault
        return Case(what, {"x.bam": data} | shared, arguments, named, [(CHECK, [output, "ref.fa"])])

    def make_align(chance):
        what, data = mutate(chance, copy.deepcopy(bams[chance.choice(("part.bam", "sorted.bam"))]))
        output = chance.choice(("o.bam", "o.sam"))
        arguments = ("align", "ref.fa", "x.bam", "-o", output, "-q")
        return Case(what, {"x.bam": data} | shared, arguments, "x.bam", [(CHECK, [output])])

    def make_call(chance):
        checks = [("helpers.fuzz_checks:variants", ["o.vcf"])]
        if chance.random() < 0.2:
            data, name = chance.bytes((files / "sorted.sam").read_bytes()), "x.sam"
            what = "sam"
        else:
            what, data = mutate(chance, copy.deepcopy(bams["sorted.bam"]))
            name = "x.bam"
        if name == "x.bam" and chance.random() < 0.5:
            given = {name: data, "x.bam.bai": files / "sorted.bam.bai"} | shared
            return Case(what, given, ("call", "ref.fa", name, "-o", "o.vcf", "-q"), "x.bam", checks)
        given = {name: data} | shared
        return Case(what, given, ("call", "ref.fa", "-", "-o", "o.vcf", "-q"), "stdin", checks, stdin=name)

    return {"merge": make_merge, "align": make_align, "call": make_call}[command]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["merge", "align", "call"])
def test_bam(pytestconfig, server, files, tmp_path, command):
    campaign(pytestconfig, server, tmp_path, f"bam-{command}", maker(files, command))


@pytest.mark.gpu
@pytest.mark.xdist_group("fuzz-cards")  # one server for all of them
def test_bam_for_a_card(pytestconfig, card_server, files, tmp_path):
    campaign(pytestconfig, card_server, tmp_path, "bam-card", maker(files, "align"), 0.03, try_on_both)


@pytest.mark.slow
@pytest.mark.xdist_group("bounds")  # one server compiles for all of them
def test_bounds(pytestconfig, checking_server, checked_files, tmp_path):
    makers = [maker(checked_files, command) for command in ("merge", "align", "call")]
    campaign(pytestconfig, checking_server, tmp_path, "bam-bounds", lambda chance: chance.choice(makers)(chance), 0.2)
