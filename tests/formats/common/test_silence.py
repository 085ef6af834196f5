"""htslib is silent while any of several blocks wants it."""

import pysam
import pytest

from readwarp.formats.common.silence import quiet_htslib


@pytest.fixture
def outspoken():
    """htslib's verbosity as it is at first, whatever other tests have set."""
    before = pysam.set_verbosity(3)
    yield 3
    pysam.set_verbosity(before)


def test_htslib_is_silent_until_the_last_that_asked_for_it(outspoken):
    one, two = quiet_htslib(), quiet_htslib()
    one.__enter__()
    two.__enter__()
    one.__exit__(None, None, None)
    assert pysam.get_verbosity() == 0
    two.__exit__(None, None, None)
    assert pysam.get_verbosity() == outspoken
