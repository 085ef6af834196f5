"""Call variants at any allele fraction, as in a tumour, a mitochondrion or a virus, with no ploidy assumed.

    call_alleles(sites: Sites, compared: (Likelihoods, Phase or None), reads: AlignedReads, window: Window,
                 known: Known, setting: Setting) -> Calls
    count_events(calls: Calls, parameters: FractionParameters) -> Calls         adds ECNT to a contig's calls (`events`)
    Shortlist: add(candidates of a window), choose_threshold(), lines(threshold)

*Model.* A read r shows allele a with probability f_a, the fraction of the sample's molecules that have a; P(r | a)
comes from `evidence` and `alleles`. Maximum-likelihood fractions are found by expectation-maximisation. For one allele
a, let

    P_r = P(r | a),    Q_r = sum_{b != a} f_b P(r | b) / sum_{b != a} f_b,    L(f) = prod_r ((1 - f) Q_r + f P_r)

    LOD = log10( int_0^1 L(f) h(f) df / N )
    N = (1 - pi - sigma) L(0) + pi int_0^1 L(f) g(f) df + sigma int_0^m L(f) h(f) df

which asks whether the sample has the allele, at any fraction, or noise of its library made it: h, g, pi, sigma and m
are defined in `readwarp.somatic.noise`. (Benjamin et al. 2019, doi:10.1101/861054, integrate over the fractions of all
alleles together, and have L(0) for N.) AF is f_a, and AFCI holds 95 % of L(f) df. TLOD is the sum of the positive LOD
of all samples but the normal. An allele becomes a record if its reads support it: EMIT or more with L(0) for N.

*Damage.* Damage may turn a reference base into another, with the probability d of its context, the new base and the
pair's orientation: P(r | reference) + d P(r | a) replaces P(r | reference). For indels, d is the rate of slips before a
homopolymer.

*Integral.* With f = sin^2 t, L has the same width in t at every fraction, 1 / (2 sqrt(reads)). The midpoint rule in t,
with steps no wider than that, is exact to a part in 10^8 for such a bell. Its products are the step

    multiply(contrasts: Contrasts) -> Products      on CPU (`cpu`) and CUDA (`cuda`): the same bits

in which a product that falls below SMALL is multiplied by GROWTH, and counted; logarithms are taken on the host.

*Normal.* For samples of the tumour's normal tissue,

    NLOD  = log10( L(0) / L(1/2) )                 the normal lacks the allele, against heterozygous
    NALOD = log10( L(0) / L(f of the tumour) )     it lacks the allele, against an artefact of both

An inherited allele, of frequency p in the population (RARE if unknown), has the likelihood

    2 p (1 - p) U(tumour) L(1/2; normal) + p^2 L(1; tumour) L(1; normal)

with U the mean of L over [UNEVEN, 1 - UNEVEN], since tumours lose and gain copies; a mutation has (1 - p)^2 x its prior
x int L(f; tumour) h(f) df x L(0; normal). GERMQ compares the two.

*Contamination.* A fraction c of a sample's molecules is another person's (`readwarp.somatic.noise.contamination`), who
has the allele on c / 2 or c of them. With L'(f) = max(0, L(f) - L(0)), the excess over errors, and one such person per
tumour, contamination has the likelihood

    prod_s ((1 - p)^2 L_s(0) + 2 p (1 - p) L_s'(c_s / 2) + p^2 L_s'(c_s)) - prod_s (1 - p)^2 L_s(0)

against its prior x int L(f; tumour) h(f) df of a mutation. CONTQ compares the two.

*Posterior.* The prior of a mutation is `mutation_prior` for a substitution and INDEL_PRIOR times that for an indel, or
rho of the noise if that is higher. SEQQ, GERMQ, CONTQ and NARTQ are Phred of the probabilities e that reads and noise
made the allele, that it is inherited, that it came from another person, and that the normal shows it; P(real) is the
product of 1 - e. Calls fail the filter of an e above 1 - T. T gives the calls that pass the highest expected F1, but is
at least `min_probability`:

    F1(T) = 2 sum_{P >= T} P / (number of P >= T + sum of all P)        over calls that pass the other filters

Records have one ALT allele each and are sorted by position; a site with several makes several records.

*Events.* Records of a region less than APART bases from each other are one event, and one phase set, if at least
TOGETHER of the reads that show either show both, as with a multi-base substitution or a deletion with neighbours. Among
more than MOST such records, only adjacent ones are one event, since a misplaced or chimeric end differs at many places.
ECNT is the number of events within REACH whose P(real) is LIKELY or more, except alleles of the panel.
"""

EMIT = 3.0  # log10; a lower LOD makes no record
SMALL, GROWTH = 2.0**-512, 2.0**512
AT_ONCE = 8  # reads between two tests for SMALL, each of which divides by at most 2^50
LEAST = 1e-15  # least probability of a read, relative to its best allele
CREDIBLE = 0.95
UNEVEN = 0.25  # least fraction of an allele on one of two copies, where a tumour lost or gained some
INDEL_PRIOR = 0.1
RARE = 1e-6
REACH = 50  # bases on either side within which events count for ECNT
LIKELY = 0.5  # P(real) of an event that counts
APART = 10  # bases between two changes from which on they are always two events
TOGETHER = 0.75
MOST = 3  # records of one event that need not be adjacent
