"""The sites that become calls, as the kernels fill them (host only)."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from readwarp.batches import Sites
from readwarp.ragged import offsets_of

COLUMNS = ("MQ", "AMQ", "FS", "SOR", "ED", "MQRankSum", "ReadPosRankSum", "BaseQRankSum")  # filled by `annotations`

MISSING_BASE = 4  # a deletion across the base, see Sites.inserted
UNLISTED = 5  # any allele that is not listed, the last one of its site; see `readwarp.call.confidence.other`


@dataclass(frozen=True, slots=True)
class Emitted:
    """v sites of m samples, each with the alleles that are kept, the reference's first."""

    site: np.ndarray  # int64 [v], row in Sites
    allele: np.ndarray  # int64, kept alleles, as rows of Sites.deleted
    kept_offsets: np.ndarray  # int64 [v + 1], into `allele`
    ploidy: np.ndarray  # int8 [v]
    quality: np.ndarray  # float64 [v], Phred
    depth: np.ndarray  # int32 [v, m], reads that say something
    genotype: np.ndarray  # int8 [v, m, most copies], -1 unknown
    genotype_quality: np.ndarray  # int32 [v, m]
    phred: np.ndarray  # int32, PL: of each site a samples x genotypes table
    phred_offsets: np.ndarray  # int64 [v + 1]
    allele_depth: np.ndarray  # int32, AD: of each site a samples x kept alleles table
    allele_offsets: np.ndarray  # int64 [v + 1]
    columns: np.ndarray  # float64 [v, COLUMNS], NaN where there is nothing to tell
    strands: np.ndarray  # int32 [v, 4], reads of REF forward and reverse, of the other alleles forward and reverse

    @classmethod
    def of(
        cls,
        sites: Sites,
        is_kept: np.ndarray,
        ploidy: np.ndarray,
        sizes: np.ndarray,
        quality: np.ndarray,
        depth: np.ndarray,
    ) -> Self:
        """Room for the sites of which an allele is kept. `sizes`: genotypes of [ploidy, alleles]."""
        allele = np.flatnonzero(is_kept)
        kept = np.add.reduceat(np.append(is_kept, False).astype(np.int64), sites.allele_offsets[:-1])
        site = np.flatnonzero(kept)
        kept, ploidy, samples = kept[site], ploidy[site], depth.shape[1]
        phred_offsets, allele_offsets = offsets_of(samples * sizes[ploidy, kept]), offsets_of(samples * kept)
        return cls(
            site=site,
            allele=allele,
            kept_offsets=offsets_of(kept),
            ploidy=ploidy,
            quality=np.round(quality[site], 2),
            depth=depth[site],
            genotype=np.full((site.size, samples, sizes.shape[0] - 1), -1, np.int8),
            genotype_quality=np.zeros((site.size, samples), np.int32),
            phred=np.zeros(phred_offsets[-1], np.int32),
            phred_offsets=phred_offsets,
            allele_depth=np.zeros(allele_offsets[-1], np.int32),
            allele_offsets=allele_offsets,
            columns=np.empty((site.size, len(COLUMNS))),
            strands=np.empty((site.size, 4), np.int32),
        )


def missing_bases(sites: Sites) -> np.ndarray:
    """bool [A]: the allele is a deletion across the base."""
    return _marked(sites, MISSING_BASE)


def unlisted(sites: Sites) -> np.ndarray:
    """bool [A]: the allele stands for those that are not listed."""
    return _marked(sites, UNLISTED)


def _marked(sites: Sites, code: int) -> np.ndarray:
    out = np.diff(sites.inserted_offsets) == 1
    out[out] = sites.inserted[sites.inserted_offsets[:-1][out]] == code
    return out
