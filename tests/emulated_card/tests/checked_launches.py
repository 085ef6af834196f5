"""Launches, their results, and what the checks of the emulated card find in them."""

from collections.abc import Callable

import numpy as np

import emulated_card
from emulated_card.tests.cuda import cuda

SEEDS = (0, 1, 2, 3, 4, 5)


@cuda.jit
def moved(values, out, by):
    i = cuda.grid(1)
    out[i] = values[i + by]


def found_by(kernel, grid, block, *arrays, shared: int = 0) -> list[str]:
    """The findings of the checks in this launch."""
    there = [cuda.to_device(array) if isinstance(array, np.ndarray) else array for array in arrays]
    kernel[grid, block, 0, shared](*there)
    cuda.synchronize()
    return emulated_card.findings()


def is_clean(checked: Callable, names: tuple[str, ...], kernel, grid, block, *arrays) -> bool:
    """Whether it is clean under all seeds, with the same results."""
    results = []
    for seed in SEEDS:
        checked(*names, seed=seed)
        there = [cuda.to_device(array) for array in arrays]
        kernel[grid, block](*there)
        results.append([array.copy_to_host().tolist() for array in there])
        assert emulated_card.findings() == [], seed
    return all(result == results[0] for result in results)


def launched(kernel, grid, block, *arrays, shared: int = 0) -> list[np.ndarray]:
    """The arrays as the kernel leaves them."""
    there = [cuda.to_device(array) if isinstance(array, np.ndarray) else array for array in arrays]
    kernel[grid, block, 0, shared](*there)
    return [array.copy_to_host() for array in there if not np.isscalar(array)]
