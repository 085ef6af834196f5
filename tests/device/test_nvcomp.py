"""Where nvCOMP is found, and what it is asked."""

import ctypes
import sys
from importlib.machinery import ModuleSpec

import pytest

from readwarp.device import nvcomp


@pytest.fixture
def opened(monkeypatch, tmp_path):
    """Names that are opened, of which only those below the folder exist; NVIDIA's wheels lie there."""
    names = []

    class Library:
        def __init__(self, name):
            names.append(name)
            if not name.startswith(str(tmp_path)):
                raise OSError(name)

        def __getattr__(self, name):
            return type(name, (), {})

    spec = ModuleSpec("nvidia", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path / "nvidia")]
    monkeypatch.setattr(nvcomp, "find_spec", lambda name: spec)
    monkeypatch.setattr(ctypes, "CDLL", Library)
    nvcomp.library.cache_clear()
    yield names
    nvcomp.library.cache_clear()


def test_no_library(opened):
    assert nvcomp.library() is None and opened == ["libnvcomp.so.6"]


def test_no_package_of_nvidia(opened, monkeypatch):
    monkeypatch.setattr(nvcomp, "find_spec", lambda name: None)
    assert nvcomp.library() is None


def test_the_library_of_a_wheel(opened, tmp_path):
    folder = tmp_path / "nvidia" / "libnvcomp" / "lib64"
    folder.mkdir(parents=True)
    (folder / "libnvcomp.so.6").touch()
    assert nvcomp.library() is not None
    assert opened == ["libnvcomp.so.6", str(folder / "libnvcomp.so.6")]


def test_options_have_the_size_of_the_header():
    assert ctypes.sizeof(nvcomp.Options) == 64 and bytes(nvcomp.OPTIONS) == bytes([2]) + bytes(63)
    assert sys.byteorder == "little"


@pytest.mark.cards
def test_sizes():
    if nvcomp.library() is None:
        pytest.skip("nvCOMP is not installed")
    assert nvcomp.version().startswith("6.")
    few, many = nvcomp.bytes_of(1, 65_280), nvcomp.bytes_of(100, 65_280)
    assert 0 < few[0] <= many[0] <= 100 * few[0] and few[1] == many[1] >= 65_280
