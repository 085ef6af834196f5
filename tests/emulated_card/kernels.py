"""PTX becomes kernels that run: translated, compiled by LLVM for this processor, cached on disk, and loaded."""

import ctypes
import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from emulated_card.build import cache_folder
from emulated_card.control import driver
from emulated_card.ptx import KernelText, UnknownPtxError, read, without_comments
from emulated_card.translate import Translation

CALLED = ("card_access", "card_atomic", "card_reduce", "card_shuffle", "card_warp_barrier")  # by translated kernels
THREADS = 1024  # of a block, at most
_lock = threading.Lock()
_loaded: dict[str, list[tuple[str, int]]] = {}  # by PTX
texts: dict[int, str] = {}  # PTX by address of a `Kernel`
_kept: list[object] = []  # what kernels need as long as the process lives


class Array(ctypes.Structure):
    """See card.h."""

    _fields_ = [(name, ctypes.c_uint32) for name in ("first", "axes", "is_read", "is_written")]


class Kernel(ctypes.Structure):
    """See card.h."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("step", ctypes.c_void_p),
        ("parameters", ctypes.c_uint32),
        ("sizes", ctypes.POINTER(ctypes.c_uint32)),
        ("arrays", ctypes.c_uint32),
        ("array", ctypes.POINTER(Array)),
        *((name, ctypes.c_uint32) for name in ("frame", "local", "shared", "threads", "blocks")),
        ("counters", ctypes.POINTER(ctypes.c_uint64)),
    ]


def load_ptx(text: str) -> list[tuple[str, int]]:
    """(name, address of a `Kernel`) of each kernel of the PTX. Raises UnknownPtxError."""
    with _lock:
        if text not in _loaded:
            for name in CALLED:
                llvm.add_symbol(name, ctypes.cast(getattr(driver(), name), ctypes.c_void_p).value)
            _loaded[text] = [_load(*made) for made in _compiled(text, cache_folder() / "kernels")]
            texts.update((address, text) for _, address in _loaded[text])
        return _loaded[text]


@cache
def _made_by() -> str:
    """What a compiled kernel depends on besides its PTX."""
    sources = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return f"{hashlib.sha256(sources).hexdigest()} {llvmlite.__version__} {llvm.get_host_cpu_name()}"


def _compiled(text: str, folder: Path) -> Iterator[tuple[dict, bytes]]:
    """Facts and machine code of each kernel, from the cache folder if they are there.

    The PTX of most kernels differs between capabilities only in its head and comments, which do not count.
    """
    code = re.sub(r"^\.(?:version|target)\b[^\n]*", "", without_comments(text), flags=re.MULTILINE)
    key = hashlib.sha256(f"{_made_by()}{code}".encode()).hexdigest()[:24]
    listing = folder / f"{key}.json"
    if not listing.exists():
        folder.mkdir(parents=True, exist_ok=True)
        facts = []
        for number, kernel in enumerate(read(text)):
            fact, code = _translated(kernel)
            facts.append(fact)
            _write(folder / f"{key}.{number}.o", code)
        _write(listing, json.dumps(facts).encode())
    for number, fact in enumerate(json.loads(listing.read_text())):
        yield fact, (folder / f"{key}.{number}.o").read_bytes()


def _write(path: Path, content: bytes) -> None:
    """Write the file atomically: other processes may write it too."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def _translated(kernel: KernelText) -> tuple[dict, bytes]:
    translation = Translation(kernel)
    try:
        module = llvm.parse_assembly(translation.text())
        module.verify()
    except UnknownPtxError as error:
        raise UnknownPtxError(f"{kernel.name}: {error}") from None
    sizes = [{"pred": 1}.get(kind) or int(kind[1:]) // 8 for kind in kernel.parameters]
    arrays = [
        (array.first, array.axes, int(number in translation.read), int(number in translation.written))
        for number, array in enumerate(translation.arrays)
    ]
    facts = {"name": kernel.name, "sizes": sizes, "arrays": arrays, "frame": translation.frame}
    facts |= {"local": kernel.local_bytes, "shared": kernel.shared_bytes, "blocks": len(kernel.blocks)}
    return facts, _machine().emit_object(module)


@cache
def _machine() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True)


def _load(facts: dict, code: bytes) -> tuple[str, int]:
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    arrays = (Array * len(facts["arrays"]))(*(Array(*each) for each in facts["arrays"]))
    sizes = (ctypes.c_uint32 * len(facts["sizes"]))(*facts["sizes"])
    counters = (ctypes.c_uint64 * (2 * facts["blocks"]))()
    made = Kernel(
        name=facts["name"].encode(), step=engine.get_function_address("step"), parameters=len(sizes), sizes=sizes,
        arrays=len(arrays), array=arrays, frame=facts["frame"], local=facts["local"], shared=facts["shared"],
        threads=THREADS, blocks=facts["blocks"], counters=counters,
    )  # fmt: skip
    _kept.extend((engine, arrays, sizes, counters, made))
    return facts["name"], ctypes.addressof(made)
