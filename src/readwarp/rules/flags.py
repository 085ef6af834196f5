"""Flag bits of a record (SAM specification, section 1.4), and the records that `samtools flagstat` counts."""

from numpy import ndarray

(
    PAIRED,
    PROPER,
    UNMAPPED,
    MATE_UNMAPPED,
    REVERSE,
    MATE_REVERSE,
    FIRST,
    LAST,
    SECONDARY,
    FAILED,
    DUPLICATE,
    SUPPLEMENTARY,
) = (1 << bit for bit in range(12))
NOT_PRIMARY = SECONDARY | SUPPLEMENTARY
FLAGS = 1 << 12  # number of possible flags
SURE = 5  # minimum MAPQ of a mate on another contig that flagstat trusts


def flagstat_masks(flag: ndarray, is_elsewhere: ndarray, is_sure: ndarray) -> dict[str, ndarray]:
    """Return which records each line of `samtools flagstat` counts (bool [records]), under the names of its JSON.

    is_elsewhere: the mate has another contig, or none; is_sure: the MAPQ is at least SURE.
    """
    is_secondary, is_mapped, is_duplicate = flag & SECONDARY != 0, flag & UNMAPPED == 0, flag & DUPLICATE != 0
    is_primary = flag & NOT_PRIMARY == 0
    is_pair = is_primary & (flag & PAIRED != 0)
    are_both = is_pair & is_mapped & (flag & MATE_UNMAPPED == 0)
    return {
        "total": flag >= 0,
        "primary": is_primary,
        "secondary": is_secondary,
        "supplementary": ~is_secondary & ~is_primary,
        "duplicates": is_duplicate,
        "primary duplicates": is_primary & is_duplicate,
        "mapped": is_mapped,
        "primary mapped": is_primary & is_mapped,
        "paired in sequencing": is_pair,
        "read1": is_pair & (flag & FIRST != 0),
        "read2": is_pair & (flag & LAST != 0),
        "properly paired": is_pair & is_mapped & (flag & PROPER != 0),
        "with itself and mate mapped": are_both,
        "singletons": is_pair & is_mapped & (flag & MATE_UNMAPPED != 0),
        "with mate mapped to a different chr": are_both & is_elsewhere,
        "with mate mapped to a different chr (mapQ >= 5)": are_both & is_elsewhere & is_sure,
    }
