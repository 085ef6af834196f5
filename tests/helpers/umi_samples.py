"""Pairs of known molecules, copied with errors in their UMIs, as FASTQ of each kind that has UMIs."""

import random
from typing import NamedTuple

from helpers.command_samples import CONTIGS, reverse_complement


class Pair(NamedTuple):
    name: str
    umi: str
    first: str
    last: str


def spoil(umi: str, error: float, chance: random.Random) -> str:
    """The UMI with so many errors a base."""
    return "".join(
        letter if letter == "-" or chance.random() >= error else chance.choice([x for x in "ACGT" if x != letter])
        for letter in umi
    )


def copies_of(
    places: int,
    molecules: int,
    seed: int,
    size: int = 8,
    error: float = 0.01,
    duplex: bool = False,
    unknown: float = 0.0,
    insert: int = 250,
    length: int = 80,
) -> list[Pair]:
    """Pairs at so many places, up to so many molecules at each, of up to 12 copies each; mixed.

    duplex: copies of both strands, whose UMIs have two parts of `size` letters. unknown: share of UMIs with an N.
    """
    chance, made = random.Random(seed), list[Pair]()
    for place in range(places):
        contig = CONTIGS[chance.choice(list(CONTIGS))]
        start = chance.randrange(len(contig) - insert)
        fragment = contig[start : start + insert]
        for molecule in range(chance.randint(1, molecules)):
            one, other = ("".join(chance.choices("ACGT", k=size)) for _ in range(2))
            is_turned = chance.random() < 0.5  # which way the fragment was read first
            for copy in range(chance.randint(1, 12)):
                is_other = is_turned != (duplex and chance.random() < 0.4)
                parts = (other, one) if duplex and is_other != is_turned else (one, other)
                umi = spoil("-".join(parts) if duplex else one, error, chance)
                if chance.random() < unknown:
                    umi = "N" + umi[1:]
                bases = reverse_complement(fragment) if is_other else fragment
                mates = bases[:length], reverse_complement(bases)[:length]
                made.append(Pair(f"p{place}m{molecule}c{copy}", umi, *mates))
    chance.shuffle(made)
    return made


def fastq_of(pairs: list[Pair], form: str, spacer: str = "ACGTACGTAC", seed: int = 1) -> tuple[str, str]:
    """Text of both files. form: name, underscore, comment, bases (UMI and spacer before the first read)."""
    chance = random.Random(seed)
    files: tuple[list[str], list[str]] = ([], [])
    for pair in pairs:
        scores = "".join(chr(33 + chance.randint(20, 40)) for _ in pair.umi)
        for mate, bases in enumerate((pair.first, pair.last)):
            quality = "".join(chance.choices("5:?DI", k=len(bases)))
            header = {
                "name": f"{pair.name}:1:{pair.umi.replace('-', '+')} {mate + 1}:N:0:ACGT",
                "underscore": f"{pair.name}:1_{pair.umi} {mate + 1}:N:0:ACGT",
                "comment": f"{pair.name} {mate + 1}:N:0:ACGT RX:Z:{pair.umi}\tQX:Z:{scores}",
                "bases": pair.name,
            }[form]
            if form == "bases":
                parts = pair.umi.split("-")
                ahead = parts[mate] if len(parts) == 2 else parts[0] if mate == 0 else ""
                ahead += spacer if ahead else ""
                bases, quality = ahead + bases, "I" * len(ahead) + quality
            files[mate].append(f"@{header}\n{bases}\n+\n{quality}\n")
    return "".join(files[0]), "".join(files[1])
