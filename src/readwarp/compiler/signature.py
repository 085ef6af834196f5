"""Types of a kernel's arguments: as a key, for speed, and as text, for files.

    text                                    arguments
    i8, u1, f8, b1                          a number: of Python (int, float, bool) or of NumPy
    u1[:]  i8[:,:]                          an array, C-contiguous
    i4[:,:]F  i8[:]A                        in Fortran order; with gaps
    (u1[:],i8)                              a tuple
    readwarp.call.places.bases:Window(i8,i8,u1[:])    a named tuple: its class and its fields

A read-only array has the type of any other: kernels do not write to their inputs. The system would stop a write to a
mapped file.
"""

from collections.abc import Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any

import numpy as np

C_CONTIGUOUS, F_CONTIGUOUS, ALIGNED = 1, 2, 0x100  # flags of an array
NUMBERS = {int: "i8", float: "f8", bool: "b1"}
_classes: dict[str, type] = {}  # named-tuple classes met so far, by their names in the text


def key_of(value: Any) -> Any:
    """Return a key that is equal for values of equal types; it also distinguishes integers of Python and NumPy."""
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype, value.ndim, value.flags.num & (C_CONTIGUOUS | F_CONTIGUOUS | ALIGNED)
    if isinstance(value, tuple):
        return kind, *map(key_of, value)
    if isinstance(value, np.ndarray):
        return key_of(value.view(np.ndarray))
    return "u8" if kind is int and value >= 1 << 63 else kind


def signature_of(arguments: Sequence[Any]) -> str:
    """Return the types of the arguments as text. Raises TypeError for arguments that kernels do not take."""
    return ",".join(map(_text_of, arguments))


def _text_of(value: Any) -> str:
    kind = type(value)
    if isinstance(value, np.ndarray) or hasattr(kind, "__cuda_array_interface__"):
        return _array_text(value)
    if isinstance(value, tuple):
        fields = f"({','.join(map(_text_of, value))})"
        return _class_text(kind) + fields if hasattr(kind, "_fields") else fields
    if kind is int and value >= 1 << 63:
        return "u8"
    if kind in NUMBERS:
        return NUMBERS[kind]
    if isinstance(value, np.generic) and value.dtype.kind in "iufb":
        return value.dtype.str[1:]
    raise TypeError(f"kernels take arrays, numbers and tuples of them, not {kind.__name__}")


def _array_text(array: Any) -> str:
    flags = array.flags.num if isinstance(array, np.ndarray) else C_CONTIGUOUS | ALIGNED  # on a card
    if not array.dtype.isnative or array.dtype.kind not in "iufb" or not flags & ALIGNED:
        raise TypeError(f"kernels take aligned arrays of numbers in the machine's byte order, not {array.dtype.str}")
    layout = "" if flags & C_CONTIGUOUS else "F" if flags & F_CONTIGUOUS else "A"
    return f"{array.dtype.str[1:]}[{','.join(':' * array.ndim)}]{layout}"


def _class_text(kind: type) -> str:
    name = f"{kind.__module__}:{kind.__qualname__}"
    _classes[name] = kind
    return name


def class_of(name: str) -> type:
    """Return the named-tuple class that a signature names."""
    if name not in _classes:
        _classes[name] = find_named(name)
    return _classes[name]


def find_named(text: str) -> Any:
    """Import what `module:name` names."""
    module, _, path = text.partition(":")
    return attrgetter(path)(import_module(module))


def types_of(signature: str) -> list[Any]:
    """Return Numba's types of a signature."""
    found, rest = _parse_list(signature)
    if rest:
        raise ValueError(f"not a signature of a kernel: {signature}")
    return found


def _parse_list(text: str) -> tuple[list[Any], str]:
    """Parse types up to the end or a closing bracket; return them and the remaining text."""
    found = []
    while text and text[0] != ")":
        kind, text = _parse(text.removeprefix(","))
        found.append(kind)
    return found, text


def _parse(text: str) -> tuple[Any, str]:
    """Parse the first type of the text; return it and the remaining text."""
    from numba import from_dtype, types

    name = text[: min((text.find(mark) for mark in "(,)[" if mark in text), default=len(text))]
    rest = text[len(name) :]
    if rest.startswith("("):
        parts, rest = _parse_list(rest[1:])
        return types.BaseTuple.from_types(parts, class_of(name) if name else tuple), rest[1:]
    number = from_dtype(np.dtype(name))
    if not rest.startswith("["):
        return number, rest
    axes, _, rest = rest[1:].partition("]")
    layout = rest[:1] if rest[:1] in ("F", "A") else "C"
    array: Any = types.Array
    return array(number, axes.count(":"), layout), rest.removeprefix(layout)
