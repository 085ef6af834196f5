"""How base qualities are encoded, told by their range."""

import numpy as np
import pytest

from readwarp.formats.common.qualities import MISSING, encoding_of, explain_phred64, from_phred64


def spread(low: int, high: int, size: int = 2000) -> np.ndarray:
    return np.linspace(low, high, size).astype(np.uint8)


@pytest.mark.parametrize("span", [(33, 71), (31, 62), (26, 71), (61, 61)])
def test_phred64(span):
    reason = explain_phred64(np.append(spread(*span), np.uint8(MISSING)))
    assert reason is not None and f"qualities are {span[0]} to {span[1]} as Phred+33" in reason


@pytest.mark.parametrize(
    "qualities",
    [spread(2, 41), spread(30, 60), spread(2, 71), spread(30, 93), spread(33, 71, 999), spread(MISSING, MISSING)],
    ids=["Illumina", "sure", "consensus", "HiFi", "few", "missing"],
)
def test_phred33(qualities):
    assert explain_phred64(qualities) is None


def test_conversion():
    qualities, bad = from_phred64(np.array([33, 71, MISSING, 31], np.uint8))
    assert qualities.tolist() == [2, 40, MISSING, 0] and bad == -1
    assert from_phred64(np.array([33, 30, 29], np.uint8))[1] == 1


def test_options():
    assert [encoding_of(*given) for given in ((False, False), (True, False), (False, True))] == [None, 33, 64]
