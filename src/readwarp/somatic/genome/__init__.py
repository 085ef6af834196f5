"""Write the consensus genome of a sample, a FASTA of its most frequent alleles for lineage tools (host only).

    find_shallow(counts, is_inside, start, least) -> runs of a window with too few informative reads
    ConsensusGenome: add_shallow(runs), add(line of VCF), write()

Calls that pass are applied to the reference, and N takes the place of a base

* that fewer than `least_depth` reads cover, deletions counted, unlike ivar consensus (Grubaugh et al. 2019,
  doi:10.1186/s13059-018-1618-7): a deletion is observed, not unknown; or
* that lies outside the targets and was not called.

At a position, the reference base has the fraction that the others leave. Bases are taken, the most frequent first,
until together they reach `share`: one gives its letter, several their IUPAC code. Indels are applied from a fraction of
HALF on; if two overlap, the more frequent one, on a tie the first.
"""

HALF = 0.5
