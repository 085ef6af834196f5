"""A process that compiles kernels: `python -m readwarp.device.worker FOLDER < rows`.

Rows are kernels and signatures, with a tab between them. A line is printed for each one that is done. The level is that
of READWARP_LEVEL.
"""

import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path

from readwarp.device import kernel_cache


def compile_row(row: str, folder: Path) -> None:
    """Compile a kernel, and keep its code in a folder. Raises what Numba raises, and OSError."""
    name, signature = row.split("\t")
    module, _, path = name.partition(":")
    kernel = attrgetter(path)(import_module(module))
    kernel_cache.save(name, signature, kernel.make(signature), folder)


def main() -> None:
    folder = Path(sys.argv[1])
    for row in sys.stdin.read().splitlines():
        compile_row(row, folder)
        print(flush=True)


if __name__ == "__main__":
    main()
