"""BGZF blocks made on cards: nvCOMP deflates them, and a kernel lays them end to end, with headers and checksums.

The data come from the host, or are on the card already: see `finish.groups`.

A block's body is nvCOMP's, or the data as they are (RFC 1951, 3.2.4) where that is shorter. A block depends on its data
only, so the number compressed at once changes nothing.
"""

import struct
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy import ndarray

from readwarp.compiler.jit import scalar
from readwarp.device import memory, nvcomp
from readwarp.device.backend import Backend
from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.memory import PINNED, Workspace
from readwarp.device.staging import rounded
from readwarp.device.workspaces import Workspaces
from readwarp.errors import KernelError, MemoryBudgetError
from readwarp.formats.common.bgzf import (
    BLOCK,
    EOF_BLOCK,
    HEADER,
    SIZE_AT,
    TRAILER,
    CompressedBlocks,
    groups_ahead,
    write_number,
)
from readwarp.metrics import Metrics
from readwarp.ragged import offsets_of

SHARE = 8  # fraction of a card's memory
HOST_SHARE = 16  # fraction of the host's; beyond it, few blocks at a time
WORKSPACES = 4  # of each card: one takes data, one brings blocks, and few blocks at a time do not fill a card
FEW_BLOCKS, MANY_BLOCKS = 32, 256  # of each workspace
THREADS = 256
STORED = 5  # bytes before data that are stored as they are
FRAME = HEADER + TRAILER
LARGEST = BLOCK + STORED + FRAME  # bytes of a block
HEAD = struct.unpack("<2Q", EOF_BLOCK[:SIZE_AT])
POLYNOMIAL, BITS = 0xEDB88320, 32  # of CRC-32, the highest power last (RFC 1952, 8)


class CardBlocks:
    """A `bgzf.Compressor` with memory of its own on each card: while batches are aligned there, and after."""

    def __init__(self, backend: Backend, room: int, host: int, metrics: Metrics) -> None:
        """Take a share of `room` bytes of each card, and of `host` bytes; less if a card has less. Try one block.

        Raises MemoryBudgetError if there is no room for a block, and KernelError.
        """
        self._metrics, blocks, devices = metrics, max(1, room // SHARE // device_bytes(1)), len(backend.devices)
        number, each = divided(blocks)
        if host_bytes(number * devices, each) > host // HOST_SHARE:
            blocks = min(blocks, FEW_BLOCKS)
        while True:
            number, each = divided(blocks)
            try:
                self._workspaces = Workspaces(backend, number, device_bytes(each))
                break
            except Exception as error:
                if not backend.is_out_of_memory(error):
                    raise
                if blocks == 1:
                    raise MemoryBudgetError("the GPU has no memory to compress BAM: --bgzf cpu needs none") from error
            metrics.count("vram_halved")
            blocks = number * each // 2
        self.group, self.threads = each * BLOCK, number * devices
        self.device_bytes, self.host_bytes = self._workspaces.allocated, host_bytes(self.threads, each)
        self.facts, self.close = self._workspaces.facts, self._workspaces.close
        try:
            for _ in backend.devices:
                self([np.zeros(1, np.uint8)])
        except BaseException:
            self.close()
            raise
        self._workspaces.start_counting()

    def __call__(self, parts: Sequence[ndarray], /) -> CompressedBlocks:
        joined = parts[0] if len(parts) == 1 else np.concatenate(parts)
        starts = np.append(np.arange(0, joined.size, BLOCK), joined.size)
        with self._workspaces.borrow(), self._metrics.time("compress"):
            workspace = memory.current()
            with workspace.frame():
                return compress(workspace.upload(joined), starts, workspace)


def divided(blocks: int) -> tuple[int, int]:
    """Return the workspaces of a card, and the blocks of each."""
    number = max(1, min(WORKSPACES, blocks // FEW_BLOCKS))
    return number, min(MANY_BLOCKS, blocks // number)


def host_bytes(workspaces: int, blocks: int) -> int:
    """Return the bytes of the host for so many workspaces, of all cards, with this many blocks each."""
    return (groups_ahead(workspaces) + 1) * blocks * BLOCK + workspaces * PINNED


def device_bytes(blocks: int) -> int:
    """Return the bytes of the workspace for this many blocks and their data."""
    return rounded(blocks * BLOCK) + work_bytes(blocks)


def work_bytes(blocks: int) -> int:
    """Return the bytes of the workspace for this many blocks of data that are there."""
    scratch, result = nvcomp.bytes_of(blocks, BLOCK)
    lists = blocks * rounded(result) + 4 * rounded(8 * blocks) + rounded(4 * blocks)
    return lists + max(rounded(scratch), 2 * rounded(8 * (blocks + 1)) + rounded(blocks * LARGEST))


def compress(data: Any, starts: ndarray, workspace: Workspace) -> CompressedBlocks:
    """Compress bytes on a card (uint8) to blocks on the host. Raises KernelError.

    starts: of each block, and the end of the last (int64 [blocks + 1]).
    """
    lengths = np.diff(starts)
    scratch, result = nvcomp.bytes_of(lengths.size, BLOCK)
    with workspace.frame():
        bodies = workspace.empty((lengths.size, rounded(result)), np.uint8)
        targets = bodies.address + rounded(result) * np.arange(lengths.size)
        blocks = workspace.on_card((data.address + starts[:-1], lengths, targets))
        deflated, statuses = workspace.empty(lengths.size, np.int64), workspace.empty(lengths.size, np.int32)
        with workspace.frame():
            room = workspace.empty(scratch, np.uint8)
            try:
                nvcomp.deflate(blocks, BLOCK, room, (deflated, statuses), workspace.stream.handle)
            except KernelError:
                workspace.synchronize()  # raises the driver's error if the card is lost
                raise
        sizes, found = workspace.download(deflated, statuses)
        nvcomp.check(int(found.max()))
        sizes = FRAME + np.minimum(sizes, lengths + STORED)
        starts, offsets = workspace.on_card((starts, offsets_of(sizes)))
        out = workspace.empty(lengths.size * LARGEST, np.uint8)
        lay_blocks[lengths.size, THREADS, workspace.stream](data, starts, bodies, offsets, out)
        return CompressedBlocks(workspace.download(out[: int(sizes.sum())])[0], sizes)


@scalar
def times(a, b):
    """Multiply two polynomials modulo that of CRC-32."""
    product = np.int64(0)
    for bit in range(BITS):
        if a >> (BITS - 1 - bit) & 1:
            product ^= b
        b = b >> 1 ^ POLYNOMIAL * (b & 1)
    return product


AFTER_BYTE = np.array([times.py_func(byte, 1 << (BITS - 9)) for byte in range(256)])  # the checksum of a byte
POWERS = np.array([*accumulate(range(15), lambda power, _: times.py_func(power, power), initial=1 << (BITS - 9))])


@scalar
def add_zeros(checksum, zeros):
    """Return the checksum after so many more zero bytes. POWERS: of x ** 8, by 1, 2, 4, ... of them."""
    for power in POWERS:
        if zeros & 1:
            checksum = times(power, checksum)
        zeros >>= 1
    return checksum


@cuda_kernel
def lay_blocks(data, starts, bodies, offsets, out):
    """Write each block where it belongs; a block of threads per block."""
    checksums = cuda.shared.array(THREADS, np.int64)
    block, thread = cuda.blockIdx.x, cuda.threadIdx.x
    first, place, stop = starts[block], offsets[block], offsets[block + 1]
    size, body = starts[block + 1] - first, place + HEADER
    share = (size + THREADS - 1) // THREADS  # of each thread, whose checksum is that of its bytes and zeros behind
    last = min((thread + 1) * share, size)
    checksum = np.int64((1 << BITS) - 1 if thread == 0 else 0)
    for k in range(thread * share, last):
        checksum = checksum >> 8 ^ AFTER_BYTE[(checksum ^ data[first + k]) & 255]
    checksums[thread] = add_zeros(checksum, size - last)
    cuda.syncthreads()
    is_stored = stop - place == size + STORED + FRAME
    if thread == 0:
        for other in range(1, THREADS):
            checksums[0] ^= checksums[other]
        write_number(out, place, HEAD[0], 8)
        write_number(out, place + 8, HEAD[1], 8)
        write_number(out, place + SIZE_AT, stop - place - 1, 2)
        if is_stored:
            write_number(out, body, 1 | size << 8 | (size ^ 0xFFFF) << 24, STORED)
        write_number(out, stop - TRAILER, ~checksums[0], 4)
        write_number(out, stop - TRAILER + 4, size, 4)
    if is_stored:
        for k in range(thread, size, THREADS):
            out[body + STORED + k] = data[first + k]
    else:
        for k in range(thread, stop - TRAILER - body, THREADS):
            out[body + k] = bodies[block, k]
