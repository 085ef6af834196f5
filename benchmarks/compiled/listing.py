"""Listings of machine code (SASS, as nvdisasm prints it): loops, and the pipe of each instruction.

Which pipe: "Pipelines" in the metrics guide of NVIDIA's Nsight Compute documentation. Moves are counted where the
compiler put them: it spreads them over MOV (ALU), IMAD.MOV (FMA) and HFMA2 (half).
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

PIPES = ("alu", "fma", "imad", "half", "fp64", "special", "memory", "control", "uniform", "system")
OPCODES = {
    "alu": "IADD IADD3 IADD32I VIADD VIADDMNMX VIMNMX VIMNMX3 IMNMX IABS ISCADD LEA LOP LOP3 LOP32I SHF SHL SHR SGXT"
    " BMSK SEL FSEL FSET FSETP FMNMX FMNMX3 ISETP ICMP MOV MOV32I PRMT PLOP3 PSETP P2R R2P CSET CSETP HMNMX2 VHMNMX"
    " HSETP2 HSET2 VABSDIFF VABSDIFF4 I2FP F2FP FCHK VOTE",
    "fma": "FADD FADD32I FADD2 FMUL FMUL32I FMUL2 FFMA FFMA32I FFMA2 FSWZADD",
    "imad": "IMAD IMAD32I IMUL IMUL32I IDP IDP4A",
    "half": "HADD2 HADD2_32I HMUL2 HMUL2_32I HFMA2 HFMA2_32I",
    "fp64": "DADD DMUL DFMA DSETP DMNMX",
    "special": "MUFU I2F F2I F2F FRND FLO POPC BREV I2I",
    "memory": "LD LDG LDS LDL LDC LDSM LDGSTS LDGDEPBAR ST STG STS STL ATOM ATOMS ATOMG RED REDG SHFL MATCH MEMBAR CCTL"
    " CCTLL ERRBAR CGAERRBAR FENCE",
    "control": "BRA BRX JMP JMX BSSY BSYNC BREAK EXIT RET CALL WARPSYNC NOP BAR YIELD NANOSLEEP DEPBAR BMOV KILL RPCMOV"
    " BPT ENDCOLLECTIVE ACQBULK PREEXIT",
    "system": "S2R CS2R S2UR CS2UR LEPC GETLMEMBASE",
}
PIPE = {opcode: pipe for pipe, opcodes in OPCODES.items() for opcode in opcodes.split()}
UNIFORM = re.compile(r"U[A-Z0-9]+|R2UR|VOTEU|REDUX|CREDUX|LDCU")  # one lane for the whole warp; only issued

LABEL = re.compile(r"(\.L_x?_?\d+):")
INSTRUCTION = re.compile(r"\s+/\*[0-9a-f]{4,}\*/\s+(@!?U?P[T0-9]\s+)?([A-Z][A-Z0-9_]*)(\S*)\s*(.*?);")
JUMP = re.compile(r"(\.L_x?_?\d+)")


@dataclass(frozen=True, slots=True)
class Instruction:
    predicate: str  # @P0, or nothing
    opcode: str  # VIADDMNMX
    modifiers: str  # .S16x2.RELU
    operands: str


@dataclass(frozen=True, slots=True)
class Listing:
    instructions: tuple[Instruction, ...]
    loops: tuple[tuple[int, int], ...]  # first instruction, last (the jump back); innermost ones alone


def read(text: str) -> Listing:
    """The instructions of a listing with labels (`nvdisasm -c`) and its innermost loops."""
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    back: list[tuple[int, int]] = []
    for line in text.splitlines():
        if label := LABEL.match(line):
            labels[label[1]] = len(instructions)
        elif code := INSTRUCTION.match(line):
            here = Instruction(*(part or "" for part in code.groups()))
            jump = JUMP.search(here.operands)
            if here.opcode == "BRA" and jump and jump[1] in labels:
                back.append((labels[jump[1]], len(instructions)))
            instructions.append(here)
    widest = dict(sorted(jump for jump in back if _is_loop(instructions[jump[0] : jump[1]])))
    loops = list(widest.items())  # of jumps back to one place, the last counts
    innermost = (a for a in loops if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in loops))
    return Listing(tuple(instructions), tuple(innermost))


def _is_loop(body: list[Instruction]) -> bool:
    """Exclude the jump to itself after a kernel's end, and the way back from rare code that was put there."""
    return bool(body) and not any(each.opcode in ("EXIT", "RET") and not each.predicate for each in body)


def hot_loop(listing: Listing, marker: str) -> tuple[Instruction, ...]:
    """The innermost loop with most instructions whose name and modifiers match `marker`; raises LookupError."""
    bodies = [listing.instructions[first : last + 1] for first, last in listing.loops]
    found = max(bodies, key=lambda body: count(body, marker), default=())
    if not count(found, marker):
        raise LookupError(f"no loop with {marker}")
    return found


def count(body: Iterable[Instruction], pattern: str) -> int:
    """Count instructions whose name with modifiers matches the pattern from its start."""
    wanted = re.compile(pattern)
    return sum(wanted.match(each.opcode + each.modifiers) is not None for each in body)


def by_pipe(body: Iterable[Instruction]) -> dict[str, int]:
    """Instructions per pipe; raises LookupError for one that the table does not know."""
    counts = Counter(pipe_of(each.opcode) for each in body)
    return {pipe: counts[pipe] for pipe in PIPES}


def pipe_of(opcode: str) -> str:
    if opcode in PIPE:
        return PIPE[opcode]
    if UNIFORM.fullmatch(opcode):
        return "uniform"
    raise LookupError(f"instruction {opcode}: not in the table of pipes")
