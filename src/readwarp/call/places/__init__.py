"""Where to call: targets, windows of them, and the axes on which contigs lie."""
