"""A tiny job with each format, which compiles its kernels (readwarp.device.precompile)."""

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from readwarp.batches import Alignments, ReadBatch
from readwarp.formats.alignments.header import header_text
from readwarp.formats.alignments.output import AlignmentWriter, Finish
from readwarp.formats.alignments.sam import Encoder
from readwarp.formats.reads.raw import ReadInput
from readwarp.formats.reads.stream import open_reads, parse
from readwarp.rules.cigar import DELETION, INSERTION, MATCH

LENGTH, STEP = 100, 5  # of the tiny job's reads: bases, and bases from one read to the next


@dataclass(frozen=True, slots=True)
class TinyGenome:
    """A contig and one haplotype of it with substitutions, some side by side, a deletion and an insertion; 0-3."""

    bases: np.ndarray
    haplotype: np.ndarray
    places: np.ndarray  # reference position of each haplotype base, -1 inserted

    @classmethod
    def make(cls) -> "TinyGenome":
        rng = np.random.default_rng(1)
        bases = rng.integers(0, 4, 2000).astype(np.uint8)
        changed = bases.copy()
        changed[[300, 700, 705]] = (changed[[300, 700, 705]] + 1) & 3
        places = np.concatenate([np.arange(1000), np.arange(1003, 1300), [-1, -1], np.arange(1300, 2000)])
        inserted = rng.integers(0, 4, places.size).astype(np.uint8)
        return cls(bases, np.where(places < 0, inserted, changed[places]).astype(np.uint8), places)

    def starts(self) -> range:
        return range(0, self.haplotype.size - 4 * LENGTH, STEP)

    def cigar(self, start: int) -> list[int]:
        """Of the read that begins at `start` of the haplotype, in BAM coding."""
        operations, previous = list[int](), self.places[start] - 1
        for place in self.places[start : start + LENGTH]:
            if place < 0:
                operations.append(INSERTION)
            else:
                operations += [*[DELETION] * int(place - previous - 1), MATCH]
                previous = place
        return [len(list(run)) << 4 | operation for operation, run in groupby(operations)]


def letters(bases: np.ndarray) -> str:
    return "".join("ACGT"[base] for base in bases)


def write_reads(genome: TinyGenome, folder: Path) -> tuple[str, str]:
    """FASTQ of pairs 300 bases apart."""
    paths = folder / "reads_1.fq", folder / "reads_2.fq"
    for mate, path in enumerate(paths):
        records = []
        for start in genome.starts():
            bases = genome.haplotype[start : start + LENGTH]
            if mate:
                bases = 3 - genome.haplotype[start + 2 * LENGTH : start + 3 * LENGTH][::-1]
            records.append(f"@r{start}\n{letters(bases)}\n+\n{'I' * LENGTH}\n")
        path.write_text("".join(records))
    return str(paths[0]), str(paths[1])


def alignments_of(genome: TinyGenome) -> Alignments:
    """The true records of the reads of `write_reads`."""
    begins = np.array([(start, start + 2 * LENGTH) for start in genome.starts()])
    cigars = [genome.cigar(start) for start in begins.ravel()]
    position = genome.places[begins]
    position[position < 0] = 1299
    rows = begins.size
    zeros, span = np.zeros(rows, np.int32), np.array([[3 * LENGTH, -3 * LENGTH]])
    return Alignments(
        read=np.arange(rows, dtype=np.int32),
        flag=np.tile(np.array([99, 147], np.uint16), rows // 2),
        contig=zeros,
        position=position.ravel(),
        mapping_quality=np.full(rows, 60, np.uint8),
        cigar=np.concatenate([np.array(codes, np.uint32) for codes in cigars]),
        cigar_offsets=np.cumsum([0, *map(len, cigars)]).astype(np.int64),
        mate_contig=zeros,
        mate_position=position[:, ::-1].ravel().copy(),
        template_length=np.broadcast_to(span, begins.shape).ravel().astype(np.int64),
        has_bases=np.ones(rows, np.uint8),
        tags=np.empty(0, np.uint8),
        tag_offsets=np.zeros(rows + 1, np.int64),
    )


def compile_formats(folder: Path) -> None:
    """Read FASTQ, encode BAM, sort, mark duplicates, index."""
    genome = TinyGenome.make()
    reads, rows = read_reads(genome, folder), alignments_of(genome)
    header = header_text([("tiny", genome.bases.size, "")], "coordinate", ["@RG\tID:tiny\tSM:tiny"])
    finish = Finish("coordinate", mark_duplicates=True, write_index=True, memory=1 << 20)
    with AlignmentWriter(str(folder / "formats.bam"), header, finish) as writer:
        writer.write(Encoder(("tiny",), ("tiny",)).encode(reads, rows))


def compile_text(folder: Path) -> None:
    """Read FASTQ, encode SAM."""
    genome = TinyGenome.make()
    Encoder(("tiny",), ("tiny",), text=True).encode(read_reads(genome, folder), alignments_of(genome))


def compile_paf(folder: Path) -> None:
    """Read FASTQ, encode PAF."""
    genome = TinyGenome.make()
    encoder = Encoder(("tiny",), lengths=(genome.bases.size,))
    encoder.encode(read_reads(genome, folder), alignments_of(genome))


def read_reads(genome: TinyGenome, folder: Path) -> ReadBatch:
    given = ReadInput(write_reads(genome, folder), read_group=0)
    return parse(next(iter(open_reads([given], 1 << 20))))
