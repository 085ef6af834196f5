"""Batches of candidates: what reads show in a window."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray


class Pileup(NamedTuple):
    """Evidence at each position of a window.

    An allele is an insertion or deletion in CIGARs, left-aligned against the reference. Alleles are sorted by position,
    kind and length.
    """

    contig: int
    start: int  # 0-based in the contig
    stop: int
    counts: Annotated[ndarray, "int32 [positions, 5, 2]"]  # A C G T deleted; forward, reverse
    quality_sums: Annotated[ndarray, "int32 [positions, 5, 2]"]  # sums of usable Phred base qualities
    allele_position: Annotated[ndarray, "int64 [alleles]"]  # 0-based in the contig, of the preceding base
    allele_length: Annotated[ndarray, "int32 [alleles]"]
    allele_bases: Annotated[ndarray, "uint8 [inserted bases]"]  # 0-4
    allele_offsets: Annotated[ndarray, "int64 [alleles + 1] of inserted bases"]
    allele_counts: Annotated[ndarray, "int32 [alleles, 2]"]  # forward, reverse


class Sites(NamedTuple):
    """Sites of one contig where alleles compete, in order of position, with their alleles, the reference's first.

    An allele replaces the `deleted` reference bases from the site's `begin` on with its inserted bases. `begin` is the
    base of a substitution, or the base after the anchor base of an insertion or deletion.
    """

    contig: int
    begin: Annotated[ndarray, "int64 [sites]"]  # 0-based in the contig
    stop: Annotated[ndarray, "int64 [sites]"]  # after all positions where an allele could be written
    is_indel: Annotated[ndarray, "bool [sites]"]
    unit: Annotated[ndarray, "int32 [sites]"]  # bases in the repeat unit of an indel; 1 elsewhere
    allele_offsets: Annotated[ndarray, "int64 [sites + 1] of alleles"]
    deleted: Annotated[ndarray, "int32 [alleles]"]
    inserted: Annotated[ndarray, "uint8 [inserted bases]"]  # a single 4: *, a single 5: <NON_REF>
    inserted_offsets: Annotated[ndarray, "int64 [alleles + 1] of inserted bases"]
    is_forced: Annotated[ndarray, "bool [alleles]"]  # given by the user: genotyped whatever the reads show
    reach: Annotated[
        ndarray, "float64 [alleles]"
    ]  # fragment placements that meet the allele, relative to the reference's

    @property
    def position(self) -> ndarray:
        """Position of each site, as in VCF but 0-based, int64 [sites]: the base, or an indel's anchor base."""
        return np.asarray(self.begin - self.is_indel)

    def __len__(self) -> int:
        return self.begin.size


class Regions(NamedTuple):
    """Active regions of one contig, where reads are compared with whole haplotypes; a row per read of a region.

    Variants of a region begin in [start, stop). Its haplotypes span [low, high), more than its trimmed reads, so that
    no read hangs over the end of a haplotype with a deletion.
    """

    contig: int
    start: Annotated[ndarray, "int64 [regions]"]  # 0-based in the contig
    stop: Annotated[ndarray, "int64 [regions]"]
    low: Annotated[ndarray, "int64 [regions]"]
    high: Annotated[ndarray, "int64 [regions]"]
    read_offsets: Annotated[ndarray, "int64 [regions + 1] of rows"]
    read: Annotated[ndarray, "int32 [rows]"]  # index in AlignedReads, in file order
    base_start: Annotated[ndarray, "int64 [rows]"]  # the bases that take part, even clipped ones: ...
    base_stop: Annotated[ndarray, "int64 [rows]"]  # ... [base_start, base_stop) of AlignedReads.bases
    status: Annotated[ndarray, "uint8 [regions]"]  # CAPACITY: reads were thinned; TOO_LONG: it was cut
    place: Annotated[ndarray, "int64 [regions]"]  # ascending; regions of one place differ only in sample and reads
    sample: Annotated[ndarray, "uint16 [regions]"]  # of these reads, once regions are split by sample

    @property
    def places(self) -> ndarray:
        """Offsets of the regions of each place: int64 [places + 1]."""
        return np.append(np.flatnonzero(np.diff(self.place, prepend=-1)), len(self))

    def __len__(self) -> int:
        return self.start.size
