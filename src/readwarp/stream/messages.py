"""Messages to another process through a socket: a pickle, then the memory of its arrays (PEP 574).

On either side, only the system copies memory, without Python's lock.
"""

import pickle
import socket
import struct
from typing import Any

import numpy as np

LARGE = 1 << 16  # bytes; smaller arrays stay in the pickle
HEADER = struct.Struct("<qq")  # arrays, bytes of the pickle; the sizes of the arrays and the pickle follow


def pack(value: object) -> list[memoryview]:
    """Pack a value for `send`, which may be called repeatedly; its arrays must not change until then."""
    arrays: list[memoryview] = []

    def lies_within(buffer: pickle.PickleBuffer) -> bool:
        is_large = buffer.raw().nbytes >= LARGE
        if is_large:
            arrays.append(buffer.raw())
        return not is_large

    pickled = pickle.dumps(value, 5, buffer_callback=lies_within)
    sizes = np.array([array.nbytes for array in arrays], np.int64).tobytes()
    return [memoryview(HEADER.pack(len(arrays), len(pickled)) + sizes + pickled), *arrays]


def send(end: socket.socket, packed: list[memoryview]) -> None:
    """Send a packed value. Raises ConnectionError if the other process has ended."""
    for part in packed:
        end.sendall(part)


def receive(end: socket.socket) -> Any:
    """Receive the next value. Raises ConnectionError if the other process has ended."""
    arrays, size = HEADER.unpack(_read(end, HEADER.size))
    front = _read(end, 8 * arrays + size)
    sizes = front[: 8 * arrays].view(np.int64).tolist()
    return pickle.loads(front[8 * arrays :], buffers=[_read(end, each) for each in sizes])


def _read(end: socket.socket, size: int) -> np.ndarray:
    """Read uint8 [size]."""
    data, done = np.empty(size, np.uint8), 0
    while done < size:
        read = end.recv_into(data[done:], size - done, socket.MSG_WAITALL)
        if read == 0:
            raise ConnectionResetError("the other process has ended")
        done += read
    return data
