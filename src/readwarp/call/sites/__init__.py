"""Sites: places where the pileup shows something else than the reference, and the alleles that compete there.

    find_sites(pileup: Pileup, reference: uint8, parameters: CallParameters, forced: Forced | None,
               of_samples: Iterable[Pileup]) -> Sites

`reference` holds the bases of the pileup's window. A base, a deletion across a base, or an insertion or deletion behind
an anchor base is an allele where at least `min_alternate_count` reads show it and they are at least
`min_alternate_fraction` (indels: `min_indel_fraction`) of those counted there; the qualities of a base's reads sum up
to `min_alternate_quality` at least. At most MAX_ALLELES - 1 alleles besides the reference's are kept: those with most
reads, ties in the pileup's order. A deletion across a base is an allele beside another base only. Positions where the
reference is not A, C, G or T have no alleles.

Where several samples are called together, an allele must have so many of one sample's own reads: `of_samples` are the
pileups of each, in any order. What only one of them has would be few of the reads of all. `pileup`, that of all reads,
says which alleles have most.

Alleles that the user asks for (`readwarp.call.forced`) are alleles whatever reads show, also where there are none. They
are marked, and the limit of alleles never costs one of them: the others give way.
"""

MAX_ALLELES = 6
MAX_TRACT = 200  # most bases of a repeat that an indel is compared across
