"""readwarp.pair_hmm on a card gives exactly the bits of the CPU."""

import numpy as np
import pytest

import readwarp

pytestmark = pytest.mark.gpu


def batch(rng, lengths, sizes):
    """Reads of the haplotypes with errors according to their qualities; gap Phreds differ from base to base."""
    home = rng.integers(0, 4, max(sizes))
    haplotypes = [np.where(rng.random(n) < 0.02, rng.integers(0, 4, n), home[:n]).astype(np.uint8) for n in sizes]
    reads, qualities, opens = [], [], []
    for length in lengths:
        source = haplotypes[rng.integers(len(haplotypes))]
        start = rng.integers(0, max(1, source.size - length + 1))
        read, quality = np.resize(source[start:], length), rng.integers(2, 42, length)
        wrong = rng.random(length) < 10.0 ** (-0.1 * quality)
        reads.append(np.where(wrong, rng.integers(0, 5, length), read).astype(np.uint8))
        qualities.append(quality.astype(np.uint8))
        opens.append(rng.integers(10, 46, length).astype(np.uint8))
    return reads, qualities, haplotypes, opens


def same_on_both(device, reads, qualities, haplotypes, opens):
    cpu, cuda = (
        readwarp.pair_hmm(reads, qualities, haplotypes, gap_open=opens, gap_extend=10, device=side)
        for side in ("cpu", device)
    )
    assert cuda.tobytes() == cpu.tobytes()


@pytest.mark.parametrize("longest", [60, 151, 250, 600])
def test_bits_of_the_cpu(longest, device, scale):
    rng = np.random.default_rng(longest)
    lengths, sizes = rng.integers(0, longest + 1, 800 // scale).tolist(), rng.integers(1, 2 * longest, 12).tolist()
    same_on_both(device, *batch(rng, lengths, sizes))


def test_reads_unlike_any_haplotype_are_summed_again(device, scale):
    """In float32 their sums vanish."""
    rng = np.random.default_rng(9)
    number, length = 500 // scale, 250
    haplotypes = [rng.integers(0, 4, length + 20).astype(np.uint8) for _ in range(2)]
    reads = [rng.integers(0, 4, length).astype(np.uint8) for _ in range(number)]
    qualities, opens = ([np.full(length, phred, np.uint8)] * number for phred in (40, 45))
    same_on_both(device, reads, qualities, haplotypes, opens)
