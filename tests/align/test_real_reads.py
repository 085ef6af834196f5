"""Real reads: NA12878 exome pairs on a stretch of chr21. bwa mem 0.7.17 maps 99.90 % and pairs 99.67 % of them."""

import shutil

import dnaio
import pytest

from helpers.align_oracle import retold, reverse_complement
from readwarp.align import Aligner


@pytest.fixture(scope="module")
def pairs(test_data):
    folder = test_data / "na12878_chr21"
    with dnaio.open(folder / "reads_1.fq.gz", folder / "reads_2.fq.gz") as file:
        return [
            [(r.name.split()[0].removesuffix(f"/{i}"), r.sequence, r.qualities) for i, r in enumerate(pair, 1)]
            for pair in file
        ]


def test_mapped_and_proper_shares(pairs, test_data, tmp_path):
    path = tmp_path / "ref.fa"
    shutil.copy(test_data / "na12878_chr21" / "ref.fa", path)
    aligner = Aligner(path)
    records = aligner.align([first for first, _ in pairs], [last for _, last in pairs])
    primaries = [record for record in records if not record.is_supplementary]
    assert len(primaries) == 2 * len(pairs)
    assert sum(record.is_mapped for record in primaries) >= 0.9985 * len(primaries)
    assert sum(record.is_proper_pair for record in primaries) >= 0.9965 * len(primaries)
    with dnaio.open(path) as file:
        contigs = {record.name.split()[0]: record.sequence.upper() for record in file}
    for record, read in zip(primaries, [read for pair in pairs for read in pair], strict=True):
        if record.is_mapped:
            oriented = reverse_complement(read[1]) if record.is_reverse else read[1]
            said = record.tags["AS"], record.tags["NM"], record.tags["MD"]
            assert said == retold(record, oriented, contigs[str(record.contig)], aligner.parameters.scoring)
