"""Records of a VCF, VCF.gz or BCF file in its order, by htslib; whatever is wrong with the file is an InputError."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pysam

from readwarp.errors import InputError
from readwarp.formats.common.compressed import is_damage, unpacked
from readwarp.formats.common.limited import check_lines


class RecordFile:
    """Open until the stack is closed. pysam's `header`; iteration gives the number of each record, from 1, and it."""

    def __init__(self, path: Path, stack: ExitStack, with_samples: bool = False):
        check_lines(path, b"BCF")  # htslib would keep a line of any length in memory
        self.path = path
        with explaining(path):
            plain = stack.enter_context(unpacked(path))
            self._file = stack.enter_context(pysam.VariantFile(str(plain), drop_samples=not with_samples))
        self.header: Any = self._file.header

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        number, records = 0, iter(self._file)
        while True:
            with explaining(self.path, number + 1):
                record = next(records, None)
            if record is None:
                return
            number += 1
            yield number, record


@contextmanager
def explaining(path: Path, record: int | None = None) -> Iterator[None]:
    """What htslib raises in the block becomes an InputError about this record; of the first, about the file."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if not (is_damage(error) or isinstance(error, ValueError | NotImplementedError)):
            raise
        reason = getattr(error, "strerror", None) or "not a VCF or BCF file, or damaged"
        raise InputError(path, f"cannot be read ({reason})", None if record == 1 else record) from error
