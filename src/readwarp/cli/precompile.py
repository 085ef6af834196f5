"""The first run's compilation on more than one core: further processes compile what the first does not need at once.

While a command compiles the kernels of the align steps, children compile those of calling and of the formats into the
same disk cache, by doing a tiny job with each; what no core is left for, the command does itself. A mark in the cache
folder says that a stage is done; Numba writes each cached kernel as a whole, so that two processes which compile the
same one do no harm.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from readwarp.batches import Alignments, ReadBatch

LENGTH, STEP = 100, 5  # of the tiny job's reads: bases, and bases from one read to the next


@contextmanager
def helped(stages: Sequence[str], threads: int) -> Iterator[None]:
    """While the block compiles its own kernels, have those of `stages` compiled by children, the slowest stage first.

    At the end what no child was left for is compiled here, and the children are waited for.
    """
    missing = [stage for stage in STAGES if stage in stages and not _mark(stage).exists()]
    if not missing or threads < 2:
        yield
        return
    children: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory(prefix="readwarp-") as folder:
        try:
            for stage in missing[: threads - 1]:
                children += _started(Path(folder), stage)
            yield
            if children:
                for stage in missing[threads - 1 :]:
                    compile_stage(Path(folder), stage)
            for child in children:
                child.wait()  # whatever it could not do is compiled where it is needed
        finally:
            for child in children:
                child.kill()
                child.wait()


def _started(folder: Path, stage: str) -> "list[subprocess.Popen[bytes]]":
    """A child that compiles a stage; none where no process can be started."""
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-m", "readwarp.cli.precompile", str(folder), stage]
    try:
        return [subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)]
    except OSError:
        return []


def _mark(stage: str) -> Path:
    from readwarp.device.kernel_cache import package_folder

    return package_folder() / f"{stage}.done"


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
        codes: list[tuple[int, int]] = []  # operation and length
        previous = self.places[start] - 1
        for place in self.places[start : start + LENGTH]:
            if place > previous + 1:
                codes.append((2, int(place - previous - 1)))
            codes.append((0 if place >= 0 else 1, 1))
            previous = place if place >= 0 else previous
        runs: list[list[int]] = []
        for operation, length in codes:
            if runs and runs[-1][0] == operation:
                runs[-1][1] += length
            else:
                runs.append([operation, length])
        return [length << 4 | operation for operation, length in runs]


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
        tags=np.empty(0, np.uint8),
        tag_offsets=np.zeros(rows + 1, np.int64),
    )


def compile_formats(folder: Path) -> None:
    """Read FASTQ, encode BAM, sort, mark duplicates, index."""
    from readwarp.formats.alignments.header import header_text
    from readwarp.formats.alignments.output import AlignmentWriter, Finish
    from readwarp.formats.alignments.sam import Encoder

    genome = TinyGenome.make()
    reads, rows = read_reads(genome, folder), alignments_of(genome)
    header = header_text([("tiny", genome.bases.size, "")], "coordinate", ["@RG\tID:tiny\tSM:tiny"])
    finish = Finish("coordinate", mark_duplicates=True, write_index=True, memory=1 << 20)
    with AlignmentWriter(str(folder / "formats.bam"), header, finish) as writer:
        writer.write(Encoder(("tiny",), ("tiny",)).encode(reads, rows))


def compile_text(folder: Path) -> None:
    """Read FASTQ, encode SAM."""
    from readwarp.formats.alignments.sam import Encoder

    genome = TinyGenome.make()
    Encoder(("tiny",), ("tiny",), text=True).encode(read_reads(genome, folder), alignments_of(genome))


def read_reads(genome: TinyGenome, folder: Path) -> ReadBatch:
    from readwarp.formats.reads.raw import ReadInput
    from readwarp.formats.reads.stream import open_reads, parse

    given = ReadInput(write_reads(genome, folder), read_group=0)
    return parse(next(iter(open_reads([given], 1 << 20))))


def compile_calling(folder: Path) -> None:
    """Call the true alignments of the reads."""
    from readwarp.call.pipeline import call_variants
    from readwarp.config import CallParameters, Resources
    from readwarp.metrics import Metrics

    genome = TinyGenome.make()
    reference, alignments, output = (folder / f"calling.{ending}" for ending in ("fa", "bam", "vcf"))
    reference.write_text(f">tiny\n{letters(genome.bases)}\n")
    write_alignments(genome, alignments)
    call_variants(reference, alignments, str(output), CallParameters(), Resources(), Metrics())


def write_alignments(genome: TinyGenome, path: Path) -> None:
    """By pysam, which needs no kernel. One read is wrong throughout, so that float32 is not enough for it."""
    import pysam

    rows = alignments_of(genome)
    header = {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": "tiny", "LN": genome.bases.size}]}
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        for i in np.argsort(rows.position, kind="stable").tolist():
            start = genome.starts()[i // 2] + (i % 2) * 2 * LENGTH
            read = pysam.AlignedSegment(out.header)
            read.query_name, read.flag, read.mapping_quality = f"r{i // 2}", int(rows.flag[i]), 60
            bases = genome.haplotype[start : start + LENGTH]
            read.query_sequence = letters((bases + 1) & 3 if start == 950 else bases)
            read.query_qualities = pysam.qualitystring_to_array("I" * LENGTH)
            read.reference_id, read.reference_start = 0, int(rows.position[i])
            read.cigartuples = [(code & 15, code >> 4) for code in genome.cigar(start)]
            out.write(read)
    pysam.index(str(path))


STAGES = {"calling": compile_calling, "formats": compile_formats, "text": compile_text}  # the slowest first


def compile_stage(folder: Path, stage: str) -> None:
    STAGES[stage](folder)
    _mark(stage).touch()


if __name__ == "__main__":
    compile_stage(Path(sys.argv[1]), sys.argv[2])
