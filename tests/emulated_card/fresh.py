"""A separate stub driver for a test: the library is loaded once more, with other cards, beside the one in use."""

import ctypes
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any
from unittest.mock import patch

from emulated_card import control
from emulated_card.build import build_driver
from emulated_card.kernels import Array, Kernel
from emulated_card.options import Options

HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Pointer = ctypes.c_uint64


class FreshDriver:
    """Calls of the driver: `result` gives the CUresult; the others raise where it is not 0."""

    def __init__(self, path: Path) -> None:
        self.library = ctypes.CDLL(str(path))
        self.library.card_findings.restype = ctypes.c_size_t
        self.library.card_written.restype = ctypes.c_uint64
        self._kept: list[object] = []

    def result(self, function: str, *arguments: Any) -> int:
        return getattr(self.library, function)(*arguments)

    def call(self, function: str, *arguments: Any) -> None:
        result = self.result(function, *arguments)
        assert result == 0, f"{function}: {result}"

    def made(self, function: str, *arguments: Any) -> ctypes.c_void_p:
        """The value that the function writes to its first argument."""
        out = ctypes.c_void_p()
        self.call(function, ctypes.byref(out), *arguments)
        return out

    def use(self, device: int) -> None:
        """Make the device's primary context the thread's current one."""
        self.call("cuCtxSetCurrent", self.made("cuDevicePrimaryCtxRetain", device))

    def allocated(self, nbytes: int) -> ctypes.c_uint64:
        return Pointer(self.made("cuMemAlloc_v2", ctypes.c_size_t(nbytes)).value)

    def pinned(self, nbytes: int) -> Any:
        address = self.made("cuMemHostAlloc", ctypes.c_size_t(nbytes), 0).value
        return (ctypes.c_uint8 * nbytes).from_address(address)

    def upload(self, to: ctypes.c_uint64, source: Any, stream: Any = None) -> None:
        self.call("cuMemcpyHtoDAsync_v2", to, source, ctypes.c_size_t(len(source)), stream)

    def download(self, to: Any, source: ctypes.c_uint64, stream: Any = None) -> None:
        self.call("cuMemcpyDtoHAsync_v2", to, source, ctypes.c_size_t(len(to)), stream)

    def bytes_at(self, source: ctypes.c_uint64, nbytes: int) -> bytes:
        out = (ctypes.c_uint8 * nbytes)()
        self.call("cuMemcpyDtoH_v2", out, source, ctypes.c_size_t(nbytes))
        return bytes(out)

    @contextmanager
    def held(self, stream: Any) -> Iterator[Event]:
        """Hold the stream until the event is set, or until the end."""
        begun, gate = Event(), Event()

        def hold(_: int) -> None:
            begun.set()
            gate.wait(60)

        function = HOST_FUNCTION(hold)
        self._kept.append(function)
        self.call("cuLaunchHostFunc", stream, function, None)
        assert begun.wait(60)
        try:
            yield gate
        finally:
            gate.set()
            self.call("cuStreamSynchronize", stream)

    def kernel(self, name: bytes, *arrays: tuple[bool, bool]) -> ctypes.c_void_p:
        """A kernel that cannot run, with one-axis array parameters: whether each is read, whether it is written."""
        items = (Array * len(arrays))(*(Array(7 * i, 1, *each) for i, each in enumerate(arrays)))
        sizes = (ctypes.c_uint32 * (7 * len(arrays)))(*[8] * 7 * len(arrays))
        made = Kernel(name=name, parameters=len(sizes), sizes=sizes, arrays=len(arrays), array=items, threads=1024)

        def load(text: bytes, kernels: Any, most: int) -> int:
            kernels[0] = ctypes.addressof(made)
            return 1

        loader = control.LOADER(load)
        self._kept += [items, sizes, made, loader]
        self.library.card_set_loader(loader)
        library = self.made("cuLibraryLoadData", b".version 8.0", None, None, 0, None, None, 0)
        return self.made("cuLibraryGetKernel", library, name)

    def launch(self, kernel: Any, *pointers: int, block: int = 32, stream: Any = None, **other: int) -> int:
        """Launch one block, on arrays of 8 one-byte items."""
        values = [ctypes.c_uint64(v) for p in pointers for v in (0, 0, 8, 1, p, 8, 1)]
        parameters = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        sizes = other.get("grid_x", 1), other.get("grid_y", 1), 1, block, 1, 1, other.get("shared", 0)
        return self.result("cuLaunchKernel", kernel, *sizes, stream, parameters, None)


@contextmanager
def fresh_driver(folder: Path, cards: str, **options: Any) -> Iterator[FreshDriver]:
    """An initialized driver with these cards; inside, the functions of `control` refer to it."""
    copy = folder / "libcuda-of-a-test.so"
    shutil.copy(build_driver(), copy)
    fresh = FreshDriver(copy)
    with patch.object(control, "driver", lambda: fresh.library):
        control.set_up(Options(cards, **options))
        fresh.call("cuInit", 0)
        yield fresh
