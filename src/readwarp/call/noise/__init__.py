"""Noise: how often molecules of a library show alleles that their sample does not have, learned from its own reads.

    count_errors(reads: AlignedReads, window: Window, pileups: Iterable[Pileup], counted) -> ErrorCounts
    fit_noise(counts: ErrorCounts) -> Noise                                                      of all windows
    estimate_contamination(piles, is_normal) -> Contamination                                    likewise

Base qualities know the sequencer's errors, but neither damage of the molecules (oxidation, deamination in fixed
tissue), nor errors of copying (reverse transcription, amplification), which many reads of good quality share. Both are
seen at sites without variants, which most sites are.

*Damage* is frequent and everywhere: a rate d for each substitution between its two neighbours (96 contexts, from the
strand on which the base is C or T) and each orientation of the pair (F1R2, F2R1), since damage of one strand is read in
one orientation. With n reads of the context, of which k show that base and q are expected to by their qualities,

    d = (max(0, k - q) + s) / (n + s / m)

drawn with SHRINKAGE s to the mean m of the substitution's 16 contexts, since few reads may be one rare variant. Sites
count of which at most MAX_FEW reads show the base, or EXCESS of them more than twice what is expected. Of insertions
and deletions, d is the rate of their class: insertion or deletion, by the length of the run of one base that follows,
at sites where at most MAX_FEW or FEW of the reads show one.

*Copying errors* are rare, but a site that has one has it on many molecules. Their fraction f has the density

    g(f) ~ f^-a exp(-f / r)        from LEAST on

The power a is 2 for errors in exponential growth (Luria & Delbrueck 1943), where each doubling has twice the errors at
half the fraction, and 1 where few molecules began and later errors are lost among them. r is the reach: no error is
older than the first copy. A site of a class (six substitutions by strand, or those of insertions and deletions) has
such an error with probability pi. With probability rho it has a variant, of a fraction with the density of neutral
alleles,

    h(f) ~ 1 / (f + LEAST)        (Wright 1931; the site frequency spectrum)

Sites are tables of class, depth n and reads k that show the allele, with

    P(k) = (1 - pi - rho) Bin(k; n, e) + pi int Bin(k; n, e + f) g(f) df + rho int Bin(k; n, e + f) h(f) df

e the class's mean rate of errors, and h up to MAX_SHARE, as the tables. pi and rho are fitted by expectation and
maximisation to all classes together for each of SHAPES, of which the likeliest is taken; pi is 0 where it does not earn
its place (Schwarz 1978: log(sites) / 2). Then each class is fitted. Where all together show copying errors, it is taken
to have CLEAN sites besides, with the shares of the other classes: so few sites of a class say little, but those of a
small panel say together what the library is like. Where they do not, its CLEAN sites have nothing, and pi must earn its
place once more. Variants and copying errors of one fraction look alike; it is the many errors of small fractions, of
which g asks for more than of large ones, that tell how many large ones there may be.

There are no more variants than MOST_VARIANTS: what rho is above that are errors too, whatever makes them. Nothing is
learned of fractions above MAX_SHARE, and such alleles are no noise.

*Other people.* The same windows show whether samples are of one person (`kinship`), and, at common sites of a
population, how much of each is another person's (`contamination`).

Targets of up to LEARNED bases are looked at whole, in any windows: counts of neighbouring windows add up to the last
bit. Of larger ones, windows of LEARNING_WINDOW bases are looked at in an order that spreads them over the targets,
until LEARNED bases are covered: the same windows for any number of threads, and any memory. (Host only.)
"""

CONTEXTS, ORIENTATIONS = 96, 2
SUBSTITUTIONS = 6  # C>A C>G C>T T>A T>C T>G
RUNS = (1, 4, 6, 8, 10)  # shortest runs of one base of each class of insertions and deletions
CLASSES = SUBSTITUTIONS + 2 * len(RUNS)  # substitutions, insertions, deletions
MAX_FEW, FEW, EXCESS = 2, 0.02, 0.003
MAX_SHARE = 0.3  # of reads; sites that show more are variants
LEAST = 1e-4
SHAPES = tuple((2.0, r) for r in (0.003, 0.005, 0.008, 0.012, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2)) + tuple(
    (1.0, r) for r in (0.003, 0.005, 0.008, 0.012, 0.02, 0.03, 0.04)
)  # a and r
MOST_VARIANTS = 4e-3
LEARNED = 4_000_000  # covered bases
LEARNING_WINDOW = 1 << 16  # bases
