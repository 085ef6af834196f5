"""Kernels to machine code without a GPU: Numba and libNVVM to PTX, ptxas to a cubin, nvdisasm to a listing.

    python -m compiled.compile CAPABILITY FOLDER NAME ...      writes the PTX of the kernels into the folder

runs in a separate process for each capability, because a rule that kernels share is compiled once per process.
"""

import fcntl
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_type_hints

from compiled import listing
from compiled.kernels import CEILINGS, KERNELS, Kernel
from compiled.occupancy import occupancy

BENCHMARKS = Path(__file__).parent.parent
NO_KERNELS = ("cli", "report", "run")  # rooms of the package that change often and compile nothing
LIMIT = "// registers: "  # of a kernel that is compiled for at most so many; a comment in its PTX


@dataclass(frozen=True, slots=True)
class Code:
    """A kernel's machine code for one capability."""

    kernel: Kernel
    capability: int
    registers: int
    stack: int  # bytes, like all that follows
    spill_stores: int
    spill_loads: int
    shared: int
    listing: listing.Listing

    @property
    def occupancy(self) -> float:
        shared = self.shared + self.kernel.dynamic_shared
        return occupancy(self.capability, self.registers, shared, self.kernel.threads)

    def per_cell(self) -> dict[str, float]:
        """Instructions of the hot loop by pipe, per cell (per pair of cells when packed); raises LookupError."""
        loop = self.kernel.loop
        if loop is None:
            raise LookupError(f"{self.kernel.name}: it names no hot loop")
        body = listing.hot_loop(self.listing, loop.marker)
        cells = listing.count(body, loop.step) / loop.per_step * loop.cells
        return {pipe: number / cells for pipe, number in listing.by_pipe(body).items()}


@cache
def tool(name: str) -> str | None:
    """ptxas or nvdisasm of the wheels nvidia-cuda-nvcc and nvidia-cuda-nvdisasm."""
    package = find_spec("nvidia")
    roots = (package.submodule_search_locations or []) if package else []
    return next((str(path) for root in roots for path in sorted(Path(root).glob(f"*/bin/{name}"))), None)


def compiled(capability: int, kernels: Sequence[Kernel] = KERNELS) -> dict[str, Code]:
    """The code of the kernels that exist for a capability, by name. Ends the program if one fails.

    What was compiled of the same sources before is taken from the folder.
    """
    folder, wanted = kept(capability), [kernel for kernel in kernels if capability in kernel.capabilities]
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests ask from several processes
        missing = [kernel for kernel in wanted if not _file(folder, kernel, "sass").exists()]
        if missing:
            _build(capability, folder, missing)
    return {kernel.name: _code(kernel, capability, folder) for kernel in wanted}


def kept(capability: int) -> Path:
    """The folder of PTX, cubins, listings and ptxas' messages, beside the package's compiled kernels."""
    from readwarp.compiler.kernel_cache import PACKAGE, digest_of, made

    made_by = [version(name) for name in ("numba-cuda", "nvidia-cuda-nvcc", "nvidia-cuda-nvdisasm")]
    ours = [Path(__file__).parent / name for name in ("compile.py", "kernels.py")]
    theirs = [path for path in sorted(PACKAGE.rglob("*.py")) if path.relative_to(PACKAGE).parts[0] not in NO_KERNELS]
    digest = digest_of([*made_by, *(path.read_text() for path in ours + theirs)])
    return made(Path(f"sass-{digest}")) / f"sm_{capability}"


def _build(capability: int, folder: Path, kernels: Sequence[Kernel]) -> None:
    path = os.pathsep.join(filter(None, (str(BENCHMARKS), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "compiled.compile", str(capability), str(folder), *(k.name for k in kernels)]
    _run(command, {**os.environ, "PYTHONPATH": path})
    for kernel in kernels:
        source, cubin = _file(folder, kernel, "ptx"), _file(folder, kernel, "cubin")
        limit = re.search(rf"^{LIMIT}(\d+)", source.read_text(), re.MULTILINE)
        options = ["-v", f"-arch=sm_{capability}", *([f"-maxrregcount={limit[1]}"] if limit else [])]
        _file(folder, kernel, "txt").write_text(run_tool("ptxas", *options, str(source), "-o", str(cubin)).stderr)
        unfinished = _file(folder, kernel, "part")
        unfinished.write_text(run_tool("nvdisasm", "-c", str(cubin)).stdout)
        unfinished.replace(_file(folder, kernel, "sass"))


def _code(kernel: Kernel, capability: int, folder: Path) -> Code:
    said = _file(folder, kernel, "txt").read_text()
    sizes = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", said)
    registers, shared = re.search(r"Used (\d+) registers", said), re.search(r"(\d+) bytes smem", said)
    if not sizes or registers is None:
        sys.exit(f"{kernel.name}: ptxas reports neither registers nor spills: {said}")
    memory = (max(int(each[i]) for each in sizes) for i in range(3))  # of the kernel and the functions it calls
    text = _file(folder, kernel, "sass").read_text()
    return Code(kernel, capability, int(registers[1]), *memory, int(shared[1]) if shared else 0, listing.read(text))


def _file(folder: Path, kernel: Kernel, kind: str) -> Path:
    return folder / f"{kernel.name.replace(' ', '_')}.{kind}"


def write_ptx(capability: int, folder: Path, names: Sequence[str]) -> None:
    from numba.cuda import dispatcher

    cc = divmod(capability, 10)
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=cc)  # of the rules that kernels call
    for kernel in (*KERNELS, *CEILINGS):
        if kernel.name in names:
            _file(folder, kernel, "ptx").write_text(_ptx(kernel, cc))


def _ptx(kernel: Kernel, cc: tuple[int, int]) -> str:
    from numba import cuda

    made = kernel.compiled_by()
    options = getattr(made, "targetoptions", {})
    ptx, _ = cuda.compile_ptx(
        made.py_func, types_of(kernel.arguments), cc=cc,
        fastmath=options.get("fastmath", False), launch_bounds=options.get("launch_bounds"),
    )  # fmt: skip
    if f".target sm_{cc[0]}{cc[1]}" not in ptx or ".entry" not in ptx:
        sys.exit(f"{kernel.name}: no kernel for sm_{cc[0]}{cc[1]} in its PTX")
    limit = options.get("max_registers")
    return ptx + (f"\n{LIMIT}{limit}\n" if limit else "")


def types_of(arguments: str) -> tuple[Any, ...]:
    """Numba's types of `u1[] i8 (f4[,] i4) align.batches.SeedHits pairwise.pairs.Costs(i4 i4 i4 i4 i4)`."""
    import numba

    found: list[list[Any]] = [[]]  # of the tuple that is open, and of those around it
    kinds: list[type] = []  # of the tuples that are open
    for each in re.findall(r"[\w.]*\(|\)|[^\s()]+", arguments):
        if each.endswith("("):
            found.append([])
            kinds.append(_batch_type(each[:-1]) if each[:-1] else tuple)
        elif each == ")":
            members = found.pop()
            found[-1].append(numba.types.BaseTuple.from_types(members, kinds.pop()))
        elif "." in each:
            found[-1].append(_declared(_batch_type(each)))
        else:
            code, bracket, axes = each.partition("[")
            found[-1].append(_type(code, axes.count(",") + 1 if bracket else 0))
    return tuple(found[0])


def signature_of(kernel: Kernel) -> str:
    """The types of a kernel in the form of readwarp.compiler.signature."""
    return ",".join(map(_text, types_of(kernel.arguments)))


def _text(kind: Any) -> str:
    from numba import types
    from numba.np.numpy_support import as_dtype

    if isinstance(kind, types.Array):
        return f"{_text(kind.dtype)}[{','.join(':' * kind.ndim)}]"
    if isinstance(kind, types.BaseTuple):
        named = getattr(kind, "instance_class", None)
        fields = f"({','.join(map(_text, kind.types))})"
        return f"{named.__module__}:{named.__qualname__}{fields}" if named else fields
    return as_dtype(kind).str[1:]


def _batch_type(name: str) -> type:
    module, _, attribute = f"readwarp.{name}".rpartition(".")
    return getattr(import_module(module), attribute)


def _declared(kind: type) -> Any:
    """The type of a batch with the arrays that it declares."""
    import numba

    from readwarp.ragged import fields_of

    arrays = {name: _type(field.dtype, len(field.axes)) for name, field in fields_of(kind).items()}
    numbers = {int: numba.int64, float: numba.float64, bool: numba.boolean}
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name not in arrays}
    others = {name: numbers.get(hint) or _declared(hint) for name, hint in hints.items()}
    return numba.types.BaseTuple.from_types([{**arrays, **others}[name] for name in kind._fields], kind)


def _type(dtype: str, axes: int) -> Any:
    import numba
    import numpy as np

    element = numba.from_dtype(np.dtype(dtype))
    return numba.types.Array(element, axes, "C") if axes else element


def run_tool(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ptxas or nvdisasm. Ends the program if it fails."""
    return _run([_tool(name), *arguments])


def _tool(name: str) -> str:
    return tool(name) or sys.exit(f"{name} was not found: python -m pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm")


def _run(command: list[str], environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"failed: {' '.join(command[:4])}\n{done.stdout}{done.stderr}")
    return done


if __name__ == "__main__":
    write_ptx(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
