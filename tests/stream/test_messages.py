"""What goes through a socket to another process comes out as it was."""

import socket
import threading
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from readwarp.stream.messages import LARGE, pack, receive, send


class Named(NamedTuple):
    name: str
    values: np.ndarray


def passed(value):
    """The value after it went through a socket, whose buffer is smaller than large arrays are."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sender = threading.Thread(target=send, args=(ours, pack(value)))
        sender.start()
        got = receive(theirs)
        sender.join()
    return got


def check_same(one, other):
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(one, other)
        assert other.flags.aligned
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            check_same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            check_same(*pair)
    else:
        assert one == other


NUMBERS = arrays.arrays(
    arrays.scalar_dtypes().filter(lambda kind: kind.kind in "iufb"), arrays.array_shapes(min_side=0)
)
PLAIN = st.none() | st.integers() | st.text() | st.binary() | NUMBERS.filter(lambda array: not np.isnan(array).any())


@given(st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10))
def test_any_value(value):
    check_same(value, passed(value))


@pytest.mark.parametrize("size", [LARGE - 1, LARGE, LARGE + 1, 2_000_001])
def test_large_arrays(size):
    values = np.arange(size) % 251
    named = Named("x" * size, values.astype(np.uint8))
    check_same(named, passed(named))
    several = [values, values[::2], values[: size // 2 * 2].reshape(2, -1).T, np.zeros((0, 3)), values.astype("f4")]
    check_same(several, passed(several))


def test_large_arrays_are_not_within_the_pickle():
    front, *large = pack([np.zeros(LARGE, np.uint8), np.zeros(10, np.uint8), np.ones(LARGE, np.int64)])
    assert [part.nbytes for part in large] == [LARGE, 8 * LARGE]
    assert front.nbytes < 1000


def test_the_same_message_several_times():
    packed = pack({"one": np.arange(100_000)})
    ours, theirs = socket.socketpair()
    with ours, theirs:
        threading.Thread(target=lambda: [send(ours, packed) for _ in range(3)]).start()
        for _ in range(3):
            check_same({"one": np.arange(100_000)}, receive(theirs))


@pytest.mark.parametrize("sent", [b"", b"123", pack([1, 2, 3])[0][:20]])
def test_an_end_within_a_message(sent):
    ours, theirs = socket.socketpair()
    with theirs:
        ours.sendall(sent)
        ours.close()
        with pytest.raises(ConnectionError):
            receive(theirs)
