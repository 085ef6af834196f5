"""Which parameters of a kernel are arrays, and which of them an address may lie in.

A kernel's name has the types of its arguments (numba-cuda mangles them the Itanium way), and an array becomes the
parameters meminfo, parent, items, item size, data, shape and strides. Addresses are followed from `data` through the
registers, so that each access is held against the array that it was computed from, not against any of them.
"""

import re
from dataclasses import dataclass

from emulated_card.ptx import Instruction, KernelText, UnknownPtxError

MOST_ARRAYS = 64  # of card.h
DATA, SHAPE = 4, 5  # parameters of an array, from its first on
CARRIES = {  # operands whose origin the result has; `or` adds to what is aligned
    "add": (1, 2), "or": (1, 2), "sub": (1,), "mov": (1,), "cvt": (1,), "cvta": (1,), "selp": (1, 2), "mad": (3,),
    "max": (1, 2), "min": (1, 2),
}  # fmt: skip
Origins = frozenset[int | str]  # numbers of arrays, symbols of shared, local and constant memory


@dataclass(frozen=True, slots=True)
class ArrayParameter:
    first: int  # of its parameters
    axes: int


def array_parameters(kernel: KernelText) -> list[ArrayParameter]:
    """The arrays among a kernel's parameters, in order. Raises UnknownPtxError if the name does not tell them."""
    found, first = [], 0
    for kind in argument_types(kernel.name):
        first = _add(found, kind, first)
    if len(found) > MOST_ARRAYS:
        raise UnknownPtxError(f"{kernel.name}: {len(found)} arrays; the emulated card takes {MOST_ARRAYS}")
    if first != len(kernel.parameters):
        raise UnknownPtxError(f"{kernel.name}: its name tells of {first} parameters, it has {len(kernel.parameters)}")
    return found


def argument_types(name: str) -> list[object]:
    """Types of the arguments by a mangled name: letters for scalars, (name, parts) for types with parts."""
    reader = _Reader(name)
    reader.expect("_Z")
    if reader.taken("N"):
        while not reader.taken("E"):
            reader.identifier()
    else:
        reader.identifier()
    return list(reader.types_until_end())


def _add(found: list[ArrayParameter], kind: object, first: int) -> int:
    """Note the arrays of an argument whose parameters begin there; return where the next argument's begin."""
    if isinstance(kind, str):
        return first + 1
    name, parts = kind  # type: ignore[misc]
    if name == "Array":
        found.append(ArrayParameter(first, int(parts[1])))
        return first + SHAPE + 2 * int(parts[1])
    if name == "UniTuple":
        parts = [parts[0]] * int(parts[1])
    elif name != "Tuple":
        return first + (0 if name.startswith(("Literal", "omitted", "none")) else 1)
    for part in parts:
        first = _add(found, part, first)
    return first


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0

    def taken(self, letters: str) -> bool:
        if self.text.startswith(letters, self.place):
            self.place += len(letters)
            return True
        return False

    def expect(self, letters: str) -> None:
        if not self.taken(letters):
            raise UnknownPtxError(f"{self.text}: not a mangled name at {self.place}")

    def identifier(self) -> str:
        """<length><letters>, and the tags B<length><letters> after it."""
        number = re.compile(r"\d+").match(self.text, self.place)
        if not number:
            raise UnknownPtxError(f"{self.text}: not a mangled name at {self.place}")
        name = self.text[number.end() : number.end() + int(number[0])]
        self.place = number.end() + int(number[0])
        while self.taken("B"):
            self.identifier()
        return name

    def types_until_end(self):
        while self.place < len(self.text) and self.text[self.place] != "E":
            yield self.one_type()

    def one_type(self) -> object:
        if self.taken("L"):  # a literal: its type's letter and its value
            value = re.compile(r"[a-z](n?\d+)E").match(self.text, self.place)
            if not value:
                raise UnknownPtxError(f"{self.text}: not a mangled name at {self.place}")
            self.place = value.end()
            return value[1].replace("n", "-")
        if not self.text[self.place].isdigit():
            self.place += 1
            return self.text[self.place - 1]
        name, parts = self.identifier(), []
        if "_28" in name:
            return named_tuple(name)
        if self.taken("I"):
            parts = list(self.types_until_end())
            self.expect("E")
        return name, parts


def named_tuple(name: str) -> object:
    """The type of a named tuple by its text, `Ends(array(int32, 1d, C) x 3)`, with all but letters in hexadecimal."""
    tokens = re.findall(r"[(),]|\w+", re.sub(r"_([0-9a-f]{2})", lambda code: chr(int(code[1], 16)), name))[::-1]

    def one() -> object:
        kind, parts = tokens.pop(), []
        if not tokens or tokens[-1] != "(":
            return kind
        while tokens.pop() != ")":
            parts.append(one())
            if tokens[-1] == "x":
                tokens.pop()
                parts *= int(tokens.pop())
        return ("Array", (parts[0], parts[1][0])) if kind == "array" else ("Tuple", parts)

    return one()


def origins(kernel: KernelText, arrays: list[ArrayParameter]) -> dict[str, Origins]:
    """For each register that may hold an address, the arrays it may point into."""
    by_parameter = {array.first + DATA: number for number, array in enumerate(arrays)}
    symbols = set(kernel.symbols)
    found: dict[str, Origins] = {}
    is_changed = True
    while is_changed:
        is_changed = False
        for block in kernel.blocks:
            for instruction in block.instructions:
                new = _origins_of(instruction, found, by_parameter, symbols)
                if new and not new <= found.get(instruction.operands[0], frozenset()):
                    found[instruction.operands[0]] = found.get(instruction.operands[0], frozenset()) | new
                    is_changed = True
    return found


def _origins_of(
    instruction: Instruction, found: dict[str, Origins], by_parameter: dict[int, int], symbols: set[str]
) -> Origins:
    if instruction.name.startswith("ld.param"):
        number = by_parameter.get(parameter_of(instruction))
        return frozenset() if number is None else frozenset([number])
    made: Origins = frozenset()
    for place in CARRIES.get(instruction.base, ()):
        operand = instruction.operands[place] if place < len(instruction.operands) else ""
        made |= frozenset([operand]) if operand in symbols else found.get(operand, frozenset())
    return made


def parameter_of(instruction: Instruction) -> int:
    """The number of the parameter that ld.param loads."""
    number = re.search(r"_param_(\d+)\]$", instruction.operands[1])
    if not number:
        raise UnknownPtxError(f"line {instruction.line}: {instruction.operands[1]}: not a parameter")
    return int(number[1])
