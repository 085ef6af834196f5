"""Options of the commands as keyword arguments in Python: their names, and the equivalent command line."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, get_args, get_type_hints

from readwarp.config.declare import AnyPath as AnyPath
from readwarp.config.declare import keywords_of
from readwarp.errors import UsageError
from readwarp.wording import counted, nearest

MIN_BYTES = 1 << 20  # a smaller number without a unit lacks one by mistake
UNITS = {"K": 1, "M": 2, "G": 3, "T": 4}
SIMPLE: dict[Any, type] = {int: Integral, float: Real, str: str, type(None): type(None)}  # types accepted for these


def check_keywords(function: str, options: Mapping[str, Any], command: type, parameters: type | None = None) -> None:
    """Raise TypeError, as Python does, for a keyword that is no option of the command, or a text for a number.

    parameters: a dataclass whose fields are keywords too.
    """
    hints = get_type_hints(parameters) if parameters else {}
    hints |= {name: keyword.type for name, keyword in keywords_of(command).items()}
    for name, value in options.items():
        if name not in hints:
            hint = f"; did you mean {near}?" if (near := nearest(name, hints)) else ""
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")
        wanted = get_args(hints[name]) or (hints[name],)
        if value is None or not SIMPLE.keys() >= set(wanted):
            continue  # None is the default; other types are checked where they are used
        if not isinstance(value, tuple(SIMPLE[kind] for kind in wanted)) and not _is_whole(value, wanted):
            kinds = " or ".join(kind.__name__ for kind in wanted if kind is not type(None))
            raise TypeError(f"{function}() takes {name} as {kinds}, not {value!r}")


def _is_whole(value: Any, wanted: Sequence[type]) -> bool:
    """Return whether a float such as 1e9 is accepted as an integer."""
    return int in wanted and isinstance(value, float) and value.is_integer()


def bytes_of(size: int | str) -> int:
    """Parse 4G, 500M, 1.5g or plain bytes, as text or number. Raises UsageError."""
    if not isinstance(size, str):
        return int(size)
    number, factor = split_unit(size.upper().removesuffix("B").removesuffix("I"), 1024)
    try:
        found = int(float(number) * factor)
    except (ValueError, OverflowError):
        found = 0
    if found < 1:
        raise UsageError(f"{size!r} is not a size such as 500M or 4G")
    if factor == 1 and found < MIN_BYTES:
        raise UsageError(f"{size!r} is {counted(found, 'byte')}: perhaps {number}G")
    return found


def split_unit(text: str, step: int) -> tuple[str, int]:
    """Split 20M into 20 and the factor of M, which is step**2."""
    power = UNITS.get(text[-1:], 0)
    return text[:-1] if power else text, step**power


def command_line(command: str, known: type, options: Mapping[str, Any], *files: AnyPath, output: Any) -> str:
    """Check keywords and spell the equivalent command: `readwarp align ref.fa reads.fq --output out.bam --sort name`.

    known: the `Command`. Raises TypeError for other keywords, and for a list where files are given one by one.
    """
    check_keywords(command, options, known)
    for file in files:
        if not isinstance(file, str | PathLike):
            raise TypeError(f"{command}(): pass files as separate arguments, not {file!r}: {command}(..., *files)")
    words = ["readwarp", command, *map(str, files)]
    for name, value in {"output": output, **options}.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif isinstance(value, list | tuple) and all(isinstance(part, int | float) for part in value):
            words += [option, ",".join(map(str, value))]
        elif isinstance(value, list | tuple):
            words += [word for part in value for word in (option, str(part))]
        elif value is not None and value is not False:
            words += [option, str(value)]
    return shlex.join(words)


def path_or_none(given: AnyPath | None) -> Path | None:
    return None if given is None else Path(given)


def as_paths(given: AnyPath | Iterable[AnyPath]) -> tuple[AnyPath, ...]:
    """Return one path or several as a tuple."""
    return (given,) if isinstance(given, str | PathLike) else tuple(given)


def as_texts(given: AnyPath | Iterable[AnyPath] | None) -> tuple[str, ...]:
    """Return one path or text, several, or none as a tuple."""
    return tuple(map(str, as_paths(given))) if given else ()


def explain_names(kind: type, elsewhere: Mapping[str, str], remedy: str) -> None:
    """Let AttributeError translate other libraries' names to those here: `elsewhere` maps them."""

    def explain(self: object, name: str) -> Any:
        known = elsewhere.get(name)
        hint = f"; here it is {known}, and {remedy}" if known else ""
        article = "an" if kind.__name__.startswith("A") else "a"
        raise AttributeError(f"{article} {kind.__name__} has no {name!r}{hint}", name=name, obj=self)

    kind.__getattr__ = explain  # type: ignore[attr-defined]
