"""Insertions longer than the reads' clips: called from clips and from mates that lie within."""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pysam
import pytest

from helpers.making import random_sequence, write_fasta
from readwarp import Caller
from readwarp.call.reads.mates.lost import fetch
from readwarp.errors import InputError

LENGTH, FRAGMENT, PLACE = 150, 420, 1500
SEQUENCE = random_sequence(3000, seed=61)
TURNED = str.maketrans("ACGT", "TGCA")


class Placed(NamedTuple):
    """Where a read is aligned; contig "" if it is not."""

    contig: str
    position: int = 0
    cigar: str = ""


def place_read(start: int, inserted: str, elsewhere: bool) -> Placed:
    """The alignment of LENGTH bases from `start` on of the haplotype with these bases inserted at PLACE."""
    differs = (k for k in range(len(inserted)) if inserted[-1 - k] != SEQUENCE[PLACE - 1 - k])
    again = next(differs, 0)  # an aligner takes all that match
    before, behind = PLACE - start, start + LENGTH - PLACE - len(inserted) + again
    if not inserted or before >= LENGTH:
        return Placed("c", start, f"{LENGTH}M")
    if behind >= LENGTH:
        return Placed("c", start - len(inserted), f"{LENGTH}M")
    if max(before, behind) < 30:
        return (
            Placed("other", start - PLACE + 1000, f"{LENGTH}M") if elsewhere and before <= 0 >= behind else Placed("")
        )
    if before >= behind:
        return Placed("c", start, f"{before}M{LENGTH - before}S")
    return Placed("c", PLACE - again, f"{LENGTH - behind}S{behind}M")


def sequence_pairs(path, inserted: str, copies: int, elsewhere: bool = False, keep_lost: bool = True):
    """A BAM file of 30x, of which `copies` of two haplotypes have the insertion; pairs lie forward, reverse."""
    contigs = {"c": SEQUENCE}
    if elsewhere:
        contigs["other"] = random_sequence(1000, seed=62) + inserted + random_sequence(1000, seed=63)
    header = pysam.AlignmentHeader.from_references(list(contigs), list(map(len, contigs.values())))
    rng, records = random.Random(8), []
    for copy in range(2):
        own = inserted if copy < copies else ""
        haplotype = SEQUENCE[:PLACE] + own + SEQUENCE[PLACE:]
        for number in range(len(haplotype) * 15 // (2 * LENGTH)):
            start = rng.randrange(len(haplotype) - FRAGMENT)
            starts = start, start + FRAGMENT - LENGTH
            places = [place_read(at, own, elsewhere) for at in starts]
            if not any(own.contig for own in places) or not (keep_lost or all(own.contig for own in places)):
                continue
            for side, (at, here, there) in enumerate(zip(starts, places, places[::-1], strict=True)):
                record = pysam.AlignedSegment(header)
                record.query_name = f"{copy}.{number}"
                record.flag = (
                    1 | (0x40, 0x80)[side] | (0x4 if not here.contig else 0) | (0x8 if not there.contig else 0)
                )
                is_reverse = side == 1 and bool(here.contig)  # what is not aligned is written as it was sequenced
                record.flag |= 0x10 * is_reverse | 0x20 * (side == 0 and bool(there.contig))
                bases = haplotype[at : at + LENGTH]
                record.query_sequence = bases if side == 0 or here.contig else bases.translate(TURNED)[::-1]
                record.query_qualities = pysam.qualitystring_to_array("F" * LENGTH)
                shown, mate = here if here.contig else there, there if there.contig else here
                record.reference_name, record.reference_start = shown.contig, shown.position
                record.next_reference_name, record.next_reference_start = mate.contig, mate.position
                record.mapping_quality, record.cigarstring = (60, here.cigar) if here.contig else (0, None)
                records.append(record)
    records.sort(key=lambda record: (record.reference_id, record.reference_start))
    with pysam.AlignmentFile(path, "wb", header=header) as file:
        for record in records:
            file.write(record)
    pysam.index(str(path))
    return path, write_fasta(path.with_suffix(".fa"), contigs)


def haplotypes_of(variants, contig: str = "c") -> list[str]:
    """Both sequences of the contig that the variants of one sample spell."""
    out = []
    for side in range(2):
        bases = SEQUENCE
        for variant in sorted(variants, key=lambda v: -v.position):
            (genotype,) = variant.genotypes.values()
            allele = variant.alleles[genotype.alleles[side]]
            bases = bases[: variant.position] + allele + bases[variant.position + len(variant.alleles[0]) :]
        out.append(bases)
    return sorted(out)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["not aligned", "elsewhere"])
@pytest.mark.parametrize(("size", "copies"), [(130, 1), (160, 2), (220, 1), (300, 1), (300, 2)])
def test_insertions_are_assembled(tmp_path, size, copies, elsewhere):
    inserted = random_sequence(size, seed=size)
    bam, reference = sequence_pairs(tmp_path / "x.bam", inserted, copies, elsewhere)
    variants = list(Caller(reference).call([bam]))
    both = SEQUENCE[:PLACE] + inserted + SEQUENCE[PLACE:]
    assert haplotypes_of(variants) == sorted((both, both if copies == 2 else SEQUENCE))


def test_repeated_bases_at_the_place(tmp_path):
    """A mobile element's: the 15 bases before the insertion are there again behind it."""
    inserted = random_sequence(200, seed=7) + SEQUENCE[PLACE - 15 : PLACE]
    bam, reference = sequence_pairs(tmp_path / "x.bam", inserted, 1)
    assert haplotypes_of(list(Caller(reference).call([bam]))) == sorted(
        (SEQUENCE, SEQUENCE[:PLACE] + inserted + SEQUENCE[PLACE:])
    )


def test_what_cannot_be_assembled_is_counted(tmp_path):
    """The mates that lie within are missing, and the insertion is too long for the clips."""
    bam, reference = sequence_pairs(tmp_path / "x.bam", random_sequence(300, seed=5), 1, keep_lost=False)
    caller = Caller(reference)
    assert list(caller.call([bam])) == []
    assert caller.metrics.counts["insertions_not_assembled"] == 1


def test_mates_that_cannot_be_read_are_one_error():
    def fail(*place):
        raise OSError("truncated file")

    source = SimpleNamespace(reader=SimpleNamespace(path=Path("x.bam"), fetch=fail))
    with pytest.raises(InputError, match=r"x\.bam: record near c:6: cannot be read \(truncated file\)"):
        fetch(source, "c", 5, 6)
