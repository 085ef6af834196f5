"""Mutated FASTQ and FASTA, plain and compressed, given to align with options that look at names, comments and ends."""

import bz2
import gzip
import lzma

import pytest

from helpers.command_samples import CONTIGS, fasta, pairs, record
from helpers.fuzzing import Case, Mutator, campaign, try_on_both

COMPRESSIONS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
ODD_LINES = (b"\r\n", b"@\n", b"+\n", b"\n", b"@r1/2 x\n", b"acgtnRYK*-.\n", b"\xff\xfe\n", b"@r\tXX:Z:\n", b">\n")
FORMS = ("pairs", "interleaved", "fasta")
OPTIONS = ((), (), ("--trim",), ("-C",), ("-a",), ("--mark-duplicates", "--write-index"), ("--batch-bases", "1000"))


@pytest.fixture(scope="session")
def reference(tmp_path_factory, server):
    folder = tmp_path_factory.mktemp("reference")
    (folder / "ref.fa").write_text(fasta(CONTIGS))
    server.warm_up(folder, ["index", "ref.fa", "-q"])
    return {name: folder / name for name in ("ref.fa", "ref.fa.rwx")}


@pytest.fixture(scope="session")
def mates(tmp_path_factory, server, reference):
    folder, made = tmp_path_factory.mktemp("mates"), pairs(40)
    texts = ["".join(record(f"{pair[0]}/{mate} XY:i:1", pair[mate]) for pair in made).encode() for mate in (1, 2)]
    for mate, text in enumerate(texts, 1):
        (folder / f"r_{mate}.fq").write_bytes(text)
    for options in set(OPTIONS):
        server.warm_up(folder, ["align", reference["ref.fa"], "r_1.fq", "r_2.fq", "-f", "-o", "o.bam", "-q", *options])
    return texts


def mutate_lines(chance: Mutator, text: bytes) -> bytes:
    """A line lost, doubled, moved, changed or replaced."""
    lines = text.splitlines(keepends=True)
    place, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    odd = [chance.choice(ODD_LINES)]
    lines[place : place + 1] = chance.choice(
        ([], [lines[place]] * 2, odd, [lines[other]], [lines[place].rstrip()], [chance.bytes(lines[place])])
    )
    return b"".join(lines)


def maker(form, reference, mates):
    """A function that makes a case of reads in this form."""

    def make(chance):
        texts = list(mates)
        if form == "interleaved":
            texts = [
                b"".join(b"@" + part for both in zip(*(t.split(b"@")[1:] for t in texts), strict=True) for part in both)
            ]
        elif form == "fasta":
            texts = [b"".join(b">" + r.partition(b"+\n")[0] for r in texts[0].split(b"@")[1:])]
        how, name = chance.choice(("bytes", "lines", "lines", "compressed", "in a compressed file")), "r_2.fq"
        texts[-1] = mutate_lines(chance, texts[-1]) if how == "lines" else texts[-1]
        texts[-1] = chance.bytes(texts[-1]) if how in ("bytes", "in a compressed file") else texts[-1]
        if "compressed" in how:
            suffix = chance.choice(list(COMPRESSIONS))
            texts[-1], name = COMPRESSIONS[suffix](texts[-1]), name + suffix
            texts[-1] = chance.bytes(texts[-1]) if how == "compressed" else texts[-1]
        names = ["r_1.fq", name] if form == "pairs" else [name]
        shape = {"pairs": (), "interleaved": ("-p",), "fasta": ("--single",)}[form]
        output = chance.choice(("o.bam", "o.bam", "o.sam"))
        options = (*shape, *chance.choice(OPTIONS[:-2] if output == "o.sam" else OPTIONS))
        arguments = ("align", "ref.fa", *names, "-o", output, "-q", *options)
        files = reference | dict(zip(names, texts, strict=True))
        return Case(how, files, arguments, damaged="r_", checks=[("helpers.fuzz_checks:alignments", [output])])

    return make


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_reads(form, pytestconfig, server, reference, mates, tmp_path):
    campaign(pytestconfig, server, tmp_path, form, maker(form, reference, mates), share=0.4)


@pytest.mark.gpu
@pytest.mark.xdist_group("fuzz-cards")  # one server for all of them
@pytest.mark.parametrize("form", FORMS)
def test_reads_for_a_card(form, pytestconfig, card_server, reference, mates, tmp_path):
    campaign(pytestconfig, card_server, tmp_path, f"{form}-card", maker(form, reference, mates), 0.03, try_on_both)
