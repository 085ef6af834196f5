"""The checksum within kernels, against zlib's."""

import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from readwarp.report.counting.records import crc32_of


@given(st.binary(max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_equal_to_zlib(data, start, length):
    start = min(start, len(data))
    stop = min(start + length, len(data))
    values = np.frombuffer(data + bytes(8), np.uint8)
    assert int(crc32_of(values, start, stop)) == zlib.crc32(data[start:stop])
