"""benchmarks/gpu.py says so if there is no card; all of its parts run on a tiny amount of work."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import emulated_card
from helpers.cards import HAS_GPU, without_cards

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
import gpu
from oncard import reads

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
RESULTS = BENCHMARKS / "results" / "gpu.csv"
SUBJECTS = {
    "ceilings": ["copy up", "copy on the card", "issue rate, integer multiply-add", "issue rate, FP32 multiply-add"],
    "kernels": ["score, int32, 150 x 230, kernels", "traceback, 150 x 1400, kernels", "PairHMM, 148 x 250, kernels"],
    "commands": ["align, cuda", "align, cuda, stage seed", "align, cuda, kernel sketch_reads", "run, cuda",
                 "align, cuda, --vram 512M", "align, cpu, wall"],
    "cpu": ["CPU, one thread: score, 150 x 230", "CPU, one thread: PairHMM, 148 x 250"],
}  # fmt: skip
SLOW = ("kernels", "commands")


@pytest.mark.cards
@pytest.mark.skipif(HAS_GPU, reason="there is a card")
@pytest.mark.parametrize(
    ("environment", "reason"),
    [(without_cards(), "no NVIDIA driver"), (emulated_card.environment("9.0:1G"), "the cards are emulated")],
    ids=["none", "emulated"],
)
def test_no_card_is_said_in_one_line(environment, reason):
    command = [sys.executable, str(BENCHMARKS / "gpu.py"), "--no-save"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith(f"no card to measure: {reason}") and done.stderr.count("\n") == 1


@pytest.mark.cards
@pytest.mark.parametrize("section", [pytest.param(s, marks=pytest.mark.weekly) if s in SLOW else s for s in SUBJECTS])
def test_sections_run(section, monkeypatch, capsys):
    before = RESULTS.read_bytes()
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--tiny", "--only", section])
    assert gpu.main() == 0
    lines = capsys.readouterr().out.splitlines()
    for subject in SUBJECTS[section]:
        found = [line for line in lines if line.startswith(f"{subject}  ")]
        assert found, subject
        assert all(float(line[len(subject) :].split()[0].replace(",", "")) >= 0 for line in found)
    assert RESULTS.read_bytes() == before


def test_results_are_of_cards():
    with RESULTS.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert RESULTS.read_text().splitlines()[0] == ",".join(gpu.COLUMNS)
    assert not any("Emulated" in row["device"] for row in rows)


def test_reads_are_pieces_of_the_reference(tmp_path):
    reference = reads.write_reference(tmp_path / "ref.fa", 5000)
    genome = "".join(reads.first_contig(reference))
    assert len(genome) == 5000 and set(genome) == set("ACGT")
    first, last = (path.read_text().splitlines() for path in reads.write_reads(reference, 50, tmp_path))
    assert len(first) == len(last) == 200 and first[::4] == last[::4]
    assert {len(line) for line in first[1::4] + last[1::4] + first[3::4]} == {reads.LENGTH}
    reverse = genome[::-1].translate(str.maketrans("ACGT", "TGCA"))
    for strand, mates in ((genome, first), (reverse, last)):
        assert np.mean([any(read[i : i + 40] in strand for i in (0, 55, 110)) for read in mates[1::4]]) > 0.95
