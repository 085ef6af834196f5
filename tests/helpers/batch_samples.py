"""Reads, records and files for the tests of formats, written and read back the slow way."""

import random
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pysam

from readwarp.finish.writer import AlignmentWriter, Finish
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.records import AlignmentBatch
from readwarp.formats.alignments.sam import Encoder
from readwarp.formats.common.reads import ReadBatch
from readwarp.formats.reads.raw import ReadInput
from readwarp.formats.reads.stream import open_reads, parse
from readwarp.ragged import offsets_of

LETTERS = "ACGTN"
COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


class Read(NamedTuple):
    name: str
    segment: int
    bases: str
    qualities: str | None
    tags: bytes = b""
    read_group: int = -1


def reads_in(batch: ReadBatch) -> list[Read]:
    """The reads of a batch as text."""

    def part(values, offsets, i):
        return values[offsets[i] : offsets[i + 1]]

    out = []
    for i in range(len(batch)):
        qualities = part(batch.qualities, batch.read_offsets, i)
        unknown = qualities.size and qualities[0] == 255
        out.append(
            Read(
                part(batch.names, batch.name_offsets, i).tobytes().decode(),
                int(batch.segment[i]),
                "".join(LETTERS[code] for code in part(batch.bases, batch.read_offsets, i)),
                None if unknown else "".join(chr(33 + q) for q in qualities),
                part(batch.tags, batch.tag_offsets, i).tobytes(),
                int(batch.read_group[i]),
            )
        )
    return out


def read_all(*paths, batch_bases: int = 1000, **options) -> list[Read]:
    """All reads of one input."""
    given = ReadInput(tuple(map(str, paths)), **options)
    with closing(open_reads([given], batch_bases)) as batches:
        return [read for raw in batches for read in reads_in(parse(raw))]


def fastq(records, end: str = "\n") -> bytes:
    """(name, sequence, quality) triples as text."""
    return "".join(f"@{name}{end}{bases}{end}+{end}{quality}{end}" for name, bases, quality in records).encode()


def batch_of(reads: list[Read]) -> ReadBatch:
    def joined(parts):
        return np.frombuffer(b"".join(parts), np.uint8), offsets_of(np.array([len(part) for part in parts], np.int64))

    bases, read_offsets = joined([bytes(map(LETTERS.index, read.bases)) for read in reads])
    qualities, _ = joined(
        [b"\xff" * len(r.bases) if r.qualities is None else bytes(ord(q) - 33 for q in r.qualities) for r in reads]
    )
    names, name_offsets = joined([read.name.encode() for read in reads])
    tags, tag_offsets = joined([read.tags for read in reads])
    segment = np.array([read.segment for read in reads], np.uint8)
    groups = np.array([read.read_group for read in reads], np.int32)
    failed, named = np.zeros(len(reads), np.uint8), (names, name_offsets, tags, tag_offsets)
    return ReadBatch(0, 0, bases, qualities, read_offsets, *named, segment, groups, failed)


class Row(NamedTuple):
    """One output record; `cigar` as text."""

    read: int
    flag: int
    contig: int
    position: int
    mapping_quality: int
    cigar: str
    mate_contig: int = -1
    mate_position: int = -1
    template_length: int = 0
    tags: bytes = b""
    has_bases: bool = True


def operations(cigar: str) -> list[int]:
    if cigar == "*":
        return []
    number, out = "", []
    for letter in cigar:
        if letter.isdigit():
            number += letter
        else:
            out.append(int(number) << 4 | "MIDNSHP=X".index(letter))
            number = ""
    return out


def alignments_of(rows: list[Row]) -> AlignmentBatch:
    cigars = [operations(row.cigar) for row in rows]
    return AlignmentBatch(
        read=np.array([row.read for row in rows], np.int32),
        flag=np.array([row.flag for row in rows], np.uint16),
        contig=np.array([row.contig for row in rows], np.int32),
        position=np.array([row.position for row in rows], np.int64),
        mapping_quality=np.array([row.mapping_quality for row in rows], np.uint8),
        cigar=np.array([op for cigar in cigars for op in cigar], np.uint32),
        cigar_offsets=offsets_of(np.array([len(cigar) for cigar in cigars], np.int64)),
        mate_contig=np.array([row.mate_contig for row in rows], np.int32),
        mate_position=np.array([row.mate_position for row in rows], np.int64),
        template_length=np.array([row.template_length for row in rows], np.int64),
        has_bases=np.array([row.has_bases for row in rows], np.uint8),
        tags=np.frombuffer(b"".join(row.tags for row in rows), np.uint8),
        tag_offsets=offsets_of(np.array([len(row.tags) for row in rows], np.int64)),
    )


def sam_lines(path) -> list[str]:
    """The records of a file as htslib prints them."""
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        return [record.to_string() for record in file]


def samtools(*arguments) -> None:
    """Run a samtools command in a process of its own."""
    code = "import sys, pysam.samtools; getattr(pysam.samtools, sys.argv[1])(*sys.argv[2:], catch_stdout=False)"
    subprocess.run([sys.executable, "-c", code, *map(str, arguments)], check=True, capture_output=True)


def bam_records(path) -> Encoded:
    """The encoded records of a BAM file."""
    import gzip

    from readwarp.formats.alignments.stored import records_in

    data = gzip.decompress(Path(path).read_bytes())
    at = 8 + int.from_bytes(data[4:8], "little")
    contigs, at = int.from_bytes(data[at : at + 4], "little"), at + 4
    for _ in range(contigs):
        at += 8 + int.from_bytes(data[at : at + 4], "little")
    return records_in(np.frombuffer(data, np.uint8)[at:])


def random_read(rng: random.Random, length: int) -> tuple[str, str]:
    bases = "".join(rng.choice("ACGT") for _ in range(length))
    return bases, "".join(chr(33 + rng.randrange(41)) for _ in range(length))


def batches(count: int = 4):
    """Single reads at random places."""
    rng = random.Random(7)
    for number in range(count):
        reads = [Read(f"r{number}_{i}", 0, *random_read(rng, 50), b"", 0) for i in range(200)]
        yield batch_of(reads), alignments_of([Row(i, 0, 0, rng.randrange(5000), 60, "50M") for i in range(200)])


def write_batches(path, header, finish=Finish(), **options):  # noqa: B008
    """Write the batches with an AlignmentWriter; path None is stdout."""
    with AlignmentWriter(None if path is None else str(path), header, finish, **options) as writer:
        encoder = Encoder(("phix",), ("a",), text=writer.text)
        for batch in batches():
            writer.write(encoder.encode(*batch))
