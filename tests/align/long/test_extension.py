"""Long reads through seeds, chains and extension, compared with the whole table of the pairwise engine."""

import random
from itertools import pairwise as neighbours

import numpy as np
import pytest

from helpers.align_oracle import gap_cost
from helpers.seeding import random_letters, read_batch, reverse_complement, write_fasta
from readwarp import Index
from readwarp.align.batches import Extensions
from readwarp.align.extend.cpu import orient
from readwarp.align.long.chain.cpu import chain_hits
from readwarp.align.long.extension import extend
from readwarp.align.long.pieces import PieceSequences
from readwarp.align.long.seeds import find_seeds
from readwarp.align.places import Genome
from readwarp.config import LongChainParameters, LongExtendParameters, LongSeedParameters, Scoring, SeedParameters
from readwarp.device.backend import Backend
from readwarp.pairwise import cpu as pairwise
from readwarp.pairwise.pairs import Costs, Pairs, Scheme
from readwarp.pairwise.scalar import LOCAL
from readwarp.ragged import ranges, take
from readwarp.rules.bases import CODES
from readwarp.rules.cigar import DELETION, INSERTION, MATCH

RNG = random.Random(21)
CONTIGS = [random_letters(RNG, 12_000), random_letters(RNG, 9000) + "N" * 40 + random_letters(RNG, 3000)]
SCORING = Scoring()
COSTS = Costs(SCORING.match, SCORING.mismatch, SCORING.gap_open, SCORING.gap_extend, SCORING.end_bonus)
STARTS = [0, 12_000]


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Index:
    return Index.build(write_fasta(tmp_path_factory.mktemp("long") / "ref.fa", CONTIGS), SeedParameters())


def mutated(chance: random.Random, text: str, rate: float) -> str:
    out = []
    for letter in text:
        kind = chance.choice("XID") if chance.random() < rate else ""
        more = random_letters(chance, chance.choice((1, 1, 3)))
        out.append({"": letter, "X": chance.choice("ACGTN"), "I": letter + more, "D": ""}[kind])
    return "".join(out)


def aligned(reads: list[str], index: Index) -> tuple[Extensions, list[int]]:
    """The best chain of each read, extended, and its strand."""
    batch, reference = read_batch(reads), index.reference
    hits = find_seeds(batch, index, LongSeedParameters(), 1 << 24)
    chains = chain_hits(hits, reference.contig_offsets, index.parameters.k, LongChainParameters())
    assert np.all(np.diff(chains.chain_offsets) > 0)
    best = take(chains, "chains", chains.chain_offsets[:-1])
    oriented = orient(batch)
    genome = Genome(reference.packed, reference.contig_offsets)
    here = PieceSequences(oriented, genome, Backend("cpu"), oriented.bases, genome.packed)
    rows, k = np.arange(len(reads)), index.parameters.k
    extensions = extend(here, best, rows, k, SCORING, LongExtendParameters()).extensions
    return extensions, (best.anchors[best.anchor_offsets[:-1]] >> np.uint64(63)).tolist()


def check_alignment(found: Extensions, row: int, read: str) -> None:
    """`read` is oriented. The CIGAR re-scores to the score, agrees with NM, and its gaps are leftmost."""
    whole = "".join(CONTIGS)
    q, r = int(found.query_start[row]), int(found.reference_start[row])
    runs = found.cigar[found.cigar_offsets[row] : found.cigar_offsets[row + 1]].tolist()
    assert all(a & 15 != b & 15 for a, b in neighbours(runs)) and all(run >> 4 for run in runs)
    score = edits = 0
    for number, run in enumerate(runs):
        length, operation = run >> 4, run & 15
        if operation == MATCH:
            pairs = list(zip(read[q : q + length], whole[r : r + length], strict=True))
            same = [a == b != "N" for a, b in pairs]
            score += sum(COSTS.match if a == b != "N" else -1 if "N" in a + b else -COSTS.mismatch for a, b in pairs)
            edits += len(same) - sum(same)
            q, r = q + length, r + length
            continue
        text, at = (read, q) if operation == INSERTION else (whole, r)
        if number > 0 and runs[number - 1] >> 4 > 1 and runs[number - 1] & 15 == MATCH == runs[number + 1] & 15:
            assert text[at - 1] != text[at + length - 1], "not leftmost"
        score -= gap_cost(length, SCORING, LongExtendParameters())
        edits += length
        q, r = q + length * (operation == INSERTION), r + length * (operation == DELETION)
    assert (q, r) == (found.query_stop[row], found.reference_stop[row])
    assert (score, edits) == (found.score[row], found.edit_distance[row])


def best_local(reads: list[str], contigs: list[str]) -> list[int]:
    """With bonuses; the i-th read with the i-th contig."""
    queries, query_starts, query_lengths = joined(reads)
    targets, target_starts, target_lengths = joined(contigs)
    targets = np.where(targets > 3, 5, targets)
    pairs = Pairs(queries, query_starts, query_lengths, targets, target_starts, target_lengths)
    return pairwise.score_pairs(pairs, Scheme(COSTS, LOCAL)).score.tolist()


def joined(texts: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    lengths = np.array([len(text) for text in texts])
    return CODES[np.frombuffer("".join(texts).encode(), np.uint8)], np.cumsum(lengths) - lengths, lengths


@pytest.mark.parametrize("rate", [0.0, 0.001, 0.01, 0.05])
def test_scores_are_those_of_the_whole_table(index, rate):
    chance, reads, origins = random.Random(int(1000 * rate)), [], []
    for _ in range(12):
        contig = chance.randrange(2)
        start = chance.randrange(len(CONTIGS[contig]) - 600)
        read = mutated(chance, CONTIGS[contig][start : start + chance.randrange(600, 4000)], rate)
        strand = chance.randrange(2)
        reads.append(reverse_complement(read) if strand else read)
        origins.append((contig, strand))
    found, strands = aligned(reads, index)
    assert strands == [strand for _, strand in origins]
    oriented = [reverse_complement(read) if strand else read for read, strand in zip(reads, strands, strict=True)]
    best = best_local(oriented, [CONTIGS[contig] for contig, _ in origins])
    for row, (read, (contig, _)) in enumerate(zip(oriented, origins, strict=True)):
        check_alignment(found, row, read)
        reached = int(found.query_start[row] == 0) + int(found.query_stop[row] == len(read))
        assert found.score[row] + COSTS.bonus * reached == best[row]
        low = STARTS[contig]
        assert low <= found.reference_start[row] < found.reference_stop[row] <= low + len(CONTIGS[contig])


def test_long_gaps_and_foreign_ends(index):
    text, chance = CONTIGS[0], random.Random(6)
    foreign = random_letters(chance, 300)
    reads = [
        text[1000:2000] + text[2300:4000],
        text[1000:2000] + random_letters(chance, 300) + text[2000:4000],
        foreign + text[5000:7000] + foreign[:150],
    ]
    found, strands = aligned(reads, index)
    assert strands == [0, 0, 0]
    for row, read in enumerate(reads):
        check_alignment(found, row, read)
    cigars = [found.cigar[ranges(found.cigar_offsets, np.array([row]))].tolist() for row in range(3)]
    assert [run >> 4 for run in cigars[0] if run & 15 == DELETION] == [300]
    assert [run >> 4 for run in cigars[1] if run & 15 == INSERTION] == [300]
    assert abs(found.query_start[2] - 300) < 10 and abs(found.query_stop[2] - 2300) < 10


def test_ends_stay_within_their_contig(index):
    read = CONTIGS[0][-2000:-3] + "ACG" * 20
    found, _ = aligned([read, CONTIGS[1][3:2000]], index)
    assert found.reference_stop[0] <= 12_000 <= found.reference_start[1]
