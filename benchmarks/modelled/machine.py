"""The machine code of a PTX text, as blocks without jumps, whose instructions know their line of PTX.

ptxas keeps the lines that `.loc` names (-lineinfo) and generates the same code with them as without (a test checks
that); nvdisasm -g prints them between the instructions.
"""

import hashlib
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from compiled.compile import run_tool
from compiled.listing import INSTRUCTION, Instruction

LINE = re.compile(r'\s*//## File "[^"]*", line (\d+)')
LABEL = re.compile(r"(\.L_x?_?\d+|\$__internal\S+):")
JUMP = re.compile(r"(\.L_x?_?\d+|\$__internal[^)\s]+)")
CALLED = re.compile(r"\bCALL\S*\s+`\(([^)\s]+)\s*\)")
ENDS = ("BRA", "BRX", "EXIT", "RET", "CALL")
UNKNOWN = ("JMX", "JMP")


@dataclass(slots=True)
class Block:
    """Instructions that all run if the first one does."""

    instructions: list[tuple[Instruction, int]] = field(default_factory=list)  # and its line of the PTX, 0: none
    following: list[int] = field(default_factory=list)  # blocks
    ends: bool = False  # threads may end here, or return from a call
    calls: int = -1  # block that is called, and returns


@dataclass(frozen=True, slots=True)
class Machine:
    registers: int
    shared: int  # bytes per block of threads, without what a launch adds
    blocks: list[Block]  # the first is where a kernel begins


def assembled(ptx: str, folder: Path) -> Machine:
    """The machine code of a PTX text with one kernel, for the card that it names; cached in the folder."""
    key = hashlib.sha256(ptx.encode()).hexdigest()[:24]
    listing, said = folder / f"{key}.sass", folder / f"{key}.txt"
    if not listing.exists():
        folder.mkdir(parents=True, exist_ok=True)
        text, messages = disassembled(with_lines(ptx), "-lineinfo")
        said.write_text(messages)
        listing.write_text(text)
    facts = said.read_text()
    registers, shared = re.search(r"Used (\d+) registers", facts), re.search(r"(\d+) bytes smem", facts)
    if not registers:
        raise LookupError(f"ptxas reports no registers: {facts}")
    return Machine(int(registers[1]), int(shared[1]) if shared else 0, read(listing.read_text()))


def disassembled(ptx: str, *options: str) -> tuple[str, str]:
    """The listing, and ptxas' report on registers and memory."""
    target = re.search(r"^\.target\s+(sm_\w+)", ptx, re.MULTILINE)
    if not target:
        raise LookupError("PTX without a target")
    with tempfile.TemporaryDirectory() as scratch:
        source, cubin = Path(scratch) / "kernel.ptx", Path(scratch) / "kernel.cubin"
        source.write_text(ptx)
        messages = run_tool("ptxas", "-v", f"-arch={target[1]}", *options, str(source), "-o", str(cubin)).stderr
        return run_tool("nvdisasm", "-c", "-g", str(cubin)).stdout, messages


def with_lines(ptx: str) -> str:
    """The text with a `.loc` before each instruction of its kernel, which names the instruction's line."""
    made, is_body, has_begun = [], False, False
    for number, line in enumerate(ptx.split("\n"), 1):
        text = line.strip()
        has_begun |= re.match(r"(\.visible\s+)?\.entry\b", text) is not None
        if is_body and text == "}":
            is_body = has_begun = False
        if is_body and text and (text[0] == "@" or text[0].isalpha() or text.startswith("{ ")):
            made.append(f".loc 1 {number} 0")
        made.append(line)
        is_body |= has_begun and text == "{"
        if text.startswith(".address_size"):
            made.append('.file 1 "kernel.ptx"')
    return "\n".join(made)


def read(text: str) -> list[Block]:
    """The blocks of a listing with lines. Raises LookupError for jumps whose target it does not show."""
    blocks, begins, jumps, line, called = [Block()], {}, [], 0, set(CALLED.findall(text))
    for row in text.splitlines():
        if label := LABEL.match(row):
            if blocks[-1].instructions:
                _begin(blocks)
            begins[label[1]] = len(blocks) - 1
            line = 0 if label[1] in called else line
        elif here := LINE.match(row):
            line = int(here[1])
        elif code := INSTRUCTION.match(row):
            instruction = Instruction(*(part or "" for part in code.groups()))
            blocks[-1].instructions.append((instruction, line))
            if instruction.opcode in UNKNOWN:
                raise LookupError(f"unknown jump: {row.strip()}")
            if instruction.opcode in ENDS and not _is_rare(instruction):
                jumps.append((len(blocks) - 1, instruction))
                _begin(blocks, follows=_may_pass(instruction))
    for number, instruction in jumps:
        _add_jump(blocks, number, instruction, begins)
    return _reached(blocks)


def _begin(blocks: list[Block], follows: bool = True) -> None:
    if follows:
        blocks[-1].following.append(len(blocks))
    blocks.append(Block())


def _is_rare(instruction: Instruction) -> bool:
    """Whether the block is for threads that diverged before a shuffle: these have not, or results are undefined."""
    return instruction.opcode == "BRA" and instruction.modifiers.startswith((".DIV", ".CONV"))


def _may_pass(instruction: Instruction) -> bool:
    """Whether some thread may go on after it."""
    is_conditional = bool(instruction.predicate) or (
        instruction.opcode == "BRA" and not instruction.operands.startswith("`")
    )
    return is_conditional or instruction.opcode == "CALL"


def _add_jump(blocks: list[Block], number: int, instruction: Instruction, begins: dict[str, int]) -> None:
    block, aim = blocks[number], JUMP.search(instruction.operands)
    if instruction.opcode in ("EXIT", "RET"):
        block.ends = True
    elif aim is None or aim[1] not in begins:  # also of a BRX whose targets nvdisasm does not list
        raise LookupError(f"unknown jump: {instruction}")
    elif instruction.opcode in ("BRA", "BRX"):
        block.following += [begins[each] for each in JUMP.findall(instruction.operands)]
    elif not instruction.predicate:
        block.calls = begins[aim[1]]
    else:  # some threads call: they go through a block of no instructions
        blocks.append(Block(following=list(block.following), calls=begins[aim[1]]))
        block.following.append(len(blocks) - 1)


def _reached(blocks: list[Block]) -> list[Block]:
    """The blocks that the first one leads to, renumbered."""
    found, new = [0], {0: 0}
    for number in found:
        block = blocks[number]
        for aim in (*block.following, *([block.calls] if block.calls >= 0 else [])):
            if aim not in new:
                new[aim] = len(found)
                found.append(aim)
    kept = [blocks[number] for number in found]
    for block in kept:
        block.following = [new[aim] for aim in block.following]
        block.calls = new.get(block.calls, -1)
    return kept
