"""Alignment of reads that are given in Python."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from readwarp.align import steps, trim
from readwarp.batches import Alignments, InsertSizes, ReadBatch
from readwarp.config import AlignParameters
from readwarp.device import backend as backends
from readwarp.errors import UsageError
from readwarp.index import Index, open_or_build
from readwarp.metrics import Metrics
from readwarp.ragged import replace
from readwarp.rules.cigar import LETTERS
from readwarp.wording import counted

Read = str | tuple[str, str] | tuple[str, str, str | None]


class Record(NamedTuple):
    """One alignment: the fields of a SAM line, but 0-based; contig None and position -1 where there is none."""

    name: str
    flag: int
    contig: str | None
    position: int
    mapping_quality: int
    cigar: str  # "" when unmapped
    mate_contig: str | None
    mate_position: int
    template_length: int
    tags: dict[str, int | str]

    @property
    def is_mapped(self) -> bool:
        return not self.flag & 0x4

    @property
    def is_reverse(self) -> bool:
        return bool(self.flag & 0x10)

    @property
    def is_proper_pair(self) -> bool:
        return bool(self.flag & 0x2)

    @property
    def is_supplementary(self) -> bool:
        return bool(self.flag & 0x800)


class Aligner:
    """Reads to records, with the parameters and results of `readwarp align`.

    index: an Index, its path, or that of a reference, whose index is opened or built. Safe to use from several threads.

        aligner = Aligner("ref.fa")
        aligner.align(["ACGT..."])                                        # single reads
        aligner.align([("name", "ACGT...", "IIII...")], [("name", "TTGA...", "IIII...")])   # pairs
    """

    def __init__(
        self,
        index: Index | str | Path,
        parameters: AlignParameters | None = None,
        device: str = "cpu",
        insert_sizes: InsertSizes | None = None,
    ):
        self.index = index if isinstance(index, Index) else open_or_build(index)
        self.parameters = parameters or AlignParameters(seed=self.index.parameters)
        self.insert_sizes = insert_sizes
        self.metrics = Metrics()
        backend = backends.choose(device)
        with backend.on():
            self._placed = steps.place(self.index, backend)

    def align(self, reads: Iterable[Read], mates: Iterable[Read] | None = None) -> list[Record]:
        """Records of all reads: the primary (or unmapped) one of each, then supplementary ones; mates are neighbours.

        A read is a sequence, or (name, sequence), or (name, sequence, qualities in Phred + 33). Without `insert_sizes`
        the model is estimated from the pairs given here. Adapters that are not known, if reads are trimmed, are learned
        from them. Raises UsageError for what is not a read or pair.
        """
        if isinstance(reads, str) or isinstance(mates, str):
            raise UsageError("give reads as a list, even a single one")
        named = _interleave(list(reads), None if mates is None else list(mates))
        batch = steps.make_batch(named, paired=mates is not None)
        placed, parameters = self._placed, self.parameters
        learned = trim.learn([batch], parameters.trim) if parameters.trim else None
        if parameters.trim and learned:
            parameters = replace(parameters, trim=trim.with_learned(parameters.trim, learned))
        with placed.backend.on():
            sizes = self.insert_sizes or steps.train([batch], placed, parameters, self.metrics)
            batch, rows = steps.align_batch(batch, placed, sizes, parameters, self.metrics)
        return _records(batch, rows, self.index.reference.names)


def _interleave(reads: Sequence[Read], mates: Sequence[Read] | None) -> list[tuple[str, str, str | None]]:
    """(name, sequence, qualities) of all reads; a read without a name is named by its number."""
    firsts = [_name(read, str(number)) for number, read in enumerate(reads)]
    if mates is None:
        return firsts
    lasts = [_name(mate, str(number)) for number, mate in enumerate(mates)]
    if len(firsts) != len(lasts):
        raise UsageError(f"{counted(len(firsts), 'read')}, but {counted(len(lasts), 'mate')}")
    for first, last in zip(firsts, lasts, strict=True):
        if first[0] != last[0]:
            raise UsageError(f"mates have different names: {first[0]} and {last[0]}")
    return [read for pair in zip(firsts, lasts, strict=True) for read in pair]


def _name(read: Read, number: str) -> tuple[str, str, str | None]:
    name, sequence, *rest = (number, read) if isinstance(read, str) else read
    qualities = rest[0] if rest else None
    if qualities is not None and len(qualities) != len(sequence):
        raise UsageError(f"read {name}: quality has {counted(len(qualities), 'letter')}, sequence {len(sequence)}")
    return name, sequence, qualities


def _records(reads: ReadBatch, rows: Alignments, contigs: tuple[str, ...]) -> list[Record]:
    def contig(number: int) -> str | None:
        return None if number < 0 else contigs[number]

    records = []
    for i, read in enumerate(rows.read.tolist()):
        cigar = rows.cigar[rows.cigar_offsets[i] : rows.cigar_offsets[i + 1]].tolist()
        tags = rows.tags[rows.tag_offsets[i] : rows.tag_offsets[i + 1]].tobytes()
        records.append(
            Record(
                name=reads.names[reads.name_offsets[read] : reads.name_offsets[read + 1]].tobytes().decode(),
                flag=int(rows.flag[i]),
                contig=contig(int(rows.contig[i])),
                position=int(rows.position[i]),
                mapping_quality=int(rows.mapping_quality[i]),
                cigar="".join(f"{operation >> 4}{LETTERS[operation & 15]}" for operation in cigar),
                mate_contig=contig(int(rows.mate_contig[i])),
                mate_position=int(rows.mate_position[i]),
                template_length=int(rows.template_length[i]),
                tags=_decode(tags),
            )
        )
    return records


def _decode(tags: bytes) -> dict[str, int | str]:
    """BAM's auxiliary fields, of the types that the aligner writes: C, S, I and Z."""
    fields: dict[str, int | str] = {}
    at = 0
    while at < len(tags):
        name, kind, at = tags[at : at + 2].decode(), chr(tags[at + 2]), at + 3
        if kind == "Z":
            stop = tags.index(0, at)
            fields[name], at = tags[at:stop].decode(), stop + 1
        else:
            size = {"C": 1, "S": 2, "I": 4}[kind]
            fields[name], at = int.from_bytes(tags[at : at + size], "little"), at + size
    return fields
