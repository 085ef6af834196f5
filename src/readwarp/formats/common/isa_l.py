"""ISA-L, the library behind python-isal, for calls from compiled code."""

import ctypes
from functools import cache

import isal
from isal import isal_zlib

from readwarp.formats.common.bgzf_kernels import Functions

VERSION = 2  # whose isal_zstream `bgzf_kernels` knows; its fields are part of the library's interface
NAMES = ("isal_deflate_init", "isal_deflate", "crc32_gzip_refl")


@cache
def functions() -> Functions | None:
    """Return addresses in python-isal's extension or linked library. None: they are hidden or of another version."""
    library = ctypes.CDLL(isal_zlib.__file__)
    if isal.ISAL_MAJOR_VERSION != VERSION or not all(hasattr(library, name) for name in NAMES):
        return None
    return Functions(*(ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in NAMES))
