"""Compile what a command lacks, all at once, before it begins: in several processes, and in one command at a time.

So the user learns at the beginning how much there is to do and how long it takes, and "once" is said once. If a process
of ours fails, or a kernel is not in the manifest, `compiler.jit` compiles it when it is called.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from readwarp.compiler import cache_folders, manifest
from readwarp.compiler.jit import kernel_of
from readwarp.compiler.levels import Level, current_level
from readwarp.compiler.manifest import ManifestEntry, place_of
from readwarp.compiler.progress import Compiling, ProgressLines, Show, done, to_stderr
from readwarp.system.machine import usable_threads

logger = logging.getLogger("readwarp")
Needed = Mapping[Level, Sequence[ManifestEntry]]
ForCards = Callable[[str], Needed]  # what a command needs on cards


def prepare(command: str, threads: int, show: Show | None = None, for_cards: ForCards = lambda _: {}) -> int:
    """Compile what a command of `manifest` needs and no folder has; return the number of kernels compiled here.

    show: called with the progress, in the calling thread; None: lines on stderr.
    """
    needed = {current_level(): manifest.needed_by(command), **for_cards(command)}
    total = sum(len(missing(entries, level)) for level, entries in needed.items())
    if not total:
        return 0
    try:
        folder = cache_folders.own_folder()
    except OSError as error:
        logger.warning("%s: each run compiles its kernels again", error)
        return 0
    from readwarp.compiler.lock import compiling_alone
    from readwarp.compiler.workers import compile_entries

    show, compiled = show or ProgressLines(to_stderr), 0
    with compiling_alone(folder, lambda holder: show(Compiling(0, total, 0.0, 0.0, holder))):
        for level, entries in needed.items():
            lacking = missing(entries, level)  # another process may have compiled them
            compiled += compile_entries(lacking, folder, level, threads, show) if lacking else 0
        return compiled


def load_kernels(command: str) -> None:
    """Load what a command needs, for processes forked from this one."""
    for entry in manifest.needed_by(command):
        kernel_of(entry.kernel).load(entry.signature)


@cache
def prepare_once(command: str, for_cards: ForCards = lambda _: {}) -> None:
    """Prepare calls from Python, which may be frequent and from several threads; also report the end on stderr."""
    started = time.perf_counter()
    kernels = prepare(command, usable_threads(), for_cards=for_cards)
    if kernels:
        to_stderr(done(kernels, time.perf_counter() - started))


def missing(needed: Iterable[ManifestEntry], level: Level | None = None) -> list[ManifestEntry]:
    """List the entries that no folder has for a level (None: the current one)."""
    folders = cache_folders.folders()
    places = ((entry, place_of(entry, level or current_level())) for entry in needed)
    return [entry for entry, place in places if not any((folder / place).exists() for folder in folders)]
