"""Joint calling: genotype a cohort from the genomic VCF of each sample, region by region (host only).

    find_sites(records, start, stop, ...) -> list[JointSite]    where any file has a variant; the alleles of all files
    gather(sites, files, lines) -> Evidence                     the line of each file that covers a site
    genotype_sites(alleles, evidence, theta) -> Genotyped       PLs over the site's alleles; GT, GQ and QUAL
    keep_alleles(alleles, evidence, genotyped) -> Emitted       the same, over the alleles that a sample carries
    build_calls(contig, sites, evidence, emitted, ...) -> Calls    spelling, INFO, filters

**Alleles.** The lines at one position are a site, substitutions apart from insertions and deletions. Its REF is the
longest; the alleles of other lines are extended to it. `*` is one more allele if a deletion that begins up to REACH
bases before removes the base.

**Likelihoods.** A file's own line at the site gives PLs; an allele that it does not list is its <NON_REF>. A file
without one gives the PLs of a line of other alleles across the position: alleles that delete it count as `*`, all
others as REF. Failing that, the reference block does. If several genotypes of a line become the same one, the best
counts. If the sample also has a deletion across the site, as many copies of REF become `*` as the deletion takes;
taking none costs the deletion's GQ.

**Frequencies.** The prior of a sample's genotype with c_a copies of allele a, P in all, comes from the other samples:

    P(c) = P! / prod c_a!  *  prod (1 + n_a)_(c_a) / (k + n)_P        (x)_m = x (x + 1) ... (x + m - 1)

with k alleles and n_a expected copies of a in the genotypes of all others, under their own posteriors, found by
repeated substitution. This is the predictive distribution after a uniform prior over frequencies. With no other samples
it is flat, so a single sample gets the genotype of its gVCF. GT is the genotype of the highest posterior, the first in
VCF order on a tie; GQ the Phred of its ratio to the second, at most 99; PL stays the likelihood. A sample whose PLs are
all equal has `./.` and is ignored.

**QUAL.** y_M(k) is the likelihood of k ALT copies among the M of the samples so far, each way to place them equally
likely (Li 2011, doi:10.1093/bioinformatics/btr509), and l(j) that of j ALT copies among a sample's P:

    y_(M+P)(k) = sum_j y_M(k - j) l(j) C(M, k - j) C(P, j) / C(M + P, k)
    P(k) = theta / k for k >= 1, P(0) the rest;  QUAL = -10 log10( y(0) P(0) / sum_k y(k) P(k) )

l(j) sums over genotypes with j ALT copies of d kinds, each times theta^(d - 1). `*` is not an ALT allele here.
"""

REACH = 1000  # bases before a site in which deletions across it begin
