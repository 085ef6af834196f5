"""Types of the phase of long reads."""

from typing import Annotated, NamedTuple

from numpy import ndarray


class Links(NamedTuple):
    """Heterozygous sites of one contig, by position and sample, and the odds of reads at them."""

    position: Annotated[ndarray, "int64 [sites]"]  # 0-based in the contig, see Sites
    sample: Annotated[ndarray, "uint16 [sites]"]
    reference: Annotated[ndarray, "uint8 [sites]"]  # base of a substitution, 0-3
    alternate: Annotated[ndarray, "uint8 [sites]"]
    change: Annotated[ndarray, "int64 [sites]"]  # bases that an insertion adds; negative: that a deletion removes
    stop: Annotated[ndarray, "int64 [sites]"]  # see Sites
    pair_offsets: Annotated[ndarray, "int64 [sites + 1] of pairs"]
    name_hash: Annotated[ndarray, "uint64 [pairs]"]
    odds: Annotated[ndarray, "float64 [pairs]"]  # log10 P(read | ALT) / P(read | REF)


class Phasing(NamedTuple):
    """Haplotypes of one contig; a read's odds are log10 of how much likelier it is of the first one."""

    position: Annotated[ndarray, "int64 [sites]"]  # 0-based in the contig; see Links for this and the next five
    sample: Annotated[ndarray, "uint16 [sites]"]
    reference: Annotated[ndarray, "uint8 [sites]"]
    alternate: Annotated[ndarray, "uint8 [sites]"]
    change: Annotated[ndarray, "int64 [sites]"]
    stop: Annotated[ndarray, "int64 [sites]"]
    side: Annotated[ndarray, "int8 [sites]"]  # 1: ALT is on the first haplotype; -1: on the second
    name_hash: Annotated[ndarray, "uint64 [reads]"]  # ascending for each sample
    read_sample: Annotated[ndarray, "uint16 [reads]"]  # ascending
    odds: Annotated[ndarray, "float64 [reads]"]
    phase_set: Annotated[ndarray, "int64 [reads]"]  # position of its first site; -1: none
