"""Alleles of few molecules: pools and mixtures, called with as many copies as their rarest share needs."""

import pysam

from helpers.jobs import call_variants
from helpers.making import Read, random_sequence, write_bam, write_fasta
from readwarp.call.records.genotypes.filters import FILTERS
from readwarp.config import CallParameters

SEQUENCE = random_sequence(600, seed=5)
DEPTH, PLACES, SIZE = 3000, range(100, 480), 120
RARE, COMMON, DELETED = 260, 380, 300  # substitutions in 1 % and 10 % of the reads, and 3 bases missing in 1 %
OTHER = dict(zip("ACGT", "CGTA", strict=True))


def mixed() -> list[Read]:
    """Reads across all three places, and errors of Q12 in 3 reads at each of ten bases."""
    reads = []
    assert SEQUENCE[DELETED - 1] != SEQUENCE[DELETED + 2], "the deletion could be moved"
    for i in range(DEPTH):
        start = 265 - SIZE + i % 20 if i % 2 else 290 - i % 25  # either half of the reads reaches one side
        bases, cigar = list(SEQUENCE[start : start + SIZE + 3]), f"{SIZE}M"
        qualities = [37] * SIZE
        for place, share in ((RARE, 100), (COMMON, 10)):
            if i % (2 * share) in (0, 1) and start <= place < start + SIZE:
                bases[place - start] = OTHER[SEQUENCE[place]]
        if i % 200 in (50, 51) and start + 5 < DELETED < start + SIZE - 5:
            del bases[DELETED - start : DELETED + 3 - start]
            cigar = f"{DELETED - start}M3D{SIZE + start - DELETED}M"
        for place in range(200, 400, 20):
            if i % 1000 == place and start <= place < start + SIZE and place not in (RARE, COMMON, DELETED):
                bases[place - start], qualities[place - start] = OTHER[SEQUENCE[place]], 12
        reads.append(Read(start, cigar, "".join(bases[:SIZE]), tuple(qualities), 16 * (i % 4 > 1), 60, f"r{i}"))
    return reads


def called(folder, **parameters) -> dict[int, pysam.VariantRecord]:
    fasta, bam = write_fasta(folder / "ref.fa", {"c": SEQUENCE}), folder / "a.bam"
    write_bam(bam, {"c": len(SEQUENCE)}, [("c", read) for read in mixed()])
    call_variants(fasta, bam, folder / "a.vcf", CallParameters(**parameters))
    with pysam.VariantFile(str(folder / "a.vcf")) as file:
        return {record.start: record for record in file}


def test_one_molecule_in_a_hundred(tmp_path):
    """With 100 copies, all reads of a deep region are compared, and what errors show is no call."""
    records = called(tmp_path, ploidy=100)
    assert {place: list(record.filter) for place, record in records.items()} == {
        place: ["PASS"] for place in (RARE, DELETED - 1, COMMON)
    }
    for place, share in ((RARE, 0.01), (DELETED - 1, 0.01), (COMMON, 0.1)):
        reads = [r for r in mixed() if r.position + 5 < place < r.position + SIZE - 5]
        sample = records[place].samples[0]
        assert sample["DP"] >= len(reads) > 1200
        assert abs(sample["AD"][1] / sample["DP"] - share) < 0.2 * share
        assert "LIM" not in records[place].info


def test_two_copies_have_no_such_share(tmp_path):
    """What a tenth of the reads show fails a filter that names the remedy."""
    records = called(tmp_path)
    assert {place: list(record.filter) for place, record in records.items()} == {COMMON: ["LowFraction"]}
    assert "--mixture" in next(row.description for row in FILTERS if row.name == "LowFraction")
