"""Plain Python for the tests of index, seed and chain: syncmers, look-ups, chains; references and reads."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np

from readwarp.config import SeedParameters
from readwarp.formats.common.reads import ReadBatch
from readwarp.rules.bases import CODES

ONES = (1 << 64) - 1
COMPLEMENT, DIGITS = str.maketrans("ACGT", "TGCA"), str.maketrans("ACGT", "0123")


def reverse_complement(letters: str) -> str:
    return letters.translate(COMPLEMENT)[::-1]


def number(letters: str) -> int:
    return int(letters.translate(DIGITS), 4)


def canonical(letters: str) -> int:
    return min(number(letters), number(reverse_complement(letters)))


def order(word: int) -> int:
    half = (word & 0xFFFFFFFF) ^ (((word >> 32) * 0x85EBCA6B) & 0xFFFFFFFF)
    half = ((half ^ (half >> 15)) * 0x9E3779B1) & 0xFFFFFFFF
    return max(half, 1)


def mix(word: int) -> int:
    word = ((word ^ (word >> 31)) * 0x7FB5D329728EA185) & ONES
    word = ((word ^ (word >> 27)) * 0x81DADEF4BC2DD44D) & ONES
    return word ^ (word >> 33)


@lru_cache(1 << 16)
def order_of(smer: str) -> int:
    return order(canonical(smer))


def syncmers(letters: str, p: SeedParameters) -> list[tuple[int, int, int]]:
    """(position, hash, strand) of each syncmer."""
    found = []
    for i in range(len(letters) - p.k + 1):
        kmer = letters[i : i + p.k]
        if set(kmer) - set("ACGT") or kmer == reverse_complement(kmer):
            continue
        orders = [order_of(kmer[j : j + p.s]) for j in range(p.k - p.s + 1)]
        middle = orders.pop(p.t)
        if all(other > middle for other in orders):
            found.append((i, mix(canonical(kmer)), int(number(kmer) > number(reverse_complement(kmer)))))
    return found


def entries(contigs: list[str], p: SeedParameters, bits: int) -> list[tuple[int, int, int, int]]:
    """(bucket, tag, strand, position) in the order of the index."""
    found, start = [], 0
    for letters in contigs:
        for i, hashed, strand in syncmers(letters, p):
            upper = hashed >> (64 - bits - 15)
            found.append((upper >> 15, upper & 0x7FFF, strand, start + i))
        start += len(letters)
    return sorted(found)


def random_letters(rng: random.Random, length: int) -> str:
    return "".join(rng.choices("ACGT", k=length))


def write_fasta(path: Path, contigs: list[str], width: int = 60) -> Path:
    with path.open("w") as file:
        for i, letters in enumerate(contigs):
            file.write(f">c{i} some words\n")
            file.writelines(letters[j : j + width] + "\n" for j in range(0, len(letters), width))
    return path


def read_batch(reads: list[str]) -> ReadBatch:
    bases = CODES[np.frombuffer("".join(reads).encode(), np.uint8)]
    offsets = np.concatenate([[0], np.cumsum([len(read) for read in reads])]).astype(np.int64)
    none, zeros = np.zeros(0, np.uint8), np.zeros(len(reads) + 1, np.int64)
    return ReadBatch(
        0, 0, bases, np.full(bases.size, 30, np.uint8), offsets, none, zeros, none, zeros,
        np.zeros(len(reads), np.uint8), np.full(len(reads), -1, np.int32), np.zeros(len(reads), np.uint8),
    )  # fmt: skip


@contextmanager
def planned(capacity: int) -> Iterator:
    """A workspace of so many bytes, which the calling thread has inside."""
    from readwarp.device import memory

    workspace = memory.Workspace(capacity)
    memory.bind(workspace)
    try:
        yield workspace
    finally:
        memory.bind(None)
        workspace.close()  # which waits: a step may have ended with a copy under way
