"""Limits that several steps share."""

MAX_MNP_DISTANCE = 10  # bases
MAX_SV_LENGTH = 1_000_000  # bases
MAX_PLOIDY = 100
MAX_PLACES = 72  # per read: chains, and windows searched for its mate
MAX_READ_LENGTH = 4096  # of mates; longer ones come out unmapped, counted as too_long
MAX_LONG_READ_LENGTH = 1 << 24  # of single reads: anchors have 24 bits for the position on the read
MAX_SCORE = 10_000  # of a match, a mismatch or a gap: scores of whole reads, in fixed point, then fit 31 bits
MAX_QUALITY = 93  # Phred, the maximum in SAM
MAX_INTEGER = (1 << 31) - 1  # kernels compare with 32-bit numbers
