"""The file of --haplotag: what stops its writing has its reason."""

import random
import resource
from contextlib import suppress
from types import SimpleNamespace

import pysam
import pytest

from readwarp.call.records.haplotag import HaplotaggedBam

LIMIT = 1 << 15  # bytes of a file


@pytest.fixture
def alignments(tmp_path):
    """Records of one contig, far more than LIMIT when they are compressed."""
    path, letters = tmp_path / "in.bam", random.Random(1)
    header = pysam.AlignmentHeader.from_dict({"SQ": [{"SN": "c", "LN": 10_000}]})
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        for number in range(200):
            record = pysam.AlignedSegment(header)
            record.query_name, record.reference_id, record.reference_start = f"r{number}", 0, number
            record.cigarstring = "4000M"
            record.query_sequence = "".join(letters.choices("ACGT", k=4000))
            record.query_qualities = [letters.randrange(40) for _ in range(4000)]
            out.write(record)
    reader = SimpleNamespace(path=path, is_stream=False, names=["c"], lengths=[10_000], header=header, fasta=None)
    source = SimpleNamespace(reader=reader, contigs={0: 0}, keep=SimpleNamespace(samples=()))
    return SimpleNamespace(sources=[source], samples=["s"])


@pytest.mark.parametrize("threads", [1, 3])
def test_where_no_more_can_be_written_the_reason_is_that(alignments, threads, tmp_path):
    """With threads, pysam gives the reason of the last error that this thread had, whatever that was."""
    tagged = HaplotaggedBam(tmp_path / "h.bam", alignments, tmp_path / "absent.fa", threads, "readwarp call")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, hard))
    try:
        with pytest.raises(OSError, match="File too large") as stopped:
            with suppress(FileNotFoundError):
                (tmp_path / "absent").stat()
            tagged.write()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert stopped.value.filename == str(tmp_path / "h.bam")
    assert {path.name for path in tmp_path.iterdir()} == {"in.bam"}
