"""Collect the phase blocks of a VCF: phased genotypes of a sample with one value of PS (VCF 4.4, 1.6.2)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from readwarp.report.points import Points, n50

LONG_BLOCK = 1000  # bases; shorter blocks are phased by single short reads, and not worth a figure


@dataclass(slots=True)
class PhaseBlocks:
    """Blocks of two calls and more, counted like `whatshap stats`, each from its first call to its last."""

    first: dict[tuple[int, str, str], int] = field(default_factory=dict)  # sample, contig, PS -> position
    last: dict[tuple[int, str, str], int] = field(default_factory=dict)
    calls: Counter[tuple[int, str, str]] = field(default_factory=Counter)
    snvs: Counter[tuple[int, str, str]] = field(default_factory=Counter)  # SNVs in them
    heterozygous_snvs: int = 0  # phased or not

    def add(self, sample: int, place: Sequence[str], genotype: str, phase_set: str, is_snv: bool) -> None:
        """Add a call that passes. place: contig and position; genotype: such as 0|1."""
        alleles = genotype.replace("|", "/").split("/")
        if len(set(alleles)) < 2 or "." in alleles:
            return
        contig, position = place
        self.heterozygous_snvs += is_snv
        if "|" in genotype and phase_set != ".":
            block, at = (sample, contig, phase_set), int(position)
            self.calls[block] += 1
            self.snvs[block] += is_snv
            self.first[block] = min(at, self.first.get(block, at))
            self.last[block] = max(at, self.last.get(block, at))

    @property
    def lengths(self) -> Points:
        """Return (bases, blocks)."""
        found = (self.last[block] - self.first[block] + 1 for block, calls in self.calls.items() if calls > 1)
        return sorted(Counter(map(float, found)).items())

    @property
    def phased_snvs(self) -> int:
        return sum(number for block, number in self.snvs.items() if self.calls[block] > 1)

    @property
    def n50(self) -> float:
        return n50(self.lengths) or 0.0

    @property
    def longest(self) -> float:
        return max((length for length, _ in self.lengths), default=0.0)

    @property
    def share(self) -> float:
        """Return the share of heterozygous SNVs that are phased with another call."""
        return self.phased_snvs / max(1, self.heterozygous_snvs)

    @property
    def are_long(self) -> bool:
        return self.longest >= LONG_BLOCK
