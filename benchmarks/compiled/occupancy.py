"""How many warps of a kernel a multiprocessor can hold.

Sources: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; rounding as in the occupancy
calculator of CUDA (cuda_occupancy.h): registers by 256 a warp, warps by 4, shared memory by 128 bytes (256 before 8.0),
1 KB of shared memory per block for the system from 8.0 on.
"""

from dataclasses import dataclass

REGISTERS, REGISTER_UNIT, WARP_UNIT, WARP = 65536, 256, 4, 32


@dataclass(frozen=True, slots=True)
class Room:
    """The resources of one multiprocessor."""

    warps: int
    blocks: int
    shared: int  # bytes
    shared_unit: int
    system: int  # bytes of shared memory that a block needs besides its own


ROOMS = {
    75: Room(32, 16, 64 << 10, 256, 0),
    80: Room(64, 32, 164 << 10, 128, 1 << 10),
    86: Room(48, 16, 100 << 10, 128, 1 << 10),
    89: Room(48, 24, 100 << 10, 128, 1 << 10),
    90: Room(64, 32, 228 << 10, 128, 1 << 10),
    120: Room(48, 24, 100 << 10, 128, 1 << 10),
}


def warps_held(capability: int, registers: int, shared: int, threads: int) -> int:
    """Warps at once, for blocks of `threads` with so many registers a thread and bytes of shared memory a block."""
    room, warps = ROOMS[capability], _up(threads, WARP) // WARP
    by_registers = REGISTERS // _up(registers * WARP, REGISTER_UNIT) // WARP_UNIT * WARP_UNIT
    blocks = min(room.blocks, room.warps // warps, by_registers // warps)
    taken = _up(shared + room.system, room.shared_unit)
    if taken:
        blocks = min(blocks, room.shared // taken)
    return blocks * warps


def occupancy(capability: int, registers: int, shared: int, threads: int) -> float:
    """Share of a multiprocessor's warps that the kernel can use."""
    return warps_held(capability, registers, shared, threads) / ROOMS[capability].warps


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
