"""Cards: which of them to use, their memory, launches of kernels, and the operations of packed lanes."""
