"""A kernel's PTX to LLVM IR that runs it a warp at a time.

Each basic block becomes straight code on vectors, one element a thread, for the threads of a mask. Registers that live
beyond a block rest in the warp's frame; a block reads those it needs and writes back those it has set, for its own
threads alone. Where threads part at a branch, or have to wait for others, the function returns to the scheduler in
execute.c, which lets the threads at the lowest block go on, so that they meet again where paths join.
"""

import re

from emulated_card import layout
from emulated_card.arrays import ArrayParameter, Origins, array_parameters, origins, parameter_of
from emulated_card.operations import OPERATIONS, Source
from emulated_card.ptx import BITS, CONVERGENT, Block, Instruction, KernelText, UnknownPtxError
from emulated_card.writer import FULL, INDEX, WARP, Writer, bits_of, splat, vector

ATOMICS = {"add": 0, "max": 1, "min": 2, "exch": 3, "cas": 4, "and": 5, "or": 6, "xor": 7}
SHUFFLES = {"up": 0, "down": 1, "bfly": 2, "idx": 3}
REDUCTIONS = {"add": 0, "max": 1, "min": 2, "and": 5, "or": 6, "xor": 7}
READ, WRITE, ATOMIC = range(3)
FORMS = {  # those that are known of the instructions that are done here, by their base name
    "mov": r"mov\.([busf](16|32|64)|pred)",
    "cvta": r"cvta(\.to)?\.(global|shared|local)\.u64",
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
LINE_BITS = 24  # of what tells an access: its line, above it the kind, then the bytes
SPACES = ("global", "shared", "local")
BUFFERS = 4  # vectors of 64 bits that are handed to execute.c


class Translation:
    """The LLVM module of one kernel."""

    def __init__(self, kernel: KernelText) -> None:
        self.kernel, self.writer = kernel, Writer()
        self.arrays: list[ArrayParameter] = array_parameters(kernel)
        self.origins = origins(kernel, self.arrays)
        self.read, self.written = set[int](), set[int]()  # arrays
        self.slots, self.frame = _slots(kernel)
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
        return f"define void @step(ptr %warp, ptr %launch) {attributes} {{\n  {body}\n}}\n{declared}\n"

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
        """Writes the end of the block where the instruction is one."""
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
        """Registers that others read, back to the frame."""
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
        """All threads to one block: at once, unless others that parted wait before it, or there."""
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
        """Back to the scheduler; the threads are to go on at that block."""
        w = self.writer
        self._flush()
        w.put(f"store i32 {at}, ptr {w.place('%warp', layout.AT)}")
        w.put(f"store i32 {state}, ptr {w.place('%warp', layout.STATE)}")
        w.put("ret void")

    def _wait_for_others(self, instruction: Instruction, number: int) -> None:
        """The block goes on only when all threads of the member mask that live have come."""
        w, members = self.writer, self._members(instruction)
        alive = w.field("%warp", layout.ALIVE, "i32")
        missing = w.made(f"and i32 {w.made(f'and i32 {members}, {alive}')}, {w.made(f'xor i32 {self.mask}, -1')}")
        away, here = w.name()[1:], w.name()[1:]
        w.branch(w.made(f"icmp eq i32 {missing}, 0"), here, away)
        w.label(away)
        self._leave(layout.WAITING, number)
        w.label(here)

    def _members(self, instruction: Instruction) -> str:
        """The threads that an instruction of a warp names, by all that are here."""
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
        if operand in self.kernel.shared or operand in self.kernel.local:
            return splat(kind, (self.kernel.shared | self.kernel.local)[operand][0])
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
        """The register's new value, for all threads; those beyond the mask are left out at the end of the block."""
        if register == "_":
            return
        w, bits = self.writer, self.kernel.registers[register]
        if bits > 1:
            value, kind = w.resized(value, kind, f"i{bits}", is_signed), f"i{bits}"
        if guard:
            value = w.select(kind, self._predicate(guard), value, self._register(register))
        self.values[register] = value
        self.changed.add(register)

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
        """Generic addresses are those of their space: `origins` tells which that is."""
        self._set(i.operands[0], self._value(i.operands[1], "i64"), "i64", i.guard)

    def _do_ld(self, i: Instruction) -> None:
        if i.parts[1] == "param":
            self._load_parameter(i)
            return
        kind, registers = f"i{BITS[i.parts[-1]]}", i.operands[0].strip("{}").split(",")
        mask = self._access(i, i.operands[1], READ, len(registers))
        for number, register in enumerate(registers):
            value = self._gathered(i, mask, kind, number)
            self._set(register.strip(), value, kind, i.guard, i.parts[-1].startswith("s"))

    def _load_parameter(self, i: Instruction) -> None:
        w, kind = self.writer, f"i{BITS[i.parts[-1]]}"
        places = w.made(f"load ptr, ptr {w.place('%launch', layout.PARAMETERS)}")
        there = w.made(f"load ptr, ptr {w.place(places, 8 * parameter_of(i))}")
        value = w.spread(kind, w.made(f"load {kind}, ptr {there}"))
        self._set(i.operands[0], value, kind, i.guard, i.parts[-1].startswith("s"))

    def _do_st(self, i: Instruction) -> None:
        kind, sources = f"i{BITS[i.parts[-1]]}", i.operands[1].strip("{}").split(",")
        mask = self._access(i, i.operands[0], WRITE, len(sources))
        for number, source in enumerate(sources):
            self._scattered(mask, self._value(source.strip(), kind), kind, number)

    def _do_atom(self, i: Instruction) -> None:
        self._atomic(i, i.operands[0], i.operands[1:])

    def _do_red(self, i: Instruction) -> None:
        self._atomic(i, "_", i.operands)

    def _atomic(self, i: Instruction, result: str, operands: tuple[str, ...]) -> None:
        """Done by execute.c, a thread after the other."""
        w, name, bits = self.writer, i.parts[-2], BITS[i.parts[-1]]
        mask, kind = self._access(i, operands[0], ATOMIC, 1), f"i{bits}"
        for number, operand in enumerate(operands[1:], 1):
            wide = w.resized(self._value(operand, kind), kind, "i64", i.parts[-1].startswith("s"))
            w.put(f"store {vector('i64')} {wide}, ptr %buffer{number}, align 64")
        code = ATOMICS[name] | (16 if i.parts[-1].startswith("s") else 0)
        buffers = [("ptr", f"%buffer{number}") for number in range(BUFFERS)]
        what = ("i32", mask), ("i32", str(code)), ("i32", str(bits))
        w.called("card_atomic", "void", ("ptr", "%launch"), *what, *buffers)
        value = w.made(f"load {vector('i64')}, ptr %buffer3, align 64")
        self._set(result, value, "i64", i.guard)

    def _access(self, i: Instruction, operand: str, kind: int, width: int) -> str:
        """Host addresses into buffer 0; the mask of threads whose access is allowed."""
        w, size = self.writer, BITS[i.parts[-1]] // 8
        mask, address = self.mask, self._address(operand)
        if i.guard:
            mask = w.made(f"and i32 {mask}, {w.mask_bits(self._predicate(i.guard))}")
        low, high, host, array, space = self._bounds(operand, kind)
        end = w.two("add", "i64", address, splat("i64", size * width))
        wrong = w.two("or", "i1", w.compare("ult", "i64", address, low), w.compare("ugt", "i64", end, high))
        if size * width > 1:
            odd = w.two("and", "i64", address, splat("i64", size * width - 1))
            wrong = w.two("or", "i1", wrong, w.compare("ne", "i64", odd, splat("i64", 0)))
        bad = w.made(f"and i32 {w.mask_bits(wrong)}, {mask}")
        w.put(f"store {vector('i64')} {w.two('add', 'i64', address, host)}, ptr %buffer0, align 64")
        return self._checked(i, mask, bad, array, (kind, size * width, SPACES.index(space)))

    def _checked(self, i: Instruction, mask: str, bad: str, array: int, what: tuple[int, int, int]) -> str:
        """Where something is wrong, or checks are on, checks.c says who may go on."""
        w, (kind, size, space) = self.writer, what
        slow, done = w.name()[1:], w.name()[1:]
        entry = w.name()[1:]
        w.put(f"br label %{entry}")
        w.label(entry)
        w.branch(w.made(f"icmp eq i32 {w.made(f'or i32 {bad}, %flags')}, 0"), done, slow)
        w.label(slow)
        told = i.line | kind << LINE_BITS | size << (LINE_BITS + 2)
        allowed = w.called(
            "card_access", "i32", ("ptr", "%warp"), ("ptr", "%launch"), ("ptr", "%buffer0"), ("i32", mask),
            ("i32", bad), ("i32", str(told)), ("i32", str(array)), ("i32", str(space)),
        )  # fmt: skip
        w.put(f"br label %{done}")
        w.label(done)
        return w.made(f"phi i32 [ {mask}, %{entry} ], [ {allowed}, %{slow} ]")

    def _address(self, operand: str) -> str:
        base, _, offset = operand.strip("[]").partition("+")
        w = self.writer
        address = self._value(base, "i64")
        return w.two("add", "i64", address, splat("i64", int(offset))) if offset else address

    def _bounds(self, operand: str, kind: int) -> tuple[str, str, str, int, str]:
        """Of what an operand may point into: low, high, what makes a host address of it, array or -1, space."""
        w, base = self.writer, operand.strip("[]").partition("+")[0]
        symbols = self.kernel.shared | self.kernel.local
        found: Origins = frozenset([base]) if base in symbols else self.origins.get(base, frozenset())
        if len(found) != 1:
            raise UnknownPtxError(f"{operand}: an address that may lie in {sorted(map(str, found)) or 'anything'}")
        (origin,) = found
        if isinstance(origin, int):
            if kind != WRITE:
                self.read.add(origin)
            if kind != READ:
                self.written.add(origin)
            places = (offset + 8 * origin for offset in (layout.LOW, layout.HIGH))
            low, high = (w.spread("i64", w.field("%launch", place, "i64")) for place in places)
            return low, high, splat("i64", 0), origin, "global"
        place, size = symbols[origin]
        high = splat("i64", place + size)
        if size < 0:
            high = w.spread("i64", w.field("%warp", layout.SHARED_SIZE, "i64"))
        space = "shared" if origin in self.kernel.shared else "local"
        start = w.made(f"ptrtoint ptr %{space} to i64")
        host = w.spread("i64", start)
        if space == "local":
            each = w.two("mul", "i64", w.cast("zext", "i32", INDEX, "i64"), splat("i64", self.kernel.local_bytes))
            host = w.two("add", "i64", host, each)
        return splat("i64", place), high, host, -1, space

    def _pointers(self, number: int, kind: str) -> str:
        w = self.writer
        address = w.made(f"load {vector('i64')}, ptr %buffer0, align 64")
        if number:
            address = w.two("add", "i64", address, splat("i64", number * bits_of(kind) // 8))
        return w.made(f"inttoptr {vector('i64')} {address} to <{WARP} x ptr>")

    def _gathered(self, i: Instruction, mask: str, kind: str, number: int) -> str:
        w = self.writer
        arguments = (f"<{WARP} x ptr>", self._pointers(number, kind)), ("i32", "1"), (vector("i1"), w.mask_vector(mask))
        left = (vector(kind), splat(kind, 0x5A5A5A5A5A5A5A5A))  # what threads get that may not read
        return w.called(f"llvm.masked.gather.v{WARP}{kind}.v{WARP}p0", vector(kind), *arguments, left)

    def _scattered(self, mask: str, value: str, kind: str, number: int) -> None:
        w = self.writer
        arguments = (f"<{WARP} x ptr>", self._pointers(number, kind)), ("i32", "1"), (vector("i1"), w.mask_vector(mask))
        w.called(f"llvm.masked.scatter.v{WARP}{kind}.v{WARP}p0", "void", (vector(kind), value), *arguments)

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
        """For each thread the mask that it names: several groups of a warp may come to one instruction."""
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
        """bar.warp.sync: what a warp wrote to shared memory before is there for all of it."""
        self.writer.called("card_warp_barrier", "void", ("ptr", "%warp"))

    def _do_membar(self, i: Instruction) -> None:
        """Memory is in order here."""

    _do_fence = _do_membar


def _meets(instruction: Instruction) -> bool:
    return instruction.base in CONVERGENT or instruction.name.startswith("bar.warp")


def _slots(kernel: KernelText) -> tuple[dict[str, int], int]:
    """Places in the frame of the registers that one block leaves to another, and the bytes of the frame."""
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
