"""Sums, counts and likelihoods of very deep sites stay within their types."""

import math
from dataclasses import replace

import numpy as np
import pysam
import pytest

from helpers.command_samples import CONTIGS, fasta, record, run_main
from readwarp.call.reads import inputs
from readwarp.call.records import bam_output
from readwarp.call.records.genotypes.score import LARGEST, RecordRoom, reduce_scores
from readwarp.config import MAX_DEPTH, CallParameters
from readwarp.errors import UsageError
from readwarp.formats.variants import vcf
from readwarp.formats.variants.vcf import raw_text

INT32 = (1 << 31) - 1


def test_a_depth_whose_sums_fit():
    """Base qualities and log10 likelihoods of a read are at most 93, and PL ten times that of two."""
    assert replace(CallParameters(), max_depth=MAX_DEPTH).max_depth * 2 * 93 < INT32
    for depth in (0, MAX_DEPTH + 1):
        with pytest.raises(UsageError, match="--max-depth must be 1 to 10,000,000"):
            replace(CallParameters(), max_depth=depth)


@pytest.mark.parametrize(
    ("squares", "depth"), [(0, 0), (3600, 1), (INT32, 600_000), (INT32 + 1, 600_000), (1 << 40, 1 << 29)]
)
def test_squares_of_mapping_qualities(squares, depth):
    """RAW_MQandDP of a million reads at MAPQ 60 is beyond an Integer of VCF; its quotient is kept."""
    shown, reads = map(int, raw_text(squares, depth).split(","))
    assert shown <= INT32 and reads <= depth
    if squares <= INT32:
        assert (shown, reads) == (squares, depth)
    elif depth:
        assert math.sqrt(shown / reads) == pytest.approx(math.sqrt(squares / depth), rel=1e-4)


def test_likelihoods_beyond_32_bits():
    """PL of ten million reads, each of which all but rules out a genotype."""
    room = RecordRoom(np.arange(2), np.zeros(1, np.int64), np.zeros(2), np.zeros(2, np.int32))
    best = reduce_scores(np.array([0.0, -9e8]), np.array([[0], [1]], np.int8), 1, 2, room, room.phred)
    assert best == 0 and room.phred.tolist() == [0, LARGEST]


@pytest.fixture
def deep(tmp_path, monkeypatch):
    """ref.fa and x.bam with 60 reads across a substitution."""
    monkeypatch.chdir(tmp_path)
    base = CONTIGS["one"][500]
    changed = CONTIGS["one"][:500] + ("A" if base != "A" else "C") + CONTIGS["one"][501:]
    (tmp_path / "ref.fa").write_text(fasta(CONTIGS))
    text = "".join(record(f"r{n}", changed[420 + n : 520 + n]) for n in range(60))
    (tmp_path / "x.fq").write_text(text)
    assert run_main(["align", "ref.fa", "x.fq", "-o", "x.bam", "--write-index", "-q"]) == 0
    return tmp_path


def test_the_limits_reach_the_output(deep, monkeypatch):
    """With an Integer of 16 bits: RAW_MQandDP of 60 reads at MAPQ 60 is scaled, and the joint call's MQ is still 60."""
    monkeypatch.setattr(vcf, "MAX_INTEGER", (1 << 15) - 1)
    assert run_main(["call", "ref.fa", "x.bam", "--gvcf", "-o", "x.g.vcf.gz", "-q"]) == 0
    with pysam.VariantFile("x.g.vcf.gz") as file:
        (call,) = [found for found in file if len(found.alts) > 1]
    squares, reads = call.info["RAW_MQandDP"]
    assert squares <= (1 << 15) - 1 and squares / reads == pytest.approx(3600, rel=0.1)


def test_too_many_reads_in_a_window(deep, monkeypatch, capsys):
    monkeypatch.setattr(inputs, "MAX_READS", 59)
    assert run_main(["call", "ref.fa", "x.bam", "-o", "x.vcf", "-q"]) == 3
    said = capsys.readouterr().err
    assert said == (
        "readwarp: error: x.bam: more than 59 reads in a window at position 1 of contig 1: lower --max-depth\n"
    )
    assert not (deep / "x.vcf").exists()


def test_realigned_reads_on_long_contigs(deep, monkeypatch):
    """Beyond 2^29 bases, .bai has no bins."""
    monkeypatch.setattr(bam_output, "CSI_LENGTH", 5999)
    assert run_main(["call", "ref.fa", "x.bam", "-o", "x.vcf", "--bam-output", "r.bam", "-q"]) == 0
    assert (deep / "r.bam.csi").exists() and not (deep / "r.bam.bai").exists()
    with pysam.AlignmentFile("r.bam") as file:
        assert file.has_index()
