"""Records of BAM files that are read back before they are sorted."""

import numpy as np
import pytest

from helpers.batch_samples import bam_records, write_batches
from readwarp.errors import InputError
from readwarp.formats.alignments.header import Contig, binary_header, header_text
from readwarp.formats.alignments.stored import split_blocks
from readwarp.formats.common.bgzf import BgzfWriter
from readwarp.formats.reads.bam import read_records

HEADER = header_text([Contig("phix", 5386)], read_groups=["@RG\tID:a\tSM:x"])


@pytest.fixture
def path(tmp_path):
    write_batches(tmp_path / "a.bam", HEADER)
    return tmp_path / "a.bam"


def test_blocks_of_templates(path):
    whole = bam_records(path)
    blocks = list(split_blocks(read_records(path), 300))
    assert [sum(map(len, block)) for block in blocks] == [300, 300, 200]
    assert np.array_equal(np.concatenate([piece.data for block in blocks for piece in block]), whole.data)


@pytest.mark.parametrize("size", [-40, -5, 0, 31, 1 << 30])
def test_a_record_of_an_impossible_size(path, size):
    records = bam_records(path)
    data = records.data.copy()
    data[records.offsets[5] : records.offsets[5] + 4] = np.frombuffer(size.to_bytes(4, "little", signed=True), np.uint8)
    with path.open("wb") as file:
        writer = BgzfWriter(file)
        writer.write(binary_header(HEADER))
        writer.write(data)
        writer.close()
    with pytest.raises(InputError, match=r"record 6: (damaged: its size|truncated)"):
        list(read_records(path))
