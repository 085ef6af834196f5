"""PAF and the tag cs of long reads: against lines of minimap2, and against plain Python."""

import random
import re
import shutil
import subprocess

import pysam
import pytest

from helpers.align_oracle import random_bases, reverse_complement
from helpers.seeding import write_fasta
from readwarp.align import Aligner
from readwarp.cli import main
from readwarp.errors import UsageError

ONE = random_bases(300_000, 31)
ONE = ONE[:40_000] + "N" * 3 + ONE[40_003:]
TWO = random_bases(50_000, 32)
GENOME = {"c0": ONE, "c1": TWO}


def noisy(bases: str, rate: float, chance: random.Random) -> str:
    out = []
    for base in bases:
        kind = chance.choice("XXXID") if chance.random() < rate else ""
        out.append(
            {"": base, "X": chance.choice("ACGTN"), "I": base + random_bases(3, chance.randrange(99)), "D": ""}[kind]
        )
    return "".join(out)


def made_reads() -> dict[str, str]:
    """Whole, split, clipped and reversed ones."""
    chance, reads = random.Random(4), {}
    for number in range(120):
        start, length = chance.randrange(280_000), chance.randrange(600, 20_000)
        bases = ONE[start : start + length]
        if number % 6 == 1:
            bases += reverse_complement(TWO[start % 40_000 :][:length])
        if number % 6 == 2:
            bases = random_bases(500, number) + bases + random_bases(700, number + 1)
        if number % 6 == 3:
            bases = ONE[39_000 - number : 41_000 + number]  # its N are the reference's too
        bases = noisy(bases, 0.004, chance)
        reads[f"r{number}"] = reverse_complement(bases) if number % 2 else bases
    return reads


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paf")
    write_fasta(folder / "ref.fa", [ONE, TWO])
    (folder / "r.fa").write_text("".join(f">{name}\n{bases}\n" for name, bases in made_reads().items()))
    return folder


def lines_of(text: str) -> dict[tuple[str, ...], tuple[list[str], dict[str, str]]]:
    """Lines of PAF by read, its part, strand, place and CIGAR: the columns without MAPQ, and tags by name."""
    rows = [line.split("\t") for line in text.splitlines()]
    told = [(row[:11], {field[:2]: field for field in row[12:]}) for row in rows]
    return {(*row[:6], row[7], tags["cg"]): (row, tags) for row, tags in told}


@pytest.mark.skipif(shutil.which("minimap2") is None, reason="needs minimap2")
@pytest.mark.parametrize("options", [[], ["--eqx", "--cs=short"], ["--cs=long"]])
def test_lines_are_those_of_minimap2(folder, tmp_path, options):
    """Wherever both place a part of a read alike. Hard and soft clips, and parts of split reads, are among them."""
    files, out = [str(folder / "ref.fa"), str(folder / "r.fa")], tmp_path / "o.paf"
    assert main(["align", *files, "-o", str(out), "--preset", "hifi", "-q", *options]) == 0
    command = ["minimap2", "-cx", "map-hifi", *options, *files]
    theirs = lines_of(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    ours = lines_of(out.read_text())
    both = ours.keys() & theirs.keys()
    least = 0.7 if "--eqx" in options else 0.9  # N and N are unequal in our CIGARs
    assert len(both) > least * max(len(ours), len(theirs)) and len({key[0] for key in both}) < len(both)
    for name in ("NM", "nn", "tp", "de", *["cs"] * any("cs" in option for option in options)):
        assert [key for key in both if ours[key][1][name] != theirs[key][1][name]] == []
    assert [key for key in both if ours[key][0] != theirs[key][0]] == []


def cs_of(record: pysam.AlignedSegment, is_long: bool) -> str:
    """cs by the definition on minimap2's manual page, one base after the other."""
    out, equal, q, position = "", "", 0, record.reference_start
    contig, bases = GENOME[record.reference_name], record.query_sequence
    for operation, count in [*record.cigartuples, (9, 0)]:
        if operation not in (0, 7, 8) and equal:
            out, equal = out + (f"={equal}" if is_long else f":{len(equal)}"), ""
        for _ in range(count):
            if operation in (0, 7, 8):
                if bases[q] == contig[position]:
                    equal += bases[q]
                else:
                    out += (f"={equal}" if is_long else f":{len(equal)}") if equal else ""
                    out, equal = out + f"*{contig[position]}{bases[q]}".lower(), ""
            q, position = q + (operation in (0, 1, 4, 7, 8)), position + (operation in (0, 2, 7, 8))
        if operation == 1:
            out += "+" + bases[q - count : q].lower()
        if operation == 2:
            out += "-" + contig[position - count : position].lower()
    return out


@pytest.mark.parametrize("form", ["short", "long"])
@pytest.mark.parametrize("output", ["o.sam", "o.bam", "o.cram"])
def test_cs_of_records(folder, tmp_path, form, output):
    files = [str(folder / "ref.fa"), str(folder / "r.fa"), "-o", str(tmp_path / output)]
    assert main(["align", *files, "--preset", "hifi", "-q", "-Y", "--cs", form]) == 0
    with pysam.AlignmentFile(str(tmp_path / output), reference_filename=str(folder / "ref.fa")) as file:
        records = [record for record in file if not record.is_unmapped]
    assert sum(record.is_supplementary for record in records) > 10
    assert [r.query_name for r in records if r.get_tag("cs") != cs_of(r, form == "long")] == []
    names = {
        letter for record in records for letter in re.findall(r"\*n[acgt]|\*[acgt]n|[-+:=*]", record.get_tag("cs"))
    }
    assert names >= {"+", "-", "*", "=" if form == "long" else ":", "*an"}


def test_cs_from_python(folder):
    read = ONE[500:560] + "A" + ONE[560:700]
    (record,) = Aligner(folder / "ref.fa", cs="short").align([read])
    assert record.tags["cs"].count("+a") == 1 and list(record.tags)[-1] == "cs"
    (plain,) = Aligner(folder / "ref.fa").align([read])
    assert "cs" not in plain.tags and plain == record._replace(tags=plain.tags)
    with pytest.raises(UsageError, match="--cs both: not one of none, short, long"):
        Aligner(folder / "ref.fa", cs="both")
