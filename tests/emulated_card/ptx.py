"""Parse PTX text into kernels of basic blocks (PTX ISA manual, chapters 4, 5 and 9). Nothing is executed here."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

CONVERGENT = ("shfl", "redux", "vote", "match", "activemask")  # threads of a warp meet there: a block begins with each
SHARED_BASE = 256  # address of the first shared byte: an address of 0 stays a mistake
Scope = tuple[str, set[str]]  # the prefix of its registers' names, and these
BITS = {f"{kind}{bits}": bits for kind in "busf" for bits in (8, 16, 32, 64)} | {"pred": 1}


class UnknownPtxError(Exception):
    """Something that the emulated card cannot do; says what and where."""


@dataclass(frozen=True, slots=True)
class Instruction:
    name: str  # with all its suffixes
    operands: tuple[str, ...]  # as written; `d|p` and `{a, b}` are one
    guard: str  # %p1, !%p1 or nothing
    line: int  # of the PTX

    @property
    def parts(self) -> list[str]:
        return self.name.split(".")

    @property
    def base(self) -> str:
        return self.name.partition(".")[0]


@dataclass(slots=True)
class Block:
    """Instructions of which only the last, or the last two, may branch."""

    number: int
    instructions: list[Instruction] = field(default_factory=list)


@dataclass(slots=True)
class KernelText:
    name: str
    parameters: list[str]  # their types
    registers: dict[str, int]  # bits by name; predicates have 1
    shared: dict[str, tuple[int, int]]  # address and bytes by symbol; -1 bytes: what the launch adds
    local: dict[str, tuple[int, int]]  # likewise, of a thread
    constant: dict[str, tuple[int, int]]  # likewise, in `constants`
    constants: bytes  # of the module
    blocks: list[Block]
    labels: dict[str, int]  # block by label

    @property
    def symbols(self) -> dict[str, tuple[int, int]]:
        return self.shared | self.local | self.constant

    @property
    def shared_bytes(self) -> int:
        return max((place + max(size, 0) for place, size in self.shared.values()), default=SHARED_BASE)

    @property
    def local_bytes(self) -> int:
        return max((place + size for place, size in self.local.values()), default=0)


def read(text: str) -> list[KernelText]:
    """The kernels of a PTX module."""
    text = without_comments(text)
    if functions := re.search(r"^\s*(?:\.visible |\.weak )?\.func\b[^;{]*\{", text, re.MULTILINE):
        raise UnknownPtxError(f"line {_line(text, functions.start())}: a function that kernels call")
    outer, constant = _symbols(text, "shared", SHARED_BASE), _constants(text)
    entry = re.compile(r"\.entry\s+([\w$]+)\s*\((.*?)\)(.*?)^\}", re.DOTALL | re.MULTILINE)
    return [_kernel(text, match, outer, *constant) for match in entry.finditer(text)]


def without_comments(text: str) -> str:
    """The text, with all its lines."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL)
    return re.sub(r"//[^\n]*", "", text)


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _symbols(text: str, space: str, base: int) -> dict[str, tuple[int, int]]:
    """Arrays declared in a state space, laid out one after the other, with gaps between them."""
    found, place = {}, base
    pattern = rf"\.{space}\s+\.align\s+(\d+)\s+\.([bu]\d+)\s+([\w$]+)(?:\[(\d*)\])?\s*;"
    for align, kind, name, number in re.findall(pattern, text):
        place = -(-place // max(16, int(align))) * max(16, int(align))
        size = -1 if number == "" and f"{name}[]" in text else int(number or 1) * BITS[kind] // 8
        found[name] = (place, size)
        place += max(size, 0)
    return found


def _constants(text: str) -> tuple[dict[str, tuple[int, int]], bytes]:
    """Arrays of constants, one after the other with gaps between them, and their bytes; what is left out is 0."""
    found, content = {}, bytearray(SHARED_BASE)
    pattern = r"\.const\s+\.align\s+\d+\s+\.b8\s+([\w$]+)\[(\d+)\]\s*=\s*\{([^}]*)\}"
    for name, size, values in re.findall(pattern, text):
        given = bytes(int(value) for value in values.split(","))
        found[name] = (len(content), int(size))
        content += given.ljust(-(-int(size) // 16) * 16 + 16, b"\0")
    return found, bytes(content)


def _kernel(
    text: str,
    match: re.Match[str],
    shared: dict[str, tuple[int, int]],
    constant: dict[str, tuple[int, int]],
    constants: bytes,
) -> KernelText:
    name, parameters, rest = match[1], match[2], match[3]
    body = rest[rest.index("{") + 1 :]
    first = _line(text, match.end(3) - len(body))
    kinds = re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)", parameters)
    used = {symbol: place for symbol, place in shared.items() if re.search(rf"\b{re.escape(symbol)}\b", body)}
    used |= _symbols(body, "shared", max((p + max(s, 0) for p, s in used.values()), default=SHARED_BASE))
    made = KernelText(name, kinds, {}, used, _symbols(body, "local", 0), constant, constants, [Block(0)], {})
    scopes: list[Scope] = []
    numbers = count()
    for number, line in enumerate(body.split("\n"), first):
        for statement in line.split(";"):
            statement = statement.strip()
            while statement and statement[0] in "{}":
                if statement[0] == "{":
                    scopes.append((f"%scope{next(numbers)}.", set()))
                elif scopes:
                    scopes.pop()
                statement = statement[1:].strip()
            _add(made, _renamed(statement, scopes), number)
    return made


def _renamed(statement: str, scopes: list[Scope]) -> str:
    """The text with unique names for registers declared in braces, as in inline PTX."""
    declared = re.fullmatch(r"\.reg\s+\.(\w+)\s+(.*)", statement)
    if declared and scopes:
        names = [name.strip() for name in declared[2].split(",")]
        prefix, own = scopes[-1]
        own |= {register for name in names for register in _declared(name, 0)}
        return f".reg .{declared[1]} {', '.join(prefix + name for name in names)}"
    for prefix, own in reversed(scopes):
        if own:
            pattern = rf"(?<![\w%.$])({'|'.join(map(re.escape, own))})(?![\w.])"
            statement = re.sub(pattern, lambda m, prefix=prefix: prefix + m[1], statement)  # type: ignore[misc]
    return statement


def _add(kernel: KernelText, statement: str, line: int) -> None:
    while label := re.match(r"(\$?[\w$]+):", statement):
        kernel.labels[label[1]] = _begin(kernel)
        statement = statement[label.end() :].strip()
    if declared := re.fullmatch(r"\.reg\s+\.(\w+)\s+(.*)", statement):
        for name in declared[2].split(","):
            kernel.registers |= _declared(name.strip(), BITS[declared[1]])
    elif statement and statement[0] not in ".{}":
        instruction = parse(statement, line)
        if instruction.base in CONVERGENT or instruction.name.startswith("bar.warp"):
            _begin(kernel)
        kernel.blocks[-1].instructions.append(instruction)
        if instruction.base in ("bra", "ret", "exit", "bar", "barrier"):
            _begin(kernel)


def _begin(kernel: KernelText) -> int:
    """The number of the block that the next instruction goes to."""
    if kernel.blocks[-1].instructions:
        kernel.blocks.append(Block(len(kernel.blocks)))
    return kernel.blocks[-1].number


def _declared(name: str, bits: int) -> dict[str, int]:
    """%r<5> declares %r0 to %r4."""
    many = re.fullmatch(r"([%\w$.]+)<(\d+)>", name)
    return {f"{many[1]}{i}": bits for i in range(int(many[2]))} if many else {name: bits}


def parse(statement: str, line: int) -> Instruction:
    guard = ""
    if guarded := re.match(r"@(!?[%\w$.]+)\s+", statement):
        guard, statement = guarded[1], statement[guarded.end() :]
    name, _, rest = statement.replace("\t", " ").partition(" ")
    return Instruction(name, tuple(_operands(rest)), guard, line)


def _operands(text: str) -> Iterator[str]:
    """The parts between commas; braces and brackets stay together."""
    depth, part = 0, ""
    for letter in text:
        depth += (letter in "{[") - (letter in "}]")
        if letter == "," and not depth:
            yield part.strip()
            part = ""
        else:
            part += letter
    if part.strip():
        yield part.strip()
