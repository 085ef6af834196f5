"""benchmarks/long.py: scores by hand, and a whole run on reads of a made genome."""

import random
import subprocess
import sys
from pathlib import Path

import pysam
import pytest

from helpers.seeding import random_letters

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
import long_scores
import prepare

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
HEADER = pysam.AlignmentHeader.from_dict({"SQ": [{"SN": "c", "LN": 10_000}]})
TWO_PIECE = long_scores.SCALES["hifi"]["two_piece"]


def record(flag: int, cigar: str, edits: int) -> pysam.AlignedSegment:
    made = pysam.AlignedSegment(HEADER)
    made.query_name, made.flag = "r", flag
    if not flag & 4:
        made.reference_id, made.reference_start, made.cigarstring = 0, 100, cigar
        made.set_tag("NM", edits)
    return made


@pytest.mark.parametrize(
    ("cigar", "edits", "two_piece", "one_piece"),
    [
        ("100M", 0, 100, 100),
        ("10S100M", 3, 97 - 12, 97 - 12),
        ("50=2X48=", 2, 98 - 8, 98 - 8),
        ("50M4I50M5H", 5, 99 - 4 - (6 + 4 * 2), 99 - 4 - (6 + 4)),
        ("50M40D50M3I7M", 43, 107 - (26 + 40) - (6 + 3 * 2), 107 - (6 + 40) - (6 + 3)),
        ("50M20D50M", 20, 100 - 46, 100 - 26),  # both pieces cost 46
    ],
)
def test_scores_by_hand(cigar, edits, two_piece, one_piece):
    shape = long_scores.shape_of(record(0, cigar, edits))
    scales = long_scores.SCALES["hifi"]
    assert (shape.score(scales["two_piece"]), shape.score(scales["one_piece"])) == (two_piece, one_piece)


def test_secondary_alignments_do_not_count(tmp_path):
    path = tmp_path / "a.sam"
    records = [(0, "100M", 1), (256, "100M", 0), (2048, "60S40M", 0), (4, "", 0)]
    with pysam.AlignmentFile(str(path), "w", header=HEADER) as out:
        for values in records:
            out.write(record(*values))
    found = long_scores.tally(path, {"two_piece": TWO_PIECE})
    assert found == (2, 1, 1, {"two_piece": 95}, {"two_piece": 135})


def test_copies_differ_by_their_share():
    bases = random_letters(random.Random(1), 200_000)
    copy = prepare.changed(bases, 0.01, random.Random(2))
    assert abs(len(copy) - len(bases)) < 1000
    same = sum(bases[at : at + 30] in copy for at in range(0, len(bases) - 30, 200))
    assert 0.65 < same / 1000 < 0.82  # 0.99 ** 30 = 0.74


def test_a_run_scores_itself(tmp_path):
    """Without peers, the scores are those of readwarp itself."""
    (tmp_path / "ref.fa").write_text(f">c\n{random_letters(random.Random(3), 120_000)}\n")
    variants = prepare.random_variants(tmp_path / "ref.fa", "c", tmp_path / "ref.vcf")
    simulator = [sys.executable, BENCHMARKS / "tools" / "simulate_long.py", tmp_path / "ref.fa", variants]
    options = ["--contig", "c", "--depth", "2", "--kind", "ont", "--mean", "4000"]
    subprocess.run([*simulator, tmp_path / "reads", *options], check=True, capture_output=True)
    command = [sys.executable, BENCHMARKS / "long.py", tmp_path / "ref.fa", tmp_path / "reads.fq", "ont"]
    peers = ["--minimap2", "/nowhere", "--minibwa", "/nowhere", "--repeats", "1", "--no-save"]
    done = subprocess.run([*command, *peers], check=True, capture_output=True, text=True)
    fields = done.stdout.split("  ")
    assert done.stdout.count("\n") == 1
    for value in ("tool readwarp", "aligned 100.0", "correct 100.0", "primary_two_piece 1.0", "all_one_piece 1.0"):
        assert value in fields
