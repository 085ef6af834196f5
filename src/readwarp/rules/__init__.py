"""Rules that several packages share, on CPU and GPU alike: packed bases, CIGARs, hashes."""
