"""Records out: Alignments and their reads as SAM text or BAM records, encoded in compiled code for a whole batch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from readwarp.batches import Alignments, ReadBatch
from readwarp.formats.alignments import encode_kernels as kernels
from readwarp.formats.alignments.tag_text import FACTOR
from readwarp.formats.common.text import joined

Rows = tuple[ndarray, ...]


@dataclass(frozen=True, slots=True)
class Encoded:
    """Records in the bytes of their format, ready to be written."""

    data: ndarray  # uint8
    offsets: ndarray  # int64 [r + 1]

    def __len__(self) -> int:
        return self.offsets.size - 1


@dataclass(frozen=True, slots=True)
class Encoder:
    """What all batches of a run share: names of contigs and read groups, and the form of the records.

    BAM is what BAM, CRAM and every sorted output are made of; SAM text goes out as it is.
    """

    contigs: tuple[str, ...]
    read_groups: tuple[str, ...] = ()
    text: bool = False  # SAM text instead of BAM records

    def encode(self, reads: ReadBatch, alignments: Alignments) -> Encoded:
        """Rows of `alignments` in their order. Runs without the GIL."""
        arrays = _read_arrays(reads), _row_arrays(alignments)
        groups = joined(self.read_groups)
        size = _most_bytes(reads, alignments, self.contigs if self.text else (), self.read_groups)
        out, offsets = np.empty(size, np.uint8), np.empty(len(alignments) + 1, np.int64)
        if self.text:
            written = kernels.sam_records(*arrays, joined(self.contigs), groups, out, offsets)
        else:
            written = kernels.bam_records(*arrays, groups, out, offsets)
        return Encoded(out[:written], offsets)


def _read_arrays(reads: ReadBatch) -> Rows:
    names = ("bases", "qualities", "read_offsets", "names", "name_offsets", "tags", "tag_offsets", "read_group")
    return tuple(getattr(reads, name) for name in names)


def _row_arrays(rows: Alignments) -> Rows:
    return (
        *(rows.read, rows.flag, rows.contig, rows.position, rows.mapping_quality, rows.cigar, rows.cigar_offsets),
        *(rows.mate_contig, rows.mate_position, rows.template_length, rows.tags, rows.tag_offsets),
    )


def _most_bytes(reads: ReadBatch, rows: Alignments, contigs: Sequence[str], groups: Sequence[str]) -> int:
    """An upper bound of the encoded size: text is never shorter than binary but for its numbers."""
    read = rows.read
    lengths = int((reads.read_offsets[read + 1] - reads.read_offsets[read]).sum())
    names = int((reads.name_offsets[read + 1] - reads.name_offsets[read]).sum())
    carried = int((reads.tag_offsets[read + 1] - reads.tag_offsets[read]).sum())
    longest = 2 * max(map(len, contigs), default=0) + max(map(len, groups), default=0)
    fixed = (160 + longest) * len(rows)
    return fixed + names + 2 * lengths + 10 * rows.cigar.size + FACTOR * (carried + rows.tags.size) + 64
