"""What the phase of long reads consists of."""

from typing import Annotated, NamedTuple

from numpy import ndarray


class Links(NamedTuple):
    """Heterozygous sites of one contig, by position and sample, and what reads say about them."""

    position: Annotated[ndarray, "int64 [sites]"]  # 0-based in the contig, as in Sites
    sample: Annotated[ndarray, "uint16 [sites]"]
    reference: Annotated[ndarray, "uint8 [sites]"]  # base of a substitution, 0-3
    alternate: Annotated[ndarray, "uint8 [sites]"]
    change: Annotated[ndarray, "int64 [sites]"]  # bases that an insertion adds; negative: that a deletion takes
    stop: Annotated[ndarray, "int64 [sites]"]  # as in Sites
    pair_offsets: Annotated[ndarray, "int64 [sites + 1] of pairs"]
    name_hash: Annotated[ndarray, "uint64 [pairs]"]
    odds: Annotated[ndarray, "float64 [pairs]"]  # log10 P(read | ALT) / P(read | REF)


class Phasing(NamedTuple):
    """The haplotypes of one contig. A read's odds are log10 of how much likelier it is of the first one."""

    position: Annotated[ndarray, "int64 [sites]"]  # 0-based in the contig; this and the next five as in Links
    sample: Annotated[ndarray, "uint16 [sites]"]
    reference: Annotated[ndarray, "uint8 [sites]"]
    alternate: Annotated[ndarray, "uint8 [sites]"]
    change: Annotated[ndarray, "int64 [sites]"]
    stop: Annotated[ndarray, "int64 [sites]"]
    side: Annotated[ndarray, "int8 [sites]"]  # 1: ALT is on the first haplotype; -1: on the second
    name_hash: Annotated[ndarray, "uint64 [reads]"]  # ascending for each sample
    read_sample: Annotated[ndarray, "uint16 [reads]"]  # ascending
    odds: Annotated[ndarray, "float64 [reads]"]
    phase_set: Annotated[ndarray, "int64 [reads]"]  # position of its first site; -1: of none


class Sides(NamedTuple):
    """The haplotypes that the reads of a window are of, and what each says about that in the window."""

    odds: Annotated[ndarray, "float64 [reads]"]  # as in Phasing
    phase_set: Annotated[ndarray, "int64 [reads]"]
    own_offsets: Annotated[ndarray, "int64 [reads + 1] of sites"]  # phased sites of each read, by position
    own_position: Annotated[ndarray, "int64 [sites]"]
    own_odds: Annotated[ndarray, "float64 [sites]"]
