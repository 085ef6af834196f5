"""Learn the noise of a library from its own reads: how often molecules show alleles that the sample lacks.

    count_errors(reads: AlignedReads, window: Window, pileups: Iterable[Pileup], counted) -> ErrorCounts
    fit_noise(counts: ErrorCounts) -> Noise                                                      of all windows
    estimate_contamination(piles, is_normal) -> Contamination                                    of all windows

Base qualities cover the sequencer's errors, but neither damage of the molecules (oxidation, deamination in fixed
tissue) nor copying errors (reverse transcription, amplification), which many reads of good quality share. Both show at
sites without variants, and most sites have none.

*Damage* is frequent and everywhere: a rate d for each substitution between its two neighbours (96 contexts, from the
strand on which the base is C or T) and each orientation of the pair (F1R2, F2R1), since damage of one strand is read in
one orientation. With n reads of the context, of which k show that base and q are expected to by quality,

    d = (max(0, k - q) + s) / (n + s / m)

shrunk with weight SHRINKAGE s to the mean m of the substitution's 16 contexts, since few reads may be one rare variant.
Sites count where at most MAX_FEW reads show the base, or EXCESS of them more than twice the expected number. For
indels, d is the rate of their class: insertion or deletion, by the length of the homopolymer that follows, at sites
where at most MAX_FEW or FEW of the reads show one.

*Copying errors* are rare, but a site that has one has it on many molecules. Their fraction f has the density

    g(f) ~ f^-a exp(-f / r)        from LEAST on

The power a is 2 for errors in exponential growth (Luria & Delbrueck 1943), where each doubling has twice the errors at
half the fraction, and 1 where few molecules began and later errors are lost among them. r is the reach: no error is
older than the first copy. A site of a class (six substitutions by strand, or an indel class) has such an error with
probability pi. With probability rho it has a variant, whose fraction has the density of neutral alleles,

    h(f) ~ 1 / (f + LEAST)        (Wright 1931; the site frequency spectrum)

Sites are tables of class, depth n and reads k that show the allele, with

    P(k) = (1 - pi - rho) Bin(k; n, e) + pi int Bin(k; n, e + f) g(f) df + rho int Bin(k; n, e + f) h(f) df

where e is the class's mean error rate, and h reaches to MAX_SHARE, like the tables. pi and rho are fitted by
expectation-maximisation to all classes together for each of SHAPES, and the likeliest shape is taken; pi is 0 where it
does not pay (Schwarz 1978: log(sites) / 2). Then each class is fitted. If all classes together show copying errors,
CLEAN pseudo-sites with the shares of the other classes are added: so few sites of a class count little, but a small
panel's sites together describe the library. If not, the CLEAN sites are empty, and pi must pay once more. Variants and
copying errors of one fraction look alike; the more numerous errors at small fractions, by g, tell how many large ones
to expect.

Variants are at most MOST_VARIANTS: the excess of rho are errors too, whatever their cause. Nothing is learned about
fractions above MAX_SHARE, and such alleles are not noise.

*Other people.* The same windows show whether samples are from one person (`contamination.count_kinship`), and, at
common sites of a population, the contamination of each (`contamination`).

Targets of up to LEARNED bases are used whole, in any windows: counts of neighbouring windows add up to the last bit. In
larger ones, windows of LEARNING_WINDOW bases are used in an order that spreads them over the targets, until LEARNED
bases are covered: the same windows for any number of threads and any memory. (Host only.)
"""

CONTEXTS, ORIENTATIONS = 96, 2
SUBSTITUTIONS = 6  # C>A C>G C>T T>A T>C T>G
RUNS = (1, 4, 6, 8, 10)  # shortest homopolymers of each indel class
CLASSES = SUBSTITUTIONS + 2 * len(RUNS)  # substitutions, insertions, deletions
MAX_FEW, FEW, EXCESS = 2, 0.02, 0.003
MAX_SHARE = 0.3  # largest share of reads; sites that show more are variants
LEAST = 1e-4
SHAPES = tuple((2.0, r) for r in (0.003, 0.005, 0.008, 0.012, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2)) + tuple(
    (1.0, r) for r in (0.003, 0.005, 0.008, 0.012, 0.02, 0.03, 0.04)
)  # a and r
MOST_VARIANTS = 4e-3
LEARNED = 4_000_000  # covered bases
LEARNING_WINDOW = 1 << 16  # bases
