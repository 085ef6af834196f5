"""Translate a kernel's PTX to LLVM IR that runs it a warp at a time.

Each basic block becomes straight code on vectors, one element a thread, for the threads of a mask. Registers that live
beyond a block rest in the warp's frame; a block reads those it needs and writes back those it has set, for its own
threads alone. Where threads part at a branch, or have to wait for others, the function returns to the scheduler in
execute.c, which lets the threads at the lowest block go on, so that they meet again where paths join.
"""

import re

from emulated_card.flow import BUFFERS
from emulated_card.memory_access import ATOMICS, MemoryAccess
from emulated_card.operations import OPERATIONS
from emulated_card.ptx import BITS, Instruction, UnknownPtxError
from emulated_card.source import Source
from emulated_card.writer import bits_of, splat, vector

SHUFFLES = {"up": 0, "down": 1, "bfly": 2, "idx": 3}
REDUCTIONS = {"add": 0, "max": 1, "min": 2, "and": 5, "or": 6, "xor": 7}
FORMS = {  # those that are known of the instructions that are done here, by their base name
    "mov": r"mov\.([busf](16|32|64)|pred)",
    "cvta": r"cvta(\.to)?\.(global|shared|local|const)\.u64",
    "ld": r"ld(\.[\w:]+)*\.[busf](8|16|32|64)",
    "st": r"st(\.[\w:]+)*\.[busf](8|16|32|64)",
    **{name: rf"{name}(\.[\w:]+)*\.({'|'.join(ATOMICS)})\.[bus](32|64)" for name in ("atom", "red")},
    "shfl": rf"shfl\.sync\.({'|'.join(SHUFFLES)})\.b32",
    "redux": r"redux\.sync\.((add|max|min)\.[us]32|(and|or|xor)\.b32)",
    "vote": r"vote\.sync\.((all|any|uni)\.pred|ballot\.b32)",
    "activemask": r"activemask\.b32",
    "bar": r"bar\.warp\.sync",
    "membar": r"membar\.\w+",
    "fence": r"fence(\.\w+)+",
}


class Translation(MemoryAccess):
    """The LLVM module of one kernel."""

    # Instructions.

    def _instruction(self, instruction: Instruction) -> None:
        try:
            self._written_out(instruction)
        except UnknownPtxError as error:
            is_told = str(error).startswith("line ")
            told = str(error) if is_told else f"line {instruction.line}: {instruction.name}: {error}"
            raise UnknownPtxError(told) from None

    def _written_out(self, instruction: Instruction) -> None:
        base = instruction.base
        if base in OPERATIONS:
            source = Source(instruction, self.writer, self._value)
            value = OPERATIONS[base](source)
            is_signed = base == "cvt" and instruction.parts[-2][0] == "s"  # a register that has more bits gets the sign
            self._set(instruction.operands[0], value, _result_kind(instruction, source), instruction.guard, is_signed)
        elif base in FORMS and re.fullmatch(FORMS[base], instruction.name):
            getattr(self, f"_do_{base}")(instruction)
        else:
            raise UnknownPtxError(f"line {instruction.line}: {instruction.name} is not known to the emulated card")

    def _do_mov(self, i: Instruction) -> None:
        kind = "i1" if i.name == "mov.pred" else f"i{BITS[i.parts[-1]]}"
        first, second = i.operands
        w = self.writer
        if second.startswith("{"):
            low, high = (part.strip() for part in second.strip("{}").split(","))
            half = f"i{bits_of(kind) // 2}"
            wide = [w.resized(self._value(part, half), half, kind) for part in (low, high)]
            value = w.two("or", kind, wide[0], w.two("shl", kind, wide[1], splat(kind, bits_of(half))))
            self._set(first, value, kind, i.guard)
        elif first.startswith("{"):
            half, value = bits_of(kind) // 2, self._value(second, kind)
            for place, part in enumerate(first.strip("{}").split(",")):
                moved = w.two("lshr", kind, value, splat(kind, half * place))
                self._set(part.strip(), moved, kind, i.guard)
        else:
            self._set(first, self._value(second, kind), kind, i.guard)

    def _do_cvta(self, i: Instruction) -> None:
        """Generic addresses are those of their space; `origins` tells which one."""
        self._set(i.operands[0], self._value(i.operands[1], "i64"), "i64", i.guard)

    # Instructions of a whole warp; all its threads are there (`_wait_for_others`).

    def _do_shfl(self, i: Instruction) -> None:
        w = self.writer
        result, _, flag = i.operands[0].partition("|")
        operands = [w.resized(self._value(x, "i32"), "i32", "i64") for x in i.operands[1:4]]
        for number, value in enumerate(operands):
            w.put(f"store {vector('i64')} {value}, ptr %buffer{number}, align 64")
        buffers = [("ptr", f"%buffer{number}") for number in range(BUFFERS)]
        mode = ("i32", str(SHUFFLES[i.parts[2]] | i.line << 2))
        here = ("ptr", "%warp"), ("ptr", "%launch"), ("i32", self.mask)
        is_within = w.called("card_shuffle", "i32", *here, mode, *buffers)
        value = w.made(f"load {vector('i64')}, ptr %buffer3, align 64")
        self._set(result, value, "i64", i.guard)
        if flag:
            self._set(flag, w.mask_vector(is_within), "i1", i.guard)

    def _own_members(self, i: Instruction) -> str:
        """The mask that each thread names: several groups of a warp may reach one instruction."""
        return self._value(i.operands[-1], "i32")

    def _do_redux(self, i: Instruction) -> None:
        w, value, wide = self.writer, self._value(i.operands[1], "i32"), vector("i64")
        w.put(f"store {wide} {w.resized(value, 'i32', 'i64', i.parts[-1] == 's32')}, ptr %buffer0, align 64")
        w.put(f"store {wide} {w.resized(self._own_members(i), 'i32', 'i64')}, ptr %buffer1, align 64")
        code = ("i32", str(REDUCTIONS[i.parts[2]]))
        w.called("card_reduce", "void", ("i32", self.mask), code, *(("ptr", f"%buffer{n}") for n in (0, 1, 3)))
        self._set(i.operands[0], w.made(f"load {wide}, ptr %buffer3, align 64"), "i64", i.guard)

    def _do_vote(self, i: Instruction) -> None:
        w, members = self.writer, self._own_members(i)
        given = self._predicate(i.operands[1]) if i.operands[1].lstrip("!").startswith("%") else splat("i1", 1)
        votes = w.spread("i32", w.made(f"and i32 {w.mask_bits(given)}, {self.mask}"))
        votes, voters = (w.two("and", "i32", members, each) for each in (votes, w.spread("i32", self.mask)))
        if i.parts[2] == "ballot":
            self._set(i.operands[0], votes, "i32", i.guard)
            return
        every, none = w.compare("eq", "i32", votes, voters), w.compare("eq", "i32", votes, splat("i32", 0))
        made = {"all": every, "any": w.two("xor", "i1", none, splat("i1", 1)), "uni": w.two("or", "i1", every, none)}
        self._set(i.operands[0], made[i.parts[2]], "i1", i.guard)

    def _do_activemask(self, i: Instruction) -> None:
        self._set(i.operands[0], self.writer.spread("i32", self.mask), "i32", i.guard)

    def _do_bar(self, i: Instruction) -> None:
        """bar.warp.sync: what a warp wrote to shared memory before it is visible to the whole warp."""
        self.writer.called("card_warp_barrier", "void", ("ptr", "%warp"))

    def _do_membar(self, i: Instruction) -> None:
        """Memory is in order here."""

    _do_fence = _do_membar


def _result_kind(instruction: Instruction, source: Source) -> str:
    """The kind of integer that an operation gives."""
    base, parts = instruction.base, instruction.parts
    if base == "setp":
        return "i1"
    if base in ("set", "popc", "clz") or source.type in ("f16x2", "s16x2", "u16x2"):
        return "i32"
    if base == "cvt":
        return "i32" if parts[-2] == "f16x2" else f"i{BITS[parts[-2]]}"
    if base in ("mul", "mad") and "wide" in parts:
        return f"i{2 * BITS[parts[-1]]}"
    return "i1" if source.kind == "i1" else f"i{bits_of(source.kind)}"
