"""Mutated BAM given to call with the options that hand records on or read more of them, and to report and run."""

import copy
import random

import pysam
import pytest

from helpers.alignment_bytes import Bam
from helpers.bam_mutations import mutate
from helpers.command_samples import CONTIGS, write_pairs
from helpers.fuzzing import Case, campaign
from helpers.making import other, random_sequence, tiled, write_bam, write_fasta

ALIGNMENTS, VARIANTS = "helpers.fuzz_checks:alignments", "helpers.fuzz_checks:variants"
SEQUENCE = random_sequence(6000, seed=7)
INSERTED = random_sequence(120, seed=8)
SITES = [(place, SEQUENCE[place], other(SEQUENCE[place])) for place in range(300, 5600, 700)]
LONG = ("--platform", "hifi")
OPTIONS = {  # kind -> (reads, options, check of another output)
    "bam-output": ("short", ("--bam-output", "b.bam"), (ALIGNMENTS, ["b.bam"])),
    "haplotag": ("long", (*LONG, "--haplotag", "b.bam"), (ALIGNMENTS, ["b.bam"])),
    "haplotag-region": ("long", (*LONG, "--haplotag", "b.bam", "-r", "one:1-900"), (ALIGNMENTS, ["b.bam"])),
    "both": ("long", (*LONG, "--haplotag", "b.bam", "--bam-output", "c.bam"), (ALIGNMENTS, ["c.bam"])),
    "sv": ("long", (*LONG, "--sv", "s.vcf"), (VARIANTS, ["s.vcf"])),
    "consensus": ("short", ("--mixture", "--consensus", "c.fa", "--sample", "r"), None),
    "somatic": ("short", ("t.bam", "--somatic", "--normal", "r"), None),  # the mutated file is the normal
    "circular": ("short", ("--circular", "one", "--gvcf"), None),
}


def tag_long(path):
    """Read groups, and tags as aligners write them; two reads are split, and one record is unplaced."""
    with pysam.AlignmentFile(str(path)) as file:
        records, header = list(file), file.header
    for record in records:
        record.set_tag("RG", "g")
        record.set_tag("NM", 0)
    one, two = records[3], records[9]
    one.set_tag("SA", f"one,{two.reference_start + 1},+,{two.cigarstring},60,0;")
    two.query_name, two.flag = one.query_name, one.flag | 0x800
    two.set_tag("SA", f"one,{one.reference_start + 1},+,{one.cigarstring},60,0;")
    lost = pysam.AlignedSegment(header)
    lost.query_name, lost.flag, lost.query_sequence = "lost", 4, "ACGT" * 20
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        for record in [*records, lost]:
            out.write(record)
    pysam.index(str(path))


@pytest.fixture(scope="session")
def made(tmp_path_factory, server):
    """A folder with short and long reads, each with its reference."""
    folder, rng = tmp_path_factory.mktemp("outputs"), random.Random(1)
    write_pairs(folder, 200)
    server.warm_up(folder, ["align", "ref.fa", "r_1.fq", "r_2.fq", "-o", "short.bam", "-q", "--sort", "coordinate"])
    tumour = ["align", "ref.fa", "r_1.fq", "r_2.fq", "-o", "t.bam", "-q", "--write-index", "--sample", "t"]
    server.warm_up(folder, tumour)
    write_fasta(folder / "long.fa", {"one": SEQUENCE, "two": CONTIGS["two"]})
    first = [*SITES[:4], (3000, SEQUENCE[3000], SEQUENCE[3000] + INSERTED), *SITES[4:]]
    reads = [read for read in tiled([first, []], SEQUENCE, step=150, length=1500) if rng.random() < 0.9]
    group = {"RG": [{"ID": "g", "SM": "x", "PL": "PACBIO"}]}
    lengths = {"one": len(SEQUENCE), "two": len(CONTIGS["two"])}
    tag_long(write_bam(folder / "long.bam", lengths, [("one", read) for read in reads], group))
    pysam.index(str(folder / "short.bam"))
    server.warm_up(folder, ["index", "long.fa", "-q"])
    for reads, options, _ in OPTIONS.values():
        reference = "ref.fa" if reads == "short" else "long.fa"
        server.warm_up(folder, ["call", reference, f"{reads}.bam", *options, "-o", "o.vcf", "-q", "-f"])
    for reads in ("short", "long"):
        server.warm_up(folder, ["report", "--bam", f"{reads}.bam", "-o", "p.html", "-q", "-f"])
    server.warm_up(folder, ["run", "ref.fa", "r_1.fq", "r_2.fq", "-o", "out", "-q"])
    return folder


def files_of(made, reads):
    reference = "ref.fa" if reads == "short" else "long.fa"
    tumour = {name: made / name for name in ("t.bam", "t.bam.bai") if reads == "short"}
    return tumour | {"ref.fa": made / reference, "ref.fa.rwx": made / f"{reference}.rwx"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", OPTIONS)
def test_call(pytestconfig, server, made, tmp_path, kind):
    reads, options, check = OPTIONS[kind]
    bam = Bam.read(made / f"{reads}.bam")

    def make(chance):
        what, data = mutate(chance, copy.deepcopy(bam))
        checks = [(VARIANTS, ["o.vcf"]), *([check] if check else [])]
        arguments = ["call", "ref.fa", "x.bam", *options, "-o", "o.vcf", "-q"]
        return Case(what, files_of(made, reads) | {"x.bam": data}, arguments, "x.bam", checks)

    campaign(pytestconfig, server, tmp_path, f"call-{kind}", make, 0.12)


@pytest.mark.slow
@pytest.mark.parametrize("reads", ["short", "long"])
def test_report(pytestconfig, server, made, tmp_path, reads):
    bam = Bam.read(made / f"{reads}.bam")

    def make(chance):
        what, data = mutate(chance, copy.deepcopy(bam))
        (tmp_path / "i.bam").write_bytes(data)
        files = {"x.bam": data}
        verbosity = pysam.set_verbosity(0)
        try:
            pysam.samtools.index(str(tmp_path / "i.bam"))
            files["x.bam.bai"] = (tmp_path / "i.bam.bai").read_bytes()
        except pysam.SamtoolsError:
            files["x.bam.bai"] = made / f"{reads}.bam.bai"
        finally:
            pysam.set_verbosity(verbosity)
        return Case(what, files, ["report", "--bam", "x.bam", "-o", "p.html", "-q"], "x.bam")

    campaign(pytestconfig, server, tmp_path, f"report-{reads}", make, 0.1)


@pytest.mark.slow
def test_run(pytestconfig, server, made, tmp_path):
    """Reads in BAM, and what the samples of a whole run are made from."""
    bam, text = Bam.read(made / "short.bam"), (made / "r_1.fq").read_bytes()

    def make(chance):
        if chance.random() < 0.5:
            name, (what, data) = "x.bam", mutate(chance, copy.deepcopy(bam))
        else:
            name, what, data = "x.fq", "bytes", chance.bytes(text)
        arguments = ["run", "ref.fa", name, "-o", "out", "-q", "--sample", "s", *(["--single"] * (name == "x.fq"))]
        checks = [(ALIGNMENTS, ["out/s.bam"]), (VARIANTS, ["out/s.vcf.gz"])]
        return Case(what, files_of(made, "short") | {name: data}, arguments, name, checks)

    campaign(pytestconfig, server, tmp_path, "run", make, 0.05)
