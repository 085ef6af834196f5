"""Whole numbers in the text of a VCF: those that its Integers hold."""

import numpy as np
import pytest

from readwarp.formats.variants.genomic_numbers import LARGEST, leading_number, number_in, read_logarithms, read_numbers


def letters(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *[("0", 0), ("2147483647", 2147483647), ("2147483648", -1), ("4294967297", -1), ("9" * 15, -1)],
        *[("9" * 16, -1), ("18446744073709551617", -1), ("", -1), ("-1", -1), ("1x", -1), ("000000002147483647", -1)],
    ],
)
def test_numbers_beyond_an_integer_are_none(text, number):
    assert number_in(letters(text), 0, len(text)) == number
    assert leading_number(letters(f"{text};"), 0, len(text) + 1) == (1 if text == "1x" else number)


def test_lists_have_no_number_that_wraps():
    out = np.zeros(4, np.int32)
    text = "1,4294967297,2147483647,2"
    assert read_numbers(letters(text), 0, len(text), out, 0) == 4
    assert out.tolist() == [1, -1, 2147483647, 2]


def test_likelihoods_end_at_the_largest():
    out = np.zeros(3, np.int32)
    text = "0,-1e300,-2.5"
    assert read_logarithms(letters(text), 0, len(text), out, 0) == 3
    assert out.tolist() == [0, LARGEST, 25]
