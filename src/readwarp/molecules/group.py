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

from readwarp.errors import InputError, MemoryBudgetError
from readwarp.formats.alignments.layout import NAME
from readwarp.formats.alignments.sam import Encoded
from readwarp.formats.reads.umis import RX
from readwarp.molecules import group_kernels as kernels
from readwarp.molecules.group_kernels import FATES, NO_STRAND, TAKEN, UNSORTED
from readwarp.molecules.memory import COLUMNS, COPIES, READS, MemoryPlan, cut, work_of
from readwarp.ragged import concatenate, empty, offsets_of, take
from readwarp.stream.plan import PROGRAM, readable

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
        self.path, self.by_place, self.duplex = path, by_place, duplex
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
        self._last = kernels.LAST_PLACE + GAP + 1
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
        row, self._last = kernels.find(batch, self.by_place, self.duplex, self._last, molecule, strand, places, fate)
        if row >= 0:
            raise InputError(self.path, REASONS[fate[row]], _name_in(batch, row))
        counts = np.bincount(fate, minlength=len(FATES))
        self.fates.update(dict(zip(FATES[:NO_STRAND], counts.tolist(), strict=False)))  # the rest are errors
        records = MoleculeRecords(batch.data, batch.offsets, molecule, strand, places[0], places[1])
        return take(records, "records", fate == TAKEN)

    def _split(self, pool: MoleculeRecords, ended: bool = False) -> tuple[MoleculeRecords, tuple[ndarray, ndarray]]:
        """Split off the records of incomplete molecules; return them, the other rows, and each molecule's start."""
        number = np.empty(len(pool), np.int64)
        if self.by_place:
            order = np.argsort(pool.molecule, kind="stable")
            reach = np.empty(len(pool), np.int64)
            molecules = kernels.split_by_place(pool, order, GAP, number, reach)
            is_complete = reach[:molecules] + GAP < self._last
            rank = np.lexsort((_first_of(number, molecules), reach[:molecules]))
        else:
            molecules = kernels.split_by_run(pool.molecule, number)
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
            raise InputError(self.path, reason, _name_in(Encoded(pool.data, pool.offsets), int(row)))


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


def _name_in(records: Encoded, row: int) -> str:
    data = records.data[records.offsets[row] + NAME :][:255].tobytes()
    return ascii(data.partition(b"\0")[0].decode("latin-1"))[1:-1]
