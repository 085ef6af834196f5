"""Sites: places where the pileup shows something else than the reference, and the alleles that compete there.

    find_sites(pileup: Pileup, window: Window, parameters: CallParameters, forced: Forced | None,
               of_samples: Iterable[Pileup], ploidy: int8 [positions, samples]) -> Sites
    drop_slips(sites: Sites, window: Window, sided: Pileups by sample and side,
               ploidy: int8 [positions, samples], model: GapModel) -> Sites
    limit_alleles(sites: Sites, window: Window) -> Sites, list of Variant

The window is the pileup's. A base, a deletion across a base, or an insertion or deletion after an anchor base is an
allele where at least `min_alternate_count` reads show it, and at least `min_alternate_fraction` (indels:
`min_indel_fraction`) of those counted there; the qualities of a base's reads must sum up to `min_alternate_quality`.
These shares are limits for one or two copies; for a ploidy above that they are 2 / ploidy of it (`rules.shares`), which
errors reach as well: there a base's reads must also be SHARED (log10) more likely if they are a share of all reads than
if they are errors of their qualities. That is what the prior of a variant asks for: less makes no call.
Alleles that most reads show come first, on a tie the first ones of the pileup. A deletion across a base is an allele
only beside another base. Where the reference is not A, C, G or T, there are no alleles.

Long reads show many insertions and deletions that are slips of the sequencer. `drop_slips` leaves out those that in no
sample are likelier an allele. With n(h) of the d(h) reads of each side h (first haplotype, second, either of them) that
show it, e, the rate of such slips by the gap model, and s, the share of a carrier's reads that show the allele,

    odds = sum_h n(h) log10(c(h) / e) + (d(h) - n(h)) log10((1 - c(h)) / (1 - e)),    c(h) = w(h) s + (1 - w(h)) e

w is the carriers' share of the side's reads: (1, 0, 1/2) if the first haplotype has the allele, (0, 1, 1/2) if the
second has it, 1 if both have it, and 1 / ploidy where sides do not tell copies apart. s is sum n(h) / sum w(h) d(h) of
the sides with w > 0, from MIN_SHOWN to MAX_SHOWN. An allele stays if one of the four odds is 0 or more: the prior of a
variant asks for more.

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
SIDES = 3  # first haplotype, second, either
MIN_SHOWN, MAX_SHOWN = 0.5, 0.95
MAX_SLIP = 0.3  # share of reads, whatever the model says
MAX_TRACT = 200  # bases of a repeat across which an indel is compared
