"""Make reads, references and BAM files for the tests of calling."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pysam
from hypothesis import strategies as st

from readwarp.call.places.bases import Window
from readwarp.formats.alignments.aligned import AlignedReads

LETTERS = "ACGTN"
OPERATIONS = "MIDNSHP=X"
QUERY, REFERENCE = "MIS=X", "MDN=X"


@dataclass(frozen=True)
class Read:
    position: int
    cigar: str
    bases: str
    qualities: tuple[int, ...]
    flag: int = 0
    mapping_quality: int = 60
    name: str = "r"
    fragment_end: int = -1

    @property
    def operations(self) -> list[tuple[int, str]]:
        return [(int(n), o) for n, o in re.findall(r"(\d+)([MIDNSHP=X])", self.cigar)]

    @property
    def stop(self) -> int:
        return self.position + sum(n for n, o in self.operations if o in REFERENCE)

    def aligned(self):
        """(reference position or None, read index or None, operation) of each base, in order."""
        p, q = self.position, 0
        for n, o in self.operations:
            for _ in range(n):
                on_read, on_reference = o in QUERY, o in REFERENCE
                yield (p if on_reference else None, q if on_read else None, o)
                q, p = q + on_read, p + on_reference


def codes(text: str) -> np.ndarray:
    return np.array([LETTERS.index(c) for c in text], np.uint8)


def window_of(text: str, start: int = 0, stop: int | None = None, first: int = 0) -> Window:
    """[start, stop) of a contig (without a stop, the rest of it), and the known bases, from `first` on."""
    return Window(0, start, first + len(text) if stop is None else stop, codes(text), first)


def offsets(sizes) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(list(sizes), dtype=np.int64))).astype(np.int64)


def aligned_reads(reads: list[Read], start: int = 0, stop: int = 1 << 20) -> AlignedReads:
    reads = sorted(reads, key=lambda read: read.position)
    cigars = [[n << 4 | OPERATIONS.index(o) for n, o in read.operations] for read in reads]
    return AlignedReads(
        contig=0,
        start=start,
        stop=stop,
        position=np.array([r.position for r in reads], np.int64),
        reference_stop=np.array([r.stop for r in reads], np.int64),
        flag=np.array([r.flag for r in reads], np.uint16),
        mapping_quality=np.array([r.mapping_quality for r in reads], np.uint8),
        name_hash=np.array([hash(r.name) & (2**64 - 1) for r in reads], np.uint64),
        fragment_end=np.array([r.fragment_end for r in reads], np.int64),
        shared=np.array([[0 if r.flag & 16 else len(r.bases)] * 2 for r in reads], np.int32).reshape(-1, 2),
        hidden=np.zeros((len(reads), 2), np.int32),
        sample=np.zeros(len(reads), np.uint16),
        cigar=np.array([x for cigar in cigars for x in cigar], np.uint32),
        cigar_offsets=offsets(map(len, cigars)),
        bases=codes("".join(r.bases for r in reads)),
        qualities=np.array([q for r in reads for q in r.qualities], np.uint8),
        read_offsets=offsets(len(r.bases) for r in reads),
        unassigned=np.empty(0, np.int64),
    )


@st.composite
def reads_of(draw, length: int, most: int = 12, few_bases: str = "ACGTN"):
    """Reads with awkward CIGARs within a reference of `length` bases; some of them are pairs by name."""
    made = []
    for _ in range(draw(st.integers(0, most))):
        operations = draw(
            st.lists(st.tuples(st.integers(0, 6), st.sampled_from("MMMM=XIDDINP")), min_size=1, max_size=7)
        )
        clip = draw(st.integers(0, 3))
        operations = [(2, "H")] * draw(st.booleans()) + [(clip, "S")] * (clip > 0) + operations
        operations += [(clip, "S")] * (clip > 0) * draw(st.booleans())
        span = sum(n for n, o in operations if o in REFERENCE)
        size = sum(n for n, o in operations if o in QUERY)
        if span == 0 or span > length or size == 0:
            continue
        made.append(
            Read(
                position=draw(st.integers(0, length - span)),
                cigar="".join(f"{n}{o}" for n, o in operations),
                bases=draw(st.text(few_bases, min_size=size, max_size=size)),
                qualities=tuple(draw(st.lists(st.integers(0, 45), min_size=size, max_size=size))),
                flag=16 * draw(st.booleans()),
                mapping_quality=draw(st.sampled_from([0, 20, 60])),
                name=draw(st.sampled_from("abcdef")),
            )
        )
    return made


def no_mates(place: int) -> Iterator[list[bytes]]:
    """Find none, in the place of `call.reads.mates.lost.find_lost`."""
    return iter([[]])


def random_sequence(length: int, seed: int = 1) -> str:
    return "".join(random.Random(seed).choices("ACGT", k=length))


def write_fasta(path: Path, contigs: dict[str, str]) -> Path:
    path.write_text("".join(f">{name}\n{sequence}\n" for name, sequence in contigs.items()))
    return path


def write_bam(
    path: Path,
    contigs: dict[str, int],
    records: list[tuple[str, Read]],
    header: dict | None = None,
    mates: dict[str, Any] | None = None,
) -> Path:
    """Write a sorted and indexed BAM file of reads, and the contigs they are on.

    mates: where every paired read's mate is, by `next` (position), `length` (of the template) and `tags`.
    """
    names = list(contigs)
    head = {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": n, "LN": length} for n, length in contigs.items()]}
    with pysam.AlignmentFile(str(path), "wb", header={**head, **(header or {})}) as out:
        for contig, read in sorted(records, key=lambda x: (names.index(x[0]), x[1].position)):
            record = segment(out.header, read, contig)
            if mates and read.flag & 1:
                record.next_reference_id, record.next_reference_start = record.reference_id, mates["next"]
                record.template_length = mates["length"] * (-1 if read.flag & 16 else 1)
                record.set_tags(list(mates["tags"].items()))
            out.write(record)
    pysam.index(str(path))
    return path


def write_samples(path: Path, contigs: dict[str, int], own: dict[str, list[tuple[str, Read]]]) -> Path:
    """Write a sorted and indexed BAM file of several samples' reads; a read group has the name of its sample."""
    names, groups = list(contigs), [{"ID": name, "SM": name} for name in own]
    head = {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": n, "LN": length} for n, length in contigs.items()]}
    rows = [(names.index(contig), read, name) for name, reads in own.items() for contig, read in reads]
    with pysam.AlignmentFile(str(path), "wb", header={**head, "RG": groups}) as out:
        for contig, read, name in sorted(rows, key=lambda row: (row[0], row[1].position)):
            record = segment(out.header, read, names[contig])
            record.set_tag("RG", name)
            out.write(record)
    pysam.index(str(path))
    return path


def segment(header: pysam.AlignmentHeader, read: Read, contig: str) -> pysam.AlignedSegment:
    out = pysam.AlignedSegment(header)
    out.query_name, out.flag, out.mapping_quality = read.name, read.flag, read.mapping_quality
    out.reference_name, out.reference_start, out.cigarstring = contig, read.position, read.cigar
    out.query_sequence = read.bases
    if read.qualities[:1] != (255,):  # which says that there are none
        out.query_qualities = pysam.qualitystring_to_array("".join(chr(33 + q) for q in read.qualities))
    return out


def tiled(
    haplotypes: list[list[tuple[int, str, str]]],
    reference: str,
    step: int = 5,
    length: int = 60,
    starts: range | None = None,
) -> list[Read]:
    """Error-free reads across haplotypes that differ from the reference by (position, REF, ALT), sorted.

    starts: where they begin, by default each `step` bases.
    """
    starts = starts or range(0, len(reference) - length, step)
    made = []
    for number, variants in enumerate(haplotypes):
        columns = [(p, base) for p, base in enumerate(reference)]
        cells: list[tuple[str, str]] = [("M", base) for _, base in columns]
        for position, old, new in variants:
            for i in range(1, len(old)):
                cells[position + i] = ("D", "")
            cells[position] = ("M" if len(new) == 1 else f"M{len(new) - 1}I", new)
        for start in starts:
            read = _spelled(cells, start, length, f"h{number}_{start}", 16 * ((start // step) % 2))
            made.append(read)
    return made


def _spelled(cells: list[tuple[str, str]], start: int, length: int, name: str, flag: int) -> Read:
    while cells[start][0] == "D":
        start += 1
    end = min(start + length, len(cells))
    while cells[end - 1][0] != "M":
        end -= 1
    operations: list[list] = []
    for kind, bases in cells[start:end]:
        for operation, size in [(kind[0], 1), *([("I", len(bases) - 1)] if len(kind) > 1 else [])]:
            if operations and operations[-1][1] == operation:
                operations[-1][0] += size
            else:
                operations.append([size, operation])
    text = "".join(bases for _, bases in cells[start:end])
    return Read(start, "".join(f"{n}{o}" for n, o in operations), text, (35,) * len(text), flag, 60, name)


def write_vcf(path, rows, contigs):
    """A VCF without samples. `rows`: contig, 1-based position, REF, ALT; `contigs`: name -> sequence."""
    lines = ["##fileformat=VCFv4.2", *(f"##contig=<ID={name},length={len(s)}>" for name, s in contigs.items())]
    lines.append("#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO")
    lines += [f"{contig}\t{position}\t.\t{ref}\t{alt}\t.\t.\t." for contig, position, ref, alt in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def other(base: str) -> str:
    """A base other than this one."""
    return "ACGT"["CGTA".index(base)]
