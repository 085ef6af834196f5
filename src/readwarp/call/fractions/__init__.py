"""Fractions: alleles that only some molecules have, of a tumour, a mitochondrion or a virus, with no ploidy assumed.

    call_alleles(sites: Sites, likelihoods: Likelihoods, reads: AlignedReads, around: Around, parameters) -> Calls

*Model.* A read r of a sample is of allele a with probability f_a, the allele's fraction; with P(r | a) of `evidence` and
`alleles`. The fractions f of the greatest likelihood are found by expectation and maximisation. For one allele a, let

    P_r = P(r | a),    Q_r = sum_{b != a} f_b P(r | b) / sum_{b != a} f_b,    L(f) = prod_r ((1 - f) Q_r + f P_r)

    LOD = log10( int_0^1 L(f) df / L(0) )

which asks whether any molecule has the allele, whatever its fraction (Benjamin et al. 2019, doi:10.1101/861054, who
integrate over the fractions of all alleles together). AF is f_a, and its interval AFCI holds 95 % of L(f) df. TLOD is
the sum over the samples, but the normal, of those LOD that are positive.

*Damage.* A molecule with the reference's base may show another by damage of the library, with the probability d of its
context, that base and the orientation of the pair (`readwarp.call.damage`): P(r | reference) + d P(r | a) takes the
place of P(r | reference) where r is of that orientation.

*Integral.* With f = sin^2 t, L has the same width in t at every fraction, 1 / (2 sqrt(reads)). The midpoint rule in t,
with steps that are no wider, is exact to a part in 10^8 for such a bell. Its products are the step

    multiply(contrasts: Contrasts) -> Products      on CPU (`cpu`) and CUDA (`cuda`): the same bits

in which a product that falls below SMALL is multiplied by GROWTH, and that is counted; logarithms are the host's.

*Normal.* For a sample that is the tumour's normal,

    NLOD  = log10( L(0) / L(1/2) )       the normal has not the allele, against heterozygous
    NALOD = log10( L(0) / L(f of the tumour) )     it has not the allele, against what an artefact of both would show

*Posterior.* With the prior odds of a mutation, `mutation_prior` for a substitution and a tenth for an insertion or
deletion, P(real) = 1 / (1 + 10^-(TLOD + log10 prior)). The filter weak_evidence fails calls below a P that maximises
the expected F1 of what passes, over all calls that pass the other filters:

    F1(P) = 2 sum_{kept} P / (kept + sum_{all} P)

Records have one other allele each, in order of position; a site with several makes several records.
"""

EMIT = 3.0  # log10; a smaller TLOD makes no record
SMALL, GROWTH = 2.0**-512, 2.0**512
AT_ONCE = 8  # reads between two tests for SMALL, each of which divides by at most 2^50
LEAST = 1e-15  # of the probability of a read, relative to its best allele
CREDIBLE = 0.95
UNEVEN = 0.25  # least fraction of an allele that is on one of two copies, where a tumour lost or gained some
INDEL_PRIOR = 0.1  # of an insertion or deletion, times the prior of a substitution
RARE = 1e-6  # frequency in the population of alleles that it is not known to have
REACH = 50  # bases on either side within which records count for ECNT
