"""MD where the reference has letters other than A C G T: as samtools calmd makes it of the FASTA file."""

import random
import re
from pathlib import Path

import pysam
import pytest

from helpers.seeding import reverse_complement, write_fasta
from readwarp.cli import main

OTHERS, EVERY = "RYSWKMBDHVN", 97  # bases from some of them to the next
RNG = random.Random(33)
BASES = "".join(RNG.choices("ACGT", k=9001))


def strewn(bases: str) -> str:
    """Bases with one to three other letters here and there, some of them small, and once all of them."""
    out = list(bases)
    for start in range(EVERY, len(out), EVERY):
        for i in range(start, start + RNG.randrange(1, 4)):
            out[i] = RNG.choice(OTHERS + OTHERS.lower())
    out[50 * EVERY : 50 * EVERY + len(OTHERS)] = OTHERS
    return "".join(out)


def reads_of(length: int) -> list[str]:
    """Reads of both strands across such places; each has a substitution, some a deletion there."""
    reads, before = [], 2 * length // 5
    for number in range(60):
        place = EVERY * (50 if number % 5 == 0 else RNG.randrange(before // EVERY + 1, (9000 - length) // EVERY))
        gone = 9 * (number % 2)
        bases = BASES[place - before : place - 4] + BASES[place - 4 + gone : place - before + length]
        bases = bases[:20] + "ACGT"["ACGT".index(bases[20]) - 1] + bases[21:]
        reads.append(bases if number % 3 else reverse_complement(bases))
    return reads


def tags_of(path: Path) -> list[tuple]:
    with pysam.AlignmentFile(str(path)) as file:
        return [(read.query_name, read.flag, read.get_tag("NM"), read.get_tag("MD")) for read in file]


@pytest.mark.parametrize(("preset", "length"), [("standard", 150), ("hifi", 3000)])
def test_as_calmd_makes_it(tmp_path, preset, length):
    fasta, reads, bam = write_fasta(tmp_path / "ref.fa", [strewn(BASES)]), tmp_path / "r.fq", tmp_path / "o.bam"
    reads.write_text("".join(f"@{n}\n{bases}\n+\n{'I' * len(bases)}\n" for n, bases in enumerate(reads_of(length))))
    assert main(["align", str(fasta), str(reads), "-o", str(bam), "--preset", preset, "-q"]) == 0
    pysam.samtools.calmd("-b", str(bam), str(fasta), save_stdout=str(tmp_path / "calmd.bam"))
    ours = tags_of(bam)
    assert ours == tags_of(tmp_path / "calmd.bam")
    told = " ".join(tags[-1] for tags in ours)
    assert set(OTHERS) <= set(told) and re.search("[^ACGTN]", "".join(re.findall(r"\^([A-Z]+)", told)))
