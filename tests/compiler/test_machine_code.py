"""Files of compiled kernels: damage of any kind is seen before the code is loaded, and it is compiled again."""

import pytest

from readwarp.compiler import kernel_cache
from readwarp.compiler.machine_code import MachineCode, from_bytes, sealed, to_bytes, unsealed

CODE = MachineCode("symbol", "environment", ("int64",), ("NRT_Free", "PyExc_ValueError"), b"\x7fELF\n" * 20)
NAME = "any.kernel"
FILE = sealed(to_bytes(CODE), NAME)


def test_what_is_whole_comes_back():
    assert from_bytes(unsealed(FILE, NAME)) == CODE


def test_every_bit_counts():
    for bit in range(8 * len(FILE)):
        damaged = bytearray(FILE)
        damaged[bit // 8] ^= 1 << bit % 8
        assert unsealed(bytes(damaged), NAME) is None, bit


def test_so_does_every_byte():
    for place in range(len(FILE)):
        assert unsealed(FILE[:place], NAME) is None
        assert unsealed(FILE[:place] + FILE[place + 1 :], NAME) is None
        assert unsealed(FILE[:place] + b"\0" + FILE[place:], NAME) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"needs"', b'"neeps"'),
        (b'"symbol": "s', b'"symbol": "Z'),
        (b'"NRT_', b'"NRX_'),
        (b"ELF", b"ELG"),
    ],
)
def test_a_damaged_file_is_no_kernel(old, new, tmp_path, monkeypatch):
    """A key, a symbol, a needed function, the object."""
    monkeypatch.setattr(kernel_cache.cache_folders, "folders", lambda: (tmp_path,))
    kernel, signature = "readwarp.rules.bases:any", "int64"
    kernel_cache.save(kernel, signature, CODE, tmp_path)
    path = tmp_path / kernel_cache.place_of(kernel, signature)
    assert kernel_cache.find(kernel, signature) == CODE
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    assert kernel_cache.find(kernel, signature) is None


def test_the_content_of_another_file_is_none():
    assert unsealed(FILE, "other.kernel") is None
