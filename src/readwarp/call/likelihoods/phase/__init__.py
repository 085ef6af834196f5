"""Phase long reads: assign them to haplotypes along a contig (host only).

    link_sites(reads, sites: Sites, calls: Calls, evidence: Likelihoods) -> Links
    phase_sites(links: Links) -> Phasing
    find_sides(reads, phasing: Phasing, around: Window, parameters) -> Sides
    take_sides(sides: Sides, groups, samples) -> odds of each pair, twice, and phase set of each group and sample

Links are the heterozygous substitutions of a window that pass all filters, and the indels that are rarely slips of the
sequencer, with the log odds l(r, s) of ALT against REF of each read r at site s, bounded by MAX_ODDS. Sites are taken
in order. Site s is placed on the haplotypes of the reads so far: with O(r) = sum of o(t) l(r, t) over the sites t
before it, its ALT allele is on the first haplotype (o = 1) or on the second (o = -1), whichever is more likely:

    M(s) = sum_r log10( (10^O(r) 10^l(r, s) + 1) / (10^O(r) + 10^l(r, s)) )

A site where |M| stays below MIN_MARGIN is left out. A site whose own reads reach it, but which too few reads link to
earlier sites even if all agreed, begins a new phase set, which is named after it. Then all sites right of each link may
be flipped as a whole, and each site by itself, where that is more likely, until nothing changes or for ROUNDS rounds. A
read's odds in one set do not count in another, or a single read of two sets would outweigh all reads of one. A set is
joined to the one before it if the reads of both, each counting up to MAX_ODDS, together exceed MIN_MARGIN. The odds of
a read are summed over its sites in one phase set, the first that it has a site of. Patterson 2015,
doi:10.1089/cmb.2014.0157, states the problem (minimum error correction with weights); Edge and Bansal 2019,
doi:10.1038/s41467-019-12493-y, weigh reads and genotypes in this way.

A read's odds at a site are no evidence for the haplotype on which it is compared there: `take_sides` leaves out sites
in each group's span. Only the order of the alleles, once the genotype is known, uses all sites of a read. In each
group, the reads of the most common phase set count; the others may be of either haplotype.
"""

MAX_ODDS = 3.0  # log10, of a read at one site, and of a read in total
MIN_MARGIN = 3.0  # log10, for a link between sites
MIN_QUALITY = 30  # GQ of a heterozygous site
ROUNDS = 4
GAP_QUALITY = 20  # Phred of an indel in a read; indels that slip more often link nothing
