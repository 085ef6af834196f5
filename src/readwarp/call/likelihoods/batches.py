"""Batches of likelihoods: candidates weighed by reads."""

from typing import Annotated, NamedTuple

from numpy import ndarray


class Haplotypes(NamedTuple):
    """Candidate haplotypes of each region and their variants. The first of a region is the reference's.

    Variants are written as in Sites: inserted bases replace the `deleted` reference bases from `begin` on.
    """

    haplotype_offsets: Annotated[ndarray, "int64 [regions + 1] of haplotypes"]
    bases: Annotated[ndarray, "uint8 [bases]"]  # 0-4
    base_offsets: Annotated[ndarray, "int64 [haplotypes + 1] of bases"]
    support: Annotated[ndarray, "int32 [haplotypes]"]  # reads from which the haplotype was made
    variant_offsets: Annotated[ndarray, "int64 [haplotypes + 1] of variants"]
    begin: Annotated[ndarray, "int64 [variants]"]  # 0-based in the contig, ascending within a haplotype
    deleted: Annotated[ndarray, "int32 [variants]"]
    inserted: Annotated[ndarray, "uint8 [inserted bases]"]
    inserted_offsets: Annotated[ndarray, "int64 [variants + 1] of inserted bases"]
    status: Annotated[ndarray, "uint8 [regions]"]  # CAPACITY: haplotypes were left out

    def __len__(self) -> int:
        return self.support.size


class Likelihoods(NamedTuple):
    """Support of each read for the alleles of a site: pairs of a site and a read, by site, reads in file order."""

    pair_offsets: Annotated[ndarray, "int64 [sites + 1] of pairs"]
    read: Annotated[ndarray, "int32 [pairs]"]  # index in AlignedReads
    allele: Annotated[ndarray, "int8 [pairs]"]  # the allele that fits best; -1: another one; -2: none can be told
    quality: Annotated[ndarray, "uint8 [pairs]"]  # base quality at the site
    mapping_quality: Annotated[ndarray, "uint8 [pairs]"]
    strand: Annotated[ndarray, "uint8 [pairs]"]  # 1 reverse; 2 or 3 if it does not count for strand bias
    sample: Annotated[ndarray, "uint16 [pairs]"]
    end_distance: Annotated[ndarray, "int32 [pairs]"]  # bases to the nearer end of the read, up to evidence.FAR
    value_offsets: Annotated[ndarray, "int64 [sites + 1] of values"]  # a site's values are a table, pairs x alleles
    values: Annotated[ndarray, "float64 [values]"]  # log10 P(read | allele)


class Phase(NamedTuple):
    """Alleles that are together on the haplotypes of a region, for sites found by haplotypes."""

    region: Annotated[ndarray, "int64 [sites]"]  # sites of one region are phased with each other
    start: Annotated[ndarray, "int64 [sites]"]  # [start, stop) of that region, 0-based in the contig
    stop: Annotated[ndarray, "int64 [sites]"]
    allele: Annotated[ndarray, "int8 [sites, samples, ploidy]"]  # on each haplotype, -1 none
