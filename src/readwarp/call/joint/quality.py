"""How sure it is that any sample has another allele: QUAL. See the step's contract."""

import math

import numpy as np

from readwarp.call.joint.genotype import NATURAL, Genotyped, tables_of
from readwarp.call.joint.scalar import placed
from readwarp.config import MAX_PLOIDY
from readwarp.device.jit import kernel

LEAST = 1e-200  # likelihoods of counts, relative to the best one, that are left out


def qualities(number: np.ndarray, star: np.ndarray, theta: np.ndarray, found: Genotyped) -> np.ndarray:
    """float64 [s]: Phred of the posterior probability that nobody has an allele but REF and `*`."""
    out, samples = np.zeros(number.size), found.ploidy.shape[1]
    tables = tables_of(int(number.max(initial=2)), found.ploidy)
    room = np.zeros((3, samples * MAX_PLOIDY + MAX_PLOIDY + 1))
    find_qualities(
        number, star, theta, found.ploidy, *tables, found.phred_offsets, found.phred, found.is_informed, room, out
    )
    return np.round(out, 2)


@kernel
def find_qualities(
    number, star, theta, ploidy, tables, firsts, sizes, phred_offsets, phred, is_informed, room, out
):  # fmt: skip
    """`room`: float64 [3, copies of all samples and one sample's more]."""
    own = np.empty(tables.shape[1] + 1)
    samples = ploidy.shape[1]
    for s in range(number.size):
        n, copies, low, high = number[s], 0, 0, 0  # counts of others beyond [low, high] are out of the question
        current, following = room[0], room[1]
        current[0], log_none, log_scale = 1.0, 0.0, 0.0
        for i in range(samples):
            if not is_informed[s, i]:
                continue
            p, at = ploidy[s, i], phred_offsets[s * samples + i]
            by_count(phred[at : at + sizes[p, n]], tables, firsts[p, n], p, star[s], theta[s], own)
            log_none += math.log(max(own[0], 1e-300))
            highest = 0.0
            for k in range(low, high + p + 1):
                total = 0.0
                for j in range(max(0, k - high), min(p, k - low) + 1):
                    total += current[k - j] * own[j] * placed(k, j, copies, p)
                following[k] = total
                highest = max(highest, total)
            high += p
            while high > low and following[high] < LEAST * highest:
                high -= 1
            while low < high and following[low] < LEAST * highest:
                low += 1
            for k in range(low, high + 1):
                following[k] /= highest
            log_scale += math.log(highest)
            copies += p
            current, following = following, current
        out[s] = phred_of_none(current, low, high, copies, theta[s], log_none, log_scale)


@kernel
def by_count(phred, tables, first, p, star, theta, own):
    """Likelihood of each number of other copies among a sample's p."""
    own[: p + 1] = 0.0
    for g in range(phred.size):
        others = kinds = 0
        last = -1
        for copy in range(p):
            a = tables[first + g, copy]
            if a != 0 and a != star:
                others += 1
                kinds += a != last
                last = a
        own[others] += math.exp(-NATURAL * phred[g]) * theta ** max(0, kinds - 1)


@kernel
def phred_of_none(likelihood, low, high, copies, theta, log_none, log_scale):
    """`likelihood[low : high + 1]` times exp(log_scale) is y(k), and exp(log_none) is y(0)."""
    total = 0.0
    for k in range(max(1, low), high + 1):
        total += likelihood[k] * theta / k
    rest = 1.0
    for k in range(1, copies + 1):
        rest -= theta / k
    if total <= 0.0:
        return 0.0
    against = log_scale + math.log(total) - log_none - math.log(max(rest, theta))
    if against > 30.0:
        return against / NATURAL
    return math.log(1.0 + math.exp(against)) / NATURAL
