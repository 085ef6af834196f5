"""A tiny job of calling, which compiles its kernels (readwarp.device.precompile)."""

from pathlib import Path

import numpy as np
import pysam

from readwarp.call.job import CallJob, run_call
from readwarp.formats.reads.precompile import LENGTH, TinyGenome, alignments_of, letters
from readwarp.stream.reporter import Reporter


def compile_calling(folder: Path) -> None:
    """Call the true alignments of the reads."""
    genome = TinyGenome.make()
    reference, alignments, output = (folder / f"calling.{ending}" for ending in ("fa", "bam", "vcf"))
    reference.write_text(f">tiny\n{letters(genome.bases)}\n")
    write_alignments(genome, alignments)
    run_call(CallJob(reference=reference, alignments=(alignments,), output=output), Reporter("precompile"))


def write_alignments(genome: TinyGenome, path: Path) -> None:
    """By pysam, which needs no kernel. One read has no correct base, so that float32 is not enough for it."""
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
