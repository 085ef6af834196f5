"""Blocks of BGZF one by one."""

from readwarp.formats.common.bgzf import parts_of_block


def compress_block(data: bytes) -> bytes:
    return b"".join(parts_of_block(data))
