"""The consensus genome: which bases it names, which gaps it applies, and where it is N."""

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.command_samples import run_main
from helpers.making import Read, random_sequence, write_bam, write_fasta
from readwarp.call.places.strips import strip_of
from readwarp.call.places.targets import stretch_of
from readwarp.call.records.axis import split_runs
from readwarp.call.records.found import find_shallow
from readwarp.formats.common.regions import Target
from readwarp.somatic.genome import Change, choose_gaps, name_bases

SEQUENCE = random_sequence(900, seed=12)
SIZE = 100
OTHER = dict(zip("ACGT", "CGTA", strict=True))


@given(st.lists(st.integers(0, 30), max_size=60), st.integers(1, 20), st.data())
def test_shallow_runs(depths, least, data):
    """Each position that is inside and has too few reads is in one run, and no other."""
    is_inside = np.array(data.draw(st.lists(st.booleans(), min_size=len(depths), max_size=len(depths))), bool)
    counts = np.array(depths, np.int32).reshape(-1, 1, 1)
    runs = find_shallow(counts, is_inside, 1000, least).tolist()
    found = [place for start, stop in runs for place in range(start, stop)]
    assert found == [1000 + i for i, depth in enumerate(depths) if depth < least and is_inside[i]]
    assert all(stop < start for (_, stop), (start, _) in pairwise(runs))


def test_runs_of_a_strip():
    stretches = [stretch_of([Target(contig, 0, 50)]) for contig in (3, 5)]
    strip = strip_of(stretches, (50, 50))
    first, last = strip.origins.tolist()
    runs = np.array([(first + 10, first + 20), (first + 45, last + 5)])
    assert split_runs(runs, strip).tolist() == [[3, 10, 20], [3, 45, 50], [5, 0, 5]]


@pytest.mark.parametrize(
    ("fractions", "share", "letter"),
    [
        ({"C": 0.3}, 0.0, "A"),
        ({"C": 0.6}, 0.0, "C"),
        ({"C": 0.6}, 0.5, "C"),
        ({"C": 0.6}, 0.7, "M"),
        ({"C": 0.4, "G": 0.35}, 0.6, "S"),
        ({"C": 0.4, "G": 0.35}, 0.9, "V"),
        ({"C": 0.3, "G": 0.3, "T": 0.3}, 1.0, "N"),
    ],
)
def test_bases_are_named_until_they_make_up_the_share(fractions, share, letter):
    changes = [Change(7, "A", base, fraction) for base, fraction in fractions.items()]
    assert list(name_bases(changes, share)) == [(7, letter)]


def test_gaps_of_most_molecules():
    """Of those that overlap the more frequent one; rarer ones than half of the molecules are left out."""
    changes = [
        Change(10, "ACG", "A", 0.6),
        Change(11, "CGTT", "C", 0.9),
        Change(30, "A", "ATT", 0.5),
        Change(40, "A", "AG", 0.49),
        Change(50, "A", "G", 1.0),
    ]
    assert choose_gaps(changes) == [changes[1], changes[2]]


def molecule(place: int, changes: dict[int, str]) -> str:
    """SIZE bases of the reference from a place on, with these substitutions."""
    return "".join(changes.get(i, SEQUENCE[i]) for i in range(place, place + SIZE))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """30x over [100, 800) of a contig: an allele on all molecules, one on 30 %, and 4 bases missing on most of them."""
    folder, chance = tmp_path_factory.mktemp("genome"), random.Random(3)
    fixed, part = {250: OTHER[SEQUENCE[250]]}, {400: OTHER[SEQUENCE[400]]}
    reads = []
    for i in range(420):
        start = 100 + i * 600 // 420
        text, cigar = molecule(start, fixed | (part if chance.random() < 0.3 else {})), f"{SIZE}M"
        if start + 15 < 600 < start + SIZE - 15 and chance.random() < 0.9:
            at = 600 - start
            text = text[:at] + SEQUENCE[604 : 604 + SIZE - at]
            cigar = f"{at}M4D{SIZE - at}M"
        reads.append(Read(start, cigar, text, (37,) * SIZE, 16 * (i % 2), 60, f"r{i}"))
    write_bam(folder / "a.bam", {"c": len(SEQUENCE), "bare": 120}, [("c", read) for read in reads])
    return write_fasta(folder / "ref.fa", {"c": SEQUENCE, "bare": random_sequence(120, seed=2)}), folder / "a.bam"


def genome_of(path) -> dict[str, str]:
    parts = (text.split("\n", 1) for text in path.read_text().split(">")[1:])
    return {name: text.replace("\n", "") for name, text in parts}


def consensus(mixed, folder, *options) -> dict[str, str]:
    path = folder / "genome.fa"
    command = ("call", *mixed, "--mixture", "-o", folder / "a.vcf", "--consensus", path, "-q", "-f", *options)
    assert run_main(command) == 0
    return genome_of(path)


def test_a_genome(mixed, tmp_path):
    found = consensus(mixed, tmp_path)
    assert found["bare"] == "N" * 120
    whole = SEQUENCE[:250] + OTHER[SEQUENCE[250]] + SEQUENCE[251:600] + SEQUENCE[604:]
    low = len(found["c"]) - len(found["c"].lstrip("N"))
    high = len(found["c"].rstrip("N"))
    assert 100 <= low < 125 and 750 < high <= 800
    assert found["c"][low:high] == whole[low:high] and len(found["c"]) == len(whole)


def test_several_bases(mixed, tmp_path):
    both = frozenset((SEQUENCE[400], OTHER[SEQUENCE[400]]))
    code = {frozenset("AC"): "M", frozenset("CG"): "S", frozenset("GT"): "K", frozenset("AT"): "W"}[both]
    assert consensus(mixed, tmp_path, "--consensus-share", "0.9")["c"][400] == code
    assert consensus(mixed, tmp_path, "--consensus-share", "0.5")["c"][400] == SEQUENCE[400]


def test_depth_and_targets(mixed, tmp_path):
    """Bases outside the targets are N, and so are those with fewer reads than asked for; windows change nothing."""
    assert set(consensus(mixed, tmp_path, "--consensus-min-depth", "1000")["c"]) == {"N"}
    part = consensus(mixed, tmp_path, "-r", "c:201-500")
    assert list(part) == ["c"]
    assert part["c"] == "N" * 200 + SEQUENCE[200:250] + OTHER[SEQUENCE[250]] + SEQUENCE[251:500] + "N" * 400
    assert consensus(mixed, tmp_path, "-t", "3", "--batch-bases", "6400") == consensus(mixed, tmp_path)


def test_refusals(mixed, tmp_path, capsys):
    genome = tmp_path / "genome.fa"
    for options, said in (
        (("--consensus", genome), "--consensus needs --mixture"),
        (("--somatic", "--consensus", genome), "--consensus needs --mixture"),
        (("--mixture", "--consensus", genome, "--consensus-share", "2"), "--consensus-share must be 0 to 1"),
        (
            ("--mixture", "--consensus", genome, "--consensus-min-depth", "0"),
            "--consensus-min-depth must be at least 1",
        ),
    ):
        assert run_main(("call", *mixed, "-o", tmp_path / "a.vcf", *options)) == 2
        assert said in capsys.readouterr().err
        assert not genome.exists()
