"""Simulate pairs of reads from a reference, from a fixed seed, as FASTQ."""

from pathlib import Path

import numpy as np

LETTERS = np.frombuffer(b"ACGT", np.uint8)
LENGTH, INSERT, DEVIATION = 150, 350, 50
ERRORS, INDELS = 0.004, 0.05  # of bases, of reads
BATCH = 100_000  # pairs made at once


def write_reference(path: Path, length: int) -> Path:
    """Write a random reference, if there is no real one."""
    bases = LETTERS[np.random.default_rng(5).integers(0, 4, length)].tobytes().decode()
    path.write_text(">random\n" + "\n".join(bases[i : i + 80] for i in range(0, length, 80)) + "\n")
    return path


def write_reads(reference: Path, pairs: int, folder: Path) -> tuple[Path, Path]:
    """Mates of fragments of the first contig, with substitutions and short deletions."""
    genome = np.frombuffer("".join(first_contig(reference)).upper().encode(), np.uint8)
    files = folder / "reads_1.fq", folder / "reads_2.fq"
    complement = np.arange(256, dtype=np.uint8)
    complement[[*b"ACGT"]] = [*b"TGCA"]
    rng = np.random.default_rng(6)
    with files[0].open("wb") as first, files[1].open("wb") as last:
        for begin in range(0, pairs, BATCH):
            count = min(BATCH, pairs - begin)
            inserts = np.clip(rng.normal(INSERT, DEVIATION, count), LENGTH + 12, 2 * INSERT).astype(np.int64)
            starts = rng.integers(0, genome.size - 2 * INSERT - 1, count)
            place = starts[:, None] + np.arange(LENGTH + 8)
            forward = changed(genome[place], rng)
            place = (starts + inserts)[:, None] - 1 - np.arange(LENGTH + 8)
            reverse = changed(complement[genome[place]], rng)
            first.write(fastq(forward, begin))
            last.write(fastq(reverse, begin))
    return files


def first_contig(reference: Path) -> list[str]:
    import gzip

    content = gzip.decompress(reference.read_bytes()) if reference.suffix == ".gz" else reference.read_bytes()
    return content.decode().split(">")[1].splitlines()[1:]


def changed(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Remove up to 8 bases from the middle of some rows, then add substitutions."""
    rows = rows.copy()
    cut = LENGTH // 2
    for size in range(1, 9):
        some = rng.random(len(rows)) < INDELS / 8
        rows[some, cut : LENGTH + 8 - size] = rows[some, cut + size :]
    rows = rows[:, :LENGTH].copy()
    wrong = rng.random(rows.shape, np.float32) < ERRORS
    rows[wrong] = LETTERS[rng.integers(0, 4, int(wrong.sum()))]
    return rows


def fastq(rows: np.ndarray, begin: int) -> bytes:
    """FASTQ records of one size, so that all of them are one array."""
    names = np.array([f"@{number:09d}\n" for number in range(begin, begin + len(rows))], "S11")
    tail = np.frombuffer(b"\n+\n" + b"I" * LENGTH + b"\n", np.uint8)
    table = np.empty((len(rows), 11 + LENGTH + tail.size), np.uint8)
    table[:, :11] = names.view(np.uint8).reshape(-1, 11)
    table[:, 11 : 11 + LENGTH] = rows
    table[:, 11 + LENGTH :] = tail
    return table.tobytes()
