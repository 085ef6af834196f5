"""Records out: Alignments and their reads as SAM text, BAM records or PAF, encoded in compiled code batch by batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.formats.alignments import encode_kernels as kernels
from readwarp.formats.alignments import paf_kernels
from readwarp.formats.alignments.records import AlignmentBatch
from readwarp.formats.alignments.tag_text import FACTOR
from readwarp.formats.common.reads import ReadBatch
from readwarp.formats.common.text import pack_names
from readwarp.ragged import empty, replace


class Encoded(NamedTuple):
    """Records in the bytes of their format, ready to be written."""

    data: Annotated[ndarray, "uint8 [bytes]"]
    offsets: Annotated[ndarray, "int64 [records + 1] of bytes"]

    def __len__(self) -> int:
        return self.offsets.size - 1


@dataclass(frozen=True, slots=True)
class Encoder:
    """An encoder shared by all batches of a run: names of contigs and read groups, and the form of the records.

    BAM, CRAM and every sorted output are made of BAM records; unsorted SAM text is written directly.
    """

    contigs: tuple[str, ...]
    read_groups: tuple[str, ...] = ()
    text: bool = False  # SAM text instead of BAM records
    lengths: tuple[int, ...] = ()  # of the contigs: PAF instead

    def encode(self, reads: ReadBatch, alignments: AlignmentBatch) -> Encoded:
        """Encode `alignments` in their order. Runs without the GIL."""
        groups, size = pack_names(self.read_groups), self._max_bytes(reads, alignments)
        out = empty(Encoded, {"records": len(alignments), "bytes": size})
        if self.lengths:
            lengths = np.array(self.lengths, np.int64)
            written = paf_kernels.encode_paf(reads, alignments, pack_names(self.contigs), lengths, out)
        elif self.text:
            written = kernels.encode_sam(reads, alignments, pack_names(self.contigs), groups, out)
        else:
            written = kernels.encode_bam(reads, alignments, groups, out)
        return replace(out, data=out.data[:written])

    def _max_bytes(self, reads: ReadBatch, rows: AlignmentBatch) -> int:
        """Return an upper bound of the encoded size, for text or binary."""
        lengths, names, carried = (
            int((offsets[rows.read + 1] - offsets[rows.read]).sum())
            for offsets in (reads.read_offsets, reads.name_offsets, reads.tag_offsets)
        )
        longest = 2 * _longest(self.contigs if self.text or self.lengths else ()) + _longest(self.read_groups)
        fixed = (200 + longest) * len(rows)
        return fixed + names + 2 * lengths + 10 * rows.cigar.size + FACTOR * (carried + rows.tags.size) + 64


def _longest(names: Sequence[str]) -> int:
    return max(map(len, names), default=0)
