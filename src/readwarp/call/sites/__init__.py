"""Sites: places where the pileup shows something else than the reference, and the alleles that compete there.

    find_sites(pileup: Pileup, window: Window, parameters: CallParameters, forced: Forced | None,
               of_samples: Iterable[Pileup]) -> Sites

The window is the pileup's. A base, a deletion across a base, or an insertion or deletion after an anchor base is an
allele where at least `min_alternate_count` reads show it, and at least `min_alternate_fraction` (indels:
`min_indel_fraction`) of those counted there; the qualities of a base's reads must sum up to `min_alternate_quality`. At
most MAX_ALLELES - 1 alleles stay beside the reference's: those that most reads show, ties in the pileup's order. A
deletion across a base is an allele beside another base only. Where the reference is not A, C, G or T, there are none.

Where several samples are called together, so many reads of one sample must show an allele: `of_samples` are the
samples' own pileups, in any order. Among the reads of all, those of one carrier would be few. `pileup`, that of all
reads, says which alleles most reads show.

Alleles that the user asks for (`readwarp.call.forced`) are alleles whatever the reads show, even where there are no
reads. They are marked, and the limit of alleles never costs one of them: the others give way.
"""

MAX_ALLELES = 6
MAX_TRACT = 200  # bases of a repeat across which an indel is compared, at most
