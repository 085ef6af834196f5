#!/usr/bin/env python3
"""A reference with ALT contigs and decoys, bwa's .alt file of it, and reads from both of its sides.

    simulate_alternates.py REF.fa FOLDER [--alts 40] [--decoys 20] [--alleles 30] [--lengths 50000,200000] [--depth 15]

FOLDER/ref.fa has the contigs of REF, then ALT contigs: copies of stretches of the first contig, with substitutions and
small gaps at 0.1 to 1 %; half of them reversed; some with a long insertion, a long deletion or an inversion, or with
ends that are aligned to nothing; then `alleles` of one gene, called as those of HLA, 1 to 4 % from the reference, half of them
without an alignment; then decoys, which resemble nothing. FOLDER/ref.fa.alt says where ALT contigs are aligned.

Reads of ART (2x150, insert 350 +- 50) come from the first contig, at half of the depth, and from each ALT contig; they are named
as those of simulate_diploid.py, after the place on the first contig, which of ALT contigs is the lifted one. Where fewer than
30 bases of a read are aligned to it, or those on either side of a long event, the place is -1. FOLDER/reads_[12].fq, and
FOLDER/covered.bed, the stretches that have ALT contigs.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pysam

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")
LEAST_CHANGED, MOST_CHANGED = 0.001, 0.01
INDEL_SHARE, GENE = 0.15, 3500
LENGTH, INSERT, DEVIATION = 150, 350, 50
LEAST_ALIGNED, LONGEST_GAP = 30, 50


@dataclass
class Copy:
    """A changed copy of a stretch, as runs that are aligned, inserted or deleted."""

    bases: list[str] = field(default_factory=list)
    cigar: list[tuple[int, str]] = field(default_factory=list)
    image: list[int] = field(default_factory=list)  # of each base, -1: aligned to nothing

    def add(self, bases: str, operation: str, start: int = -1) -> None:
        """start: the position that the first base is aligned to."""
        if not bases:
            return
        self.bases.append(bases)
        self._run(len(bases), operation)
        self.image += range(start, start + len(bases)) if start >= 0 else [-1] * len(bases)

    def delete(self, number: int) -> None:
        self._run(number, "D")

    def _run(self, number: int, operation: str) -> None:
        if self.cigar and self.cigar[-1][1] == operation:
            number += self.cigar.pop()[0]
        self.cigar.append((number, operation))


def random_bases(number: int, rng: random.Random) -> str:
    return "".join(rng.choices("ACGT", k=number))


def changed(bases: str, start: int, share: float, rng: random.Random, event: str = "") -> Copy:
    """bases: the stretch, which begins at `start`. event: insertion, deletion, inversion or ends."""
    copy, at = Copy(), 0
    if event == "ends":
        copy.add(random_bases(rng.randrange(500, 3000), rng), "S")
    middle = len(bases) // 2
    while at < len(bases):
        step = min(1 + int(rng.expovariate(share)), len(bases) - at)
        if event in ("insertion", "deletion", "inversion") and at <= middle < at + step:
            copy.add(bases[at:middle], "M", start + at)
            size = rng.randrange(300, 2000)
            there = bases[middle : middle + size]
            if event == "insertion":
                copy.add(random_bases(size, rng), "I")
            elif event == "inversion":
                copy.add(there.translate(COMPLEMENT)[::-1], "I")
            at, event = middle + (0 if event == "insertion" else size), ""
            if at > middle:
                copy.delete(size)
            continue
        copy.add(bases[at : at + step - 1], "M", start + at)
        at += step - 1
        here = bases[at]
        if rng.random() >= INDEL_SHARE or at + 50 > len(bases) or at < 50:
            copy.add(rng.choice([b for b in "ACGT" if b != here]), "M", start + at)
            at += 1
        elif rng.random() < 0.5:
            size = min(1 + int(rng.expovariate(0.35)), 30)
            copy.add(here, "M", start + at)
            copy.delete(size)
            at += 1 + size
        else:
            copy.add(here, "M", start + at)
            copy.add(random_bases(min(1 + int(rng.expovariate(0.35)), 30), rng), "I")
            at += 1
    if event == "ends":
        copy.add(random_bases(rng.randrange(500, 3000), rng), "S")
    return copy


@dataclass
class Contig:
    name: str
    bases: str
    image: np.ndarray  # position on the first contig, -1 none
    is_reverse: bool = False
    line: str = ""  # of the .alt file


def make_contig(name: str, copy: Copy, first: str, is_reverse: bool, is_aligned: bool = True) -> Contig:
    bases, image = "".join(copy.bases), np.array(copy.image, np.int64)
    start = int(image[image >= 0].min()) + 1
    cigar = "".join(f"{number}{operation}" for number, operation in copy.cigar)
    line = f"{name}\t{16 * is_reverse}\t{first}\t{start}\t60\t{cigar}\t*\t0\t0\t*\t*"
    if not is_aligned:
        line = f"{name}\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*"
    if is_reverse:
        bases, image = bases.translate(COMPLEMENT)[::-1], image[::-1]
    return Contig(name, bases, image, is_reverse, line)


def make_contigs(first: str, bases: str, given: argparse.Namespace, rng: random.Random) -> list[Contig]:
    contigs, events = [], ("", "insertion", "deletion", "", "inversion", "ends", "")
    shortest, longest = map(int, given.lengths.split(","))
    for number in range(given.alts):
        size = rng.randrange(shortest, longest)
        if number % 4 == 3:  # overlaps the one before
            start = min(max(start + rng.randrange(-size // 2, size // 2), 0), len(bases) - size)
        else:
            start = rng.randrange(len(bases) - size)
        share = LEAST_CHANGED * (MOST_CHANGED / LEAST_CHANGED) ** rng.random()
        copy = changed(bases[start : start + size], start, share, rng, events[number % len(events)])
        contigs.append(make_contig(f"{first}_KI{number:06}v1_alt", copy, first, number % 2 == 1))
    gene = len(bases) // 2
    for number in range(given.alleles):
        copy = changed(bases[gene : gene + GENE], gene, 0.01 + 0.03 * rng.random(), rng)
        name = f"HLA-A*{1 + number // 10:02}:{1 + number % 10:02}:01:01"
        contigs.append(make_contig(name, copy, first, False, number % 2 == 0))
    for number in range(given.decoys):
        size, name = rng.randrange(2000, 20000), f"chrUn_KN{number:06}v1_decoy"
        line = f"{name}\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*"
        contigs.append(Contig(name, random_bases(size, rng), np.full(size, -1), False, line))
    return contigs


def simulated(contig: Contig, first: str, depth: float, seed: int) -> list[tuple[str, list[str]]]:
    """Pairs: name without number, and the two mates' lines after it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "contig.fa")
        path.write_text(f">contig\n{contig.bases}\n")
        options = ["-ss", "HS25", "-p", "-l", str(LENGTH), "-m", str(INSERT), "-s", str(DEVIATION), "-na", "-sam", "-q"]
        command = ["art_illumina", "-i", path, *options, "-f", str(depth), "-rs", str(seed), "-o", Path(folder, "out")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        places = [line.split("\t", 5) for line in Path(folder, "out.sam").open() if line[0] != "@"]
        mates = [Path(folder, f"out{mate}.fq").read_text().splitlines() for mate in (1, 2)]
    pairs = []
    for number in range(len(places) // 2):
        told = [place_of(contig, int(row[3]) - 1, bool(int(row[1]) & 16)) for row in places[2 * number : 2 * number + 2]]
        name = ":".join([first, *(f"{position}:{strand}" for position, strand in told)])
        pairs.append((name, ["\n".join(lines[4 * number + 1 : 4 * number + 4]) for lines in mates]))
    return pairs


def place_of(contig: Contig, start: int, is_reverse: bool) -> tuple[int, str]:
    """Position and strand on the first contig; -1 where there is not one."""
    image = contig.image[start : start + LENGTH]
    known = np.flatnonzero(image >= 0)
    diagonals = np.abs(np.diff(image[known])) - np.diff(known)
    if known.size < LEAST_ALIGNED or np.abs(diagonals).max() > LONGEST_GAP:
        return -1, "+"
    if contig.is_reverse:
        return int(image[known[-1]]) - (image.size - 1 - int(known[-1])), "+" if is_reverse else "-"
    return int(image[known[0]]) - int(known[0]), "-" if is_reverse else "+"


def write_covered(contigs: list[Contig], first: str, path: Path) -> None:
    """Stretches of the first contig that have an aligned ALT contig."""
    spans = sorted(
        (int(known.min()), int(known.max()) + 1)
        for known in (each.image[each.image >= 0] for each in contigs if "\t4\t*" not in each.line)
    )
    joined: list[list[int]] = []
    for start, stop in spans:
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], stop)
        else:
            joined.append([start, stop])
    path.write_text("".join(f"{first}\t{start}\t{stop}\n" for start, stop in joined))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--alts", type=int, default=40)
    parser.add_argument("--decoys", type=int, default=20)
    parser.add_argument("--alleles", type=int, default=30)
    parser.add_argument("--lengths", default="50000,200000")
    parser.add_argument("--depth", type=float, default=15, help="0: no reads")
    parser.add_argument("--seed", type=int, default=11)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    with pysam.FastaFile(str(given.reference)) as fasta:
        own = {name: fasta.fetch(name).upper() for name in fasta.references}
    first = next(iter(own))
    contigs = make_contigs(first, own[first], given, rng)
    given.folder.mkdir(parents=True, exist_ok=True)
    whole = own | {each.name: each.bases for each in contigs}
    (given.folder / "ref.fa").write_text("".join(f">{name}\n{bases}\n" for name, bases in whole.items()))
    (given.folder / "ref.fa.alt").write_text("".join(f"{each.line}\n" for each in contigs))
    write_covered(contigs, first, given.folder / "covered.bed")
    if not given.depth:
        return
    from_reference = Contig(first, own[first], np.arange(len(own[first])))
    pairs = []
    for number, contig in enumerate([from_reference, *(each for each in contigs if "decoy" not in each.name)]):
        side = "ref" if number == 0 else "alt"
        depth = given.depth / 2 if number == 0 else given.depth
        pairs += [(f"{side}:{name}", mates) for name, mates in simulated(contig, first, depth, given.seed + number)]
    rng.shuffle(pairs)
    for mate in (0, 1):
        with (given.folder / f"reads_{mate + 1}.fq").open("w") as out:
            out.writelines(f"@{number}:{name}\n{mates[mate]}\n" for number, (name, mates) in enumerate(pairs))


if __name__ == "__main__":
    sys.exit(main())
