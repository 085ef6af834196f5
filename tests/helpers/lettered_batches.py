"""Batches in which each read is a letter."""

import numpy as np

from readwarp.formats.common.reads import ReadBatch, Segment


def batch(names: str, paired: bool = True, source: int = 0, number: int = 0) -> ReadBatch:
    """One read of i + 1 bases for letter i of `names`; all arrays tell which read they belong to."""
    n = len(names)
    lengths = np.arange(1, n + 1)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    one_each = np.arange(n + 1, dtype=np.int64)
    letters = np.frombuffer(names.encode(), np.uint8)
    bases = np.repeat(letters, lengths)
    segment = np.where(np.arange(n) % 2 == 0, Segment.FIRST, Segment.LAST) if paired else np.zeros(n)
    groups = np.arange(n, dtype=np.int32)
    arrays = (
        bases,
        bases + 1,
        offsets,
        letters,
        one_each,
        letters + 2,
        one_each,
        segment.astype(np.uint8),
        groups,
        np.zeros(n, np.uint8),
    )
    return ReadBatch(number, source, *arrays)


def names_of(reads: ReadBatch) -> str:
    return reads.names.tobytes().decode()
