"""Basic blocks on the threads of a mask: what they leave in the frame, and where their threads go next."""

from abc import ABC, abstractmethod

from emulated_card import layout
from emulated_card.arrays import ArrayParameter, array_parameters, origins
from emulated_card.frames import slots_of
from emulated_card.ptx import CONVERGENT, Block, Instruction, KernelText, UnknownPtxError
from emulated_card.writer import FULL, INDEX, WARP, Writer, splat, vector

BUFFERS = 4  # vectors of 64 bits that are passed to execute.c


class Flow(ABC):
    """Blocks, registers and masks of one kernel."""

    def __init__(self, kernel: KernelText) -> None:
        self.kernel, self.writer = kernel, Writer()
        self.arrays: list[ArrayParameter] = array_parameters(kernel)
        self.origins = origins(kernel, self.arrays)
        self.read, self.written = set[int](), set[int]()  # arrays
        self.slots, self.frame = slots_of(kernel)
        self.values: dict[str, str] = {}  # of this block: registers as they are now
        self.changed: set[str] = set()
        self.mask = self.active = ""  # of this block, as bits and as a vector

    def text(self) -> str:
        w = self.writer
        for number in range(BUFFERS):
            w.put(f"%buffer{number} = alloca {vector('i64')}, align 64")
        for name, offset in (("frame", layout.FRAME), ("shared", layout.SHARED), ("local", layout.LOCAL)):
            w.put(f"%{name} = load ptr, ptr {w.place('%warp', offset)}")
        w.put(f"%counts = load ptr, ptr {w.place('%warp', layout.COUNTS)}")
        w.put(f"%flags = load i32, ptr {w.place('%launch', layout.FLAGS)}")
        at = w.field("%warp", layout.AT, "i32")
        targets = " ".join(f"i32 {block.number}, label %block{block.number}" for block in self.kernel.blocks)
        w.put(f"switch i32 {at}, label %block0 [{targets}]")
        for block in self.kernel.blocks:
            self._block(block)
        body = "\n  ".join(w.lines)
        declared = "\n".join(sorted(w.declared.values()))
        attributes = '"prefer-vector-width"="512" "min-legal-vector-width"="512" nounwind'
        constants = "".join(f"\\{byte:02X}" for byte in self.kernel.constants)
        constants = f'@constants = private constant [{len(self.kernel.constants)} x i8] c"{constants}", align 16'
        return f"{constants}\ndefine void @step(ptr %warp, ptr %launch) {attributes} {{\n  {body}\n}}\n{declared}\n"

    @abstractmethod
    def _instruction(self, instruction: Instruction) -> None:
        """Write an instruction that neither ends a block nor moves its threads."""

    # Blocks and the flow of control.

    def _block(self, block: Block) -> None:
        w = self.writer
        w.label(f"block{block.number}")
        self.values, self.changed = {}, set()
        self.mask = w.field("%warp", layout.MASK, "i32")
        self.active = w.mask_vector(self.mask)
        if block.instructions and _meets(block.instructions[0]):
            self._wait_for_others(block.instructions[0], block.number)
        self._count(block.number)
        for instruction in block.instructions:
            if self._is_end(instruction, block):
                return
            self._instruction(instruction)
        if block.number + 1 < len(self.kernel.blocks):
            self._go(block.number + 1)
        else:
            self._leave(layout.ENDED, block.number)

    def _count(self, number: int) -> None:
        w, place = self.writer, self.writer.place("%counts", 16 * number)
        threads = w.called("llvm.ctpop.i32", "i32", ("i32", self.mask))
        for offset, added in ((0, "1"), (8, w.made(f"zext i32 {threads} to i64"))):
            counter = w.place(place, offset)
            before = w.made(f"load i64, ptr {counter}")
            w.put(f"store i64 {w.made(f'add i64 {before}, {added}')}, ptr {counter}")

    def _is_end(self, instruction: Instruction, block: Block) -> bool:
        """Write the end of the block, if the instruction is one."""
        following = block.number + 1
        if instruction.base == "bra":
            target = self.kernel.labels[instruction.operands[0]]
            if instruction.guard:
                self._part(self._predicate(instruction.guard), target, following)
            else:
                self._go(target)
        elif instruction.base in ("ret", "exit"):
            if instruction.guard:
                raise UnknownPtxError(f"line {instruction.line}: a return for some threads")
            self._leave(layout.ENDED, block.number)
        elif instruction.name in ("bar.sync", "barrier.sync", "barrier.sync.aligned", "bar.cta.sync"):
            if instruction.guard or instruction.operands != ("0",):
                raise UnknownPtxError(f"line {instruction.line}: a barrier other than that of the whole block")
            self._leave(layout.AT_BARRIER, following)
        elif instruction.base in ("bar", "barrier") and not instruction.name.startswith("bar.warp"):
            raise UnknownPtxError(f"line {instruction.line}: {instruction.name} is not known to the emulated card")
        else:
            return False
        return True

    def _flush(self) -> None:
        """Write registers that others read back to the frame."""
        w = self.writer
        for register in sorted(self.changed & self.slots.keys()):
            place = w.place("%frame", self.slots[register])
            value = self.values[register]
            if self.kernel.registers[register] == 1:
                before = w.mask_vector(w.made(f"load i32, ptr {place}"))
                bits = w.mask_bits(w.select("i1", self.active, value, before))
                w.put(f"store i32 {bits}, ptr {place}")
            else:
                kind = f"i{self.kernel.registers[register]}"
                before = w.made(f"load {vector(kind)}, ptr {place}, align 64")
                w.put(f"store {vector(kind)} {w.select(kind, self.active, value, before)}, ptr {place}, align 64")
        self.changed = set()

    def _go(self, target: int) -> None:
        """Send all threads to one block: at once, unless diverged threads wait before it, or there."""
        w, here = self.writer, self.writer.name()[1:]
        self._flush()
        nearest = w.field("%warp", layout.NEAREST, "i32")
        w.branch(w.made(f"icmp ult i32 {target}, {nearest}"), f"block{target}", here)
        w.label(here)
        self._leave(layout.MOVED, target)

    def _part(self, condition: str, target: str | int, following: int) -> None:
        w = self.writer
        names = [w.name()[1:] for _ in range(4)]
        self._flush()
        taken = w.made(f"and i32 {w.mask_bits(condition)}, {self.mask}")
        others = w.made(f"xor i32 {taken}, {self.mask}")
        w.branch(w.made(f"icmp eq i32 {others}, 0"), names[0], names[1])
        w.label(names[0])
        self._go(int(target))
        w.label(names[1])
        w.branch(w.made(f"icmp eq i32 {taken}, 0"), names[2], names[3])
        w.label(names[2])
        self._go(following)
        w.label(names[3])
        w.put(f"store i32 {taken}, ptr {w.place('%warp', layout.MASK)}")
        w.put(f"store i32 {following}, ptr {w.place('%warp', layout.OTHER_AT)}")
        w.put(f"store i32 {others}, ptr {w.place('%warp', layout.OTHER_MASK)}")
        self._leave(layout.PARTED, int(target))

    def _leave(self, state: int, at: int) -> None:
        """Return to the scheduler; the threads are to go on at that block."""
        w = self.writer
        self._flush()
        w.put(f"store i32 {at}, ptr {w.place('%warp', layout.AT)}")
        w.put(f"store i32 {state}, ptr {w.place('%warp', layout.STATE)}")
        w.put("ret void")

    def _wait_for_others(self, instruction: Instruction, number: int) -> None:
        """Go on only when all live threads of the member mask have come."""
        w, members = self.writer, self._members(instruction)
        alive = w.field("%warp", layout.ALIVE, "i32")
        missing = w.made(f"and i32 {w.made(f'and i32 {members}, {alive}')}, {w.made(f'xor i32 {self.mask}, -1')}")
        away, here = w.name()[1:], w.name()[1:]
        w.branch(w.made(f"icmp eq i32 {missing}, 0"), here, away)
        w.label(away)
        self._leave(layout.WAITING, number)
        w.label(here)

    def _members(self, instruction: Instruction) -> str:
        """The threads that an instruction of a warp names, according to all that are here."""
        if instruction.base == "activemask":
            return self.mask
        operand = instruction.operands[-1]
        if operand.lstrip("-").isdigit():
            return str(int(operand) & FULL)
        w, value = self.writer, self._value(operand, "i32")
        seen = w.select("i32", self.active, value, splat("i32", 0))
        return w.called(f"llvm.vector.reduce.or.v{WARP}i32", "i32", (vector("i32"), seen))

    # Registers and operands.

    def _register(self, name: str) -> str:
        if name not in self.values:
            w, bits = self.writer, self.kernel.registers[name]
            place = w.place("%frame", self.slots[name])
            if bits == 1:
                self.values[name] = w.mask_vector(w.made(f"load i32, ptr {place}"))
            else:
                self.values[name] = w.made(f"load {vector(f'i{bits}')}, ptr {place}, align 64")
        return self.values[name]

    def _predicate(self, name: str) -> str:
        if name.startswith("!"):
            return self.writer.two("xor", "i1", self._register(name[1:]), splat("i1", 1))
        return self._register(name)

    def _value(self, operand: str, kind: str) -> str:
        """An operand's bits, as that kind of integer."""
        w = self.writer
        if operand in self.kernel.registers:
            bits = self.kernel.registers[operand]
            value = self._register(operand)
            return value if kind == "i1" or bits == 1 else w.resized(value, f"i{bits}", kind)
        if operand.startswith("!"):
            return self._predicate(operand)
        if operand.startswith("%"):
            return w.resized(self._special(operand), "i32", kind)
        if operand in self.kernel.symbols:
            return splat(kind, self.kernel.symbols[operand][0])
        if operand[:2] in ("0f", "0F", "0d", "0D"):
            return splat(kind, int(operand[2:], 16))
        try:
            return splat(kind, int(operand.rstrip("U"), 0))
        except ValueError:
            raise UnknownPtxError(f"the operand {operand} is not known to the emulated card") from None

    def _special(self, name: str) -> str:
        w, (register, _, axis) = self.writer, name.partition(".")
        number = "xyz".find(axis) if axis else -1
        if register == "%tid" and number >= 0:
            place = w.place("%frame", layout.THREAD_INDEX[number])
            return w.made(f"load {vector('i32')}, ptr {place}, align 64")
        if name == "%laneid":
            return INDEX
        if name == "%dynamic_smem_size":
            return w.spread("i32", w.field("%launch", layout.DYNAMIC_SHARED, "i32"))
        scalars = {"%ctaid": ("%warp", layout.BLOCK_INDEX), "%nctaid": ("%launch", layout.GRID)}
        scalars["%ntid"] = ("%launch", layout.BLOCK)
        if register in scalars and number >= 0:
            base, offset = scalars[register]
            return w.spread("i32", w.field(base, offset + 4 * number, "i32"))
        raise UnknownPtxError(f"the register {name} is not known to the emulated card")

    def _set(self, register: str, value: str, kind: str, guard: str, is_signed: bool = False) -> None:
        """Set the register for all threads; those outside the mask are left out at the end of the block."""
        if register == "_":
            return
        w, bits = self.writer, self.kernel.registers[register]
        if bits > 1:
            value, kind = w.resized(value, kind, f"i{bits}", is_signed), f"i{bits}"
        if guard:
            value = w.select(kind, self._predicate(guard), value, self._register(register))
        self.values[register] = value
        self.changed.add(register)


def _meets(instruction: Instruction) -> bool:
    return instruction.base in CONVERGENT or instruction.name.startswith("bar.warp")
