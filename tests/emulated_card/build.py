"""Compile C with Zig's compiler, which comes from PyPI, into a cache folder: each library once."""

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
FLAGS = ("-shared", "-fPIC", "-O2", "-march=native", "-std=gnu11", "-fno-sanitize=undefined")
STRICT = ("-Wall", "-Wextra", "-Werror")


def cache_folder() -> Path:
    """$EMULATED_CARDS_CACHE, else emulated_card in $XDG_CACHE_HOME or ~/.cache; made if it is missing."""
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "emulated_card"
    folder = Path(os.environ.get("EMULATED_CARDS_CACHE") or usual)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def build_driver() -> Path:
    """The stub of libcuda, compiled from all C files of this folder."""
    exported = HERE / "exported.map"
    flags = (*STRICT, "-Wl,-soname,libcuda.so.1", "-Wl,-Bsymbolic", f"-Wl,--version-script={exported}")
    return compile_library("libcuda", sorted(HERE.glob("*.c")), flags)


def build_nvcomp() -> Path:
    """A library of nvCOMP's name, whose functions are the stub's."""
    flags = ("-Wl,-soname,libnvcomp.so.6", "-Wl,--no-as-needed", str(build_driver()))
    return compile_library("libnvcomp", [HERE / "aliases" / "libnvcomp.c"], flags)


def compile_library(name: str, sources: Iterable[Path], flags: Iterable[str] = ()) -> Path:
    """The shared library of these C files. Raises RuntimeError with the compiler's message."""
    sources, flags = list(sources), [*FLAGS, *flags, f"-I{HERE}"]
    library = cache_folder() / f"{name}-{_key(sources, flags)}.so"
    if library.exists():
        return library
    with _alone(library.with_suffix(".lock")):
        if not library.exists():
            _compile(sources, flags, library)
    return library


def _compile(sources: list[Path], flags: list[str], library: Path) -> None:
    beside = library.with_suffix(f".{os.getpid()}")
    command = [sys.executable, "-m", "ziglang", "cc", *flags, "-o", str(beside), *map(str, sources)]
    folders = {name: str(cache_folder() / "zig") for name in ("ZIG_LOCAL_CACHE_DIR", "ZIG_GLOBAL_CACHE_DIR")}
    environment = {key: value for key, value in os.environ.items() if key != "EMULATED_CARDS"} | folders
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
    beside.rename(library)


def _key(sources: list[Path], flags: list[str]) -> str:
    """What the code depends on: sources, headers, flags, the compiler, and the target processor."""
    digest = hashlib.sha256(f"{flags} {version('ziglang')} {_processor()}".encode())
    for path in [*sources, *sorted(HERE.glob("*.h")), *sorted(HERE.glob("*.map"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:20]


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line for line in lines if line.startswith(("model name", "CPU part"))), "")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Only one process at a time is inside."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
