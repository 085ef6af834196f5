"""Syncmers compared with plain Python, and the properties that make them work on both strands."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.seeding import reverse_complement, syncmers
from readwarp.config import PRESETS, SeedParameters
from readwarp.errors import UsageError
from readwarp.formats.common.fasta import IUPAC
from readwarp.index.syncmers import Shape, Syncmers, max_syncmers, scratch_of, sketch
from readwarp.rules.bases import CODES, base_at, letters_in, pack, unpack

SEEDS = [preset.parameters.seed for preset in PRESETS.values()]
PARAMETERS = [*SEEDS, SeedParameters(k=31, s=19, t=6), SeedParameters(k=5, s=1, t=2)]
letters = st.one_of(st.text("ACGT", max_size=90), st.text("ACGTN", max_size=90), st.text("AC", max_size=90))


def sketched(text: str, p: SeedParameters, start: int = 0) -> list[tuple[int, int, int]]:
    bases = CODES[np.frombuffer(text.encode(), np.uint8)]
    room = int(max_syncmers(np.array(len(text)), p.k, p.t)) + 1
    out = Syncmers(np.zeros(room, np.uint64), np.zeros(room, np.int32), np.zeros(room, np.uint8))
    scratch = scratch_of(max(1, bases.size))
    for column in scratch[1:]:
        column.fill(255)  # whatever was there before
    found = sketch(bases, start, bases.size, Shape.of(p), scratch, out, 0)
    assert found < room
    return [tuple(map(int, row)) for row in zip(out.positions, out.hashes, out.strands, strict=True)][:found]


@pytest.mark.parametrize("p", PARAMETERS, ids=lambda p: f"{p.k}-{p.s}")
@settings(max_examples=60)
@given(text=letters)
@example(text="ACGT" * 12)
@example(text="A" * 50)
@example(text="")
@example(text="AAAAAAAAAAACCCCCCACCAAAACAAAAAA")  # s-mers of more than 32 bits
@example(text="GATTACACCGTGTTGACCATGCAGGTCATTGCAACGTGATCCTAGTTACCAGTACGGATTCACGT")
def test_same_as_plain_python(p, text):
    assert sketched(text, p) == syncmers(text, p)


@given(text=letters, start=st.integers(0, 30))
def test_positions_count_from_start(text, start):
    start = min(start, len(text))
    assert sketched(text, PARAMETERS[3], start) == syncmers(text[start:], PARAMETERS[3])


@given(text=st.text("ACGT", min_size=20, max_size=200))
def test_both_strands_have_the_same_syncmers(text):
    p = SeedParameters()
    other = [(len(text) - p.k - i, hashed, 1 - strand) for i, hashed, strand in sketched(reverse_complement(text), p)]
    assert sketched(text, p) == other[::-1]


def test_about_one_in_five_bases_starts_one():
    text = "".join(np.random.default_rng(1).choice(list("ACGT"), 20000))
    assert 0.19 < len(sketched(text, SeedParameters())) / len(text) < 0.21


def test_a_run_of_short_repeats_has_none():
    for unit in ("A", "CA", "AT"):
        assert not sketched(unit * 40, SeedParameters())


@given(
    st.text(IUPAC.decode(), max_size=40), st.text(IUPAC.decode(), max_size=40), st.integers(0, 80), st.integers(0, 80)
)
def test_packed_bases_come_back(first, second, start, stop):
    packed = np.zeros(50, np.uint8)
    pack(np.frombuffer(first.encode(), np.uint8), 3, packed)
    pack(np.frombuffer(second.encode(), np.uint8), 3 + len(first), packed)
    part = (first + second)[start:stop]
    out = np.empty(len(part), np.uint8)
    unpack(packed, 3 + start, 3 + start + len(part), out)
    assert out.tolist() == ["ACGT".find(letter.replace("U", "T")) % 5 for letter in part]
    assert letters_in(packed, 3 + start, 3 + start + len(part)).decode() == part.replace("U", "T")


@pytest.mark.parametrize("start", [0, 1])
def test_any_byte_is_two_bases(start):
    """Kernels index by them, and an index file may hold any."""
    packed, out = np.arange(256, dtype=np.uint8), np.empty(511 - start, np.uint8)
    unpack(packed, start, 511, out)
    expected = [min(number >> shift & 15, 4) for number in range(256) for shift in (0, 4)][start:511]
    assert out.tolist() == expected
    assert [int(base_at(packed[i >> 1], i)) for i in range(start, 511)] == expected


@pytest.mark.parametrize("wrong", [{"k": 32, "s": 28}, {"k": 20, "s": 20, "t": 0}, {"t": 1}, {"k": 21}])
def test_parameters_are_checked(wrong):
    with pytest.raises(UsageError, match="seeds need"):
        SeedParameters(**wrong)
