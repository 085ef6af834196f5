"""Deflate by nvCOMP, NVIDIA's library of compressors for cards: many blocks in one call.

Source: nvcomp/deflate.h of nvCOMP 6. The library comes with the extras cuda12 and cuda13, or from the system.
"""

import ctypes
from contextlib import suppress
from ctypes import byref, c_int, c_size_t, c_void_p
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from readwarp.errors import KernelError

LIBRARY = "libnvcomp.so.6"
LEVEL = 2  # the fastest that makes BAM files no larger than ISA-L does (docs/notes/model.md)


class Options(ctypes.Structure):
    """nvcompBatchedDeflateCompressOpts_t, which is passed by value."""

    _fields_ = (("algorithm", c_int), ("reserved", ctypes.c_char * 60))


OPTIONS = Options(LEVEL)
ARGUMENTS = {
    "GetTempSize": (c_size_t, c_size_t, Options, c_void_p, c_size_t, c_void_p),
    "GetMaxOutputChunkSize": (c_size_t, Options, c_void_p),
    "Async": (c_void_p, c_void_p, c_size_t, c_size_t, c_void_p, c_size_t, *[c_void_p] * 2, Options, *[c_void_p] * 2),
}


@cache
def library() -> Any:
    """Return the library; None if there is none."""
    spec = find_spec("nvidia")  # where the wheels of NVIDIA lie
    folders = (Path(folder) / "libnvcomp" for folder in (spec and spec.submodule_search_locations) or ())
    for place in (LIBRARY, *(str(path) for folder in folders for path in folder.glob(f"lib*/{LIBRARY}"))):
        with suppress(OSError):
            found = ctypes.CDLL(place)
            for name, kinds in ARGUMENTS.items():
                getattr(found, f"nvcompBatchedDeflateCompress{name}").argtypes = kinds
            found.nvcompGetStatusString.restype = ctypes.c_char_p
            return found
    return None


def version() -> str:
    """Return the version of the library, such as 6.0.0."""
    library().nvcompGetProperties(numbers := (ctypes.c_uint32 * 2)())  # of nvCOMP and of CUDA
    return ".".join(f"{numbers[0]:04}"[:3])


def bytes_of(number: int, size: int) -> tuple[int, int]:
    """Return the bytes of scratch memory for this many blocks of `size` bytes, and those for a block's result."""
    scratch, result = c_size_t(), c_size_t()
    _ask("GetTempSize", number, size, OPTIONS, byref(scratch), number * size, None)
    _ask("GetMaxOutputChunkSize", size, OPTIONS, byref(result))
    return scratch.value, result.value


def deflate(blocks: tuple[Any, Any, Any], size: int, scratch: Any, results: tuple[Any, Any], stream: int) -> None:
    """Compress blocks on a stream of the current context's card. Raises KernelError.

    blocks: their addresses and bytes, and 8-byte aligned addresses of the results, int64 [n] each. size: most bytes of
    a block. scratch: uint8. results: receive their bytes, int64 [n], and what `check` takes, int32 [n].
    """
    (places, sizes, targets), (made, statuses) = blocks, results
    given = places.address, sizes.address, size, places.size, scratch.address, scratch.nbytes
    _ask("Async", *given, targets.address, made.address, OPTIONS, statuses.address, stream)


def check(status: int) -> None:
    """Raise KernelError for a status that is not success."""
    if status:
        said = library().nvcompGetStatusString(status).decode()
        raise KernelError(f"nvCOMP {version()} failed: {said} (status {status}); --bgzf cpu does without it")


def _ask(name: str, *given: Any) -> None:
    check(getattr(library(), f"nvcompBatchedDeflateCompress{name}")(*given))
