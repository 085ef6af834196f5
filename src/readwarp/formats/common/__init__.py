"""What several formats share: compressed blocks, input and output files, indexes, and references."""
