"""Index of a sorted BAM file, made while the file is written: BAI, or CSI for contigs too long for BAI."""

from functools import partial

from readwarp.device.jit import kernel
from readwarp.formats.alignments.header import binary_header, field, lines_of
from readwarp.formats.alignments.layout import CONTIG, FLAG, POSITION, int32_at, span_of, uint16_at
from readwarp.formats.alignments.sam import Encoded
from readwarp.formats.common.binning import Binned, ItemSpans, bin_items, depth_for
from readwarp.formats.common.index import CSI_LENGTH, DEPTH
from readwarp.formats.common.indexer import Indexer, Virtual, bai_of, csi_of, join_file
from readwarp.ragged import empty

UNMAPPED = 0x4


class BamIndexer:
    """An indexer that takes the records of a file in order; threads examine them."""

    def __init__(self, header: str, threads: int) -> None:
        """Start an index. header: SAM header text."""
        lengths = [int(field(line, "LN") or 0) for line in lines_of(header, "SQ")]
        longest = max(lengths, default=0)
        self.ending = ".csi" if longest > CSI_LENGTH else ".bai"
        self._contigs, self._depth = len(lengths), depth_for(longest) if longest > CSI_LENGTH else DEPTH
        look = partial(bin_records, depth=self._depth)
        self._indexer = Indexer[Encoded, Binned](look, len(binary_header(header)), threads)

    def add(self, records: Encoded) -> None:
        self._indexer.add(records, records.data.size)

    def finish(self, virtual: Virtual) -> bytes:
        """Return the index."""
        whole = join_file(self._indexer.finish(), self._depth, virtual)
        return csi_of(whole, self._contigs, self._depth) if self.ending == ".csi" else bai_of(whole, self._contigs)

    def abort(self) -> None:
        self._indexer.abort()


def bin_records(records: Encoded, at: int, depth: int) -> Binned:
    """Bin sorted BAM records that begin at byte `at` of the file's data. Any thread may call this."""
    spans = empty(ItemSpans, {"items": len(records)}, offset=records.offsets + at)
    span_records(records, spans)
    return bin_items(spans, depth)


@kernel
def span_records(records, spans):
    """Write the span of each record to `spans`. One without an alignment or a CIGAR has one base, as in htslib."""
    data, offsets = records.data, records.offsets
    contig, begin, end, is_mapped = spans.contig, spans.begin, spans.end, spans.is_mapped
    for row in range(contig.size):
        at = offsets[row]
        contig[row], begin[row] = int32_at(data, at + CONTIG), int32_at(data, at + POSITION)
        is_mapped[row] = uint16_at(data, at + FLAG) & UNMAPPED == 0
        end[row] = max(begin[row] + 1, span_of(data, at)[0] if is_mapped[row] else 0)
