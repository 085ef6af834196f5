"""Mutated references (FASTA plain and compressed, GenBank, EMBL) and their .fai and .gzi, given to index and align."""

import bz2
import gzip
import io

import pytest
from Bio import SeqIO
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord

from helpers.command_samples import CONTIGS, fasta
from helpers.fuzz_variants import bgzf
from helpers.fuzzing import Case, campaign

PACKS = {".gz": gzip.compress, ".bgz": bgzf, ".bz2": bz2.compress}
PAIRS = ">a\nACGTACGTAA\n>b\nGGGTTTACGT\n"


def annotated(kind):
    """CONTIGS as GenBank or EMBL."""
    records = []
    for name, bases in CONTIGS.items():
        records.append(SeqRecord(Seq(bases), id=f"{name}.1", name=name, description="x"))
        records[-1].annotations = {"molecule_type": "DNA", "topology": "linear", "data_file_division": "BCT"}
    out = io.StringIO()
    SeqIO.write(records, out, kind)
    return out.getvalue().encode()


@pytest.fixture(scope="session")
def folder(tmp_path_factory, server):
    folder = tmp_path_factory.mktemp("references")
    (folder / "ref.fa").write_text(fasta(CONTIGS))
    server.warm_up(folder, ["index", "ref.fa", "-q"])
    (folder / "p.fa").write_text(PAIRS)
    server.warm_up(folder, ["pairwise", "p.fa", "p.fa", "-o", "o.sam", "-q"])
    return folder


@pytest.mark.slow
def test_references(pytestconfig, server, folder, tmp_path):
    texts = {"fa": fasta(CONTIGS).encode(), "gb": annotated("genbank"), "embl": annotated("embl")}

    def make(chance):
        kind = chance.choice(("fa", "fa", "gb", "embl"))
        name, content = f"ref.{kind}", texts[kind]
        if (how := chance.choice(("bytes", "lines", "packed"))) == "lines":
            lines = content.splitlines(keepends=True)
            place = chance.randrange(len(lines) if chance.random() < 0.5 else min(8, len(lines)))
            lines[place : place + 1] = chance.choice(
                ([], [lines[place]] * 2, [b">\n"], [b"//\n"], [b"\r\n"], [b"LOCUS\n"], [chance.bytes(lines[place])])
            )
            content = b"".join(lines)
        elif how == "bytes":
            content = chance.bytes(content)
        if how == "packed" or chance.random() < 0.2:
            ending, pack = chance.choice(list(PACKS.items()))
            name, content = name + ending, pack(content)
            content = chance.bytes(content) if how == "packed" else content
        return Case(how, {name: content}, ["index", name, "-q"], damaged=name)

    campaign(pytestconfig, server, tmp_path, "reference", make)


@pytest.mark.slow
def test_pairwise(pytestconfig, server, folder, tmp_path):
    def make(chance):
        content = chance.bytes(PAIRS.encode())
        arguments = ["pairwise", *chance.choice((("p.fa", "q.fa"), ("q.fa", "p.fa"))), "-o", "o.sam", "-q"]
        return Case("bytes", {"p.fa": PAIRS.encode(), "q.fa": content}, arguments, damaged=".fa")

    campaign(pytestconfig, server, tmp_path, "pairwise", make, 0.5)
