"""ISA-L, the library behind python-isal, where compiled code can call it."""

import ctypes
from functools import cache

import isal
from isal import isal_zlib

from readwarp.formats.common.bgzf_kernels import Functions

VERSION = 2  # whose isal_zstream `bgzf_kernels` knows; its fields are part of the library's interface
NAMES = ("isal_deflate_init", "isal_deflate", "crc32_gzip_refl")


@cache
def functions() -> Functions | None:
    """Addresses, in python-isal's extension or the library it is linked to. None: it hides them, or has others."""
    library = ctypes.CDLL(isal_zlib.__file__)
    if isal.ISAL_MAJOR_VERSION != VERSION or not all(hasattr(library, name) for name in NAMES):
        return None
    return Functions(*(ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in NAMES))
