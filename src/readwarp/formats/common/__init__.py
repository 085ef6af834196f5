"""What several formats share: compressed blocks, opened files, locks, and references."""
