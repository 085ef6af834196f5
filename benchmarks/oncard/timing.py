"""Time on the card: of each kernel by CUDA events around its launches, and of all work by NVML's samples."""

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from readwarp.device.cuda_driver import Stream
from readwarp.device.cuda_jit import cuda
from readwarp.device.launch import CardKernel

SAMPLE = 0.02  # seconds between two looks at the card


def seconds(work: Callable[[], object], repeats: int) -> float:
    """Median time of `work`'s launches and copies on the default stream, after one run to compile and warm up."""
    work()
    cuda.synchronize()
    spans = []
    for _ in range(repeats):
        begin, end = cuda.event(), cuda.event()
        begin.record()
        work()
        end.record()
        end.synchronize()
        spans.append(begin.elapsed_time(end) / 1000)
    return median(spans)


class Launches:
    """Time between the events around each launch, by the name of the kernel."""

    def __init__(self) -> None:
        self._spans: list[tuple[str, Any, Any]] = []
        self._lock = threading.Lock()

    def add(self, name: str, begin: Any, end: Any) -> None:
        with self._lock:
            self._spans.append((name, begin, end))

    def seconds(self) -> dict[str, float]:
        cuda.synchronize()
        spent: dict[str, float] = {}
        for name, begin, end in self._spans:
            spent[name] = spent.get(name, 0.0) + begin.elapsed_time(end) / 1000
        return spent


@contextmanager
def launches() -> Iterator[Launches]:
    """While the block runs, time every kernel that any thread launches on its stream."""
    found, launch = Launches(), CardKernel.launch

    def timed(kernel: CardKernel, where: tuple[int, int, Stream], *arguments: Any) -> None:
        begin, end = cuda.event(), cuda.event()
        stream = cuda.external_stream(where[2].handle)
        begin.record(stream)
        launch(kernel, where, *arguments)
        end.record(stream)
        found.add(kernel.py_func.__qualname__.removesuffix(".grid").rpartition("<locals>.")[2], begin, end)

    CardKernel.launch = timed  # type: ignore[method-assign]
    try:
        yield found
    finally:
        CardKernel.launch = launch  # type: ignore[method-assign]


class Watch:
    """Samples a card while a block runs: in what share of the time before each sample did kernels run?"""

    def __init__(self, ordinal: int = 0) -> None:
        self.busy: list[int] = []  # percent
        self._handle, self._done = ctypes.c_void_p(), threading.Event()
        self._nvml = self._opened(ordinal)

    def _opened(self, ordinal: int) -> Any:
        try:
            nvml = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return None
        failed = nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByIndex_v2(ordinal, ctypes.byref(self._handle))
        return None if failed else nvml

    def __enter__(self) -> "Watch":
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        shares = (ctypes.c_uint * 2)()  # of kernels, of memory
        while self._nvml is not None and not self._done.is_set():
            if not self._nvml.nvmlDeviceGetUtilizationRates(self._handle, shares):
                self.busy.append(shares[0])
            time.sleep(SAMPLE)
