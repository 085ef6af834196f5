"""Gather the records of molecules until no more of a molecule can follow.

Sorted by coordinate, a record belongs to the nearby molecule of its MI. The reach of a molecule is the last start of
its records and of the mates they name. Molecules leave in the order of their reaches, once the file has passed them by
GAP bases: a mate on another contig is waited for. A later record of the same MI belongs to another molecule. None of
this depends on where the file is cut into batches.

In any other order, the records of a molecule must be adjacent, as after fgbio GroupReadsByUmi.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import kernel, scalar
from readwarp.errors import InputError, MemoryBudgetError
from readwarp.formats.alignments import layout
from readwarp.formats.alignments.checks import name_of
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.reads.umis import RX
from readwarp.molecules.memory import COLUMNS, COPIES, READS, MemoryPlan, cut, work_of
from readwarp.ragged import concatenate, empty, offsets_of, take
from readwarp.rules.flags import MATE_UNMAPPED, PAIRED, SECONDARY, SUPPLEMENTARY, UNMAPPED
from readwarp.rules.hashes import hash_of
from readwarp.stream.plan import PROGRAM, readable

M, I = ord("M"), ord("I")  # noqa: E741
SLASH, A, B = b"/AB"
FATES = ("taken", "not_primary", "unmapped", "without_molecule", "no_strand", "unsorted")
TAKEN, NOT_PRIMARY, UNALIGNED, NO_MOLECULE, NO_STRAND, UNSORTED = range(6)
LAST_PLACE = (1 << 62) - 1  # place of records without a contig
GAP = 1000  # most bases between the starts of two reads of one end of a molecule
AT_A_TIME = 1 << 11
MI = re.compile(rb"MIZ([^\0]+)\0")  # tag of a record
NO_UMIS = "no aligned read has the tag MI: give it to `readwarp align --umi` first"
NO_MOLECULES = "has UMIs (RX) but no molecules (MI): run `readwarp merge --umi tag --mark-duplicates`, or align with "
NO_MOLECULES += "--umi and --mark-duplicates"


class MoleculeRecords(NamedTuple):
    """Primary records with a molecule, in file order."""

    data: Annotated[ndarray, "uint8 [bytes]"]  # BAM records
    offsets: Annotated[ndarray, "int64 [records + 1] of bytes"]
    molecule: Annotated[ndarray, "uint64 [records]"]  # hash of MI, for duplexes without the strand
    strand: Annotated[ndarray, "uint8 [records]"]  # for duplexes: 0 A, 1 B
    place: Annotated[ndarray, "int64 [records]"]  # contig << 32 | position
    reach: Annotated[ndarray, "int64 [records]"]  # the later place of the record and its mate

    def __len__(self) -> int:
        return self.offsets.size - 1


class Families(NamedTuple):
    """All records of some molecules, one molecule after the other."""

    records: MoleculeRecords
    offsets: Annotated[ndarray, "int64 [molecules + 1]"]  # into the records

    @property
    def work(self) -> ndarray:
        return work_of(np.diff(self.records.offsets), self.offsets)


class Gathering:
    """Reader of a file's records, which counts their fates."""

    def __init__(self, path: object, by_place: bool, duplex: bool, memory: MemoryPlan, threads: int) -> None:
        self.path = path
        self.by_place, self.duplex = by_place, duplex
        self._memory, self._threads = memory, threads
        self.fates = Counter[str]()  # counts of records, by FATES
        self._last = -1

    def families(self, batches: Iterator[Encoded]) -> Iterator[Families]:
        """Yield families in pieces that all threads may process at a time.

        Raises InputError for records that are out of order or of an unknown strand, and if no record has MI;
        MemoryBudgetError if too many wait, and for a molecule that is too large.
        """
        pool, found = empty(MoleculeRecords, {}, offsets=np.zeros(1, np.int64)), list[MoleculeRecords]()
        has_umis = False  # on records without molecules
        for batch in batches:
            has_umis = has_umis or (not self.fates and RX.search(batch.data) is not None)
            found.append(self._find(batch))
            enough = max(self._memory.batch, min(pool.data.size, self._memory.waiting - pool.data.size))
            if sum(part.data.size for part in found) < enough:
                continue
            together, found = concatenate([pool, *found], "records"), []
            pool, complete = self._split(together)
            if pool.data.size + self._memory.batch > self._memory.waiting:
                raise self._too_small("records wait for the rest of their molecules, most for", pool)
            yield from self._pieces(together, *complete)
            del together
        pool = concatenate([pool, *found], "records")
        if not self.fates["taken"]:
            raise InputError(self.path, NO_MOLECULES if has_umis else NO_UMIS)
        self._last = LAST_PLACE + GAP + 1
        yield from self._pieces(pool, *self._split(pool, ended=True)[1])

    def _pieces(self, pool: MoleculeRecords, rows: ndarray, offsets: ndarray) -> Iterator[Families]:
        """Yield the rows of the pool, whose molecules begin at these offsets."""
        work = work_of(np.diff(pool.offsets)[rows], offsets)
        if work.size and work.max() > self._memory.work:
            row = int(work.argmax())
            own = take_records(pool, rows[offsets[row] : offsets[row + 1]])
            raise self._too_small("records are of one molecule,", own)
        most = min(self._memory.work // self._threads, (READS + COLUMNS) * self._memory.batch)
        for piece in cut(work, most):
            bounds = offsets[piece.start : piece.stop + 1]
            yield Families(take_records(pool, rows[bounds[0] : bounds[-1]]), bounds - bounds[0])

    def _too_small(self, what: str, records: MoleculeRecords) -> MemoryBudgetError:
        molecules, counts = np.unique(records.molecule, return_counts=True)
        row = int(np.flatnonzero(records.molecule == molecules[counts.argmax()])[0])
        tags = MI.findall(records.data[records.offsets[row] : records.offsets[row + 1]].tobytes())
        name = ascii(tags[-1].decode("latin-1"))[1:-1] if tags else "?"
        size, need = records.data.size, PROGRAM + 2 * max(COPIES, READS) * records.data.size
        text = f"{len(records):,} {what} {name} (MI): {readable(size)}, which take {readable(need)} at least"
        return MemoryBudgetError(f"--memory is too small: {text}")

    def _find(self, batch: Encoded) -> MoleculeRecords:
        number = len(batch)
        molecule, strand = np.empty(number, np.uint64), np.empty(number, np.uint8)
        places, fate = np.empty((2, number), np.int64), np.empty(number, np.uint8)
        row, self._last = find_molecules(batch, self.by_place, self.duplex, self._last, molecule, strand, places, fate)
        if row >= 0:
            raise InputError(self.path, REASONS[fate[row]], name_of(batch.data, batch.offsets[row]))
        counts = np.bincount(fate, minlength=len(FATES))
        self.fates.update(dict(zip(FATES[:NO_STRAND], counts.tolist(), strict=False)))  # the rest are errors
        records = MoleculeRecords(batch.data, batch.offsets, molecule, strand, places[0], places[1])
        return take(records, "records", fate == TAKEN)

    def _split(self, pool: MoleculeRecords, ended: bool = False) -> tuple[MoleculeRecords, tuple[ndarray, ndarray]]:
        """Split off the records of incomplete molecules; return them, the other rows, and each molecule's start."""
        if self.by_place:
            order = np.argsort(pool.molecule, kind="stable")
            number, reach = np.empty((2, len(pool)), np.int64)
            molecules = split_by_place(pool, order, GAP, number, reach)
            is_complete = reach[:molecules] + GAP < self._last
            rank = np.lexsort((_first_of(number, molecules), reach[:molecules]))
        else:
            is_new = np.append(True, pool.molecule[1:] != pool.molecule[:-1])[: len(pool)]
            number, molecules = np.cumsum(is_new) - 1, int(is_new.sum())
            self._check_runs(pool, number, molecules)
            is_complete = np.ones(molecules, bool)
            if molecules and not ended:
                is_complete[-1] = False
            rank = np.arange(molecules)
        rank = rank[is_complete[rank]]
        place = np.full(molecules, -1, np.int64)
        place[rank] = np.arange(rank.size)
        own = place[number]
        rows = np.flatnonzero(own >= 0)
        rows = rows[np.argsort(own[rows], kind="stable")]
        sizes = np.bincount(own[rows], minlength=rank.size)
        return take(pool, "records", own < 0), (rows, offsets_of(sizes))

    def _check_runs(self, pool: MoleculeRecords, number: ndarray, molecules: int) -> None:
        first = _first_of(number, molecules)
        keys, counts = np.unique(pool.molecule[first], return_counts=True)
        if (counts > 1).any():
            row = np.flatnonzero(pool.molecule == keys[counts > 1][0])[-1]
            reason = "its molecule (MI) has other reads elsewhere in the file: sort it by coordinate"
            raise InputError(self.path, reason, name_of(pool.data, pool.offsets[row]))


REASONS = {
    UNSORTED: "is out of order, though the header says that the file is sorted by coordinate",
    NO_STRAND: "its MI does not end in /A or /B, the strands that --duplex joins",
}


def take_records(records: MoleculeRecords, rows: ndarray) -> MoleculeRecords:
    """Take records like `take`, a few at a time, since index arrays are ten times as large as the records."""
    parts = [take(records, "records", rows[i : i + AT_A_TIME]) for i in range(0, max(1, rows.size), AT_A_TIME)]
    return concatenate(parts, "records")


def _first_of(number: ndarray, molecules: int) -> ndarray:
    """Return the first record of each molecule."""
    first = np.empty(molecules, np.int64)
    first[number[::-1]] = np.arange(number.size)[::-1]  # the last one written stays
    return first


@scalar
def place_of(contig, position):
    return contig << 32 | position + 1 if contig >= 0 else np.int64(LAST_PLACE)


@scalar
def molecule_of(data, at, stop):
    """Return the start and stop of MI:Z's value in the record [at, stop); 0, 0 without one."""
    start, end = layout.tag_of(data, at, stop, M, I)
    return (start, end) if end > start and data[start - 1] == layout.TEXT else (np.int64(0), np.int64(0))


@kernel
def find_molecules(records, by_place, duplex, last, molecule, strand, places, fate):
    """Set the fate of each record (Encoded), uint8, and the other columns of those TAKEN.

    places: int64 [2, records], start and reach of the record. last: the place of the record before. Returns (the row
    whose fate is an error, or -1, the place of the last record).
    """
    data, offsets = records.data, records.offsets
    for i in range(offsets.size - 1):
        at, stop = offsets[i], offsets[i + 1]
        own = place_of(layout.int32_at(data, at + layout.CONTIG), layout.int32_at(data, at + layout.POSITION))
        if by_place and own < last:
            fate[i] = UNSORTED
            return i, last
        last = own
        flag = layout.uint16_at(data, at + layout.FLAG)
        if flag & (SECONDARY | SUPPLEMENTARY):
            fate[i] = NOT_PRIMARY
            continue
        has_mate = flag & PAIRED != 0 and flag & MATE_UNMAPPED == 0
        if flag & UNMAPPED and not has_mate:
            fate[i] = UNALIGNED
            continue
        start, end = molecule_of(data, at, stop)
        if end == start:
            fate[i] = NO_MOLECULE
            continue
        strand[i] = 0
        if duplex:
            if end - start < 3 or data[end - 2] != SLASH or (data[end - 1] != A and data[end - 1] != B):
                fate[i] = NO_STRAND
                return i, last
            strand[i] = data[end - 1] == B
            end -= 2
        fate[i], molecule[i] = TAKEN, hash_of(data, start, end)
        places[0, i] = places[1, i] = own
        if has_mate:
            contig = layout.int32_at(data, at + layout.MATE_CONTIG)
            mate = place_of(contig, layout.int32_at(data, at + layout.MATE_POSITION))
            if mate < LAST_PLACE:
                places[1, i] = max(own, mate)
    return -1, last


@kernel
def split_by_place(records, order, gap, number, reach):
    """Number the molecules of records that `order` sorts by MI: number (int64 [records]), and reach of each (int64).

    Returns the number of molecules.
    """
    molecule, place = records.molecule, records.place
    molecules = 0
    for k in range(order.size):
        i = order[k]
        is_new = k == 0 or molecule[order[k - 1]] != molecule[i]
        if is_new or place[i] > reach[molecules - 1] + gap:
            reach[molecules] = records.reach[i]
            molecules += 1
        reach[molecules - 1] = max(reach[molecules - 1], records.reach[i])
        number[i] = molecules - 1
    return molecules
