"""Devices: Numba's options, SIMD and packed lanes, the choice of a backend, device memory."""
