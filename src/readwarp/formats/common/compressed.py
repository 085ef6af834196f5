"""Compressed input, recognised by its first bytes: gzip (any number of members, so bgzip too), bzip2, xz, Zstandard."""

import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from gzip import BadGzipFile
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast

from isal import igzip, isal_zlib

from readwarp.formats.common.writing import writing_temporary
from readwarp.system.scratch import ScratchFolder

GZIP_MAGIC = b"\x1f\x8b"
SKIPPABLE = tuple(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60))  # frames with which pzstd begins
MAGIC: dict[str, tuple[bytes, ...]] = {
    "gzip": (GZIP_MAGIC,),
    "bzip2": (b"BZh",),
    "xz": (b"\xfd7zXZ\0",),
    "zstd": (b"\x28\xb5\x2f\xfd", *SKIPPABLE),
}
READERS = {  # module, class; imported on demand
    "bzip2": ("bz2", "BZ2File"),
    "xz": ("readwarp.formats.common.xz", "XzFile"),
    "zstd": ("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd", "ZstdFile"),
}
BROKEN: tuple[Any, ...] = (EOFError, OSError, zlib.error, isal_zlib.error)
BROKEN_ELSEWHERE = ("LZMAError", "ZstdError")  # exceptions of modules that may not have been imported
TRUNCATED = "truncated: the compressed data end before their end marker"


def compression_of(head: bytes) -> str | None:
    """Return gzip, bzip2, xz or zstd by the first bytes of a file; None: not compressed."""
    return next((name for name, magic in MAGIC.items() if head.startswith(magic)), None)


def is_bgzf(head: bytes) -> bool:
    """Return whether a file with these first bytes (14 or more) is BGZF, htslib's gzip."""
    return head.startswith(GZIP_MAGIC) and head[12:14] == b"BC"


def decompress(raw: Any) -> BinaryIO:
    """Return the decompressed bytes of an open file at its beginning, or the file itself if it is plain.

    While they are read, raises errors that `is_damage` recognises if bytes are damaged or end too early.
    """
    kind = compression_of(raw.peek(6)[:6])
    if kind is None:
        return cast(BinaryIO, raw)
    if kind == "gzip":
        return cast(BinaryIO, igzip.IGzipFile(fileobj=raw, mode="rb"))
    module, name = READERS[kind]
    return cast(BinaryIO, getattr(import_module(module), name)(raw))


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Yield a plain or BGZF file itself, else a copy in the temporary folder, since htslib cannot read others.

    Raises errors that `is_damage` recognises.
    """
    with path.open("rb") as raw:
        head = raw.peek(14)
        if compression_of(head) is None or is_bgzf(head):
            yield path
            return
        with ScratchFolder() as scratch:
            copy = scratch.path / path.stem
            with copy.open("wb") as out:
                _copy(decompress(raw), out)
            yield copy


def _copy(stream: BinaryIO, copy: Any) -> None:
    while data := stream.read(1 << 20):
        with writing_temporary():
            copy.write(data)
    with writing_temporary():
        copy.flush()


def is_damage(error: Exception) -> bool:
    """Return whether the error comes from the system, or from a decompressor that cannot go on."""
    return isinstance(error, BROKEN) or type(error).__name__ in BROKEN_ELSEWHERE


def explain_damage(error: Exception) -> str:
    """Return a reason that a user can act on."""
    if "emory" in str(error):  # from zstd and xz
        return f"needs too much memory to be decompressed ({str(error).strip()}): compress it with a smaller window"
    if isinstance(error, EOFError):
        return TRUNCATED
    if isinstance(error, OSError) and error.errno is not None and not isinstance(error, BadGzipFile):
        return f"cannot be read ({error.strerror or error})"
    return f"corrupt compressed data ({str(error).strip() or 'its checksum differs'})"
