"""Blocks of BGZF one by one."""

from readwarp.formats.common.bgzf import block_of, compress


def compress_block(data: bytes) -> bytes:
    return compress(data) or block_of(data)
