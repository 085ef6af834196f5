"""Fractions: variants at any allele fraction, as in a tumour, a mitochondrion or a virus, with no ploidy assumed.

    call_alleles(sites: Sites, compared: (Likelihoods, Phase or None), reads: AlignedReads, window: Window,
                 known: Known, setting: Setting) -> Calls
    count_events(calls: Calls, parameters: FractionParameters) -> Calls         of a contig, with ECNT (`events`)
    Shortlist: add(candidates of a window), choose_threshold(), lines(threshold)

*Model.* A read r is of allele a with probability f_a, the fraction of the sample's molecules that have a; P(r | a) is
that of `evidence` and `alleles`. The fractions of the greatest likelihood are found by expectation and maximisation.
For one allele a, let

    P_r = P(r | a),    Q_r = sum_{b != a} f_b P(r | b) / sum_{b != a} f_b,    L(f) = prod_r ((1 - f) Q_r + f P_r)

    LOD = log10( int_0^1 L(f) h(f) df / N )
    N = (1 - pi - sigma) L(0) + pi int_0^1 L(f) g(f) df + sigma int_0^m L(f) h(f) df

which asks whether the sample has the allele, at whatever fraction, or noise of its library made it: h, g, pi, sigma and
m are those of `readwarp.call.noise`. (Benjamin et al. 2019, doi:10.1101/861054, integrate over the fractions of all
alleles together, and have L(0) for N.) AF is f_a, and AFCI holds 95 % of L(f) df. TLOD is the sum of the positive LOD
of the samples but the normal. An allele becomes a record if its reads speak for it: EMIT or more with L(0) for N.

*Damage.* A molecule with the reference's base may show another by damage, with the probability d of its context, of
that base and of the pair's orientation: P(r | reference) + d P(r | a) takes the place of P(r | reference). Likewise for
insertions and deletions, whose d is the rate of slips before a run of one base.

*Integral.* With f = sin^2 t, L has the same width in t at every fraction, 1 / (2 sqrt(reads)). The midpoint rule in t,
with steps no wider than that, is exact to a part in 10^8 for such a bell. Its products are the step

    multiply(contrasts: Contrasts) -> Products      on CPU (`cpu`) and CUDA (`cuda`): the same bits

in which a product that falls below SMALL is multiplied by GROWTH, and that is counted; logarithms are the host's.

*Normal.* For samples of the tumour's normal tissue,

    NLOD  = log10( L(0) / L(1/2) )                 the normal has not the allele, against heterozygous
    NALOD = log10( L(0) / L(f of the tumour) )     it has not the allele, against what an artefact of both would show

An inherited allele, of frequency p in the population (RARE if that is not known), has the likelihood

    2 p (1 - p) U(tumour) L(1/2; normal) + p^2 L(1; tumour) L(1; normal)

with U the mean of L over [UNEVEN, 1 - UNEVEN], since tumours lose and gain copies; a mutation has
(1 - p)^2 x its prior x int L(f; tumour) h(f) df x L(0; normal). GERMQ is of these two.

*Contamination.* c of a sample's molecules are another person's (`readwarp.call.noise.contamination`), who has the
allele on c / 2 or c of them. With L'(f) = max(0, L(f) - L(0)), more than errors do, and one such person for each
tumour, what they brought has the likelihood

    prod_s ((1 - p)^2 L_s(0) + 2 p (1 - p) L_s'(c_s / 2) + p^2 L_s'(c_s)) - prod_s (1 - p)^2 L_s(0)

against its prior x int L(f; tumour) h(f) df of a mutation. CONTQ is of these two.

*Posterior.* The prior of a mutation is `mutation_prior` for a substitution and INDEL_PRIOR of it for an insertion or
deletion, or rho of the noise if that is more. SEQQ, GERMQ, CONTQ and NARTQ are Phred of the probabilities e that reads
and noise made the allele, that it is inherited, that it came with another person, and that the normal shows it; P(real)
is the product of 1 - e. Calls fail the filter of an e above 1 - T, with the T that gives the highest expected F1 of
what passes, but no less than `min_probability`:

    F1(T) = 2 sum_{P >= T} P / (number of P >= T + sum of all P)        over calls that pass the other filters

Records have one other allele each, in order of position; a site with several makes several records.

*Events.* Records of a region whose changes lie less than APART bases from each other are one event if of the reads that
show either, TOGETHER or more show both: a phase set, as one substitution of several bases, or a deletion with others
beside it, makes. Of more than MOST such records, only those that touch are one event, since a misplaced or chimeric end
differs at many places. ECNT is the number of events within REACH whose P(real) is LIKELY or more, but for those of the
panel.
"""

EMIT = 3.0  # log10; a smaller LOD makes no record
SMALL, GROWTH = 2.0**-512, 2.0**512
AT_ONCE = 8  # reads between two tests for SMALL, each of which divides by at most 2^50
LEAST = 1e-15  # of the probability of a read, relative to its best allele
CREDIBLE = 0.95
UNEVEN = 0.25  # least fraction of an allele on one of two copies, where a tumour lost or gained some
INDEL_PRIOR = 0.1
RARE = 1e-6
REACH = 50  # bases on either side within which events count for ECNT
LIKELY = 0.5  # P(real) of an event that counts
APART = 10  # bases between two changes, from which on they are two events in any case
TOGETHER = 0.75
MOST = 3  # records of one event that need not touch
