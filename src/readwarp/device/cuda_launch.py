"""Launch configurations of kernels, on the stream of the workspace that holds their arrays."""

from typing import Any

from readwarp.device.memory import Workspace

THREADS = 128
WARP = 32


def threads_for(items: int, workspace: Workspace) -> tuple[int, int, Any]:
    """Configure a thread per item, rounded up to blocks; small launches have smaller blocks."""
    threads = min(THREADS, WARP * max(1, -(-items // WARP)))
    return max(1, -(-items // threads)), threads, workspace.stream


def warps_for(items: int, workspace: Workspace) -> tuple[int, int, Any]:
    """Configure a block per item, of one warp, so that its barriers cost next to nothing."""
    return max(1, items), WARP, workspace.stream
