"""The first run's compilation on more than one core: further processes compile what the first does not need at once.

While a command compiles the kernels of the align steps, children compile those of calling and of the formats into the
same disk cache, by doing a tiny job with each; what no core is left for, the command does itself. A mark in the cache
folder says that a stage is done; Numba writes each cached kernel as a whole, so that two processes which compile the
same one do no harm.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from readwarp.device.kernel_cache import package_folder

STAGES = {  # a module and its function, which takes a folder to work in; the slowest first
    "calling": ("readwarp.call.precompile", "compile_calling"),
    "formats": ("readwarp.formats.reads.precompile", "compile_formats"),
    "text": ("readwarp.formats.reads.precompile", "compile_text"),
}


@contextmanager
def precompile_stages(stages: Sequence[str], threads: int) -> Iterator[None]:
    """While the block compiles its own kernels, have those of `stages` compiled by children, the slowest stage first.

    At the end what no child was left for is compiled here, and the children are waited for.
    """
    missing = [stage for stage in STAGES if stage in stages and not _mark(stage).exists()]
    if not missing or threads < 2:
        yield
        return
    children: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory(prefix="readwarp-") as folder:
        try:
            for stage in missing[: threads - 1]:
                children += _started(Path(folder), stage)
            yield
            if children:
                for stage in missing[threads - 1 :]:
                    compile_stage(Path(folder), stage)
            for child in children:
                child.wait()  # whatever it could not do is compiled where it is needed
        finally:
            for child in children:
                child.kill()
                child.wait()


def _started(folder: Path, stage: str) -> "list[subprocess.Popen[bytes]]":
    """A child that compiles a stage; none where no process can be started."""
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-m", "readwarp.device.precompile", str(folder), stage]
    try:
        return [subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)]
    except OSError:
        return []


def _mark(stage: str) -> Path:
    return package_folder() / f"{stage}.done"


def compile_stage(folder: Path, stage: str) -> None:
    module, function = STAGES[stage]
    getattr(import_module(module), function)(folder)
    _mark(stage).touch()


if __name__ == "__main__":
    compile_stage(Path(sys.argv[1]), sys.argv[2])
