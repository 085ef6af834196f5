"""The consensus genome: a FASTA of what most molecules of a sample have, for lineage tools (host only).

    find_shallow(counts, is_inside, start, least) -> runs of a window where too few reads say anything
    split_runs(runs, strip) -> those of its contigs
    ConsensusGenome: add_shallow(runs), add(line of VCF), write()

Calls that pass are applied to the reference, and N takes the place of a base

* that fewer than `least_depth` reads cover, deletions counted as ivar consensus does not (Grubaugh et al. 2019,
  doi:10.1186/s13059-018-1618-7): a deletion is shown, not unknown; or
* that was not called, as it lies outside the targets.

Of the bases at a position, the reference's has what the fractions of the others leave. They are named from the most
frequent one on until together they reach `share`: one gives its letter, several the IUPAC code of all. Insertions and
deletions are applied from a fraction of HALF on; of two that overlap, the more frequent one, on a tie the first.
"""

HALF = 0.5
