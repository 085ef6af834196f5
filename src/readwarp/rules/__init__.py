"""Rules that several rooms follow, on either side: packed bases, CIGARs, hashes."""
