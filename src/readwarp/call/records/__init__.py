"""From likelihoods to records: genotypes or blocks of reference, annotations and filters."""
