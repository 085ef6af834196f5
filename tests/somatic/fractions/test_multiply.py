"""Products over reads: against exact arithmetic, and for each width of vectors."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.fraction_oracle import certain, contrasts_of, exact_product, log_product
from helpers.processes import environment_with_tests
from readwarp.somatic.fractions import LEAST, SMALL
from readwarp.somatic.fractions.contrasts import STEP
from readwarp.somatic.fractions.products import log_likelihoods, multiply

PROBABILITIES = st.sampled_from([LEAST, 1e-12, 1e-6, 1e-3, 0.25, 0.5, 0.999, 1.0]) | st.floats(LEAST, 1.0)
ITEMS = st.lists(st.lists(st.tuples(PROBABILITIES, PROBABILITIES), max_size=40), max_size=4)


def random_items(seed=1, sizes=(0, 1, 7, 8, 9, 16, 17, 300)):
    """Reads of all probabilities, so that products of many grow."""
    rng = np.random.default_rng(seed)
    return [list(zip(*(10.0 ** rng.uniform(-15, 0, (2, size))).tolist(), strict=True)) for size in sizes]


@settings(max_examples=40)
@given(ITEMS)
def test_each_node_is_the_exact_product(items):
    contrasts = contrasts_of(items)
    product, growths = multiply(contrasts)
    for item in range(len(items)):
        own = slice(*contrasts.read_offsets[item : item + 2])
        nodes = range(*contrasts.node_offsets[item : item + 2])
        assert len(nodes) % STEP == 0
        for node in (*nodes[:3], nodes[len(nodes) // 2], *nodes[-3:]):
            expected = exact_product(contrasts.others[own], contrasts.gain[own], float(contrasts.fraction[node]))
            assert (product[node], growths[node]) == expected


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 20_000])
def test_so_many_reads(size):
    """The worst case for growths, each read at LEAST, and reads of all probabilities."""
    for reads in ([(LEAST, LEAST)] * size, certain(size, size // 3), *random_items(2, (size,))):
        contrasts = contrasts_of([reads])
        product, growths = products = multiply(contrasts)
        assert (product >= SMALL).all() and np.isfinite(product).all()
        assert (growths.max() > 0) == (size > 9)
        found = log_likelihoods(products)
        nodes = [*range(0, found.size, max(1, found.size // 16)), *range(found.size)[-3:]]
        for node in nodes:
            expected = log_product(contrasts.others, contrasts.gain, float(contrasts.fraction[node]))
            # near 0, the difference of P and Q has lost digits of the smaller one
            assert found[node] == pytest.approx(expected, rel=1e-9, abs=1e-12)
        for node in (nodes[0], nodes[3], nodes[-1]):
            expected = exact_product(contrasts.others, contrasts.gain, float(contrasts.fraction[node]))
            assert (product[node], growths[node]) == expected


def test_nothing_to_multiply():
    product, growths = multiply(contrasts_of([]))
    assert product.size == growths.size == 0


def digest() -> str:
    products = multiply(contrasts_of([*random_items(), certain(4000, 31)]))
    return hashlib.sha256(b"".join(column.tobytes() for column in products)).hexdigest()


WIDTHS = """
import sys
sys.path.append(sys.argv[1])
from test_multiply import digest
from readwarp.compiler.simd import VECTOR_BYTES
print(VECTOR_BYTES, digest())
"""


@pytest.mark.slow
def test_the_width_of_vectors_does_not_matter(tmp_path):
    folder = __file__.rpartition("/")[0]
    for width in ("16", "32", "64"):
        environment = environment_with_tests(READWARP_VECTOR_BYTES=width, READWARP_CACHE=str(tmp_path / width))
        done = subprocess.run(
            [sys.executable, "-c", WIDTHS, folder], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == [width, digest()]
