"""Rules that several rooms share, on CPU and GPU alike: packed bases, CIGARs, hashes."""
