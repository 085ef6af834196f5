"""The clocks that a warp needs for a block of machine code when it runs alone. Instructions go in order, one a clock,
and each waits for the registers that it reads (or overwrites).

What is still under way at the end of a block is waited for there, as if the next block began with its use. A block that
jumps back to itself runs twice, and the second time counts. Branches cost one clock like other instructions.
"""

import re
from collections.abc import Mapping
from itertools import takewhile

from compiled.listing import Instruction, pipe_of
from modelled.machine import Block

REGISTER = re.compile(r"\b(UR|R|UP|P)(\d+)(\.64)?\b")
PREDICATE = re.compile(r"!?U?P[T\d]")
ONLY_PREDICATES = re.compile(r"U?[A-Z]*SETP2?")  # ISETP, PLOP3 and their like
NOTHING = (
    "ST",
    "STG",
    "STS",
    "STL",
    "RED",
    "REDG",
    "BRA",
    "EXIT",
    "RET",
    "BSSY",
    "BSYNC",
    "BAR",
    "CALL",
    "NOP",
    "WARPSYNC",
)
WIDE = re.compile(r"\.(64|WIDE|128|F64)")
LATENCY = {  # of opcodes, where it is not that of their pipe
    "global": "LDG LD",
    "first_level": "LDL",
    "second_level": "ATOM ATOMG",
    "shared": "LDS LDSM LDC ATOMS",
    "shuffle": "SHFL ULDC LDCU",
    "special": "S2R S2UR MATCH",
    "arithmetic": "VOTE",
}
LOADS = {opcode: kind for kind, opcodes in LATENCY.items() for opcode in opcodes.split()}


def clocks_of(block: Block, number: int, latency: Mapping[str, float]) -> float:
    """latency: clocks by kind (compiled.cards.latencies), and of `global` memory. number: the block's own."""
    ready: dict[str, float] = {}
    clock = began = 0.0
    is_loop = number in block.following
    for _ in range(2 if is_loop else 1):
        began = clock
        for instruction, _line in block.instructions:
            written, read = registers_of(instruction)
            start = max([clock, *(ready.get(each, 0.0) for each in (*read, *written))])
            for each in written:
                ready[each] = start + latency[kind_of(instruction)]
            clock = start + 1
    return clock - began if is_loop else max([clock, *ready.values()])


def kind_of(instruction: Instruction) -> str:
    """The name of the instruction's latency."""
    if instruction.opcode in LOADS:
        return LOADS[instruction.opcode]
    return {"fp64": "wide", "special": "special"}.get(pipe_of(instruction.opcode), "arithmetic")


def registers_of(instruction: Instruction) -> tuple[set[str], set[str]]:
    """Registers (written, read). Predicates before the operands, or after the result, are written."""
    operands = [each.strip() for each in instruction.operands.split(",")]
    first = 0
    if instruction.opcode not in NOTHING:
        first = len(list(takewhile(_is_predicate, operands)))
        if first < len(operands) and not (first and _gives_predicates(instruction)):
            first += 1 + len(list(takewhile(_is_predicate, operands[first + 1 :])))
        if instruction.opcode in ("SEL", "USEL", "FSEL", "PRMT", "IMNMX", "VIMNMX", "FMNMX"):
            first = min(first, 1)
    width = 4 if ".128" in instruction.modifiers else 2 if WIDE.search(instruction.modifiers) else 1
    written = {name for each in operands[:first] for name in _named(each, width)}
    read = {name for each in operands[first:] for name in _named(each, 1)}
    read |= set(_named(instruction.predicate.lstrip("@!").strip(), 1))
    return written, read


def _is_predicate(operand: str) -> bool:
    return PREDICATE.fullmatch(operand) is not None


def _gives_predicates(instruction: Instruction) -> bool:
    return ONLY_PREDICATES.fullmatch(instruction.opcode) is not None or instruction.opcode in (
        "PLOP3",
        "UPLOP3",
        "VOTEU",
    )


def _named(operand: str, width: int) -> list[str]:
    found = []
    for kind, number, is_wide in REGISTER.findall(operand):
        last = int(number) + (max(width, 2 if is_wide else 1) if kind in ("R", "UR") else 1)
        found += [f"{kind}{each}" for each in range(int(number), last)]
    return found
