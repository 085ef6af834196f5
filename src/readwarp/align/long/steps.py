"""A batch of long reads through the steps: seeds, chains, extension, choice."""

from typing import Any, NamedTuple

import numpy as np

from readwarp.align.alternates.table import Alternates, are_alternate
from readwarp.align.anchors import reference_of, strand_of
from readwarp.align.batches import Extensions, LongChains
from readwarp.align.extend.steps import STEP as EXTEND
from readwarp.align.long.choose import LongAlignments, choose
from readwarp.align.long.extension import extend
from readwarp.align.long.pieces import PieceSequences
from readwarp.align.long.seeds import find_seeds
from readwarp.align.long.select import select_chains
from readwarp.align.places import Genome
from readwarp.align.records.choose import Choices
from readwarp.config import AlignParameters
from readwarp.device.backend import Backend
from readwarp.device.rows import to_host
from readwarp.formats.common.reads import ReadBatch
from readwarp.index import Index
from readwarp.metrics import Metrics
from readwarp.ragged import take

CHAIN = "readwarp.align.long.chain"
ON_DEVICE = "bases", "read_offsets"  # arrays of the reads for kernels on a card


class KernelSide(NamedTuple):
    """The side where kernels run."""

    backend: Backend
    packed: Any  # uint8: the reference there


def align(
    reads: ReadBatch,
    index: Index,
    side: KernelSide,
    parameters: AlignParameters,
    metrics: Metrics,
    alternates: Alternates | None = None,
) -> tuple[Choices, Extensions]:
    """Align single reads and return the alignments that become records, with their roles; too long reads have none.

    alternates: the ALT contigs; None: all contigs are treated alike.
    """
    long, k = parameters.long, index.parameters.k
    backend, genome = side.backend, Genome.of(index.reference)
    with metrics.time("seed"):
        hits = find_seeds(reads, index, long.seed, parameters.longest_single)
    with metrics.time("chain"):
        chains = backend.step(CHAIN).chain_hits(hits, genome.contig_offsets, k, long.chain)
        metrics.count("chains", chains.score.size)
        if alternates:
            chains = put_alternates_last(chains, alternates)
        read = np.repeat(np.arange(len(reads)), np.diff(chains.chain_offsets))
        rows = select_chains(chains, np.diff(reads.read_offsets), k, long.extend)
        chains, read = take(chains, "chains", rows), read[rows]
    with metrics.time("extend_trace"), backend.frame():
        oriented = backend.step(EXTEND).orient(backend.to_device(reads, *ON_DEVICE))
        sequences = PieceSequences(to_host(oriented), genome, backend, oriented.bases, side.packed)
        extended = extend(sequences, chains, read, k, parameters.scoring, long.extend)
    with metrics.time("choose"):
        strand = strand_of.py_func(chains.anchors[chains.anchor_offsets[:-1]]).astype(np.uint8)
        found = LongAlignments(extended.extensions, read[extended.chain], strand[extended.chain])
        metrics.count("candidates", found.read.size)
        choices, extensions = choose(reads, found, hits.repetitive, parameters, alternates)
    return choices, extensions


def put_alternates_last(chains: LongChains, alternates: Alternates) -> LongChains:
    """Reorder the chains of each read: those on the primary assembly before those on ALT contigs."""
    is_alternate = are_alternate(alternates, reference_of.py_func(chains.anchors[chains.anchor_offsets[:-1]]))
    if not is_alternate.any():
        return chains
    read = np.repeat(np.arange(chains.chain_offsets.size - 1), np.diff(chains.chain_offsets))
    return take(chains, "chains", np.lexsort((is_alternate, read)))
