"""Code shared by several formats: compressed blocks, input and output files, indexes, and references."""
