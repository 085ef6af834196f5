"""compile: the machine code of all kernels, made in advance."""

import argparse
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from readwarp.cli import options as shared

if TYPE_CHECKING:
    from readwarp.compiler.prepare import Needed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    text = "processors: x86-64, x86-64-v2, x86-64-v3 (AVX2), x86-64-v4 (AVX-512), aarch64 or all; may be repeated "
    parser.add_argument("--level", action="append", metavar="LEVEL", help=f"{text}[this machine's]")
    text = "NVIDIA cards, by compute capability, such as 9.0; may be repeated [this machine's]"
    parser.add_argument("--capability", action="append", metavar="X.Y", help=text)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("-o", "--output", type=Path, metavar="DIR", help="folder for the kernels [the user's cache]")
    where.add_argument("--package", action="store_true", help="write into the installed package")
    text = "kernels of this command only; may be repeated [all]"
    parser.add_argument("--command", dest="commands", action="append", metavar="NAME", help=text)
    shared.add_threads(parser)
    shared.add_reporting(parser)


def run(options: argparse.Namespace) -> None:
    from readwarp.cli.reporting import CommandReporter
    from readwarp.compiler import cache_folders, levels, manifest
    from readwarp.compiler.trust import DistrustError
    from readwarp.compiler.workers import fill
    from readwarp.errors import UsageError
    from readwarp.system.machine import usable_threads

    names = options.level or [levels.host_level().name]
    wanted = levels.of_this_kind() if "all" in names else [levels.named(name) for name in dict.fromkeys(names)]
    for level in wanted:
        if not levels.can_compile(level):
            raise UsageError(f"--level {level.name}: kernels for {level.machine} can only be compiled on one")
    known = manifest.commands()
    for name in options.commands or ():
        if name not in known:
            raise UsageError(f"--command {name}: unknown, or needs no kernels; known are {', '.join(known)}")
    on_host = {level: manifest.needed_by(*options.commands or known) for level in wanted}
    needed = {**on_host, **for_cards(options.capability, options.commands or known)}
    try:
        folder = cache_folders.SHIPPED if options.package else options.output or cache_folders.own_folder()
        with CommandReporter(options) as reporter:
            for level, entries in needed.items():
                with reporter.kernels() as meter:
                    made = fill(folder, entries, level, options.threads or usable_threads(), meter.compiling)
                print(f"{level.name}: {sum(made)} kernels in {folder} ({made.compiled} compiled, {made.copied} copied)")
    except DistrustError as error:
        raise UsageError(f"{folder}: kernels there would not be trusted: {error}") from error
    except OSError as error:
        place = error.filename or options.output
        raise UsageError(f"{place}: cannot be written ({error.strerror or error})") from error


def for_cards(given: list[str] | None, commands: Iterable[str]) -> "Needed":
    """List what commands need on cards of these compute capabilities, or on those that work here. Raises UsageError."""
    from readwarp.compiler.levels import card_level
    from readwarp.device.backend import devices, kernels_for, unusable
    from readwarp.device.driver import is_able
    from readwarp.errors import UsageError

    for text in given or ():
        if not re.fullmatch(r"[1-9]\d?\.\d", text):
            raise UsageError(f"--capability {text}: not a compute capability, such as 9.0")
    found = [(int(text[:-2]), int(text[-1])) for text in given or ()]
    if given is None and not unusable():
        found = [device.compute_capability for device in devices() if is_able(device)]
    listed = {capability: kernels_for(capability, *commands) for capability in sorted(found)}
    return {card_level(capability): entries for capability, entries in listed.items() if entries}
