"""Results of `Aligner.align`: records as rows, as pysam objects, as tables, and as a file."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np

from readwarp.align.alternates.table import Alternates, contigs_of
from readwarp.compiler.prepare import prepare_once
from readwarp.config.options import RecordOptions
from readwarp.finish.writer import AlignmentWriter, Finish
from readwarp.formats.alignments.header import field, header_text, program_lines, read_group_line
from readwarp.formats.alignments.output import format_of
from readwarp.formats.alignments.records import AlignmentBatch
from readwarp.formats.alignments.sam import Encoder
from readwarp.formats.common.files import locked
from readwarp.formats.common.reads import ReadBatch
from readwarp.index.reference import Reference
from readwarp.python import tables
from readwarp.python.keywords import AnyPath, explain_names
from readwarp.ragged import replace, take
from readwarp.rules import flags
from readwarp.rules.bases import LETTERS
from readwarp.rules.cigar import LETTERS as OPERATIONS
from readwarp.stream.display import check_new
from readwarp.system.scratch import ScratchFolder

NO_QUALITY = 255
COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")
CONSUMING = frozenset("MDN=X")  # operations that consume reference bases
HARD = "H"
NAMES_ELSEWHERE = {  # names in pysam and mappy -> names here
    **{"query_name": "name", "qname": "name", "reference_name": "contig", "ctg": "contig", "rname": "contig"},
    **{"reference_start": "position", "pos": "position", "r_st": "position", "reference_end": "stop", "r_en": "stop"},
    **{"mapq": "mapping_quality", "cigarstring": "cigar", "cigar_str": "cigar", "cigartuples": "cigar"},
    **{"query_sequence": "sequence", "seq": "sequence", "query_qualities": "qualities", "qual": "qualities"},
    **{"next_reference_name": "mate_contig", "next_reference_start": "mate_position", "tlen": "template_length"},
    **{"get_tag": "tags[name]", "has_tag": "tags", "NM": 'tags["NM"]', "MD": 'tags["MD"]', "strand": "is_reverse"},
    **{"is_unmapped": "is_mapped", "is_forward": "is_reverse"},
}


class Record(NamedTuple):
    """One alignment: the fields of a SAM line, but 0-based; contig None and position -1 if absent."""

    name: str
    flag: int
    contig: str | None
    position: int
    mapping_quality: int
    cigar: str  # "" when unmapped
    mate_contig: str | None
    mate_position: int
    template_length: int
    tags: dict[str, int | float | str]
    sequence: str  # on the forward strand of the reference, without hard-clipped bases
    qualities: str | None  # of these bases, in Phred + 33

    @property
    def stop(self) -> int:
        """End position on the reference, exclusive; -1 when unmapped."""
        return self.position + sum(length for length, operation in self.operations if operation in CONSUMING)

    @property
    def operations(self) -> list[tuple[int, str]]:
        """The CIGAR as (length, operation)."""
        found, length = [], ""
        for letter in self.cigar:
            if letter.isdigit():
                length += letter
            else:
                found.append((int(length), letter))
                length = ""
        return found

    @property
    def is_mapped(self) -> bool:
        return not self.flag & flags.UNMAPPED

    @property
    def is_paired(self) -> bool:
        return bool(self.flag & flags.PAIRED)

    @property
    def is_reverse(self) -> bool:
        return bool(self.flag & flags.REVERSE)

    @property
    def is_proper_pair(self) -> bool:
        return bool(self.flag & flags.PROPER)

    @property
    def is_secondary(self) -> bool:
        return bool(self.flag & flags.SECONDARY)

    @property
    def is_supplementary(self) -> bool:
        return bool(self.flag & flags.SUPPLEMENTARY)

    @property
    def is_primary(self) -> bool:
        """Whether it is neither secondary nor supplementary: true of one record per read, even if unmapped."""
        return not self.flag & flags.NOT_PRIMARY


explain_names(Record, NAMES_ELSEWHERE, "to_pysam() gives records of pysam")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Records(tables.Tabular, Sequence[Record]):
    """Alignments of reads: the primary (or unmapped) record of each, then other ones; mates are neighbours.

    A sequence of `Record`; slices and arrays of indices or bools give `Records`. Tables have a row per record and a
    column per tag.

        records[0].cigar, [record for record in records if record.mapping_quality >= 20]
        records.to_pysam(), records.to_pandas(), records.to_arrow()
        records.write("out.bam", sort="coordinate", write_index=True)
    """

    reads: ReadBatch
    rows: AlignmentBatch
    reference: Reference
    fasta: Path | None = None  # of the reference, for CRAM
    alternates: Alternates | None = None  # ALT contigs of the reference

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Record]:
        return map(self._record, range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice | np.ndarray) -> "Records": ...

    def __getitem__(self, index: int | slice | np.ndarray) -> "Record | Records":
        if isinstance(index, slice | np.ndarray):
            chosen = np.arange(len(self))[index]
            return replace(self, rows=take(self.rows, "records", chosen))
        if not -len(self) <= index < len(self):
            raise IndexError(f"record {index}: there are {len(self)}")
        return self._record(index % len(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and not isinstance(other, str) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        mapped = int(np.count_nonzero((self.rows.flag & (flags.NOT_PRIMARY | flags.UNMAPPED)) == 0))
        reads = int(np.count_nonzero((self.rows.flag & flags.NOT_PRIMARY) == 0))
        return f"Records({len(self):,} of {reads:,} reads, {mapped:,} mapped)"

    @property
    def header(self) -> Any:
        """A pysam.AlignmentHeader with the contigs of the reference."""
        import pysam

        return pysam.AlignmentHeader.from_text(self._header("none", None))

    def to_pysam(self) -> list[Any]:
        """Return the records as pysam.AlignedSegment with the header `header`."""
        import pysam

        with ScratchFolder() as scratch:
            path = str(scratch.path / "records.bam")
            self._write(path, Finish(), None, None)
            with pysam.AlignmentFile(path, check_sq=False) as file:
                return list(file)

    def write(
        self,
        output: AnyPath,
        *,
        sort: str | None = None,
        mark_duplicates: bool = False,
        write_index: bool = False,
        read_group: str | Mapping[str, str] | None = None,
        force: bool = False,
    ) -> Path:
        r"""Write a .sam, .bam, .cram or .paf file, as `readwarp align` does, and return its path.

        sort: coordinate, name or none; None: coordinate if that is needed to mark duplicates or write an index.
        read_group: a line such as r"@RG\tID:lane1\tSM:sample", or {"ID": "lane1", "SM": "sample"}. force: replace an
        existing file. CRAM needs an Aligner made with the path of its reference. Raises UsageError.
        """
        path = Path(output)
        asked = RecordOptions(sort=sort, mark_duplicates=mark_duplicates, write_index=write_index)
        finish = Finish(asked.order, mark_duplicates, write_index)
        finish.check(format_of(path))
        check_new(path, force, [self.fasta] if self.fasta else [])
        if isinstance(read_group, Mapping):
            read_group = "\t".join(["@RG", *(f"{name}:{value}" for name, value in read_group.items())])
        with locked(path):
            self._write(str(path), finish, read_group, self.fasta)
        return path

    def _write(self, path: str, finish: Finish, read_group: str | None, fasta: Path | None) -> None:
        line = None if read_group is None else read_group_line(read_group)
        header = self._header(finish.sort, line)
        reads = self.reads if line is None else replace(self.reads, read_group=np.zeros(len(self.reads), np.int32))
        groups = () if line is None else (field(line, "ID") or "",)
        prepare_once("Records")
        with AlignmentWriter(path, header, finish, reference=None if fasta is None else str(fasta)) as writer:
            lengths = np.diff(self.reference.contig_offsets).tolist() if writer.format == "paf" else ()
            encoder = Encoder(self.reference.names, groups, writer.text, tuple(lengths))
            writer.write(encoder.encode(reads, self.rows))

    def _header(self, sort: str, read_group: str | None) -> str:
        contigs = contigs_of(self.reference, self.alternates)
        groups = () if read_group is None else (read_group,)
        return header_text(contigs, sort, groups, program_lines((), "readwarp.Aligner"))

    def _record(self, number: int) -> Record:
        reads, rows = self.reads, self.rows
        read, flag = int(rows.read[number]), int(rows.flag[number])
        runs = rows.cigar[rows.cigar_offsets[number] : rows.cigar_offsets[number + 1]].tolist()
        cigar = [(run >> 4, OPERATIONS[run & 15]) for run in runs]
        sequence, qualities = _bases(reads, read, flag, cigar) if rows.has_bases[number] else ("", None)
        return Record(
            name=reads.names[reads.name_offsets[read] : reads.name_offsets[read + 1]].tobytes().decode(),
            flag=flag,
            contig=self._contig(rows.contig[number]),
            position=int(rows.position[number]),
            mapping_quality=int(rows.mapping_quality[number]),
            cigar="".join(f"{length}{operation}" for length, operation in cigar),
            mate_contig=self._contig(rows.mate_contig[number]),
            mate_position=int(rows.mate_position[number]),
            template_length=int(rows.template_length[number]),
            tags=_decode(rows.tags[rows.tag_offsets[number] : rows.tag_offsets[number + 1]].tobytes()),
            sequence=sequence,
            qualities=qualities,
        )

    def _contig(self, number: int) -> str | None:
        return None if number < 0 else self.reference.names[number]

    def _columns(self) -> list[tables.Column]:
        """Return the columns; positions and tags that a record lacks are null."""
        records = list(self)
        found = []
        for name in Record._fields:
            if name == "tags":
                continue
            values = [getattr(record, name) for record in records]
            if name.endswith("position"):
                values = [None if value < 0 else value for value in values]
            kind = tables.INTEGER if Record.__annotations__[name] is int else tables.TEXT
            found.append(tables.Column(name, kind, values))
        for tag in dict.fromkeys(tag for record in records for tag in record.tags):
            values = [record.tags.get(tag) for record in records]
            found.append(tables.Column(tag, tables.kind_of(values), values))
        return found


def _bases(reads: ReadBatch, read: int, flag: int, cigar: list[tuple[int, str]]) -> tuple[str, str | None]:
    """Return sequence and qualities as the record shows them."""
    start, stop = int(reads.read_offsets[read]), int(reads.read_offsets[read + 1])
    letters = LETTERS[reads.bases[start:stop]].tobytes()
    phreds = reads.qualities[start:stop]
    if flag & flags.REVERSE:
        letters, phreds = letters.translate(COMPLEMENT)[::-1], phreds[::-1]
    first, last = (cigar[end][0] if cigar and cigar[end][1] == HARD else 0 for end in (0, -1))
    shown = slice(first, len(letters) - last)
    is_known = bool(phreds.size) and phreds[0] != NO_QUALITY
    return letters[shown].decode(), (phreds[shown] + 33).tobytes().decode() if is_known else None


def _decode(tags: bytes) -> dict[str, int | float | str]:
    """Decode auxiliary fields of the types that the aligner writes: C, S, I, Z, and f with four decimals."""
    fields: dict[str, int | float | str] = {}
    at = 0
    while at < len(tags):
        name, kind = tags[at : at + 2].decode(), chr(tags[at + 2])
        at += 3
        if kind == "Z":
            stop = tags.index(0, at)
            fields[name], at = tags[at:stop].decode(), stop + 1
        elif kind == "f":
            fields[name], at = round(struct.unpack_from("<f", tags, at)[0], 4), at + 4
        else:
            size = {"C": 1, "S": 2, "I": 4}[kind]
            fields[name], at = int.from_bytes(tags[at : at + size], "little"), at + size
    return fields
