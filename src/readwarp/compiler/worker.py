"""Processes that compile kernels: `python -m readwarp.compiler.worker FOLDER PROCESSES PARENT < rows`.

Rows are kernels and signatures, separated by a tab; those of one module are contiguous. Numba is imported once, then
the process forks, and each takes the next module. A row's number is printed when its kernel is done, with a tab and the
reason if it cannot be compiled. The processes end with PARENT, a PID. The level is that of READWARP_LEVEL.
"""

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path

from readwarp.compiler import kernel_cache
from readwarp.compiler.jit import kernel_of
from readwarp.compiler.levels import CARDS, current_level
from readwarp.system import stopping

REASON = 400  # last letters of a reason: a pipe takes a line whole, whichever process writes it
BYTES = 2  # of a module's number in the queue, read at once


def compile_row(row: str, folder: Path) -> str:
    """Compile a kernel and save its code in a folder; return why it cannot be compiled, or nothing. Raises OSError."""
    name, signature = row.split("\t")
    try:
        code = kernel_of(name).make(signature)
    except Exception as error:  # other kernels are not affected
        return reason_of(error)
    kernel_cache.save(name, signature, code, folder)
    return ""


def reason_of(error: Exception) -> str:
    return f"\t{type(error).__name__}: {' '.join(str(error).split())[-REASON:]}"


def module_of(row: str) -> str:
    return row.partition(":")[0]


def queue_of(length: int) -> int:
    """Return a pipe's end from which several processes read the numbers 0 to length - 1, each number once."""
    numbers, end = os.pipe()
    os.write(end, b"".join(number.to_bytes(BYTES, "little") for number in range(length)))
    os.close(end)
    return numbers


def compile_all(rows: Sequence[str], folder: Path, processes: int) -> None:
    """Compile in several processes, all of which return."""
    try:
        if current_level().machine == CARDS:
            import_module(module_of(rows[0]))  # and Numba for cards, which takes a second
        else:
            from readwarp.compiler import codegen

            codegen.get_ready()
    except Exception as error:  # this Numba is new to us, or does not work
        print(f"0{reason_of(error)}", flush=True)
        return
    numbered = [list(group) for _, group in groupby(enumerate(rows), lambda row: module_of(row[1]))]
    queue, children = queue_of(len(numbered)), []
    parent = os.getpid()
    for _ in range(processes - 1):
        children.append(os.fork())
        if children[-1] == 0:
            children = []
            stopping.die_with_parent(parent)
            break
    try:
        while number := os.read(queue, BYTES):
            for row, text in numbered[int.from_bytes(number, "little")]:
                os.write(sys.stdout.fileno(), f"{row}{compile_row(text, folder)}\n".encode())
    finally:  # if this one fails, the others go on; they would end with it
        for child in children:
            os.waitpid(child, 0)


def main() -> None:
    gc.disable()
    stopping.die_with_parent(int(sys.argv[3]))
    compile_all(sys.stdin.read().splitlines(), Path(sys.argv[1]), int(sys.argv[2]))
    os._exit(0)  # destroying millions of objects would take a tenth of the time


if __name__ == "__main__":
    main()
