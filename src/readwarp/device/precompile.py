"""The first run's compilation on several cores: child processes compile what the command does not need at once.

While a command compiles the kernels of the align steps, children compile those of calling and of the formats into the
same disk cache, by doing a tiny job with each. Stages for which there is no core are left to the command. A mark in the
cache folder says that a stage is done. Numba writes a cached kernel as a whole, so two processes may compile the same.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from readwarp.device.kernel_cache import package_folder

STAGES = {  # a module and its function, which takes a folder to work in; the slowest first
    "calling": ("readwarp.call.precompile", "compile_calling"),
    "formats": ("readwarp.formats.reads.precompile", "compile_formats"),
    "text": ("readwarp.formats.reads.precompile", "compile_text"),
    "paf": ("readwarp.formats.reads.precompile", "compile_paf"),
}


@contextmanager
def precompile_stages(stages: Sequence[str], threads: int) -> Iterator[None]:
    """While the block compiles its own kernels, children compile those of `stages`, the slowest stage first.

    At the end, the calling process compiles the stages that no child took, and waits for the children.
    """
    missing = [stage for stage in STAGES if stage in stages and not _mark(stage).exists()]
    if not missing or threads < 2:
        yield
        return
    children: list[subprocess.Popen[bytes]] = []
    quiet = subprocess.DEVNULL
    # What a killed child has started may write there a moment longer; that is no error of the command's.
    with tempfile.TemporaryDirectory(prefix="readwarp-", ignore_cleanup_errors=True) as folder:
        try:
            for stage in missing[: threads - 1]:
                command = [sys.executable, "-m", "readwarp.device.precompile", folder, stage]
                with suppress(OSError):  # no process can be started
                    children.append(subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet))
            yield
            if children:
                for stage in missing[threads - 1 :]:
                    compile_stage(Path(folder), stage)
            for child in children:
                child.wait()  # what it could not compile is compiled where it is needed
        finally:
            for child in children:
                child.kill()
                child.wait()


def _mark(stage: str) -> Path:
    return package_folder() / f"{stage}.done"


def compile_stage(folder: Path, stage: str) -> None:
    module, function = STAGES[stage]
    getattr(import_module(module), function)(folder)
    _mark(stage).touch()


if __name__ == "__main__":
    compile_stage(Path(sys.argv[1]), sys.argv[2])
