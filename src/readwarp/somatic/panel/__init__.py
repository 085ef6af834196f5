"""Make a panel of normals: alleles that several normal tissues show, from the calls of each (host only).

    read_shown(file, first) -> Iterator[Shown]                 of one file, in its order
    collect(files, least) -> Iterator[PanelAllele]             of all files, read in step
    format_allele(allele, contigs, samples) -> bytes           a line of the panel

Each normal is called by itself, as if it were a tumour (`readwarp call --somatic` or `--mixture`). An allele in GT
counts, whatever its FILTER: alleles that recur in several people are inherited, or artefacts of the method or of read
placement. Alleles are trimmed at their right end, and equal if POS, REF and ALT are.

*Fractions.* Sample i shows the allele on k_i of n_i reads (AD of it and of REF), N = sum n_i. Its fractions are assumed
to follow a Beta distribution with the mean p = sum k_i / N and the correlation rho = 1 / (alpha + beta + 1) of reads of
one sample, which moments estimate (Kleinman 1973, doi:10.1080/01621459.1973.10481332, weights n_i):

    S = sum n_i (k_i / n_i - p)^2
    E[S] = p (1 - p) ((1 - rho) (m - 1) + rho (N - sum n_i^2 / N))          m samples
    alpha, beta = p (1 / rho - 1), (1 - p) (1 / rho - 1)

p is held between LEAST and 1 - LEAST, rho between CLOSE and 1 - CLOSE.

*Names* of INFO are those of GATK's CreateSomaticPanelOfNormals where they mean the same: FRACTION is the share of
normals that show the allele, BETA has alpha and beta.
"""

LEAST = 1e-6
CLOSE = 1e-3
