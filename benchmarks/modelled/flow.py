"""How often each block of machine code ran, from how often each line of PTX did.

The blocks' jumps carry threads from block to block: as many leave a block as enter it, and as many enter the kernel as
were launched. A line of PTX ran as often as all its copies in the machine code together, be they of an unrolled loop,
its rest, or one alone. That gives more equations than unknowns, and those of instructions that ptxas has moved out of a
loop, merged, or made for both sides of a jump are false. So the sum of absolute errors is made small (weighted least
squares, again and again), which lets the many true ones outvote the few. Loads, stores, atomics, shuffles and barriers
count most: ptxas neither adds to them nor moves them to where they run more often.
"""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from modelled.machine import Block

ANCHORS = frozenset(("LDG", "STG", "LDS", "STS", "ATOMG", "ATOMS", "ATOM", "RED", "REDG", "SHFL", "BAR"))
ROUNDS, CLOSE = 60, 1e-4  # steps; errors that are as good as none
OF_FLOW, OF_ANCHOR, OF_LINE, OF_GUESS = 1e2, 1.0, 0.05, 1e-5  # weights of equations


def threads_of(blocks: list[Block], ran: Mapping[int, float], launched: float) -> np.ndarray:
    """The number of threads that ran each block, float64 [blocks].

    ran: threads that ran a line of PTX. launched: threads of all launches.
    """
    edges = [
        (here, aim) for here, block in enumerate(blocks) for aim in (*block.following, *([-1] if block.ends else []))
    ]
    leaving = np.zeros((len(blocks), len(edges)))
    entering = np.zeros_like(leaving)
    for number, (here, aim) in enumerate(edges):
        leaving[here, number] += 1
        if aim >= 0:
            entering[aim, number] += 1
    for here, block in enumerate(blocks):
        if block.calls >= 0:
            entering[block.calls] += leaving[here]
    guess, highest = _guessed(blocks, ran)
    flow = leaving - entering
    entry = np.zeros(len(blocks))
    entry[0] = launched
    lines, executed, weights = _equations(blocks, ran)
    scale = guess + 0.1 * max(launched, 1.0)
    ways = leaving.sum(1)
    tail = [edge[0] for edge in edges]
    most = (
        np.maximum(executed, lines @ highest) + 1
    )  # no line is more wrong than by 1, so that none outweighs the others
    matrix = np.vstack([flow / scale[:, None], lines @ leaving / most[:, None], np.diag(1 / scale[tail])])
    wanted = np.concatenate([entry / scale, executed / most, (guess / np.maximum(ways, 1) / scale)[tail]])
    strength = np.concatenate([np.full(len(blocks), OF_FLOW), weights, np.full(len(edges), OF_GUESS)])
    return leaving @ (_least(matrix * scale[tail], wanted, strength, np.ones(len(edges))) * scale[tail])


def _least(matrix: np.ndarray, wanted: np.ndarray, strength: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The x >= 0 that minimises the sum of `strength` times the absolute errors of matrix @ x = wanted.

    Newton's steps with each error's square weighted by what it was before, and a barrier at zero that comes down.
    """
    found, barrier = start.copy(), 1.0
    for _ in range(ROUNDS):
        errors = wanted - matrix @ found
        weights = np.sqrt(strength / np.maximum(np.abs(errors), CLOSE))
        rows = np.vstack([matrix * (found * weights[:, None]), np.sqrt(barrier) * np.eye(len(found))])
        step = np.linalg.lstsq(rows, np.append(errors * weights, np.full(len(found), np.sqrt(barrier))), rcond=1e-14)[0]
        found *= 1 + step * min(1.0, 0.9 / max(-step.min(), 1e-9))
        barrier = max(barrier * 0.7, 1e-7)
    return found


def _guessed(blocks: list[Block], ran: Mapping[int, float]) -> tuple[np.ndarray, np.ndarray]:
    """If each copy of a line ran equally often: the middle and the maximum of what a block's lines say."""
    copies: Counter[tuple[int, str]] = Counter()
    for block in blocks:
        for instruction, line in block.instructions:
            copies[line, instruction.opcode + instruction.modifiers] += 1
    guesses: list[tuple[float, float]] = []
    for block in blocks:
        by_guard: dict[bool, list[float]] = {True: [], False: []}
        for each, line in block.instructions:
            if line:
                by_guard[bool(each.predicate)].append(ran.get(line, 0.0) / copies[line, each.opcode + each.modifiers])
        said = by_guard[False] or by_guard[True]
        guesses.append((float(np.median(said)), max(said)) if said else (0.0, 0.0))
    middle, highest = np.array(guesses).T
    return middle, highest


def _equations(blocks: list[Block], ran: Mapping[int, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each kind of instruction of a line: its copies in each block, how often they ran together, and its weight."""
    found: dict[tuple[int, str], Counter[int]] = {}
    predicated = set()
    for number, block in enumerate(blocks):
        for each, line in block.instructions:
            if not line:
                continue
            key = line, each.opcode if each.opcode in ANCHORS else each.opcode + each.modifiers
            found.setdefault(key, Counter())[number] += 1
            if each.predicate or each.opcode in ("BRA", "EXIT", "BSSY", "BSYNC"):
                predicated.add(key)
    kept = {key: copies for key, copies in found.items() if key not in predicated}
    lines = np.zeros((len(kept), len(blocks)))
    for row, copies in enumerate(kept.values()):
        for number, count in copies.items():
            lines[row, number] = count
    executed = np.array([float(ran.get(line, 0.0)) for line, _ in kept])
    weights = np.array([OF_ANCHOR if opcode in ANCHORS else OF_LINE for _, opcode in kept])
    return lines, executed, weights
