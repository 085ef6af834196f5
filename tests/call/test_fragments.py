"""A fragment is one observation, however its mates lie: calls of pairs compared with those of whole fragments."""

from dataclasses import replace

import pytest

from helpers.jobs import call_variants
from helpers.making import Read, other, random_sequence, tiled, write_bam, write_fasta
from readwarp.config import CallParameters

SEQUENCE = random_sequence(1500, seed=21)
PLANTED = [
    (300, SEQUENCE[300], other(SEQUENCE[300])),
    (600, SEQUENCE[600:605], SEQUENCE[600]),
    (900, SEQUENCE[900], SEQUENCE[900] + "GATTACA"),
]
ADAPTER = "AGATCGGAAGAGCACACGTCTGAACTCCAGTCACTTAGGC"


def read_through(fragment: Read) -> list[Read]:
    """Both mates of a fragment, which go on into adapter; aligners leave a few of its bases aligned."""
    more, bases = 40, fragment.bases
    quality = (35,) * (len(bases) + more)
    forward = replace(fragment, cigar=f"{fragment.cigar}{more}S", bases=bases + ADAPTER, qualities=quality, flag=99)
    reverse = replace(fragment, cigar=f"{more}S{fragment.cigar}", bases=ADAPTER + bases, qualities=quality, flag=147)
    return [forward, reverse]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Single reads that are fragments, and the pairs of these."""
    folder = tmp_path_factory.mktemp("fragments")
    whole = [replace(read, name=f"{i}") for i, read in enumerate(tiled([PLANTED, []], SEQUENCE, step=9, length=110))]
    pairs = [mate for read in whole for mate in read_through(read)]
    files = {}
    for name, reads in (("whole", whole), ("pairs", pairs)):
        files[name] = write_bam(folder / f"{name}.bam", {"c": len(SEQUENCE)}, [("c", read) for read in reads])
    return write_fasta(folder / "ref.fa", {"c": SEQUENCE}), files


def rows(path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#")]


def test_pairs_that_are_read_through_make_the_calls_of_their_fragments(made, tmp_path):
    """QUAL, DP, AD and PL are the same; adapter makes no call."""
    reference, files = made
    found = {}
    for name, bam in files.items():
        call_variants(reference, bam, tmp_path / f"{name}.vcf")
        found[name] = rows(tmp_path / f"{name}.vcf")
    assert [int(row[1]) for row in found["pairs"]] == [301, 599, 901]  # leftmost
    for pair, whole in zip(found["pairs"], found["whole"], strict=True):
        values, others = (dict(zip(row[8].split(":"), row[9].split(":"), strict=True)) for row in (pair, whole))
        for own in (values, others):
            by_strand, reads = (list(map(int, own[name].split(","))) for name in ("SB", "AD"))
            assert [sum(by_strand[:2]), sum(by_strand[2:])] == [reads[0], sum(reads[1:])]
        values.pop("SB"), others.pop("SB")  # pairs: of the first reads
        assert "FS=0;SOR=0.693;" in pair[7]  # both strands show every base
        assert pair[:7] == whole[:7] and values == others
        assert int(values["DP"]) == sum(map(int, values["AD"].split(",")))


def test_low_qualities_say_nothing_in_regions(made, tmp_path):
    reference, files = made
    call_variants(reference, files["whole"], tmp_path / "none.vcf", parameters=CallParameters(min_base_quality=36))
    assert rows(tmp_path / "none.vcf") == []
