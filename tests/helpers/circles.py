"""Circular genomes: variants on them, reads of them, and the sequence that calls spell."""

import random
from pathlib import Path
from typing import NamedTuple

import readwarp
from helpers.making import write_fasta

COMPLEMENT = str.maketrans("ACGT", "TGCA")


class Variant(NamedTuple):
    """On a circle: `ref` may go on across the origin."""

    position: int
    ref: str
    alt: str


def bases_at(circle: str, position: int, number: int) -> str:
    return "".join(circle[(position + i) % len(circle)] for i in range(number))


def snv(circle: str, position: int) -> Variant:
    ref = bases_at(circle, position, 1)
    return Variant(position % len(circle), ref, {"A": "G", "G": "A", "C": "T", "T": "C"}[ref])


def deletion(circle: str, position: int, number: int) -> Variant:
    """Of so many bases after the one at the position."""
    return Variant(position % len(circle), bases_at(circle, position, number + 1), bases_at(circle, position, 1))


def insertion(circle: str, position: int, new: str) -> Variant:
    ref = bases_at(circle, position, 1)
    return Variant(position % len(circle), ref, ref + new)


def change(circle: str, variants: list[Variant]) -> str:
    """The circle with the variants, from what was position 0 on."""
    cells = list(circle)
    for position, ref, alt in variants:
        assert bases_at(circle, position, len(ref)) == ref
        for i in range(len(ref)):
            cells[(position + i) % len(circle)] = ""
        cells[position] = alt
    return "".join(cells)


def random_variants(circle: str, rng: random.Random) -> list[Variant]:
    """Apart from each other, most of them near the origin."""
    made, taken = list[Variant](), set[int]()
    for _ in range(rng.randint(2, 6)):
        near = rng.choice((rng.randrange(-60, 60), rng.randrange(-8, 8), rng.randrange(len(circle))))
        kind, number = rng.choice("SSSID"), rng.choice((1, 1, 2, 3, 8, 20))
        span = {(near + i) % len(circle) for i in range(-12, number + 14)}
        if span & taken:
            continue
        taken |= span
        new = "".join(rng.choices("ACGT", k=number))
        one = {"S": snv(circle, near), "D": deletion(circle, near, number), "I": insertion(circle, near, new)}
        made.append(one[kind])
    return made


def turn(circle: str, by: int) -> str:
    return circle[by:] + circle[:by]


def first_turn(circle: str) -> str:
    """The same for all turns of a circle."""
    return min(turn(circle, by) for by in range(len(circle)))


def write_pairs(folder: Path, circles: list[str], depth: int, seed: int, size: int = 150) -> tuple[Path, Path]:
    """Pairs of reads of each circle, with an error in 500 bases."""
    rng, texts = random.Random(seed), ([], [])
    for number, circle in enumerate(circles):
        for row in range(depth * len(circle) // (2 * size)):
            start, length = rng.randrange(len(circle)), max(size, round(rng.gauss(320, 40)))
            fragment = bases_at(circle, start, length)
            other = fragment.translate(COMPLEMENT)[::-1]
            for text, whole in zip(texts, rng.sample((fragment, other), 2), strict=True):
                read = "".join(rng.choice("ACGT") if rng.random() < 0.002 else base for base in whole[:size])
                text.append(f"@g{number}r{row}\n{read}\n+\n{'F' * len(read)}\n")
    paths = folder / "reads_1.fq", folder / "reads_2.fq"
    for path, text in zip(paths, texts, strict=True):
        path.write_text("".join(text))
    return paths


def align_pairs(folder: Path, contigs: dict[str, str], reads: tuple[Path, Path]) -> tuple[Path, Path]:
    """The reference and the alignments to it, as `readwarp align` makes them: to lines."""
    folder.mkdir(exist_ok=True)
    fasta = write_fasta(folder / "ref.fa", contigs)
    options = {"sort": "coordinate", "write_index": True, "read_group": "@RG\\tID:1\\tSM:s", "threads": 1}
    readwarp.align(fasta, *reads, output=folder / "reads.bam", **options)
    return fasta, folder / "reads.bam"


def rows_of(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines() if line[0] != "#"]


def spell(circle: str, rows: list[list[str]]) -> str:
    """The circle with the haploid calls that pass. A deletion at the first base has its anchor after it."""
    cells = list(circle)
    for _, position, _, ref, alt, _, passes, *_, sample in rows:
        start, number = int(position) - 1, int(sample.split(":")[0])
        if passes != "PASS" or number == 0:
            continue
        assert circle.startswith(ref, start)
        new = alt.split(",")[number - 1]
        is_first = start == 0 and len(new) < len(ref) and new[-1] == ref[-1]
        for i in range(len(ref) - is_first):
            cells[start + i] = ""
        cells[start] = new[: len(new) - is_first] + cells[start]
    return "".join(cells)
