"""Loads, stores and atomics: each thread's address, its bounds, and what happens if it is beyond them."""

from emulated_card import layout
from emulated_card.arrays import Origins, parameter_of
from emulated_card.flow import BUFFERS, Flow
from emulated_card.ptx import BITS, Instruction, UnknownPtxError
from emulated_card.writer import INDEX, WARP, bits_of, splat, vector

ATOMICS = {"add": 0, "max": 1, "min": 2, "exch": 3, "cas": 4, "and": 5, "or": 6, "xor": 7}
READ, WRITE, ATOMIC = range(3)
LINE_BITS = 24  # of what tells an access: its line, above it the kind, then the bytes
SPACES = ("global", "shared", "local", "constant")  # as in execute.h


class MemoryAccess(Flow):
    """Instructions that touch memory."""

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
        """Atomics are done by execute.c, one thread after the other."""
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
        """Put host addresses into buffer 0; return the mask of threads whose access is allowed."""
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
        """If something is wrong, or checks are on, checks.c says which threads may go on."""
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
        """What an operand may point into: low, high, offset to a host address, array or -1, space."""
        w, base = self.writer, operand.strip("[]").partition("+")[0]
        symbols = self.kernel.symbols
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
        space = next(name for name in SPACES[1:] if origin in getattr(self.kernel, name))
        start = w.made(f"ptrtoint ptr {'@constants' if space == 'constant' else f'%{space}'} to i64")
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
        left = (vector(kind), splat(kind, 0x5A5A5A5A5A5A5A5A))  # the values for threads that may not read
        return w.called(f"llvm.masked.gather.v{WARP}{kind}.v{WARP}p0", vector(kind), *arguments, left)

    def _scattered(self, mask: str, value: str, kind: str, number: int) -> None:
        w = self.writer
        arguments = (f"<{WARP} x ptr>", self._pointers(number, kind)), ("i32", "1"), (vector("i1"), w.mask_vector(mask))
        w.called(f"llvm.masked.scatter.v{WARP}{kind}.v{WARP}p0", "void", (vector(kind), value), *arguments)
