"""A reference: its contigs and their packed bases."""

from dataclasses import dataclass

from numpy import ndarray

from readwarp.wording import counted


@dataclass(frozen=True, slots=True)
class Reference:
    """Contigs in order; a reference position counts from the first base of the first contig."""

    names: tuple[str, ...]
    contig_offsets: ndarray  # int64 [contigs + 1]
    md5: tuple[str, ...]  # of each contig, as M5 of @SQ lines
    packed: ndarray  # uint8, two letters a byte, low nibble first (readwarp.rules.bases)

    def __repr__(self) -> str:
        return f"Reference({counted(len(self.names), 'contig')}, {int(self.contig_offsets[-1])} bases)"
