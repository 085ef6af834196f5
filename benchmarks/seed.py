"""Seeding and chaining on one core: processor time per read, and how often the true place is found, single-end.

    seed.py REF.fa READS.fq [-n READS] [--preset NAME]       appends to results/seed.csv
    seed.py REF.fa --simulate 36 50 75 --errors 0.01

READS.fq: named by tools/simulate_diploid.py (first read of each pair). A chain is right if its strand is right and it
starts or ends within 20 bases of the true place.
"""

import argparse
import csv
import itertools
import random
import time
from datetime import date
from pathlib import Path

import numpy as np

from readwarp.align.batches import Chains
from readwarp.align.chain.cpu import chain_hits
from readwarp.align.places import Genome
from readwarp.align.seed.cpu import find_seeds
from readwarp.config import PRESETS, ChainParameters
from readwarp.formats.common.fasta import read_contigs
from readwarp.formats.common.reads import ReadBatch
from readwarp.index import Index
from readwarp.rules.bases import CODES

RESULTS = Path(__file__).resolve().parent / "results" / "seed.csv"
COLUMNS = [
    *("date", "reference", "reads", "length", "errors", "preset", "seed_us", "chain_us", "anchors"),
    *("best_right", "among_24", "among_all", "none"),
]
COMPLEMENT = str.maketrans("ACGT", "TGCA")
Truth = list[tuple[int, bool]]  # position in the reference, reverse strand


def simulated_reads(reference: str, length: int, errors: float, number: int) -> tuple[list[str], Truth]:
    """Substrings of the reference with substitutions, from both strands."""
    rng, reads, truth = random.Random(length), [], []
    while len(reads) < number:
        start, reverse = rng.randrange(len(reference) - length), rng.random() < 0.5
        read = reference[start : start + length]
        if set(read) - set("ACGT"):
            continue
        read = "".join(rng.choice("ACGT".replace(base, "")) if rng.random() < errors else base for base in read)
        reads.append(read.translate(COMPLEMENT)[::-1] if reverse else read)
        truth.append((start, reverse))
    return reads, truth


def named_reads(path: Path, number: int, starts: dict[str, int]) -> tuple[list[str], Truth]:
    reads, truth = [], []
    with path.open() as file:
        for name, sequence, _, _ in itertools.islice(zip(*[file] * 4, strict=True), number):
            contig, position, strand = name.strip().split(":")[-5:-2]
            reads.append(sequence.strip())
            truth.append((starts[contig] + int(position), strand == "-"))
    return reads, truth


def batch_of(reads: list[str]) -> ReadBatch:
    bases = CODES[np.frombuffer("".join(reads).encode(), np.uint8)]
    offsets = np.concatenate([[0], np.cumsum([len(read) for read in reads])]).astype(np.int64)
    none, zeros, n = bases[:0], np.zeros(len(reads) + 1, np.int64), len(reads)
    return ReadBatch(
        0, 0, bases, bases, offsets, none, zeros, none, zeros, np.zeros(n, np.uint8), np.zeros(n, np.int32)
    )


def shares(chains: Chains, truth: Truth) -> list[float]:
    """Per cent of reads whose best chain is right; whose true place is among 24, among all; without a chain."""
    position, reverse = (np.array(column) for column in zip(*truth, strict=True))
    sizes = np.diff(chains.chain_offsets)
    read, rank = (
        np.repeat(np.arange(sizes.size), sizes),
        np.arange(sizes.sum()) - np.repeat(chains.chain_offsets[:-1], sizes),
    )
    diagonals = chains.reference_start - chains.query_start, chains.reference_stop - chains.query_stop
    right = np.any([abs(diagonal - position[read]) <= 20 for diagonal in diagonals], axis=0)
    right &= chains.strand == reverse[read]
    counts = [np.unique(read[right & (rank < most)]).size for most in (1, 24, sizes.max(initial=0))]
    return [100 * count / sizes.size for count in (*counts, np.count_nonzero(sizes == 0))]


def measure(index: Index, preset: str, reads: list[str], truth: Truth) -> list[str]:
    parameters, batch = PRESETS[preset].parameters.seed, batch_of(reads)
    times = []
    for _ in range(4):  # the first one compiles
        started = time.process_time()
        hits = find_seeds(batch, index, Genome.of(index.reference), parameters, PRESETS[preset].parameters.scoring)
        seeded = time.process_time()
        chains = chain_hits(batch, hits, index.reference.contig_offsets, parameters, ChainParameters())
        times.append((seeded - started, time.process_time() - seeded))
    seed, chain = (min(part[1:]) / len(reads) * 1e6 for part in zip(*times, strict=True))
    return [preset, f"{seed:.2f}", f"{chain:.2f}", f"{hits.anchors.size / len(reads):.1f}",
            *(f"{share:.3f}" for share in shares(chains, truth))]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path)
    parser.add_argument("reads", type=Path, nargs="?")
    parser.add_argument("-n", "--number", type=int, default=100_000)
    parser.add_argument("--preset", nargs="+", choices=PRESETS, default=["standard"])
    parser.add_argument("--simulate", type=int, nargs="+", default=[], metavar="LENGTH")
    parser.add_argument("--errors", type=float, default=0.01)
    options = parser.parse_args()
    letters = "".join(contig.letters.decode() for contig in read_contigs(options.reference))
    sets = [(length, options.errors, simulated_reads(letters, length, options.errors, options.number))
            for length in options.simulate]  # fmt: skip
    rows = []
    for preset in options.preset:
        index = Index.build(options.reference, PRESETS[preset].parameters.seed, 2)
        starts = dict(zip(index.reference.names, index.reference.contig_offsets.tolist(), strict=False))
        named = [("", "", named_reads(options.reads, options.number, starts))] if options.reads else []
        for length, errors, (reads, truth) in named + sets:
            row = [date.today(), options.reference.name, len(reads), length or len(reads[0]), errors]
            rows.append(row + measure(index, preset, reads, truth))
            print(*rows[-1], flush=True)
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([COLUMNS, *rows] if new else rows)


if __name__ == "__main__":
    main()
