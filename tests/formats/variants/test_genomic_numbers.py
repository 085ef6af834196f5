"""Numbers in the text of a VCF that are larger than their arrays hold: cut, never wrapped."""

import numpy as np

from readwarp.formats.variants.genomic_numbers import LARGEST, read_logarithms, read_numbers


def letters(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


def test_lists_have_no_number_that_wraps():
    out = np.zeros(6, np.int32)
    text = f"1,4294967297,2147483647,{'9' * 15},{'9' * 40},2"
    assert read_numbers(letters(text), 0, len(text), out, 0) == 6
    assert out.tolist() == [1, LARGEST, LARGEST, LARGEST, -1, 2]


def test_likelihoods_end_at_the_largest():
    out = np.zeros(3, np.int32)
    text = "0,-1e300,-2.5"
    assert read_logarithms(letters(text), 0, len(text), out, 0) == 3
    assert out.tolist() == [0, LARGEST, 25]
