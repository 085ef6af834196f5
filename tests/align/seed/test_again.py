"""Weak reads that are looked at again: those of repeats whose seeds are too frequent or none, and those with many N."""

import random
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given as given_that
from hypothesis import settings
from hypothesis import strategies as st

from helpers.align_oracle import READ, cut_pair, random_bases, retold, reverse_complement
from helpers.making import write_fasta
from readwarp.align import Aligner
from readwarp.align.pair import given
from readwarp.align.places import Genome
from readwarp.align.seed.runs import KEPT, PERIOD, SHORTEST, ReferenceRuns
from readwarp.index import Index

COPY = random_bases(171, 40)
ARRAYS = {
    "A": "A" * 2000, "CA": "CA" * 600, "AT": "AT" * 600, "CAA": "CAA" * 1700, "ACGT": "ACGT" * 300,
    "TTAGGG": "TTAGGG" * 1300, "satellite": COPY * 1100,
}  # fmt: skip


@pytest.fixture(scope="module")
def genome() -> dict[str, str]:
    """A contig for each array, which begins it, as a telomere would; and one without."""
    contigs = {name: bases + random_bases(1000, seed) for seed, (name, bases) in enumerate(ARRAYS.items())}
    return {**contigs, "A60": random_bases(500, 50) + "A" * 60 + random_bases(500, 51), "none": random_bases(5000, 52)}


@pytest.fixture(scope="module")
def aligner(genome, tmp_path_factory) -> Aligner:
    path = write_fasta(tmp_path_factory.mktemp("arrays") / "ref.fa", genome)
    return Aligner(Index.build(path), insert_sizes=given(350, 40))


def with_errors(bases: str, number: int, rng: random.Random) -> str:
    letters = list(bases)
    for at in rng.sample(range(len(letters)), number):
        letters[at] = rng.choice("ACGT".replace(letters[at], ""))
    return "".join(letters)


@pytest.mark.parametrize("errors", [0, 1, 3])
@pytest.mark.parametrize("name", ARRAYS)
def test_reads_within_a_repeat_are_placed_there(aligner, genome, name, errors):
    rng, array = random.Random(errors), ARRAYS[name]
    reads = [array[start : start + 100] for start in rng.sample(range(len(array) - 100), 6)]
    reads = [with_errors(reverse_complement(read) if i % 2 else read, errors, rng) for i, read in enumerate(reads)]
    for read, record in zip(reads, aligner.align([(f"r{i}", read) for i, read in enumerate(reads)]), strict=True):
        assert (record.contig, record.mapping_quality) == (name, 0)
        oriented = reverse_complement(read) if record.is_reverse else read
        said = record.tags["AS"], record.tags["NM"], record.tags["MD"]
        assert said == retold(record, oriented, genome[name], aligner.parameters.scoring)
        assert record.position < len(array) and said[0] >= 100 - 5 * errors - 5 * (name == "satellite")


@pytest.mark.parametrize("name", sorted(set(ARRAYS) - {"ACGT"}))
def test_mates_within_a_repeat_are_proper_pairs(aligner, name):
    pairs = [cut_pair(ARRAYS[name], start) for start in (30, 300, 611)]
    reads, mates = ([(f"p{i}", pair[side]) for i, pair in enumerate(pairs)] for side in (0, 1))
    for record in aligner.align(reads, mates):
        assert record.is_proper_pair and (record.contig, record.mapping_quality) == (name, 0)


def test_a_mate_beside_the_repeat_decides(aligner, genome):
    """A mate with seeds says where the read is, however many places are as good."""
    start = len(ARRAYS["CAA"]) - 200
    read, mate = aligner.align(*([("p", bases)] for bases in cut_pair(genome["CAA"], start)))
    assert mate.position == start + 350 - READ and mate.mapping_quality >= 20
    assert read.is_proper_pair and read.position in range(start - 200, start + 200)


def test_a_run_as_long_as_the_read(aligner):
    read, reverse = aligner.align([("a", "A" * 60), ("b", "T" * 60)])
    assert read.mapping_quality == reverse.mapping_quality == 0
    assert {read.contig, reverse.contig} <= {"A", "A60"} and not read.is_reverse and reverse.is_reverse


def test_reads_spread_over_a_repeat(aligner):
    records = aligner.align([(f"r{i}", ARRAYS["CAA"][:100]) for i in range(40)])
    assert len({record.position // 500 for record in records}) >= 6


def test_junctions_do_not_catch_reads_with_errors(aligner):
    """A seed that an error makes may lie at the end of the repeat alone, where the read then seemed sure."""
    rng, array = random.Random(7), ARRAYS["CAA"]
    reads = [(f"r{i}", with_errors(array[:150], 5, rng)) for i in range(40)]
    assert {record.mapping_quality for record in aligner.align(reads) if record.is_mapped} == {0}


def test_reads_with_many_n_are_placed(aligner, genome):
    """Each seed spans an N."""
    rng, starts = random.Random(2), range(100, 4700, 230)
    reads = [genome["none"][start : start + 100] for start in starts]
    reads = ["".join("N" if i % 17 == 9 else base for i, base in enumerate(read)) for read in reads]
    reads = [reverse_complement(read) if rng.random() < 0.5 else read for read in reads]
    placed = [(record.contig, record.position) for record in aligner.align(reads)]
    assert sum(place == ("none", start) for place, start in zip(placed, starts, strict=True)) >= len(starts) - 1
    assert not aligner.align(["N" * 100])[0].is_mapped


def expected_runs(contigs: list[str]) -> dict[str, list[tuple[int, int]]]:
    """(length, start) of the runs of each unit, the longest first."""
    found, begin = defaultdict(list), 0
    for bases in contigs:
        start = 0
        while start < len(bases):
            stop = start
            while (
                stop < len(bases)
                and bases[stop] != "N"
                and (stop - start < PERIOD or bases[stop] == bases[stop - PERIOD])
            ):
                stop += 1
            if stop - start >= SHORTEST:
                unit = bases[start : start + PERIOD]
                turn = min(range(PERIOD), key=lambda i, unit=unit: unit[i:] + unit[:i])
                found[unit[turn:] + unit[:turn]].append((stop - start - turn, begin + start + turn))
            start = max(start + 1, stop - PERIOD + 1)
        begin += len(bases)
    return {unit: sorted(runs, key=lambda run: (-run[0], run[1]))[:KEPT] for unit, runs in found.items()}


@settings(max_examples=40)
@given_that(data=st.data())
def test_runs_are_those_of_plain_python(data, tmp_path_factory):
    pieces = st.one_of(
        st.tuples(st.sampled_from(["A", "T", "CA", "AT", "ACGT", "AACC", "N"]), st.integers(1, 60)).map(
            lambda drawn: (drawn[0] * drawn[1])[: drawn[1]]
        ),
        st.integers(0, 99).map(lambda seed: random_bases(17, seed)),
    )
    contigs = ["C" + "".join(data.draw(st.lists(pieces, max_size=12))) for _ in range(2)]
    path = write_fasta(tmp_path_factory.mktemp("runs") / "ref.fa", {f"c{i}": bases for i, bases in enumerate(contigs)})
    (starts, lengths), found = ReferenceRuns(Genome.of(Index.build(path).reference)).runs, {}
    for unit in np.flatnonzero(lengths[:, 0]).tolist():
        letters = "".join("ACGT"[unit >> shift & 3] for shift in (6, 4, 2, 0))
        rows = zip(lengths[unit].tolist(), starts[unit].tolist(), strict=True)
        found[letters] = [(length, start) for length, start in rows if length]
    assert found == expected_runs(contigs)


def some_reads() -> list[tuple[str, str]]:
    rng = random.Random(4)
    reads = [(name, with_errors(bases[30:150], 2, rng)) for name, bases in ARRAYS.items()]
    return [*reads, ("n", ("N" + COPY[:15]) * 6), ("none", random_bases(100, 60)), ("empty", "")]


def test_batches_do_not_matter(aligner):
    reads = some_reads()
    assert list(aligner.align(reads)) == [record for read in reads for record in aligner.align([read])]
