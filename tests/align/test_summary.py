"""What is said where few reads are mapped, few pairs are proper, or most reads are duplicates."""

import logging

import numpy as np
import pytest

from helpers.command_samples import fasta, letters, record
from readwarp.align.summary import begin_with_adapters, find_causes, warn_of_shares
from readwarp.align.trim.known import ADAPTERS
from readwarp.formats.common.reads import ReadBatch
from readwarp.formats.reads.raw import ReadInput
from readwarp.formats.reads.stream import open_reads, parse
from readwarp.index import Index
from readwarp.metrics import Metrics


def batches(folder, sequences) -> list[ReadBatch]:
    path = folder / "reads.fq"
    path.write_text("".join(record(f"r{i}", sequence) for i, sequence in enumerate(sequences)))
    return [parse(raw) for raw in open_reads([ReadInput((str(path),))], 1 << 20)]


def causes(folder, sequences) -> str:
    return "; ".join(find_causes(batches(folder, sequences), 19))


GENOMIC = [letters(100, seed) for seed in range(200)]


def test_reads_that_show_nothing(tmp_path):
    assert causes(tmp_path, GENOMIC) == "" and list(find_causes([], 19)) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda read: read[:12], "reads too short for the index (half of them have at most 12 bases, a seed 19"),
        (lambda read: "N" * 60 + read[60:], "60% of the bases are N"),
        (lambda read: "G" * 80 + read[80:], "reads without a signal (85% of the bases are G)"),
        (lambda read: read.replace("C", "T"), "bisulfite (C is 0% of the bases, T 50%): use an aligner for it"),
        (lambda read: read.replace("G", "A"), "bisulfite (G is 0% of the bases, A 50%): use an aligner for it"),
    ],
)  # fmt: skip
def test_causes(change, said, tmp_path):
    found = causes(tmp_path, [change(read) for read in GENOMIC])
    assert found.startswith(said) and ";" not in found


@pytest.mark.parametrize("name", ADAPTERS)
def test_adapters_without_fragments(name, tmp_path):
    dimers = [(letters(i % 6, i) + ADAPTERS[name].first + GENOMIC[i])[:60] for i in range(60)]
    assert "adapter dimers (30% of the reads begin with one)" in causes(tmp_path, dimers + GENOMIC[60:])
    found = np.concatenate([begin_with_adapters(reads) for reads in batches(tmp_path, [*dimers, *GENOMIC])])
    assert found[:60].all() and not found[60:].any()


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Index:
    path = tmp_path_factory.mktemp("index") / "ref.fa"
    path.write_text(fasta({"c": letters(3000, 1)}))
    return Index.build(path)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"reads": 100, "mapped": 0}, "only 0.00 % of the reads are mapped to the reference, which has 1 contig and 3"),
        ({"reads": 100, "mapped": 9}, "likely causes are another species or another reference, the wrong input files"),
        ({"reads": 100, "mapped": 10}, ""),
        ({"reads": 9000, "mapped": 9000, "records_both_mapped": 9000, "proper": 4000}, "only 44.44 % of the pairs"),
        ({"reads": 9000, "mapped": 9000, "records_both_mapped": 9000, "proper": 5000}, ""),
        ({"reads": 9000, "mapped": 9000, "duplicates": 8820}, "98.00 % of the mapped reads are marked as duplicates"),
        ({"reads": 9000, "mapped": 9000, "duplicates": 4000}, ""),
        ({"reads": 0}, ""),
    ],
)  # fmt: skip
def test_warnings(counts, said, index, caplog):
    metrics = Metrics()
    for name, number in counts.items():
        metrics.count(name, number)
    with caplog.at_level(logging.INFO, "readwarp"):
        warn_of_shares(metrics, [], index)
    assert (said in caplog.text) if said else not caplog.text
