"""Modified bases (MM, ML and MN of uBAM) stay at their bases; records that do not show all bases do not name them."""

import random
from array import array

import pysam
import pytest

from helpers.align_oracle import random_bases, reverse_complement
from helpers.seeding import write_fasta
from readwarp.cli import main

ONE = random_bases(30_000, 21)
TWO = random_bases(8000, 22) + ONE[20_000:26_000] + random_bases(8000, 23)  # a stretch of ONE is there twice
FOREIGN = random_bases(900, 24)
READS = {
    "forward": ONE[1000:4000],
    "reverse": reverse_complement(ONE[2000:7000]),
    "clipped": FOREIGN[:300] + ONE[9000:12_000] + FOREIGN[300:],
    "clipped_reverse": FOREIGN[:400] + reverse_complement(ONE[9000:12_000]) + FOREIGN[400:],
    "split": ONE[3000:6000] + reverse_complement(TWO[1000:3500]),
    "twice": ONE[20_500:25_500],
    "foreign": random_bases(2000, 25),
}
PLAIN = {"np": 7, "rq": 0.5, "zm": 12, "ac": array("i", [3, -3])}


def modified(bases: str, chance: random.Random) -> list[tuple[str, object]]:
    """MM, ML and MN of some C, each 5mC or 5hmC, and of some T, whose partner on the other strand is modified."""
    text, likelihoods = "", array("B")
    for code, kinds in (("C+mh?", 2), ("T-a", 1)):
        left, skipped = bases.count(code[0]) - 5, list[int]()
        while left > 0:
            skipped.append(chance.randrange(6))
            left -= skipped[-1] + 1
        text += f"{code}," + ",".join(map(str, skipped[:-1])) + ";"
        likelihoods.extend(chance.randrange(256) for _ in range(kinds * len(skipped[:-1])))
    return [("MM", text), ("ML", likelihoods), ("MN", len(bases))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A reference, and the reads as unaligned BAM."""
    folder, chance = tmp_path_factory.mktemp("modified"), random.Random(6)
    write_fasta(folder / "ref.fa", [ONE, TWO])
    with pysam.AlignmentFile(str(folder / "u.bam"), "wb", header={"HD": {"VN": "1.6"}}) as out:
        for name, bases in READS.items():
            record = pysam.AlignedSegment(out.header)
            record.query_name, record.flag, record.query_sequence = name, 4, bases
            record.query_qualities = array("B", [30] * len(bases))
            record.set_tags([*PLAIN.items(), *modified(bases, chance)])
            out.write(record)
    return folder


def records_of(path) -> list[pysam.AlignedSegment]:
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        return list(file)


@pytest.mark.parametrize("output", ["o.bam", "o.sam", "o.cram"])
@pytest.mark.parametrize("options", [[], ["-Y"], ["--secondary", "3"]])
def test_modifications_stay_at_their_bases(folder, tmp_path, options, output):
    given = {record.query_name: record for record in records_of(folder / "u.bam")}
    files = [str(folder / "ref.fa"), str(folder / "u.bam"), "-o", str(tmp_path / output)]
    assert main(["align", *files, "--preset", "hifi", "-q", *options]) == 0
    records, bare = records_of(tmp_path / output), []
    for record in records:
        before = given[record.query_name]
        assert {name: record.get_tag(name) for name in PLAIN} == {name: before.get_tag(name) for name in PLAIN}
        if record.query_length < before.query_length:
            assert not {"MM", "ML", "MN"} & {name for name, _ in record.get_tags()}
            bare.append(record)
            continue
        assert record.get_tag("MN") == record.query_length
        assert record.get_forward_sequence() == before.query_sequence
        found = {key: sorted(places) for key, places in record.modified_bases_forward.items()}
        assert len(found) == 3 and found == before.modified_bases
        for (_, _, kind), places in record.modified_bases.items():
            letters = {record.query_sequence[at] for at, _ in places}
            letter = {"m": "C", "h": "C", "a": "T"}[kind]
            assert letters == {reverse_complement(letter) if record.is_reverse else letter}
    by_name = {record.query_name: record for record in records if not record.flag & 0x900}
    assert [by_name[name].is_reverse for name in ("forward", "reverse", "clipped_reverse")] == [False, True, True]
    assert {run for run, _ in by_name["clipped_reverse"].cigartuples[::99]} | {4} == {4}
    split = sum(record.is_supplementary for record in records)
    assert split == 1 and len(bare) == (split if options != ["-Y"] else 0) + ("--secondary" in options)
    assert by_name["foreign"].is_unmapped
