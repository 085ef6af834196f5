"""Candidate sites, where the pileup differs from the reference, and the alleles that compete there.

    find_sites(pileup: Pileup, window: Window, parameters: CallParameters, forced: Forced | None,
               of_samples: Iterable[Pileup], ploidy: int8 [positions, samples]) -> Sites
    drop_slips(sites: Sites, window: Window, sided: Pileups by sample and side,
               ploidy: int8 [positions, samples], model: GapModel) -> Sites
    limit_alleles(sites: Sites, window: Window) -> Sites, list of Variant

The window is the pileup's. A base, a deletion across a base, or an insertion or deletion after an anchor base is an
allele where at least `min_alternate_count` reads show it, and at least `min_alternate_fraction` (indels:
`min_indel_fraction`) of the reads counted there; the qualities of a base's reads must sum to `min_alternate_quality`.
These fractions hold for one or two copies. For a higher ploidy they are scaled by 2 / ploidy (`rules.shares`), which
errors reach as well, so a base's reads must also be SHARED (log10) more likely as a fraction of all reads than as
errors of their qualities. The prior of a variant asks for as much: less makes no call. Alleles are sorted by the number
of reads, ties in the order of the pileup. A deletion across a base is an allele only beside another base. Where the
reference is not A, C, G or T, there are no alleles.

Long reads show many indels that are slips of the sequencer. `drop_slips` drops those that are likelier slips than
alleles in every sample. With n(h) of the d(h) reads of each side h (first haplotype, second, either of them) that show
it, e, the rate of such slips by the gap model, and s, the share of a carrier's reads that show the allele,

    odds = sum_h n(h) log10(c(h) / e) + (d(h) - n(h)) log10((1 - c(h)) / (1 - e)),    c(h) = w(h) s + (1 - w(h)) e

w is the carriers' share of the side's reads: (1, 0, 1/2) if the first haplotype has the allele, (0, 1, 1/2) if the
second has it, 1 if both have it, and 1 / ploidy where sides do not tell copies apart. s is sum n(h) / sum w(h) d(h) of
the sides with w > 0, from MIN_SHOWN to MAX_SHOWN. An allele stays if one of the four odds is 0 or more: the prior of a
variant asks for more.

`limit_alleles` keeps the reference allele and the first MAX_ALLELES - 1 others, and returns those it removes.

Where several samples are called together, these limits hold for the reads of one sample: among the reads of all, those
of a single carrier would be few. An allele below these limits in every sample still counts if the samples in which it
has that share show it together: at least `min_alternate_count` reads, which are SHARED (log10) more likely as a share
of all reads than as errors (by base quality; INDEL_ERROR for an indel). `of_samples` are the samples' own pileups, in
order. `pileup` holds all reads and orders the alleles.

Alleles that the user asks for (`readwarp.call.candidates.sites.forced`) are always kept, even where there are no reads.
They are marked, and the limit removes others instead.
"""

SHARED = 3.0  # least log10 likelihood ratio of an allele that samples show together
INDEL_ERROR = 30  # Phred of an indel error in a read, for that ratio
MAX_ALLELES = 6
SIDES = 3  # first haplotype, second, either
MIN_SHOWN, MAX_SHOWN = 0.5, 0.95
MAX_SLIP = 0.3  # largest share of reads that slip, whatever the model says
MAX_TRACT = 200  # bases of a repeat across which an indel is compared
