"""A small reference as text, reads cut from it, and the command line called in this process."""

import random
from collections.abc import Sequence
from pathlib import Path

from readwarp.cli import main

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


def letters(count: int, seed: int) -> str:
    return "".join(random.Random(seed).choices("ACGT", k=count))


def reverse_complement(sequence: str) -> str:
    return sequence.translate(COMPLEMENT)[::-1]


CONTIGS = {"one": letters(6000, 1), "two": letters(3000, 2)}


def fasta(contigs: dict[str, str], width: int = 70) -> str:
    lines = []
    for name, sequence in contigs.items():
        lines += [f">{name}", *(sequence[i : i + width] for i in range(0, len(sequence), width))]
    return "\n".join(lines) + "\n"


def record(name: str, sequence: str, quality: str | None = None) -> str:
    return f"@{name}\n{sequence}\n+\n{quality if quality is not None else 'I' * len(sequence)}\n"


def pairs(count: int, seed: int = 3, length: int = 100, insert: int = 300) -> list[tuple[str, str, str]]:
    """(name, first mate, last mate) of error-free pairs; the name says where the fragment starts."""
    chance, out = random.Random(seed), []
    for i in range(count):
        name = chance.choice(list(CONTIGS))
        start = chance.randrange(len(CONTIGS[name]) - insert)
        fragment = CONTIGS[name][start : start + insert]
        out.append((f"r{i}:{name}:{start}", fragment[:length], reverse_complement(fragment)[:length]))
    return out


def sam_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("@")]


def run_main(arguments: Sequence[object]) -> int:
    return main([str(a) for a in arguments])


def write_pairs(folder: Path, number: int) -> None:
    """ref.fa of CONTIGS, and pairs of it in r_1.fq and r_2.fq."""
    (folder / "ref.fa").write_text(fasta(CONTIGS))
    reads = pairs(number)
    for mate in (1, 2):
        (folder / f"r_{mate}.fq").write_text("".join(record(f"{read[0]}/{mate}", read[mate]) for read in reads))
