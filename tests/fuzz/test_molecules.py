"""Mutated UMIs of reads given to align, and mutated molecules given to consensus."""

import copy

import pytest

from helpers.alignment_bytes import Bam
from helpers.bam_mutations import mutate
from helpers.command_samples import CONTIGS, fasta, pairs, record
from helpers.fuzzing import Case, campaign

CHECK = "helpers.fuzz_checks:alignments"
UMIS = ("ACGTAC+TTGACC", "GGATCA+CATTGC", "TTGACC+ACGTAC")
ODD = (
    b"",
    b"N",
    b"ACGTNC-TTGACC",
    b"ACGT",
    b"acgtac+ttgacc",
    b"+",
    b"-",
    b"A" * 300,
    b"ACGTAC+TTGACC+AAA",
    b"\xff",
    b"*",
)
PLACES = {"name": "{read}:{umi}", "comment": "{read} RX:Z:{umi}", "3M2S+T,3M2S+T": "{read}"}
MARKED = ("--mark-duplicates", "--sort", "coordinate", "-q")


def texts(where):
    """FASTQ of both mates: each template three times, of one molecule or of two."""
    out = ["", ""]
    for number, (name, *mates) in enumerate(pairs(30)):
        for k in range(3):
            umi = UMIS[(number + (k == 2)) % 3].replace("+", "-" if where == "comment" else "+")
            title = PLACES[where].format(read=f"{name}.{k}", umi=umi)
            for mate in (0, 1):
                out[mate] += record(title, mates[mate])
    return [text.encode() for text in out]


@pytest.fixture(scope="session")
def made(tmp_path_factory, server):
    """A folder with the reference, its index, and molecules in BAM."""
    folder = tmp_path_factory.mktemp("molecules")
    (folder / "ref.fa").write_text(fasta(CONTIGS))
    for where in PLACES:
        for mate, text in enumerate(texts(where), 1):
            (folder / f"r_{mate}.fq").write_bytes(text)
        for duplex in ([], ["--umi-duplex"]):
            arguments = ["align", "ref.fa", "r_1.fq", "r_2.fq", "--umi", where, *duplex, "-f", "-o", "m.bam", *MARKED]
            server.warm_up(folder, arguments)
        if where == "name":
            (folder / "duplex.bam").write_bytes((folder / "m.bam").read_bytes())
            server.warm_up(folder, ["align", "ref.fa", "r_1.fq", "r_2.fq", "--umi", where, "-o", "part.bam", "-q"])
    server.warm_up(folder, ["consensus", "duplex.bam", "-o", "c.bam", "-q"])
    server.warm_up(folder, ["consensus", "duplex.bam", "--duplex", "-o", "d.bam", "-q"])
    server.warm_up(folder, ["merge", "part.bam", "--umi", "tag", "-o", "again.bam", *MARKED])
    return folder


@pytest.mark.slow
def test_umis(pytestconfig, server, made, tmp_path):
    shared = {name: made / name for name in ("ref.fa", "ref.fa.rwx")}

    def make(chance):
        where, how = chance.choice(list(PLACES)), chance.choice(("titles", "titles", "titles", "bytes"))
        mates = texts(where)
        changed = chance.randrange(2)
        if how == "bytes":
            mates[changed] = chance.bytes(mates[changed])
        else:
            lines, both = [text.split(b"\n") for text in mates], chance.random() < 0.7
            for _ in range(chance.choice((1, 1, 3))):
                place = 4 * chance.randrange(len(lines[0]) // 4)
                umi = chance.choice(ODD)
                for mate in (0, 1) if both else (changed,):
                    lines[mate][place] = change_title(lines[mate][place], where, umi)
            mates = [b"\n".join(own) for own in lines]
        files = shared | {"r_1.fq": mates[0], "r_2.fq": mates[1]}
        duplex = ["--umi-duplex"] if chance.random() < 0.5 else []
        arguments = ["align", "ref.fa", "r_1.fq", "r_2.fq", "--umi", where, *duplex, "-o", "o.bam", *MARKED]
        return Case(f"{how}, {where}", files, arguments, "r_", [(CHECK, ["o.bam"])])

    campaign(pytestconfig, server, tmp_path, "umis", make, 0.3)


def change_title(title, where, umi):
    mark = {"name": b":", "comment": b"RX:Z:"}.get(where)
    return title[: title.rindex(mark) + len(mark)] + umi if mark and mark in title else title


@pytest.mark.slow
def test_consensus(pytestconfig, server, made, tmp_path):
    bam = Bam.read(made / "duplex.bam")

    def make(chance):
        what, data = mutate(chance, copy.deepcopy(bam))
        options = chance.choice(([], ["--duplex"], ["--min-reads", "2"]))
        output = chance.choice(("o.bam", "o.bam", "o.fq"))
        checks = [("helpers.fuzz_checks:unaligned", [output])] if output == "o.bam" else []
        return Case(what, {"x.bam": data}, ["consensus", "x.bam", *options, "-o", output, "-q"], "x.bam", checks)

    campaign(pytestconfig, server, tmp_path, "consensus", make, 0.5)


@pytest.mark.slow
def test_merge_by_umi(pytestconfig, server, made, tmp_path):
    bam = Bam.read(made / "part.bam")

    def make(chance):
        what, data = mutate(chance, copy.deepcopy(bam))
        arguments = ["merge", "x.bam", "--umi", "tag", "-o", "o.bam", *MARKED]
        return Case(what, {"x.bam": data}, arguments, "x.bam", [(CHECK, ["o.bam"])])

    campaign(pytestconfig, server, tmp_path, "merge-umis", make, 0.3)
