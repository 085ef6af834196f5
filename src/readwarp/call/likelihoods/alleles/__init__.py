"""Likelihoods of each site's alleles, from the likelihoods of reads under whole haplotypes.

    compare(regions: Regions, haplotypes: Haplotypes, reads: AlignedReads, sites: Sites, model, log_likelihoods)
        -> Weighed
    weigh_haplotypes(weighed: Weighed, compare_more, reads, window: Window, ploidy: int8 [regions, samples], forced)
        -> Sites, Likelihoods, Phase, list[Variant]: alleles left out

A region has the reads of one sample. Regions of one place share their sites.

0. *Comparison.* Every read of a region, cut to it, is compared with every haplotype
   (`readwarp.call.likelihoods.pairhmm`). Bases at candidate substitutions outside the region are ignored, since its
   haplotypes lack them. The PairHMM lets a read begin anywhere with probability 1 / (haplotype's length). That factor
   is removed: a longer haplotype is no less likely.
1. *Bounds.* The rows of a fragment (mates that are apart) are one observation: their values are added up, and its MAPQ
   is the higher one. No haplotype is less likely than its best by more than 10 ** (-min(MAPQ, MAX_WEIGHT) / 10): it may
   be misplaced. A fragment whose best haplotype is less likely than an errorless match by more than MAX_MISFIT came
   from elsewhere, and is uninformative.
2. *Selection.* Let c be a combination of as many haplotypes as the ploidy, and V(c) the variants on any of them:

       score(c) = sum_r log10( 1/ploidy sum_{h in c} P(r | h) ) - sum_{v in V(c)} cost(v)

   with SNV_COST or INDEL_COST for a variant. The haplotypes of combinations within MAX_BEHIND of the best one stay, and
   so does the reference's. So a variant must earn its place beside its neighbours, and only one of two spellings of the
   same bases remains. For ploidy 1 and 2 all combinations are tried. For more, the search begins with copies of the
   best single haplotype and exchanges one at a time. Each sample chooses on its own.
3. *Sites.* Every variant that begins in its region, on a haplotype that stays for some sample, is an allele. Alleles
   that begin together make one site: those that stay for most samples first, then those on better haplotypes, at most
   MAX_ALLELES. A forced variant always stays, with its best haplotype.
   *Carriers.* Reads of every sample are compared with every allele, but not with all haplotypes of all samples. An
   allele that a sample's haplotypes lack is brought by another of its own, or by one that stays for other samples
   (first those that stay for most samples): as few as bring all. Bounds are those of all haplotypes compared.
4. *Likelihoods.* P(read | allele) is the maximum over the haplotypes with that allele. Reads that reach neither the
   site nor a deletion across it are left out, and so are those within a tract (`reach`). One whose best allele is not
   ahead of the next by INFORMED is uninformative. Where a haplotype deletes the site, its allele is a missing base (see
   Sites).
5. *Phase.* The best combination of each sample places the alleles of its sites on haplotypes.
"""

MAX_WEIGHT, SURE_WEIGHT = 45, 60  # Phred; the second where few reads may show an allele (`readwarp.somatic.fractions`)
MAX_MISFIT = 10.0  # log10
MAX_BEHIND = 3.0  # log10
SNV_COST, INDEL_COST = 3.0, 3.5  # log10
INFORMED = 0.31  # log10 by which a read's best allele must lead to be informative; less than the gain of fitting twice
MAX_VARIANTS = 64  # bits of a mask for the distinct variants of a region; further ones share the last
