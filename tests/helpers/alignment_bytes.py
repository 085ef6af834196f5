"""BAM files taken apart and put together again, field by field, also wrongly."""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from isal import igzip

from helpers.blocks import compress_block
from readwarp.formats.common.bgzf import EOF_BLOCK

FIXED = struct.Struct("<iiBBHHHiiii")  # the fields of a record after block_size
CONTIG, POSITION, NAME_LENGTH, MAPPING_QUALITY, BIN, OPERATIONS, FLAG, LENGTH, MATE, MATE_POSITION, SPAN = range(11)


@dataclass
class Record:
    """A record of BAM; what its numbers say of the lengths of its parts is kept apart from the parts."""

    numbers: list[int]
    name: bytes  # with its NUL
    cigar: bytes
    bases: bytes
    qualities: bytes
    tags: bytes
    size: int | None = None  # block_size; None: as it is

    @classmethod
    def of(cls, data: bytes) -> "Record":
        """From its bytes without block_size."""
        numbers, at, parts = list(FIXED.unpack_from(data)), FIXED.size, []
        length = numbers[LENGTH]
        for size in (numbers[NAME_LENGTH], 4 * numbers[OPERATIONS], (length + 1) // 2, length):
            parts.append(data[at : at + size])
            at += size
        return cls(numbers, *parts, data[at:])

    def bytes(self) -> bytes:
        data = FIXED.pack(*self.numbers) + self.name + self.cigar + self.bases + self.qualities + self.tags
        return struct.pack("<I", (len(data) if self.size is None else self.size) % (1 << 32)) + data


@dataclass
class Bam:
    """A BAM file: header text, contigs, records."""

    text: bytes
    contigs: list[tuple[bytes, int]]  # names with their NUL, lengths
    records: list[Record] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> "Bam":
        return cls.of(igzip.decompress(path.read_bytes()))

    @classmethod
    def of(cls, data: bytes) -> "Bam":
        """From decompressed bytes."""
        (size,) = struct.unpack_from("<i", data, 4)
        text, at = data[8 : 8 + size], 8 + size
        (count,), at = struct.unpack_from("<i", data, at), at + 4
        contigs, records = [], []
        for _ in range(count):
            (size,) = struct.unpack_from("<i", data, at)
            contigs.append((data[at + 4 : at + 4 + size], struct.unpack_from("<i", data, at + 4 + size)[0]))
            at += 8 + size
        while at < len(data):
            (size,) = struct.unpack_from("<i", data, at)
            records.append(Record.of(data[at + 4 : at + 4 + size]))
            at += 4 + size
        return cls(text, contigs, records)

    def header(self) -> bytes:
        parts = [b"BAM\x01", struct.pack("<i", len(self.text)), self.text, struct.pack("<i", len(self.contigs))]
        parts += [struct.pack("<i", len(name)) + name + struct.pack("<i", length) for name, length in self.contigs]
        return b"".join(parts)

    def bytes(self) -> bytes:
        """Decompressed."""
        return self.header() + b"".join(record.bytes() for record in self.records)


def bgzf(data: bytes, block: int = 20000) -> bytes:
    """The data as BGZF, with right checksums, in blocks of this size."""
    return b"".join(compress_block(data[at : at + block]) for at in range(0, len(data), block)) + EOF_BLOCK


def tag(name: bytes, kind: bytes, value: bytes) -> bytes:
    """A field; of Z and H with the NUL."""
    return name + kind + value + (b"\0" if kind in b"ZH" else b"")


def array(name: bytes, kind: bytes, values: bytes, count: int) -> bytes:
    """A field of type B that says it has so many elements."""
    return name + b"B" + kind + struct.pack("<I", count % (1 << 32)) + values


def fields_of(tags: bytes) -> Sequence[bytes]:
    """The fields of sound tags, one by one."""
    out, at = list[bytes](), 0
    widths = dict(zip(b"AcCsSiIf", (1, 1, 1, 2, 2, 4, 4, 4), strict=True))
    while at < len(tags):
        kind = tags[at + 2]
        if kind in b"ZH":
            stop = tags.index(0, at) + 1
        elif kind == ord("B"):
            stop = at + 8 + widths[tags[at + 3]] * struct.unpack_from("<I", tags, at + 4)[0]
        else:
            stop = at + 3 + widths[kind]
        out.append(tags[at:stop])
        at = stop
    return out


def write_bam(path: Path, text: bytes, contigs: Iterable[tuple[str, int]], records: Iterable[Record] = ()) -> None:
    own = [(name.encode() + b"\0", length) for name, length in contigs]
    path.write_bytes(bgzf(Bam(text, own, list(records)).bytes()))
