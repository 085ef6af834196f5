"""Mutated FASTQ, plain and compressed, given to align."""

import bz2
import gzip
import lzma

import pytest

from helpers.command_samples import CONTIGS, fasta, pairs, record
from helpers.fuzzing import Case, campaign

COMPRESSIONS = (gzip.compress, bz2.compress, lzma.compress)
SUFFIXES = {gzip.compress: ".gz", bz2.compress: ".bz2", lzma.compress: ".xz"}


@pytest.fixture(scope="session")
def reference(tmp_path_factory, server):
    folder = tmp_path_factory.mktemp("reference")
    (folder / "ref.fa").write_text(fasta(CONTIGS))
    server.warm_up(folder, ["index", "ref.fa", "-q"])
    return folder / "ref.fa", folder / "ref.fa.rwx"


@pytest.fixture(scope="session")
def mates(tmp_path_factory, server, reference):
    folder, made = tmp_path_factory.mktemp("mates"), pairs(40)
    texts = ["".join(record(f"{pair[0]}/{mate} x", pair[mate]) for pair in made).encode() for mate in (1, 2)]
    for mate in (1, 2):
        (folder / f"r_{mate}.fq").write_bytes(texts[mate - 1])
    server.warm_up(folder, ["align", reference[0], "r_1.fq", "r_2.fq", "-o", "o.bam", "-q"])
    return texts


@pytest.mark.slow
def test_fastq(pytestconfig, server, reference, mates, tmp_path):
    def make(chance):
        texts, name = list(mates), "r_2.fq"
        how = chance.choice(("bytes", "bytes", "lines", "compressed", "plain in compressed"))
        if how == "lines":
            lines = texts[1].splitlines(keepends=True)
            place = chance.randrange(len(lines))
            lines[place : place + 1] = chance.choice(
                ([], [lines[place]] * 2, [b"\r\n"], [b"@\n"], [chance.bytes(lines[place])])
            )
            texts[1] = b"".join(lines)
        elif how != "compressed":
            texts[1] = chance.bytes(texts[1])
        if how.endswith("compressed"):
            compress = chance.choice(COMPRESSIONS)
            texts[1], name = compress(texts[1]), name + SUFFIXES[compress]
            texts[1] = chance.bytes(texts[1]) if how == "compressed" else texts[1]
        files = {"ref.fa": reference[0], "ref.fa.rwx": reference[1], "r_1.fq": texts[0], name: texts[1]}
        arguments = ("align", "ref.fa", "r_1.fq", name, "-o", "o.bam", "-q")
        return Case(how, files, arguments, damaged="r_", checks=[("helpers.fuzz_checks:alignments", ["o.bam"])])

    campaign(pytestconfig, server, tmp_path, "fastq", make)
