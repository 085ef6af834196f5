"""Work of an interruptible run: the records aligned so far, in a folder beside the output.

    OUTPUT.unfinished/
      job.json              everything that this run's output depends on
      000000.65536          segment 0: the records of all templates before number 65,536, compressed
      000000.65536.json     the run's counts up to there
      000001.131072 ...     the next segments, each from the end of the previous

A segment gets its name when it is complete and on disk, its counts before it; so however the process ends, the folder
shows how far the run had come. At the end of the input, the segments are written to the output as if they had just been
aligned.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from isal import igzip

from readwarp.errors import UsageError
from readwarp.finish.writer import AlignmentWriter, Prepared
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.stored import CHUNK, read_templates
from readwarp.formats.common.files import check_replaceable, private_folder, remove_folder
from readwarp.formats.common.output_file import ByteWriter, Writer
from readwarp.formats.common.source import fill
from readwarp.formats.common.writing import sync, write_whole, writing
from readwarp.system.ahead import map_ahead
from readwarp.system.stopping import held_back

SEGMENT_BYTES = 256 << 20  # of records in a segment, uncompressed: at most this much work can be lost


class Segments:
    """The folder of segments. It holds `done` templates; `counts` are the run's counts up to there."""

    def __init__(self, output: str, job: dict[str, Any]) -> None:
        """Open or make the folder of this output. Raises UsageError if it holds another job's work."""
        self.output, self.folder = output, folder_of(output)
        self.paths: list[Path] = []
        self.done = 0
        self.counts: dict[str, int] = {}
        text = json.dumps(job, indent=1, sort_keys=True, default=str)
        check_replaceable(self.folder)
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise UsageError(f"{self.folder}: cannot be created ({error.strerror})") from error
        stated = self.folder / "job.json"
        if stated.exists():
            then, now = json.loads(stated.read_text()), json.loads(text)
            if changed := sorted(name for name in {*then, *now} if then.get(name) != now.get(name)):
                reason = f"was made with other options or inputs ({', '.join(changed)} differ)"
                raise UsageError(f"{self.folder}: {reason}; remove it, or repeat those")
        else:
            try:
                write_whole(stated, text.encode())
            except BaseException:
                with suppress(OSError):  # it may not be empty
                    self.folder.rmdir()
                raise
        self._find()

    def _find(self) -> None:
        """Find the complete segments, in order, and remove incomplete ones."""
        for path in self.folder.glob("*.partial"):
            path.unlink()
        named = sorted(path for path in self.folder.glob("[0-9]*") if path.suffix[1:].isdecimal())
        for number, path in enumerate(named):
            if int(path.stem) != number:
                raise UsageError(f"{self.folder}: segment {number} is missing; remove the folder to start again")
        self.paths = named
        if named:
            self.done = int(named[-1].suffix[1:])
            self.counts = json.loads(Path(f"{named[-1]}.json").read_text())

    @property
    def partial(self) -> Path:
        """The file of the next segment until it is complete."""
        return self.folder / f"{len(self.paths):06d}.partial"

    def add(self, done: int, counts: dict[str, int]) -> None:
        """Register the complete file `partial`, which holds everything up to template `done`."""
        path = self.partial.with_suffix(f".{done}")
        write_whole(Path(f"{path}.json"), json.dumps(counts).encode())
        with writing(self.folder):
            sync(self.partial)
            self.partial.replace(path)
            sync(self.folder)
        self.paths.append(path)
        self.done, self.counts = done, counts


def folder_of(output: object) -> Path:
    return Path(f"{output}.unfinished")


def check_none(output: object) -> None:
    """Raise UsageError if an interrupted run has kept segments of this output."""
    folder = folder_of(output)
    if any(path.suffix[1:].isdecimal() for path in folder.glob("*")):
        raise UsageError(f"{folder}: holds the work of an interrupted run: --resume continues it, --force starts over")


def remove(output: object) -> None:
    """Remove the folder of an output, atomically for observers: it is useless once the output is complete."""
    private = private_folder(output)
    with held_back(), suppress(FileNotFoundError):
        folder_of(output).rename(private)
        remove_folder(private)


class ResumableWriter(Writer):
    """A stand-in for AlignmentWriter that keeps the records in segments; `close` makes the output from them.

    Records since the last checkpoint wait in memory, so that a segment never holds part of a batch. `abort` keeps
    everything up to the last checkpoint. `done` templates and their `counts` come from earlier runs.
    """

    def __init__(self, segments: Segments, writer: Callable[[], AlignmentWriter], text: bool, threads: int) -> None:
        """Continue the segments. writer: opens the output. text: the records are SAM text, which is copied."""
        self.text, self.duplicates = text, 0
        self.done, self.counts = segments.done, segments.counts
        self.families: Counter[int] = Counter()
        self.index: Path | None = None
        self._segments, self._writer = segments, writer
        self._threads = threads
        self._waiting: list[Any] = []  # bytes of records (uint8)
        self._file: ByteWriter | None = None  # of the open segment
        self._written = 0
        self._checkpoint, self._counts = segments.done, segments.counts
        self._is_whole = True  # the open segment ends at `_checkpoint`, and can be extended

    def add(self, batch: Prepared) -> None:
        self._waiting += batch.groups

    def checkpoint(self, template: int, counts: dict[str, int]) -> None:
        """Note that everything before this template has been written, with the run's counts up to there."""
        self._is_whole = False
        if self._file is None:
            path = self._segments.partial
            self._file = ByteWriter(path.open("wb", buffering=1 << 20), self._threads, str(path))
        for data in self._waiting:
            self._file.write(data)
            self._written += data.size
        self._waiting = []
        self._checkpoint, self._counts = template, counts
        self._is_whole = True
        if self._written >= SEGMENT_BYTES:
            self._finish_segment()

    def _finish_segment(self) -> None:
        if self._file is None:
            return
        self._is_whole = False  # a signal may come in between
        self._file.close()
        self._segments.add(self._checkpoint, self._counts)
        self._file, self._written = None, 0

    def complete(self) -> None:
        self._finish_segment()
        with self._writer() as writer, ThreadPoolExecutor(self._threads, "prepare") as pool:
            batches = (records for path in self._segments.paths for records in _read(path, self.text))
            for batch in map_ahead(pool, writer.prepare, batches, self._threads + 1):
                writer.add(batch)
        self.duplicates, self.families = writer.duplicates, writer.families
        self.index = writer.index
        remove(self._segments.output)

    def abort(self) -> None:
        with suppress(OSError):  # a full disk: complete segments stay
            if self._is_whole:
                self._finish_segment()
        if self._file is not None:
            with suppress(OSError):
                self._file.abort()
            self._segments.partial.unlink(missing_ok=True)


def _read(path: Path, is_text: bool) -> Iterator[Encoded]:
    """Yield the contents of a segment: SAM text, or BAM records."""
    with igzip.open(path, "rb") as file:
        if is_text:
            while data := file.read(CHUNK):
                yield Encoded(np.frombuffer(data, np.uint8), np.array([0, len(data)]))
        else:
            yield from read_templates(str(path), partial(fill, file))
