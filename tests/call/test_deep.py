"""Deep amplicons keep --memory, whatever the threads, or are told what they need."""

import sys
from array import array

import numpy as np
import pysam
import pytest

from helpers.making import random_sequence, write_fasta
from helpers.memory import watch

pytestmark = pytest.mark.slow
DEPTH, LENGTH = 5000, 3000


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deep")
    sequence = random_sequence(LENGTH, seed=4)
    changed = sequence[:1500] + ("C" if sequence[1500] != "C" else "G") + sequence[1501:]
    rng = np.random.default_rng(4)  # files of equal qualities are twenty times as dense as those of sequencers
    header = pysam.AlignmentHeader.from_dict({"SQ": [{"SN": "one", "LN": LENGTH}], "HD": {"SO": "coordinate"}})
    with pysam.AlignmentFile(folder / "deep.bam", "wb", header=header) as file:
        read = pysam.AlignedSegment(header)
        read.reference_id, read.mapping_quality, read.cigarstring = 0, 60, "150M"
        for place in range(0, LENGTH - 150, 3):
            for number in range(DEPTH * 3 // 150):
                read.reference_start, read.query_name, read.flag = place, f"{place}.{number}", 16 * (number & 1)
                read.query_sequence = (changed if number % 10 == 0 else sequence)[place : place + 150]
                read.query_qualities = array("B", rng.integers(30, 41, 150, np.uint8).tobytes())
                file.write(read)
    pysam.index(str(folder / "deep.bam"))
    return write_fasta(folder / "ref.fa", {"one": sequence}), folder / "deep.bam"


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize(("memory", "code"), [(250, 0), (160, 5)])
def test_deep_amplicons(made, tmp_path, threads, memory, code):
    options = ["--mixture", "--max-depth", 100_000, "--memory", f"{memory}M", "-t", threads, "-o", tmp_path / "a.vcf"]
    ended = watch([sys.executable, "-m", "readwarp", "call", *made, *options])
    assert ended.code == code, ended.errors
    assert ended.peak <= memory << 20
    assert code == 0 or "bases of reads at and around one:1-" in ended.errors
    assert (tmp_path / "a.vcf").exists() == (code == 0)
