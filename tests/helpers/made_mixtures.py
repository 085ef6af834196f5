"""Deep reads of mixtures of molecules, and of a tumour with its normal, for the tests of `readwarp call --mixture`."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from helpers.making import Read, other, random_sequence, write_bam, write_fasta, write_samples

LENGTH, SIZE, DEPTH = 3000, 120, 300
SEQUENCE = random_sequence(LENGTH, seed=11)
ERROR = 3e-4  # of a base of Q35


@dataclass(frozen=True)
class Change:
    """Instead of some bases, others; on a share of the molecules."""

    position: int
    old: str
    new: str
    share: float

    @property
    def record(self) -> tuple[int, str, str]:
        """0-based POS, REF and ALT."""
        return self.position, self.old, self.new


def snv(position: int, share: float, turn: int = 0) -> Change:
    letters = [letter for letter in "ACGT" if letter != SEQUENCE[position]]
    return Change(position, SEQUENCE[position], letters[turn], share)


def deletion(position: int, bases: int, share: float) -> Change:
    """From the first place on where the record is as it is written: no base could be moved left."""
    while SEQUENCE[position] == SEQUENCE[position + bases]:
        position += 1
    return Change(position, SEQUENCE[position : position + bases + 1], SEQUENCE[position], share)


def insertion(position: int, bases: str, share: float) -> Change:
    while SEQUENCE[position] == bases[-1]:
        position += 1
    return Change(position, SEQUENCE[position], SEQUENCE[position] + bases, share)


def reads_of(changes: Sequence[Change], *, depth: int = DEPTH, seed: int = 1, name: str = "r") -> list[Read]:
    """Reads of single molecules, each with its own changes, on both strands, with a few errors."""
    rng, made = random.Random(seed), []
    for number in range(depth * LENGTH // SIZE):
        start = rng.randrange(LENGTH - SIZE)
        made.append(_read(start, [c for c in changes if rng.random() < c.share], rng, f"{name}{number}"))
    return made


def _read(start: int, changes: Sequence[Change], rng: random.Random, name: str) -> Read:
    own = {c.position: c for c in changes if len(c.old) == len(c.new) or _is_inside(c, start)}
    bases, cigar, at = [], [], start
    while len(bases) < SIZE and at < LENGTH:
        change = own.get(at)
        bases.append(change.new[0] if change else SEQUENCE[at])
        cigar.append("M")
        if change:
            bases += change.new[1:]
            cigar += "I" * (len(change.new) - 1) + "D" * (len(change.old) - 1)
            at += len(change.old) - 1
        at += 1
    for i in range(len(bases)):
        if rng.random() < ERROR:
            bases[i] = other(bases[i])
    runs, text = [], "".join(cigar)
    while text:
        left = text.lstrip(text[0])
        runs.append(f"{len(text) - len(left)}{text[0]}")
        text = left
    return Read(start, "".join(runs), "".join(bases), (35,) * len(bases), 16 * rng.randrange(2), 60, name)


def _is_inside(change: Change, start: int) -> bool:
    """No read ends at an insertion or deletion."""
    return start < change.position and change.position + len(change.old) < start + SIZE - 1


def write_mixture(folder: Path, changes: Sequence[Change], **options) -> tuple[Path, Path]:
    """(reference, alignments)"""
    fasta = write_fasta(folder / "ref.fa", {"chrM": SEQUENCE})
    reads = [("chrM", read) for read in reads_of(changes, **options)]
    return fasta, write_bam(folder / "reads.bam", {"chrM": LENGTH}, reads, {"RG": [{"ID": "m", "SM": "m"}]})


def write_pair(folder: Path, tumour: Sequence[Change], normal: Sequence[Change], depth: int = 120) -> tuple[Path, Path]:
    """(reference, alignments of TUMOUR and NORMAL)"""
    fasta = write_fasta(folder / "ref.fa", {"chrM": SEQUENCE})
    own = {
        name: [("chrM", read) for read in reads_of(changes, depth=depth, seed=seed, name=name)]
        for seed, (name, changes) in enumerate((("TUMOUR", tumour), ("NORMAL", normal)))
    }
    return fasta, write_samples(folder / "pair.bam", {"chrM": LENGTH}, own)
