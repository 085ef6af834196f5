"""Card errors in one line: the card, the stage of the run and the driver's reason.

Kernels run after the call that launches them, so the driver reports a failure at the next wait. The stage (see
`readwarp.metrics`) shows which kernels were running then.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from readwarp.errors import DeviceError, KernelError, ReadwarpError, WorkspaceFullError

OUT_OF_MEMORY = "CUDA_ERROR_OUT_OF_MEMORY"
LOST = (  # the card is gone, or can no longer be trusted
    "CUDA_ERROR_DEINITIALIZED",
    "CUDA_ERROR_DEVICE_UNAVAILABLE",
    "CUDA_ERROR_NO_DEVICE",
    "CUDA_ERROR_INVALID_DEVICE",
    "CUDA_ERROR_INVALID_CONTEXT",
    "CUDA_ERROR_CONTEXT_IS_DESTROYED",
    "CUDA_ERROR_ECC_UNCORRECTABLE",
    "CUDA_ERROR_NVLINK_UNCORRECTABLE",
    "CUDA_ERROR_UNKNOWN",
)


class CudaAPIError(Exception):
    """A failed call of the CUDA driver, named with its code."""


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether the card, or the planned part of it, is full, so that half a batch may still fit."""
    return isinstance(error, WorkspaceFullError) or (_is_of_cuda(error) and OUT_OF_MEMORY in str(error))


@contextmanager
def translate_errors(card: str) -> Iterator[None]:
    """Turn CUDA errors in the block into a DeviceError (the card is lost) or a KernelError; others pass."""
    try:
        yield
    except Exception as error:
        if isinstance(error, ReadwarpError) or is_out_of_memory(error) or not _is_of_cuda(error):
            raise
        first = _first(error)
        reason = ": ".join((*getattr(first, "__notes__", ())[:1], str(getattr(first, "msg", first))))
        if any(name in reason for name in LOST):
            raise DeviceError(f"{card} is lost {reason}") from error
        raise KernelError(f"a kernel failed on {card} {reason}") from error


@contextmanager
def drop_errors() -> Iterator[None]:
    """Ignore CUDA errors in the block; others pass."""
    try:
        yield
    except Exception as error:
        if not _is_of_cuda(error):
            raise


def _first(error: BaseException) -> BaseException:
    """Return the first error: a failed card fails again when its stream and context are closed."""
    before = error.__context__
    return error if before is None or not _is_of_cuda(before) or is_out_of_memory(before) else _first(before)


def _is_of_cuda(error: BaseException) -> bool:
    """Return whether it is a CUDA error, those of NVIDIA's packages by the module of their class."""
    return isinstance(error, CudaAPIError) or type(error).__module__.startswith(("numba.cuda", "cuda."))
