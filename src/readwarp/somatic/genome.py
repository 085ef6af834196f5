"""Write the consensus genome of a sample, a FASTA of its most frequent alleles for lineage tools (host only).

Calls that pass are applied to the reference, and N takes the place of a base

* that fewer than `least_depth` reads cover, deletions counted, unlike ivar consensus (Grubaugh et al. 2019,
  doi:10.1186/s13059-018-1618-7): a deletion is observed, not unknown; or
* that lies outside the targets and was not called.

At a position, the reference base has the fraction that the others leave. Bases are taken, the most frequent first,
until together they reach `share`: one gives its letter, several their IUPAC code. Indels are applied from a fraction of
HALF on; if two overlap, the more frequent one, on a tie the first.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.places.bases import Bases
from readwarp.formats.common.output_file import OutputFile
from readwarp.formats.common.regions import Target
from readwarp.formats.common.writing import writing
from readwarp.index.reference import Reference

WIDTH = 60  # letters per line
UNKNOWN = ord("N")
HALF = 0.5  # least fraction of an indel


class Change(NamedTuple):
    """REF at a position, and its replacement in a fraction of the molecules."""

    start: int  # 0-based
    old: str
    new: str
    fraction: float


class ConsensusGenome:
    """Writer of one sample's consensus; it takes VCF lines sorted by position, and `write` completes the file."""

    def __init__(self, path: Path, reference: Reference, targets: Sequence[Target], share: float):
        self.path, self._reference, self._share = path, reference, share
        self._targets, self._shallow = defaultdict[int, list[Target]](list), defaultdict[int, list[ndarray]](list)
        self._numbers = {name: number for number, name in enumerate(reference.names)}
        self._changes = defaultdict[int, list[Change]](list)
        for target in targets:
            self._targets[target.contig].append(target)

    def add_shallow(self, runs: ndarray) -> None:
        """Add shallow runs: int64 [runs, 3], contig, start and stop."""
        for contig in np.unique(runs[:, 0]).tolist():
            self._shallow[contig].append(runs[runs[:, 0] == contig, 1:])

    def add(self, line: bytes) -> None:
        """Add a record with one other allele and FORMAT AF; it is ignored if it does not pass."""
        contig, position, _, old, new, _, filters, _, names, values, *_ = line.decode().rstrip("\n").split("\t")
        if filters == "PASS":
            fraction = float(dict(zip(names.split(":"), values.split(":"), strict=True))["AF"])
            self._changes[self._numbers[contig]].append(Change(int(position) - 1, old, new, fraction))

    def write(self) -> OutputFile:
        """Write every contig with a target, in order, to a file that is complete but not yet named."""
        file = OutputFile(str(self.path))
        with writing(file.name), file.open() as out:
            for contig in sorted(self._targets):
                text = self._spell(contig)
                out.write(f">{self._reference.names[contig]}\n".encode())
                out.writelines(text[at : at + WIDTH] + b"\n" for at in range(0, len(text), WIDTH))
        return file

    def _spell(self, contig: int) -> bytes:
        length = Bases(self._reference, contig).length
        letters = np.frombuffer(Bases(self._reference, contig).letters(0, length).encode(), np.uint8).copy()
        changes = self._changes[contig]
        for start, letter in name_bases(changes, self._share):
            letters[start] = ord(letter)
        is_known = np.zeros(length, bool)
        for target in self._targets[contig]:
            is_known[target.start : target.stop] = True
        for runs in self._shallow[contig]:
            for start, stop in runs.tolist():
                is_known[start:stop] = False
        letters[~is_known] = UNKNOWN
        parts, last = list[bytes](), 0
        for start, old, new, _ in choose_gaps(changes):
            kept = min(len(old), len(new))  # shared bases come first
            parts += letters[last : start + kept].tobytes(), new[kept:].encode()
            last = start + len(old)
        return b"".join((*parts, letters[last:].tobytes()))


def name_bases(changes: Iterable[Change], share: float) -> Iterator[tuple[int, str]]:
    """Yield the position and letter of each substitution: see the package's text."""
    found = defaultdict[int, dict[str, float]](dict)
    for start, old, new, fraction in changes:
        if len(old) == len(new) == 1:
            found[start].setdefault(old, 1.0)
            found[start][old] -= fraction
            found[start][new] = fraction
    for start, fractions in found.items():
        named, total = set[str](), 0.0
        for base, fraction in sorted(fractions.items(), key=lambda item: -item[1]):
            if total < share or not named:
                named.add(base)
                total += fraction
        yield start, codes()[frozenset(named)]


@cache
def codes() -> dict[frozenset[str], str]:
    """Return IUPAC letters by the bases that they stand for."""
    from Bio.Data.IUPACData import ambiguous_dna_values  # takes as long to import as all the rest

    return {frozenset(bases): letter for letter, bases in ambiguous_dna_values.items() if letter != "X"}


def choose_gaps(changes: Iterable[Change]) -> list[Change]:
    """Choose indels that most molecules have, sorted by position; none overlaps another."""
    chosen = list[Change]()
    for change in sorted(changes, key=lambda change: -change.fraction):
        if len(change.old) != len(change.new) and change.fraction >= HALF:
            first, stop = change.start, change.start + len(change.old)
            if all(stop <= other.start or other.start + len(other.old) <= first for other in chosen):
                chosen.append(change)
    return sorted(chosen)
