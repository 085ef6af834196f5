"""Where a warp's registers are kept between basic blocks."""

from emulated_card import layout
from emulated_card.ptx import Instruction, KernelText
from emulated_card.writer import WARP


def slots_of(kernel: KernelText) -> tuple[dict[str, int], int]:
    """Places in the frame for registers that one block passes to another, and the bytes of the frame."""
    homes: dict[str, set[int]] = {}
    needed: set[str] = set()
    for block in kernel.blocks:
        known: set[str] = set()
        for instruction in block.instructions:
            reads, writes = _registers(instruction, kernel)
            needed |= {register for register in reads if register not in known}
            known |= writes if not instruction.guard else set()
            for register in reads | writes:
                homes.setdefault(register, set()).add(block.number)
    slots, place = {}, layout.REGISTERS
    for register in sorted(needed):
        slots[register] = place
        place += 64 if kernel.registers[register] == 1 else WARP * kernel.registers[register] // 8
    return slots, place


def _registers(instruction: Instruction, kernel: KernelText) -> tuple[set[str], set[str]]:
    """(read, written)"""

    def named(text: str) -> set[str]:
        parts = text.strip("{}[]!").replace("|", ",").partition("+")[0].split(",")
        return {part.strip().lstrip("!") for part in parts} & kernel.registers.keys()

    writes = named(instruction.operands[0]) if instruction.operands else set[str]()
    if instruction.base in ("st", "bra", "red", "bar"):
        writes = set()
    first = 0 if instruction.base in ("st", "red", "bar") else 1
    reads = set[str]().union(*(named(operand) for operand in instruction.operands[first:]))
    if instruction.guard:
        reads |= named(instruction.guard) | writes
    return reads, writes
