"""Kernels from Python to machine code, by way of Numba, kept on disk and shipped: see README.md."""
