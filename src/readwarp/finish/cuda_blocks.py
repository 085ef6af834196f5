"""BGZF blocks made on cards: nvCOMP deflates them, and a kernel lays them end to end, with headers and checksums.

A block's body is nvCOMP's, or the data as they are (RFC 1951, 3.2.4) where that is shorter. A block depends on its data
only, so the number compressed at once changes nothing.
"""

import struct
from collections.abc import Sequence

import numpy as np
from isal.isal_zlib import crc32
from numpy import ndarray

from readwarp.device import memory, nvcomp
from readwarp.device.backend import Backend
from readwarp.device.cuda_jit import cuda, cuda_kernel
from readwarp.device.memory import PINNED, Workspace
from readwarp.device.staging import rounded
from readwarp.device.workspaces import Workspaces
from readwarp.errors import KernelError, MemoryBudgetError
from readwarp.formats.common.bgzf import BLOCK, EOF_BLOCK, HEADER, SIZE_AT, TRAILER, groups_ahead, write_number
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

    def __call__(self, parts: Sequence[ndarray], /) -> tuple[ndarray, ndarray]:
        with self._workspaces.borrow(), self._metrics.time("compress"):
            return compress(parts, memory.current())


def divided(blocks: int) -> tuple[int, int]:
    """Return the workspaces of a card, and the blocks of each."""
    number = max(1, min(WORKSPACES, blocks // FEW_BLOCKS))
    return number, min(MANY_BLOCKS, blocks // number)


def host_bytes(workspaces: int, blocks: int) -> int:
    """Return the bytes of the host for so many workspaces, of all cards, with this many blocks each."""
    return (groups_ahead(workspaces) + 1) * blocks * BLOCK + workspaces * PINNED


def device_bytes(blocks: int) -> int:
    """Return the bytes of the workspace for this many blocks."""
    scratch, result = nvcomp.bytes_of(blocks, BLOCK)
    lists = rounded(blocks * BLOCK) + blocks * rounded(result) + 4 * rounded(8 * blocks) + rounded(4 * blocks)
    laid = rounded(8 * (blocks + 1)) + rounded(8 * blocks) + rounded(blocks * LARGEST)
    return lists + max(rounded(scratch), laid)


def compress(parts: Sequence[ndarray], workspace: Workspace) -> tuple[ndarray, ndarray]:
    """Compress bytes (uint8) to blocks, one after another; also return the bytes of each. Raises KernelError.

    While nvCOMP is at work, the host computes the checksums.
    """
    joined = parts[0] if len(parts) == 1 else np.concatenate(parts)
    starts = np.arange(0, joined.size, BLOCK)
    scratch, result = nvcomp.bytes_of(starts.size, BLOCK)
    lengths = np.minimum(joined.size - starts, BLOCK)
    with workspace.frame():
        data, bodies = workspace.upload(joined), workspace.empty((starts.size, rounded(result)), np.uint8)
        targets = bodies.address + rounded(result) * np.arange(starts.size)
        blocks = workspace.on_card((data.address + starts, lengths, targets))
        deflated, statuses = workspace.empty(starts.size, np.int64), workspace.empty(starts.size, np.int32)
        with workspace.frame():
            room = workspace.empty(scratch, np.uint8)
            try:
                nvcomp.deflate(blocks, BLOCK, room, (deflated, statuses), workspace.stream.handle)
            except KernelError:
                workspace.synchronize()  # raises the driver's error if the card is lost
                raise
        checksums = np.array([crc32(memoryview(joined)[at : at + BLOCK]) for at in starts.tolist()])
        sizes, found = workspace.download(deflated, statuses)
        nvcomp.check(int(found.max()))
        sizes = FRAME + np.minimum(sizes, lengths + STORED)
        offsets, checksums = workspace.on_card((offsets_of(sizes), checksums))
        out = workspace.empty(starts.size * LARGEST, np.uint8)
        lay_blocks[starts.size, THREADS, workspace.stream](data, bodies, checksums, offsets, out)
        return workspace.download(out[: int(sizes.sum())])[0], sizes


@cuda_kernel
def lay_blocks(data, bodies, checksums, offsets, out):
    """Write each block where it belongs; a block of threads per block."""
    block, thread = cuda.blockIdx.x, cuda.threadIdx.x
    first, place, stop = block * BLOCK, offsets[block], offsets[block + 1]
    size, body = min(BLOCK, data.size - first), place + HEADER
    is_stored = stop - place == size + STORED + FRAME
    if thread == 0:
        write_number(out, place, HEAD[0], 8)
        write_number(out, place + 8, HEAD[1], 8)
        write_number(out, place + SIZE_AT, stop - place - 1, 2)
        if is_stored:
            write_number(out, body, 1 | size << 8 | (size ^ 0xFFFF) << 24, STORED)
        write_number(out, stop - TRAILER, checksums[block], 4)
        write_number(out, stop - TRAILER + 4, size, 4)
    if is_stored:
        for k in range(thread, size, THREADS):
            out[body + STORED + k] = data[first + k]
    else:
        for k in range(thread, stop - TRAILER - body, THREADS):
            out[body + k] = bodies[block, k]
