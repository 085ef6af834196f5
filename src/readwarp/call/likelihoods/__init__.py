"""From candidates to the likelihood of each read under each allele."""
