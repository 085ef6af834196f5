"""compile: the machine code of all kernels, made in advance."""

import argparse
from pathlib import Path

from readwarp.cli import options as shared

EPILOG = """\
examples:
  readwarp compile                                                   for this user, on this machine
  readwarp compile --level x86-64-v3 --level x86-64-v4 -o /opt/readwarp/kernels
  readwarp compile --package --level all                             for all who use this installation or image

Set READWARP_KERNELS=/opt/readwarp/kernels to use the kernels of a folder; those of the package are found. The folder,
and each above it, must belong to root, the owner of the package or the user, and be writable by its owner only. Kernels
fit the versions of readwarp, Numba and Python that made them; with others, the first run compiles.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    text = "processors: x86-64, x86-64-v2, x86-64-v3 (AVX2), x86-64-v4 (AVX-512), aarch64 or all; may be repeated "
    parser.add_argument("--level", action="append", metavar="LEVEL", help=f"{text}[this machine's]")
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
    try:
        folder = cache_folders.SHIPPED if options.package else options.output or cache_folders.own_folder()
        with CommandReporter(options) as reporter:
            for level in wanted:
                with reporter.kernels() as meter:
                    made = fill(
                        folder, options.commands or known, level, options.threads or usable_threads(), meter.compiling
                    )
                print(f"{level.name}: {sum(made)} kernels in {folder} ({made.compiled} compiled, {made.copied} copied)")
    except DistrustError as error:
        raise UsageError(f"{folder}: kernels there would not be trusted: {error}") from error
    except OSError as error:
        place = error.filename or options.output
        raise UsageError(f"{place}: cannot be written ({error.strerror or error})") from error
