"""Sites: places where the pileup shows something else than the reference, and the alleles that compete there.

    find_sites(pileup: Pileup, window: Window, parameters: CallParameters, forced: Forced | None,
               of_samples: Iterable[Pileup], ploidy: int8 [positions, samples]) -> Sites
    limit_alleles(sites: Sites, window: Window) -> Sites, list of Variant

The window is the pileup's. A base, a deletion across a base, or an insertion or deletion after an anchor base is an
allele where at least `min_alternate_count` reads show it, and at least `min_alternate_fraction` (indels:
`min_indel_fraction`) of those counted there; the qualities of a base's reads must sum up to `min_alternate_quality`.
These shares are limits for one or two copies; for a ploidy above that they are 2 / ploidy of it (`rules.shares`), which
errors reach as well: there a base's reads must also be SHARED (log10) more likely if they are a share of all reads than
if they are errors of their qualities. That is what the prior of a variant asks for: less makes no call.
Alleles that most reads show come first, on a tie the first ones of the pileup. A deletion across a base is an allele
only beside another base. Where the reference is not A, C, G or T, there are no alleles.

`limit_alleles` leaves at most MAX_ALLELES - 1 beside the reference's, the first ones, and names those that are gone.

Where several samples are called together, these limits hold for the reads of one sample: among the reads of all, those
of a single carrier would be few. An allele that no sample shows enough is one too if samples in which it has that share
show it together: at least `min_alternate_count` reads, which are SHARED (log10) more likely if they are a share of all
reads than if they are errors (of the bases' qualities; of an insertion or deletion INDEL_ERROR). `of_samples` are the
samples' own pileups, in order. `pileup`, that of all reads, says which alleles most reads show.

Alleles that the user asks for (`readwarp.call.forced`) are always alleles, even where there are no reads. They are
marked, and the limit never removes one of them: others give way.
"""

SHARED = 3.0  # log10 of the likelihood ratio for an allele of all samples together
INDEL_ERROR = 30  # Phred of an insertion or deletion in a read, for that ratio
MAX_ALLELES = 6
MAX_TRACT = 200  # bases of a repeat across which an indel is compared
