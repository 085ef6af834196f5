"""Write --haplotag: all records of an alignment file, tagged with their haplotypes, as a sorted and indexed BAM file.

    HP  1 or 2: haplotype of the first or second allele of the phased genotypes
    PS  phase set: position (1-based) of its first site

Reads of neither haplotype by MIN_ODDS, and those of other samples, have neither tag; the file's own HP and PS tags are
removed. A read's records on one contig agree, supplementary and secondary ones too.
"""

from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path

import numpy as np
import pysam
from numpy import ndarray

from readwarp.call.likelihoods.phase.links import Phasing
from readwarp.call.reads.inputs import AlignmentFiles
from readwarp.call.records.bam_output import write_bam
from readwarp.compiler.jit import kernel
from readwarp.errors import UsageError
from readwarp.formats.alignments.header import program_lines
from readwarp.formats.common.output_file import OutputFile
from readwarp.formats.reads.bam import read_records
from readwarp.ragged import offsets_of
from readwarp.rules.hashes import hash_of

MIN_ODDS = 1.0  # log10
BATCH = 10_000  # records
TAGS = "HP", "PS"


class HaplotaggedBam:
    """Collector of the phase of contigs that writes the file at the end."""

    def __init__(self, path: Path, alignments: AlignmentFiles, reference: Path, threads: int, command: str):
        if len(alignments.sources) != 1 or len(alignments.samples) != 1:
            raise UsageError("--haplotag takes one alignment file and one of its samples")
        if alignments.sources[0].reader.is_stream:
            raise UsageError("--haplotag reads the alignments twice: give a file with an index")
        self.path, self.source, self.reference = path, alignments.sources[0], reference
        self.threads, self.command = threads, command
        self._phased = dict[str, Phasing]()

    def add(self, contig: int, phasing: Phasing) -> None:
        """Add the phase of a contig of the reference."""
        if contig in self.source.contigs:
            self._phased[self.source.reader.names[self.source.contigs[contig]]] = phasing

    def write(self) -> OutputFile:
        """Write the file with its index, complete but not yet named. Raises InputError."""
        for _ in read_records(self.source.reader.path, [str(self.reference)], self.threads):
            pass  # a record that SAM cannot hold is refused: not all of them were read for the calls
        return write_bam(self.path, self._make)

    def _make(self, place: str) -> int:
        reader = self.source.reader
        with pysam.AlignmentFile(str(reader.path), reference_filename=reader.fasta) as records:
            lines = str(records.header).splitlines()
            programs = [line for line in lines if line.startswith("@PG")]
            lines = [line for line in lines if not line.startswith("@PG")] + program_lines(programs, self.command)
            header = pysam.AlignmentHeader.from_text("".join(f"{line}\n" for line in lines))
            with pysam.AlignmentFile(place, "wb", header=header, threads=self.threads) as out:
                for contig, own in groupby(records.fetch(until_eof=True), key=lambda record: record.reference_name):
                    for record in tag_records(own, self._phased.get(contig or ""), self.source.keep.samples):
                        out.write(record)
        return max(header.lengths, default=0)


def tag_records(
    records: Iterator[pysam.AlignedSegment], phasing: Phasing | None, samples: tuple[tuple[str, ...], ...]
) -> Iterator[pysam.AlignedSegment]:
    """Yield the records of one contig with their tags. samples: the read groups of each sample; none: all reads."""
    groups = {group for own in samples for group in own}
    while batch := list(islice(records, BATCH)):
        sides, sets = find_haplotypes(batch, phasing)
        for record, side, name in zip(batch, sides.tolist(), sets.tolist(), strict=True):
            is_own = not groups or (record.has_tag("RG") and record.get_tag("RG") in groups)
            for tag, value in zip(TAGS, (side, name + 1), strict=True):
                record.set_tag(tag, value if side and is_own else None)
            yield record


def find_haplotypes(batch: list[pysam.AlignedSegment], phasing: Phasing | None) -> tuple[ndarray, ndarray]:
    """Return 1, 2, or 0 if unknown, for each record, and its phase set, 0-based (int64 each)."""
    if phasing is None or phasing.name_hash.size == 0:
        return np.zeros((2, len(batch)), np.int64)[0], np.zeros(len(batch), np.int64)
    names = [(record.query_name or "").encode() for record in batch]
    hashes = np.empty(len(batch), np.uint64)
    hash_names(np.frombuffer(b"".join(names), np.uint8), offsets_of([len(name) for name in names]), hashes)
    place = np.minimum(np.searchsorted(phasing.name_hash, hashes), phasing.name_hash.size - 1)
    odds = np.where(phasing.name_hash[place] == hashes, phasing.odds[place], 0.0)
    return np.where(odds >= MIN_ODDS, 1, np.where(odds <= -MIN_ODDS, 2, 0)), phasing.phase_set[place]


@kernel
def hash_names(names, offsets, out):
    """Hash names; see `AlignedReads.name_hash`."""
    for i in range(out.size):
        out[i] = hash_of(names, offsets[i], offsets[i + 1])
