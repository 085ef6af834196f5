"""Phase: which haplotype each long read is of, along a contig (host only).

    link_sites(reads, sites: Sites, calls: Calls, evidence: Likelihoods) -> Links
    phase_sites(links: Links) -> Phasing
    find_sides(reads, phasing: Phasing, around: Window, parameters) -> Sides
    take_sides(sides: Sides, groups, samples) -> odds of each pair, twice, and phase set of each group and sample

Links are the heterozygous substitutions of a window that pass all filters, and the insertions and deletions that are
rarely slips of the sequencer, with the log odds l(r, s) of ALT against REF that each read r gives at site s, bounded by
MAX_ODDS. Sites come in order. Site s is laid on the haplotypes that
the reads so far are of: with O(r) = sum of o(t) l(r, t) over the sites t before it, its ALT allele is on the first
haplotype (o = 1) or on the second (o = -1), whichever is more likely:

    M(s) = sum_r log10( (10^O(r) 10^l(r, s) + 1) / (10^O(r) + 10^l(r, s)) )

A site where |M| stays below MIN_MARGIN is left out; one whose reads say as much, but could not do so together with
those before even if all agreed, begins a new phase set, which is named after it. Then what is right of each link may be
turned over as a whole, and each site by itself, where that is more likely, until nothing changes or for ROUNDS rounds.
What a read says in one set is nothing in another, or a single read of two sets would outweigh all reads of one. A set
is joined to the one before it if the reads of both together, each of which counts up to MAX_ODDS, say more than
MIN_MARGIN. The odds of a read are the sum over its sites in one phase set, the first that it has a site of. Patterson
2015, doi:10.1089/cmb.2014.0157, states the problem (minimum error correction with weights); Edge and Bansal 2019,
doi:10.1038/s41467-019-12493-y, weigh reads and genotypes in this way.

What a read says at a site is no evidence for the haplotype on which it is compared there: `take_sides` leaves out what
lies in each group's span. Only the order of the alleles, once the genotype is known, has all that the read says. Of the
reads of a group, those of the phase set that most of them are of count; the others are of either haplotype.
"""

MAX_ODDS = 3.0  # log10, of one read at one site, and of a read altogether
MIN_MARGIN = 3.0  # log10, for a link between sites
SURE = 1.0  # log10 odds of a read from which it counts as being of that haplotype alone
MIN_QUALITY = 30  # GQ of a heterozygous site
ROUNDS = 4
GAP_QUALITY = 20  # Phred of what a read shows at an insertion or deletion; those that slip more often link nothing
