"""Records of aligned reads, ready to be written."""

from typing import Annotated, NamedTuple

from numpy import ndarray


class AlignmentBatch(NamedTuple):
    """Output records, reads in batch order; the records of a read are neighbours, the primary first."""

    read: Annotated[ndarray, "int32 [records]"]  # index in the batch
    flag: Annotated[ndarray, "uint16 [records]"]  # SAM flag
    contig: Annotated[ndarray, "int32 [records]"]  # -1 none
    position: Annotated[ndarray, "int64 [records]"]  # 0-based in its contig, -1 none
    mapping_quality: Annotated[ndarray, "uint8 [records]"]
    cigar: Annotated[ndarray, "uint32 [operations]"]  # BAM coding, clips included
    cigar_offsets: Annotated[ndarray, "int64 [records + 1] of operations"]
    mate_contig: Annotated[ndarray, "int32 [records]"]
    mate_position: Annotated[ndarray, "int64 [records]"]
    template_length: Annotated[ndarray, "int64 [records]"]
    has_bases: Annotated[ndarray, "uint8 [records]"]  # 0: written without bases and qualities
    tags: Annotated[ndarray, "uint8 [tag bytes]"]  # BAM-encoded: NM MD AS XS MC MQ SA XA ...
    tag_offsets: Annotated[ndarray, "int64 [records + 1] of tag bytes"]

    def __len__(self) -> int:
        return self.read.size
