"""Run families through all steps."""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.config import ConsensusParameters
from readwarp.formats.common.reads import ReadBatch, Segment
from readwarp.molecules.agree import PILES, piles_of, stack_reads
from readwarp.molecules.columns import call_stacks
from readwarp.molecules.combine import choose, combine
from readwarp.molecules.group import Families
from readwarp.molecules.memory import ByteBudget
from readwarp.molecules.model import Model
from readwarp.molecules.reads import MoleculeReads, read_families
from readwarp.molecules.tags import ConsensusNaming, make_reads
from readwarp.molecules.umis import call_umis
from readwarp.rules.flags import REVERSE


class Made(NamedTuple):
    """Consensus reads and counts of some molecules."""

    reads: ReadBatch
    counts: dict[str, int]
    sizes: dict[int, int]  # number of families by their reads


@dataclass(frozen=True, slots=True)
class ConsensusSteps:
    """Parameters and tables that all families of a run share."""

    path: object  # path of the input, for errors
    parameters: ConsensusParameters
    model: Model
    naming: ConsensusNaming
    room: ByteBudget

    def run(self, families: Families) -> Made:
        """Make consensus reads of the families. Raises InputError."""
        with self.room.take(int(families.work.sum())):
            return self._run(families)

    def _run(self, families: Families) -> Made:
        parameters, molecules = self.parameters, families.offsets.size - 1
        reads = read_families(families, parameters, self.path)
        has_a = np.bincount(reads.molecule, reads.strand == 0, molecules) > 0
        pile = piles_of(reads, has_a)
        counts = {"molecules": molecules, "reads": pile.size, "bases": reads.bases.size}
        if parameters.duplex:
            counts |= leave_out_of_duplexes(reads, pile, molecules)
        stacks, without_bases, minority = stack_reads(reads, pile, molecules, parameters)
        columns = call_stacks(reads, stacks, self.model, parameters)
        consensus = combine(columns, parameters)
        chosen = choose(consensus, stacks.sizes, parameters)
        umis = call_umis(families.records, stacks, consensus)
        made = make_reads(families, columns, consensus, umis, chosen.is_written, self.naming)
        counts |= chosen.left_out | {"reads_without_bases": without_bases, "reads_of_minority": minority}
        counts |= {
            "consensus_reads": len(made),
            "consensus_bases": made.bases.size,
            "consensus_molecules": int(np.count_nonzero(made.segment != Segment.LAST)),
        }
        templates = stacks.sizes.reshape(-1, PILES, 2)[:, :2]  # pairs are counted once, by one of their ends
        return Made(made, counts, dict(Counter(templates[templates > 0].tolist())))


def leave_out_of_duplexes(reads: MoleculeReads, pile: ndarray, molecules: int) -> dict[str, int]:
    """Set pile -1 for single reads, and molecules with both orientations in a pile; return the numbers of reads."""
    is_single = reads.segment == Segment.UNPAIRED
    reverse = np.bincount(pile, reads.flag & REVERSE != 0, PILES * molecules)
    every = np.bincount(pile, minlength=PILES * molecules)
    is_mixed = np.any(((reverse > 0) & (reverse < every)).reshape(-1, PILES)[:, 1:], axis=1)
    assert isinstance(is_mixed, ndarray)
    is_collision = is_mixed[reads.molecule] & ~is_single
    pile[is_single | is_collision] = -1
    return {"reads_unpaired": int(is_single.sum()), "reads_of_collisions": int(is_collision.sum())}
