"""Count the figures of long reads in one more pass over the records of a file."""

from collections.abc import Callable
from contextlib import closing
from itertools import accumulate
from pathlib import Path

import numpy as np

from readwarp.errors import InputError
from readwarp.formats.alignments.layout import NAME, stored_cigar_of
from readwarp.formats.alignments.regions import AlignedReader, FileForm
from readwarp.formats.common.qualities import PHRED33
from readwarp.report.counting import long_kernels
from readwarp.report.counting.long_kernels import LongTables, make_long_tables
from readwarp.report.counting.one_pass import CountStretch, stretches
from readwarp.report.counting.span_kernels import DepthWindow
from readwarp.report.counting.tables import ThreadTables
from readwarp.stream.runner import map_ordered


def count_long_reads(
    path: Path, reference: Path | None, threads: int, check: Callable[[], None] = lambda: None
) -> LongTables:
    """Count a sorted and indexed BAM or CRAM file (reference: indexed FASTA). Raises InputError.

    check: called now and then, raises an error to stop the count.
    """
    reader, shared = AlignedReader(path, reference, form=FileForm(PHRED33)), ThreadTables(make_long_tables)
    first = np.array([0, *accumulate(reader.lengths)], np.int64)

    def count(stretch: CountStretch) -> None:
        place = DepthWindow(*(stretch.window[1:] if stretch.window else (0, 0)), first)
        with shared.borrow() as tables:
            for records in stretch.records:
                bad = long_kernels.count_long(records, place, tables)
                if bad >= 0:
                    name = records.data[bad + NAME : stored_cigar_of(records.data, bad)[0] - 1].tobytes().decode()
                    raise InputError(path, "the tags of a read cannot be read: de, dv or NM is not a number", name)

    try:
        with closing(map_ordered(stretches(reader), count, threads, 2 * threads)) as parts:
            for _ in parts:
                check()
    finally:
        reader.close()
    return shared.total()
