"""The model of time on a kernel of the package: instructions and loop counts agree with the listing."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
import emulated_card
from emulated_card.counted import take_launches
from emulated_card.options import CHECKS
from emulated_card.ptx import read
from helpers.cards import HAS_GPU
from readwarp.pairwise import cpu, cuda
from readwarp.pairwise.pairs import Costs, Pairs, Scheme
from readwarp.pairwise.scalar import LOCAL

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from compiled import listing
from compiled.cards import cards
from compiled.compile import kept, tool
from modelled.bounds import FLOWING, times
from modelled.kernels import kernels_of
from modelled.machine import Block

pytestmark = [
    pytest.mark.cards,
    pytest.mark.skipif(HAS_GPU, reason="counts of an emulated card"),
    pytest.mark.skipif(tool("ptxas") is None or tool("nvdisasm") is None, reason="needs ptxas and nvdisasm"),
]
SCHEME = Scheme(Costs(1, 4, 6, 1, 5), LOCAL)


@pytest.fixture(scope="module")
def kernels():
    """The kernels of a traceback of 400 pairs."""
    rng = np.random.default_rng(1)
    targets = rng.integers(0, 4, (400, 120), np.uint8)
    queries = targets[:, 10:110].copy()
    queries[::2, 50:97] = queries[::2, 53:]  # a gap
    lengths = np.full(400, 100), np.full(400, 120)
    pairs = Pairs(queries.ravel(), np.arange(400) * 100, lengths[0], targets.ravel(), np.arange(400) * 120, lengths[1])
    ends = cpu.score_pairs(pairs, SCHEME)
    take_launches()
    emulated_card.set_checks(CHECKS["accesses"])
    try:
        cuda.trace_pairs(pairs, SCHEME, ends)
    finally:
        emulated_card.set_checks(0)
    return kernels_of(take_launches(), kept(90).parent / "counted")


def test_loads_stores_and_shuffles_ran_as_often_as_in_the_ptx(kernels):
    """Within a twentieth: 4 % more of add_up, whose warps look back in a loop that the machine code shares out anew."""
    for kernel in kernels:
        (text,) = read(kernel.launches[0].text)
        for opcode, names in (("SHFL", ("shfl",)), ("STG", ("st.global",)), ("STS", ("st.shared",))):
            asked = sum(
                kernel.counts[block.number, 0] * each.name.startswith(names)
                for block in text.blocks
                for each in block.instructions
                if not each.guard
            )
            assert float(kernel.counts[:, 0] @ kernel.opcodes(opcode)) == pytest.approx(asked, rel=0.05, abs=1), (
                kernel.name,
                opcode,
            )


def test_the_hot_loop_has_the_instructions_of_the_listing(kernels):
    """Instructions per shuffle, of all that ran and of the innermost loop in the machine code."""
    kernel = next(each for each in kernels if each.name == "fill_directions")
    blocks = kernel.machine.blocks
    code = [[each for each, _ in block.instructions] for block in blocks]
    hot = max(range(len(code)), key=lambda number: listing.count(code[number], "IDP") * kernel.warps[number])
    loop = [number for number in range(len(code)) if hot in reached(blocks, number) and number in reached(blocks, hot)]
    sizes, shuffles = np.array([(len(code[n]), listing.count(code[n], "SHFL")) for n in loop]).T
    ran = kernel.warps[loop]
    assert sizes.sum() > 100 and ran @ sizes / (ran @ shuffles) == pytest.approx(sizes.sum() / shuffles.sum(), rel=0.02)


def reached(blocks: list[Block], first: int) -> list[int]:
    """The blocks that can run after this one."""
    found = list(blocks[first].following)
    for number in found:
        found += [aim for aim in blocks[number].following if aim not in found]
    return found


def test_every_kernel_is_bounded_by_something_on_every_card(kernels):
    assert {kernel.name for kernel in kernels} >= {"fill_directions", "walk_back", "copy_runs"}
    for card in cards():
        if card.capability != 90:
            continue
        for kernel in kernels:
            made = times(kernel, card)
            assert made.alone >= max(made.by.values()) / len(kernel.launches) > 0
            assert made.alone <= sum(made.by.values())
            assert made.shared <= sum(made.by[name] for name in FLOWING)
