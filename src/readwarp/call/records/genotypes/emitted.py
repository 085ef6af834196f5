"""Hold sites that become records, as kernels fill them, for single and joint calling (host only)."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.records.genotypes.order import GenotypeTables
from readwarp.ragged import offsets_of

MISSING_BASE, STAR = 4, "*"  # deletion across the base, see Sites.inserted; its name in VCF
UNLISTED = 5  # any unlisted allele: the last one of its site, see `readwarp.call.records.confidence.bands`


class Emitted(NamedTuple):
    """Records, each with the alleles that it keeps of its site, the reference's first.

    A column is one sample in one record; columns of a record are adjacent.
    """

    site: Annotated[ndarray, "int64 [records]"]
    kept_offsets: Annotated[ndarray, "int64 [records + 1] of kept alleles"]
    allele: Annotated[ndarray, "int64 [kept alleles]"]  # row in Sites.deleted; in joint calling, its number at the site
    star: Annotated[ndarray, "int64 [records]"]  # number of `*` in the record, -1 none
    is_indel: Annotated[ndarray, "bool [records]"]
    ploidy: Annotated[ndarray, "int8 [records, samples]"]
    quality: Annotated[ndarray, "float64 [records]"]  # QUAL
    depth: Annotated[ndarray, "int32 [records, samples]"]  # informative reads
    depth_around: Annotated[ndarray, "float64 [records, samples]"]  # see `surroundings`; NaN unknown
    genotype: Annotated[ndarray, "int8 [records, samples, copies]"]  # -1 unknown; phased in the order of haplotypes
    genotype_quality: Annotated[ndarray, "int32 [records, samples]"]
    phase_set: Annotated[ndarray, "int64 [records, samples]"]  # 0-based, -1 not phased
    phred_offsets: Annotated[ndarray, "int64 [columns + 1] of genotypes"]
    phred: Annotated[ndarray, "int32 [genotypes]"]  # PL
    depth_offsets: Annotated[ndarray, "int64 [columns + 1] of depths"]
    allele_depth: Annotated[ndarray, "int32 [depths]"]  # AD
    strands: Annotated[ndarray, "int32 [records, samples, 4]"]  # REF forward, reverse, ALT forward, reverse; -1 unknown
    independent: Annotated[ndarray, "int32 [records, samples, 4]"]  # strands of the reads that count for strand bias
    squares: Annotated[ndarray, "int64 [records]"]  # sum of squared MAPQ of the reads; 0 in joint calling

    def __len__(self) -> int:
        return self.site.size


def allocate(site: ndarray, kept: ndarray, allele: ndarray, ploidy: ndarray, tables: GenotypeTables) -> Emitted:
    """Allocate blank records of the sites. `kept`: alleles of each; `ploidy`: [records, samples]."""
    records, samples = shape = ploidy.shape
    phred_offsets, depth_offsets = offsets_of(tables.size[ploidy, kept[:, None]]), offsets_of(np.repeat(kept, samples))
    return Emitted(
        site=site,
        kept_offsets=offsets_of(kept),
        allele=allele,
        star=np.full(records, -1),
        is_indel=np.zeros(records, np.bool_),
        ploidy=ploidy,
        quality=np.zeros(records),
        depth=np.zeros(shape, np.int32),
        depth_around=np.full(shape, np.nan),
        genotype=np.full((*shape, tables.alleles.shape[1]), -1, np.int8),
        genotype_quality=np.zeros(shape, np.int32),
        phase_set=np.full(shape, -1, np.int64),
        phred_offsets=phred_offsets,
        phred=np.zeros(phred_offsets[-1], np.int32),
        depth_offsets=depth_offsets,
        allele_depth=np.zeros(depth_offsets[-1], np.int32),
        strands=np.full((*shape, 4), -1, np.int32),
        independent=np.full((*shape, 4), -1, np.int32),
        squares=np.zeros(records, np.int64),
    )
