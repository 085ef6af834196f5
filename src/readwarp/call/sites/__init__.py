"""Sites: places where the pileup shows something else than the reference, and the alleles that compete there.

    find_sites(pileup: Pileup, reference: uint8, parameters: CallParameters) -> Sites

`reference` holds the bases of the pileup's window. A base, a deletion across a base, or an insertion or deletion behind
an anchor base is an allele where at least `min_alternate_count` reads show it and they are at least
`min_alternate_fraction` (indels: `min_indel_fraction`) of those counted there. At most MAX_ALLELES - 1 alleles besides
the reference's are kept: those with most reads, ties in the pileup's order. A deletion across a base is an allele
beside another base only. Positions where the reference is not A, C, G or T have no alleles.
"""

MAX_ALLELES = 6
MAX_TRACT = 200  # most bases of a repeat that an indel is compared across
