"""An output file that appears under its name when it is complete."""

import os
import sys
from pathlib import Path
from typing import BinaryIO

from readwarp.errors import UsageError


class OutputFile:
    """A file that has another name until `finish`; stdout, pipes and devices are written as they are."""

    def __init__(self, path: str | None):
        self.name = "stdout" if path in (None, "-") else str(path)
        self.direct = path in (None, "-") or (Path(self.name).exists() and not Path(self.name).is_file())
        self.place = Path(self.name) if self.direct else Path(f"{self.name}.{os.getpid()}.partial")

    def open(self) -> BinaryIO:
        if self.name == "stdout":
            return sys.stdout.buffer
        try:
            return open(self.place, "wb", buffering=1 << 20)
        except OSError as error:
            raise UsageError(f"{self.name}: cannot be written ({error.strerror})") from error

    def finish(self) -> None:
        if not self.direct:
            self.place.replace(self.name)

    def remove(self) -> None:
        if not self.direct:
            self.place.unlink(missing_ok=True)
