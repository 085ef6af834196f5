"""Options of the command line, made from their declarations; and options that are of the command line only."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar, get_origin

from readwarp.config import PRESETS, find_preset
from readwarp.config.declare import Keyword, keywords_of, list_groups
from readwarp.errors import UsageError
from readwarp.python.keywords import bytes_of, split_unit

Number = TypeVar("Number", int, float)


def pick_keywords(options: argparse.Namespace, command: type) -> Any:
    """Return the options that are given and keywords of the command in Python."""
    values = {name: getattr(options, dest_of(each)) for name, each in keywords_of(command).items()}
    return {name: value for name, value in values.items() if value is not None}


def add_options(parser: argparse.ArgumentParser, command: type, metrics: bool = True) -> None:
    """Add the options of a command, in their groups, and those for messages; metrics: also --metrics."""
    for title, rows in list_groups(command):
        group = parser.add_argument_group(title) if title else parser
        for each in rows:
            add_option(group, each)
    add_reporting(parser, metrics)


def add_option(group: "argparse._ActionsContainer", keyword: Keyword) -> None:
    """Add an option. Its value is None where it is not given: parameters, or the preset, have the default."""
    details: dict[str, Any] = {"dest": dest_of(keyword), "help": keyword.help, "default": None}
    if bool in keyword.types:
        details["action"] = argparse.BooleanOptionalAction if keyword.default is True else "store_true"
    else:
        details |= {"type": converter_of(keyword), "metavar": metavar_of(keyword)}
        details |= {"choices": keyword.option.choices or None, "required": keyword.option.is_required}
        details["action"] = "append" if takes_several(keyword) else "store"
    group.add_argument(*keyword.spellings, **details)


def dest_of(keyword: Keyword) -> str:
    """Return the attribute of an option. `metrics` is the file that a command writes, except of report."""
    return "metrics_files" if keyword.name == "metrics" else keyword.name


def metavar_of(keyword: Keyword) -> str | None:
    """Return what stands for the value in the help; choices stand for themselves."""
    types = {*keyword.types}
    if keyword.option.metavar or keyword.option.choices:
        return keyword.option.metavar or None
    return "SIZE" if types >= {int, str} else "N" if types & {int, float} else "FILE" if is_path(keyword) else "NAME"


def is_path(keyword: Keyword) -> bool:
    return "PathLike" in str(keyword.type)


def takes_several(keyword: Keyword) -> bool:
    return not keyword.option.kind and any(get_origin(each) is Sequence for each in keyword.types)


def converter_of(keyword: Keyword) -> Callable[[str], Any]:
    """Return the function that parses the value of an option."""
    kind, types = keyword.option.kind, {*keyword.types}
    if kind == "preset":
        return partial(named_preset, presets={name: PRESETS[name] for name in keyword.option.choices})
    if kind or types >= {int, str}:
        return KINDS[kind or "size"]
    if int in types:
        return count if type(None) in types else natural
    return number if float in types else Path if is_path(keyword) and not takes_several(keyword) else str


def size(text: str) -> int:
    """Parse `4G`, `500M`, `1.5g` or plain bytes."""
    try:
        return bytes_of(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def count(text: str) -> int:
    """Parse a whole number of 1 or more; 20M is 20 million."""
    number, factor = split_unit(text.upper(), 1000)
    return _convert(text, lambda: int(number) * factor, 1, "a whole number of 1 or more")


def natural(text: str) -> int:
    """Parse a whole number of 0 or more."""
    return _convert(text, lambda: int(text), 0, "a whole number of 0 or more")


def number(text: str) -> float:
    """Parse a number of 0 or more."""
    return _convert(text, lambda: float(text), 0.0, "a number of 0 or more")


def _convert(text: str, convert: Callable[[], Number], minimum: Number, kind: str) -> Number:
    """Convert a text. Raises ArgumentTypeError unless it is a finite number of at least the minimum."""
    try:
        value = convert()
        if isfinite(value) and value >= minimum:
            return value
    except (ValueError, OverflowError):
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not {kind}")


def whole_numbers(text: str) -> tuple[int, ...]:
    """Parse `3,2,1` or `3 2 1`."""
    return tuple(natural(number) for number in text.replace(",", " ").split())


def secondary(text: str) -> int | None:
    """Parse a number; `no`, as in minimap2, is the default."""
    return None if text == "no" else natural(text)


def insert_size(text: str) -> tuple[float | int, ...]:
    """Parse MEAN[,SD[,MAX[,MIN]]]."""
    parts = text.split(",")
    try:
        numbers = (*map(float, parts[:2]), *map(int, parts[2:]))
        if len(parts) <= 4 and all(map(isfinite, numbers)):
            return numbers
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not MEAN[,SD[,MAX[,MIN]]]")


def named_preset(text: str, presets: Mapping[str, Any]) -> str:
    """Find a preset, by minimap2's names too."""
    try:
        return find_preset(text, presets)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("--preset ")) from None


REFERENCE_TEXT = "FASTA, GenBank or EMBL, also compressed; or its index (.rwx)"
READS_TEXT = (
    "FASTQ (two files are mates), BAM, uBAM or CRAM; also gzip, bzip2, xz or zstd; - is stdin; more files are further "
    "inputs"
)
REFERENCE = {"dest": "reference", "type": Path, "metavar": "REF", "help": REFERENCE_TEXT}
READS = {"dest": "reads", "nargs": "+", "metavar": "READS", "help": READS_TEXT}
KINDS: dict[str, Callable[[str], Any]] = {
    "count": count,
    "size": size,
    "whole numbers": whole_numbers,
    "secondary": secondary,
    "insert size": insert_size,
}


def add_threads(group: "argparse._ActionsContainer") -> None:
    """Add -t."""
    group.add_argument("-t", "--threads", type=count, metavar="N", help="CPU threads [all available]")


def add_reporting(parser: argparse.ArgumentParser, metrics: bool = True) -> None:
    """Add --no-progress -q -v --log --metrics, which `readwarp.cli.reporting` reads."""
    group = parser.add_argument_group("messages")
    group.add_argument("--no-progress", action="store_true", help="log progress instead of showing a bar")
    group.add_argument("-q", "--quiet", action="store_true", help="log warnings and errors only")
    group.add_argument("-v", "--verbose", action="store_true", help="log more, with tracebacks of errors")
    group.add_argument("--log", type=Path, metavar="FILE", help="also write the log to FILE")
    if metrics:
        group.add_argument("--metrics", type=Path, metavar="FILE", help="write counts and times to FILE as JSON")
    else:
        parser.set_defaults(metrics=None)
