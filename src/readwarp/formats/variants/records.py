"""Records of a VCF, VCF.gz or BCF file in order, by htslib; anything wrong with the file is an InputError."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pysam

from readwarp.errors import InputError
from readwarp.formats.common.compressed import is_damage, unpacked
from readwarp.formats.common.index import load_whole_index
from readwarp.formats.common.limited import check_lines
from readwarp.formats.variants.genomic_text import LineText

RAISED_BY_PYSAM = ValueError, KeyError, AssertionError, NotImplementedError  # for damaged contents
DAMAGED = "not a VCF or BCF file, or damaged"


class RecordFile:
    """A file open until the stack is closed, with pysam's `header`. Iteration yields (number from 1, record)."""

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
                check_alleles(self.path, record, number + 1)
            number += 1
            yield number, record


def find_index(path: Path) -> Path:
    """Find the index of a VCF.gz or BCF file. Raises InputError unless it covers all the records.

    htslib trusts an index: a damaged one can crash it, and another file's hides records.
    """
    text = LineText(path, stays_open=False)
    try:
        if not text.is_bgzf:
            raise InputError(path, "has no index, since bgzip did not compress it (use `bgzip`, then `tabix -p vcf`)")
        head = text.begin(9)
        is_bcf = head[:3] == b"BCF"
        if not is_bcf:
            text.header()
        size = len(head) + int.from_bytes(head[5:], "little") if is_bcf else text.header_size
    finally:
        text.close()
    index, _ = load_whole_index(path, size, is_bcf)
    assert index.path is not None
    return index.path


def check_alleles(path: Path, record: Any, place: int | str) -> None:
    """Raise InputError if an ALT is REF, and ValueError if the contig or an allele is not text.

    pysam decodes them only on demand.
    """
    _, alleles = record.chrom, [allele.upper() for allele in record.alleles or ()]
    if alleles[:1] and alleles[0] in alleles[1:]:
        raise InputError(path, f"REF is an ALT too: {alleles[0]}", place)


@contextmanager
def explaining(path: Path, record: int | str | None = None, otherwise: str = DAMAGED) -> Iterator[None]:
    """Turn errors of htslib in the block into an InputError about this record, or, for the first, about the file.

    otherwise: the reason if the system names none.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if not (is_damage(error) or isinstance(error, RAISED_BY_PYSAM)):
            raise
        reason = (isinstance(error, OSError) and error.errno and error.strerror) or otherwise
        raise InputError(path, f"cannot be read ({reason})", None if record == 1 else record) from error
