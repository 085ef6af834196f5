"""Single instructions of PTX as functions that kernels call, and a kernel that applies many of them to many values."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

ALL = 0xFFFFFFFFFFFFFFFF
THREADS = 64  # of a block
INTO = {
    16: "cvt.u16.u64 {0}, {1};",
    32: "cvt.u32.u64 {0}, {1};",
    64: "mov.b64 {0}, {1};",
    1: "setp.ne.u64 {0}, {1}, 0;",
}
OUT_OF = {
    16: "cvt.u64.u16 {0}, {1};",
    32: "cvt.u64.u32 {0}, {1};",
    64: "mov.b64 {0}, {1};",
    1: "selp.u64 {0}, 1, 0, {1};",
}


@dataclass(frozen=True)
class Operation:
    """PTX over the registers d, a, b and c; its oracle takes the operands' bits as integers and gives those of d."""

    ptx: str
    result: int  # bits; 1: a predicate
    operands: tuple[int, ...]  # bits of a, b and c
    expected: Callable[..., int]

    def wanted(self, values: tuple[int, ...]) -> int:
        taken = zip(values, self.operands, strict=False)
        given = (value & (1 << bits) - 1 if bits > 1 else value != 0 for value, bits in taken)
        return int(self.expected(*given)) & (1 << self.result) - 1


def inline(ptx: str, result: int, operands: tuple[int, ...]) -> Any:
    """The instructions as a function of three uint64, each cut to the operand's bits, that gives one."""
    registers = zip("abc", operands, strict=False)
    declared = [f".reg .{'pred' if bits == 1 else f'b{bits}'} {name};" for name, bits in registers]
    declared.append(f".reg .{'pred' if result == 1 else f'b{result}'} d;")
    taken = [INTO[bits].format("abc"[i], f"${i + 1}") for i, bits in enumerate(operands)]
    return raw(" ".join([*declared, *taken, ptx, OUT_OF[result].format("$0", "d")]))


def raw(ptx: str) -> Any:
    """The same without registers of its own: $0 is the result, $1 to $3 are the arguments."""
    from llvmlite import ir
    from numba.core import types
    from numba.cuda.extending import intrinsic

    def codegen(context, builder, signature, values):
        word = ir.IntType(64)
        assembly = ir.InlineAsm(ir.FunctionType(word, [word] * 3), f"{{ {ptx} }}", "=l,l,l,l", side_effect=True)
        return builder.call(assembly, values)

    def typing(typing_context, a, b, c):
        return types.uint64(types.uint64, types.uint64, types.uint64), codegen

    return intrinsic(typing)


def applied(operations: list[Operation], values: np.ndarray) -> np.ndarray:
    """uint64 [operations, threads]: what each gives for uint64 [3, threads] on the card."""
    from emulated_card.tests.cuda import cuda

    names = {f"f{i}": inline(each.ptx, each.result, each.operands) for i, each in enumerate(operations)}
    calls = "\n".join(
        f"        out[{i}, t] = f{i}(values[0, t], values[1, t], values[2, t])" for i in range(len(names))
    )
    source = f"def kernel(values, out):\n    t = cuda.grid(1)\n    if t < out.shape[1]:\n{calls}\n"
    namespace: dict[str, Any] = names | {"cuda": cuda}
    exec(source, namespace)
    out = cuda.to_device(np.zeros((len(operations), values.shape[1]), np.uint64))
    cuda.jit(namespace["kernel"])[-(-values.shape[1] // THREADS), THREADS](cuda.to_device(values), out)
    return out.copy_to_host()


def differences(operations: list[Operation], values: np.ndarray, same: Callable[[int, int], bool]) -> list[str]:
    """Descriptions of where card and oracle differ; at most three for each operation."""
    told = []
    columns = [tuple(map(int, column)) for column in values.T]
    for each, row in zip(operations, applied(operations, values).tolist(), strict=True):
        wanted = [each.wanted(column) for column in columns]
        wrong = [i for i, (found, right) in enumerate(zip(row, wanted, strict=True)) if not same(found, right)]
        told += [f"{each.ptx} of {[hex(v) for v in columns[i]]}: {row[i]:#x}, not {wanted[i]:#x}" for i in wrong[:3]]
    return told
