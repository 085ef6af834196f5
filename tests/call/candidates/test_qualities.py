"""Base qualities as they were read: compared with a count by hand, and what is said of them."""

import random
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.jobs import call_variants
from helpers.making import Read, aligned_reads, other, random_sequence, reads_of, window_of, write_bam, write_fasta
from readwarp.call.candidates import qualities
from readwarp.call.candidates.pileup import count_window
from readwarp.call.candidates.qualities import CHECKED, ERRORS, EXPECTED, check_qualities, explain_qualities
from readwarp.config import CallParameters
from readwarp.metrics import Metrics

LENGTH = 60


@given(st.data())
def test_bases_and_errors_are_those_counted_one_by_one(data):
    reference = data.draw(st.text("ACGTN", min_size=LENGTH, max_size=LENGTH))
    reads = data.draw(reads_of(LENGTH))
    start, stop = sorted(data.draw(st.lists(st.integers(0, LENGTH), min_size=2, max_size=2, unique=True)))
    arrays = aligned_reads(reads, 0, LENGTH)
    pileup = count_window(arrays, window_of(reference), CallParameters(min_base_quality=0))
    inside = np.array(data.draw(st.lists(st.booleans(), min_size=stop - start, max_size=stop - start)))
    plain, share = set(), data.draw(st.integers(1, 3))
    for place in np.flatnonzero(inside).tolist():
        number = pileup.counts[start + place].sum(axis=1).tolist()
        others = sum(number) - number["ACGTN".index(reference[start + place]) % 4]
        if reference[start + place] != "N" and sum(number) >= 2 and (others < 2 or others < 0.1 * sum(number)):
            plain.add(start + place)
    seen = [
        (read.qualities[q], read.bases[q] != reference[p])
        for read, name in zip(sorted(reads, key=lambda read: read.position), arrays.name_hash.tolist(), strict=True)
        if name % share == 0
        for p, q, operation in read.aligned()
        if operation in "M=X" and p in plain and read.bases[q] != "N" and 20 <= read.qualities[q] < 255
    ]
    metrics = Metrics()
    with patch.multiple(qualities, SHARE=share, MIN_DEPTH=2):
        check_qualities(arrays, pileup, window_of(reference, start, stop), inside, metrics)
    expected = sum(round(10 ** (6 - 0.1 * quality)) for quality, _ in seen)
    assert metrics.counts == {
        CHECKED: len(seen),
        ERRORS: sum(is_error for _, is_error in seen),
        EXPECTED: expected,
    }


@pytest.mark.parametrize(
    ("errors", "expected", "says"),
    [
        (99, 0, None),
        (100, 20_000_001, None),
        (100, 20_000_000, "Q37 on average"),
        (1000, 1_000_000, "1 such base in 100 "),
    ],
)
def test_what_is_said_of_them(errors, expected, says):
    text = explain_qualities({CHECKED: 100_000, ERRORS: errors, EXPECTED: expected})
    assert text is None if says is None else says in str(text)


def made(folder, quality: int, errors: float, bare: int = 0):
    """Reads of a contig, each base wrong with this chance, the first `bare` ones without qualities; and a variant."""
    sequence, rng, reads = random_sequence(3000, seed=5), random.Random(1), []
    for i, position in enumerate(range(0, 2900, 3)):
        bases = [base if rng.random() >= errors else other(base) for base in sequence[position : position + 100]]
        if position <= 1500 < position + 100:
            bases[1500 - position] = other(sequence[1500])
        qualities_of = (255,) * 100 if i < bare else (quality,) * 100
        reads.append(Read(position, "100M", "".join(bases), qualities_of, name=f"r{i}"))
    fasta = write_fasta(folder / "ref.fa", {"one": sequence})
    return fasta, write_bam(folder / "made.bam", {"one": 3000}, [("one", read) for read in reads])


def test_qualities_that_promise_too_much_are_reported_once(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(qualities, "SHARE", 1)
    call_variants(*made(tmp_path, 40, 0.01), tmp_path / "a.vcf")
    said = [record.message for record in caplog.records if "promise too much" in record.message]
    assert len(said) == 1 and "say Q40 on average" in said[0] and "(Q2" in said[0]


def test_qualities_that_hold_are_not(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(qualities, "SHARE", 1)
    metrics = call_variants(*made(tmp_path, 20, 0.01), tmp_path / "a.vcf")
    assert "promise" not in caplog.text
    assert 0.7 < 1e6 * metrics.counts[ERRORS] / metrics.counts[EXPECTED] < 1.3


def test_missing_qualities_are_20_and_said_once(tmp_path, caplog):
    metrics = call_variants(*made(tmp_path, 20, 0.0, bare=10_000), tmp_path / "none.vcf")
    said = [record.message for record in caplog.records if "without base qualities" in record.message]
    assert said == ["967 reads without base qualities: Q20 is assumed"]
    assert metrics.counts["reads_without_qualities"] == 967
    call_variants(*made(tmp_path, 20, 0.0), tmp_path / "all.vcf")
    none, known = ((tmp_path / name).read_text().splitlines() for name in ("none.vcf", "all.vcf"))
    assert [line for line in none if line[0] != "#"] == [line for line in known if line[0] != "#"]
    assert any(line.split("\t")[1] == "1501" for line in none if line[0] != "#")
