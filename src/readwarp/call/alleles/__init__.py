"""Alleles: from what reads say about whole haplotypes to what they say about the alleles of each site.

    compare(regions: Regions, haplotypes: Haplotypes, reads: AlignedReads, sites: Sites, backend) -> Weighed
    weigh_haplotypes(weighed: Weighed, reads, window: Window, ploidy: int8 [regions], samples, forced)
        -> Sites, Likelihoods, Phase

0. *Comparison.* Every read of a region, cut to it, with every haplotype (`readwarp.call.pairhmm`). Bases at candidate
   substitutions outside of the region say nothing: its haplotypes do not have them. The PairHMM lets a read begin
   anywhere with probability 1 / (haplotype's length); that factor is taken out, since a longer haplotype is no less
   likely for it.
1. *Bounds.* No haplotype is less likely than the read's best by more than 10 ** (-min(MAPQ, MAX_WEIGHT) / 10): the
   read may be misplaced. A read whose best haplotype costs more than MAX_MISFIT against an errorless match came from
   elsewhere, and says nothing.
2. *Selection.* Let c be a combination of as many haplotypes as the ploidy, V(c) the variants on any of them:

       score(c) = sum_r log10( 1/ploidy sum_{h in c} P(r | h) ) - sum_{v in V(c)} cost(v)

   with SNV_COST or INDEL_COST for a variant. Haplotypes of combinations less than MAX_BEHIND below the best one stay,
   and the reference's; so a variant must earn its place beside its neighbours, and of two spellings of the same bases
   one remains. All combinations are tried for ploidy 1 and 2; for more, the best one is climbed to by exchanging one
   haplotype at a time, beginning with copies of the best single one. Each sample chooses on its own.
3. *Sites.* Every variant that begins in its region and lies on a haplotype that stays is an allele; alleles of one
   place are one site, those on better haplotypes first, at most MAX_ALLELES. A forced variant stays in any case, with
   its best haplotype.
4. *Likelihoods.* P(read | allele) = max over the haplotypes with that allele. Reads that do not reach the site are left
   out. Where a haplotype deletes the site, its allele is a missing base (see Sites).
5. *Phase.* The best combination of each sample says which alleles of its sites lie on one haplotype.
"""

MAX_WEIGHT = 45  # Phred
MAX_MISFIT = 10.0  # log10
MAX_BEHIND = 3.0  # log10
SNV_COST, INDEL_COST = 3.0, 3.5  # log10
INFORMED = 0.01  # log10 by which the best allele must be ahead for a read to say something ...
CLEAR = 0.3  # ... and for it to show that allele
MAX_VARIANTS = 64  # distinct ones of a region, the bits of a mask; further ones share the last
