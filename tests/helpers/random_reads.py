"""Random genomes and reads of them."""

import random

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


def letters(rng: random.Random, count: int) -> str:
    return "".join(rng.choices("ACGT", k=count))


def pair(rng: random.Random, genome: str, number: int) -> tuple[str, str]:
    insert = max(152, round(rng.gauss(350, 50)))
    start = rng.randrange(len(genome) - insert)
    fragment = genome[start : start + insert]
    mates = ends_of(fragment)
    rates = 0.01, (0.01, 0.12)[number % 5 == 0]  # every fifth last mate needs its partner to find it
    first, last = (changed(rng, mate, rate) for mate, rate in zip(mates, rates, strict=True))
    if number % 50 == 7:
        first = first[: rng.randrange(1, 60)]
    if number % 50 == 9:
        last = last[:70] + "N" * 12 + last[82:]
    return first, last


def ends_of(fragment: str) -> tuple[str, str]:
    return fragment[:150], fragment[::-1].translate(COMPLEMENT)[:150]


def changed(rng: random.Random, read: str, rate: float) -> str:
    bases = [rng.choice("ACGT") if rng.random() < rate else base for base in read]
    if rng.random() < 0.15:
        place, size = rng.randrange(10, len(bases) - 20), rng.randrange(1, 9)
        bases[place : place + size] = letters(rng, rng.choice((0, 2 * size)))
    return "".join(bases)
