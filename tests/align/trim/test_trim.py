"""Trimming compared with plain Python, with fragments that are known, and with cases worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import trim_oracle as oracle
from readwarp.align import steps
from readwarp.align.trim import Trimmed, count, describe, trim
from readwarp.align.trim.known import ADAPTERS, INSTRUMENTS
from readwarp.config import TrimParameters
from readwarp.formats.common.reads import ReadBatch
from readwarp.metrics import Metrics
from readwarp.ragged import check, concatenate, take

RNG = np.random.default_rng(1)
GENOME = "".join(RNG.choice(list("ACGT"), 3000))
(FIRST, LAST), *_ = ADAPTERS.values()
KNOWN = list(zip(*ADAPTERS.values(), strict=True))
UNEQUAL = "CAGTTGCAAGGCTTACGACTTGCATGACCA", "GTACCTGATCGGATTGCACTAGCATCGTAC"


def pair_of(fragment: str, length: int = 100, adapters=(FIRST, LAST)) -> list[str]:
    sides = fragment, oracle.reverse_complement(fragment)
    return [(side + adapter + "A" * length)[:length] for side, adapter in zip(sides, adapters, strict=True)]


def batch_of(reads: list[str], paired: bool = True, qualities: str | None = None, name: str = "r") -> ReadBatch:
    return steps.make_batch([(name, bases, qualities and qualities[: len(bases)]) for bases in reads], paired)


def trimmed(reads: list[str], paired: bool = True, name: str = "r", qualities: str | None = None, **options) -> Trimmed:
    return trim(batch_of(reads, paired, qualities, name), TrimParameters(**{"min_length": 0, **options}))


def kept(reads: list[str], *others, **options) -> list[int]:
    return np.diff(trimmed(reads, *others, **options).aligned.read_offsets).tolist()


# ---- plain Python


@st.composite
def libraries(draw):
    """Reads of one fragment: often with adapters, repeats, errors, N, poly-G."""
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    unit = draw(st.sampled_from(["", "A", "AT", "CA", "ACGGT", GENOME[:23], GENOME[100:141]]))
    insert, start = draw(st.integers(0, 150)), int(rng.integers(0, 2000))
    fragment = GENOME[start : start + insert]
    if unit:
        begin, stop = sorted(rng.integers(0, insert + 1, 2))
        fragment = fragment[:begin] + (unit * 200)[: stop - begin] + fragment[stop:]
    adapters = draw(st.sampled_from([*ADAPTERS.values(), UNEQUAL, ("", "")]))
    lengths = draw(st.integers(0, 80)), draw(st.sampled_from([0, 15, 16, 17, 63, 64, 65, 80]))
    tail = draw(st.sampled_from(["A", "G"]))
    errors = draw(st.sampled_from([0.0, 0.01, 0.05, 0.12]))
    reads = []
    for side, adapter, length in zip((fragment, oracle.reverse_complement(fragment)), adapters, lengths, strict=True):
        bases = np.array(list((side + adapter + tail * 80)[:length]), "<U1")
        wrong = rng.random(length) < errors
        bases[wrong] = rng.choice(list("ACGTN"), int(wrong.sum()))
        reads.append(("".join(bases), rng.integers(2, 41, length).tolist()))
    return reads


@settings(max_examples=300)
@given(libraries(), st.booleans(), st.booleans(), st.sampled_from([0, 20]))
def test_cuts_are_those_of_plain_python(reads, paired, always_g, limit):
    given_reads = reads if paired else reads[:1]
    named = [("r", bases, "".join(chr(q + 33) for q in qualities)) for bases, qualities in given_reads]
    batch = steps.make_batch(named, paired)
    parameters = TrimParameters(poly_g="always" if always_g else "never", min_quality=limit)
    found = trim(batch, parameters)
    expected = oracle.cuts_of(given_reads, *KNOWN, always_g, limit)
    assert found.cuts.bases.tolist() == expected
    lengths = [len(bases) - sum(cut) for (bases, _), cut in zip(given_reads, expected, strict=True)]
    is_short = [sum(cut) > 0 and length < 20 for length, cut in zip(lengths, expected, strict=True)]
    assert found.too_short == sum(is_short)
    aligned = [0 if short else length for length, short in zip(lengths, is_short, strict=True)]
    assert np.diff(found.aligned.read_offsets).tolist() == aligned
    check(found.aligned)


# ---- mates


@pytest.mark.parametrize("adapters", [*ADAPTERS.values(), ("ACACGGTTAC" * 3,) * 2])
@pytest.mark.parametrize("insert", [16, 17, 40, 63, 64, 65, 99, 100, 130])
def test_short_fragments(adapters, insert):
    """The adapters need not be known, if both mates go on alike, as with Y-shaped adapters."""
    reads = pair_of(GENOME[700 : 700 + insert], adapters=adapters)
    assert kept(reads) == [min(insert, 100)] * 2
    assert trimmed(reads).cuts.fragment.tolist() == [insert if insert <= 100 else 0] * 2


def test_errors_up_to_one_base_in_ten():
    first, last = pair_of(GENOME[700:760])
    for errors, expected in ((6, 60), (7, 100)):
        changed = list(first)
        for i in range(errors):
            changed[7 * i] = "ACGT"["ACGT".index(first[7 * i]) - 1]
        assert kept(["".join(changed), last], adapters=("CCCCCCCCCC",)) == [expected] * 2


def test_mates_of_different_lengths():
    first, last = pair_of(GENOME[700:760])
    assert kept([first, last[:50]]) == [60, 50]
    assert kept([first[:50], last]) == [50, 60]
    assert kept([first[:70], last]) == [60, 60]


@pytest.mark.parametrize("unit", ["A", "AT", "CA", "GATA", GENOME[100:130]])
def test_tandem_repeats_are_not_cut(unit):
    """Mates in a repeat fit fragments that are shorter than the reads, but also longer ones."""
    assert kept(pair_of((unit * 400)[:390])) == [100, 100]


def test_a_repeat_at_both_ends_of_a_fragment_is_not_cut():
    """As between two Alus: mates fit a short fragment, but what lies beyond is no adapter."""
    repeat, unique = GENOME[:60], GENOME[1000:1300]
    assert kept(pair_of(repeat + unique + repeat)) == [100, 100]


def test_an_adapter_in_one_mate_only_says_how_long_the_fragment_is():
    first, _ = pair_of(GENOME[700:740])
    assert kept([first, GENOME[2000:2100]]) == [40, 40]
    assert kept([GENOME[2000:2100], pair_of(GENOME[700:740])[1]]) == [40, 40]
    assert kept([GENOME[2000:2085] + FIRST[:15], GENOME[:100]]) == [100, 100]  # mates would overlap


# ---- adapters


def test_single_reads():
    for kit, adapter in ADAPTERS.items():
        for insert in (0, 1, 30, 92):
            read = (GENOME[:insert] + adapter.first + "A" * 100)[:100]
            assert kept([read], False) == [insert], kit
        assert kept([GENOME[:93] + adapter.first[:7]], False) == [100]  # too little to tell


@pytest.mark.parametrize(("adapter", "tail"), [("AAAAAAAAAA", "A" * 30), ("ACACACACACAC", "AC" * 12)])
def test_a_periodic_adapter_begins_where_it_differs_least(adapter, tail):
    read = "GCATTCGGATCTTGACCGTAGGTCTTGCAGAT"  # its end differs from the adapter in one base
    assert kept([read + tail], False, adapters=(adapter,)) == [len(read)]


def test_given_adapters_replace_the_known_and_may_have_wildcards():
    read = GENOME[:50] + "ACCGGTTACAGG" + GENOME[1000:1038]
    assert kept([read], False, adapters=("ACCGRTYNCAGG",)) == [50]  # R: A or G, Y: C or T
    assert kept([read], False, adapters=("ACYYYTYNCAGG",)) == [100]  # two do not fit
    assert kept([read.replace("GTTACAGG", "GTTNCAGG")], False, adapters=("ACCGRTYNCAGG",)) == [50]
    assert kept([GENOME[:50] + FIRST], False, adapters=("ACCGRTYNCAGG",)) == [50 + len(FIRST)]
    assert kept([GENOME[:50] + "ACGTAT" + GENOME[60:90]], False, adapters=("ACGTAT",)) == [50]  # short, but whole


def test_adapters_of_last_reads():
    pair = [GENOME[:80], GENOME[500:540] + "TTGCAATTGCAATTGCAATT" + GENOME[900:920]]
    given_adapters = {"adapters": ("ACCGTACCGTACCGTACCGT",), "last_adapters": ("TTGCAATTGCAATTGCAATT",)}
    assert kept(pair, **given_adapters) == [40, 40]
    assert kept(pair, adapters=given_adapters["adapters"]) == [80, 80]
    assert kept(pair, adapters=given_adapters["last_adapters"]) == [40, 40]  # also of last reads


# ---- tails


def test_poly_g_tails_of_instruments_without_a_signal_for_g():
    read, with_error = GENOME[:79] + "A" + "G" * 20, GENOME[:79] + "A" + "GGGGGGGGGGGCGGGGGGGG"
    for prefix in INSTRUMENTS:
        assert kept([read], False, name=f"{prefix}00123:8:HXXX:1:1101:1000:1000") == [80]
    for name in ("r1", "A", "A00123", "M00123:8:x", "AB123:8:x", "SRR123.1", "A:1", ""):
        assert kept([read], False, name=name) == [100], name
    assert kept([read], False, poly_g="always") == [80] and kept([with_error], False, poly_g="always") == [80]
    assert kept([read], False, name="A00123:8:x", poly_g="never") == [100]
    assert kept([GENOME[:79] + "AGGGGGGGGG"], False, poly_g="always") == [89]  # 9 only
    assert kept(["G" * 100], False, poly_g="always") == [0]


def test_poly_g_is_not_looked_for_in_front_of_an_adapter():
    fragment = GENOME[:40] + "G" * 20
    assert kept([fragment + FIRST], False, poly_g="always") == [60]


def test_ends_of_low_quality():
    """Sums from the end at a limit of 20: 15, 25, 15, 25, 5: the highest is reached first before the last two bases."""
    text = "".join(chr(33 + q) for q in [30] * 6 + [40, 10, 30, 10, 5])
    assert kept(["ACGTACGTACG"], False, qualities=text, min_quality=20) == [9]
    assert kept(["ACGTACGTACG"], False, qualities=text) == [11]
    assert kept(["ACGTACGTACG"], False, min_quality=20) == [11]  # no qualities
    assert kept(["ACGT"], False, qualities="####", min_quality=20) == [0]


# ---- what is left


def test_reads_that_become_too_short_are_not_aligned_but_written():
    reads = pair_of(GENOME[700:718])
    clipped, dropped = (trimmed(reads, min_length=20, bases=bases) for bases in ("clip", "drop"))
    for made, lengths in ((clipped, [100, 100]), (dropped, [18, 18])):
        assert np.diff(made.aligned.read_offsets).tolist() == [0, 0] and made.too_short == 2
        assert np.diff(made.written.read_offsets).tolist() == lengths
    assert trimmed(reads, min_length=18).too_short == 0
    assert trimmed([GENOME[:10]], False, min_length=20).too_short == 0  # not cut


def test_bases_and_qualities_that_are_left():
    reads = [*pair_of(GENOME[700:760]), GENOME[:100], GENOME[300:350]]
    text = "".join(chr(33 + i % 40) for i in range(100))
    made = trimmed(reads, qualities=text, bases="drop")
    assert made.written is made.aligned or made.written.bases.tolist() == made.aligned.bases.tolist()
    expected = batch_of([reads[0][:60], reads[1][:60], *reads[2:]], qualities=text)
    for name in ("bases", "qualities", "read_offsets", "names", "segment"):
        assert getattr(made.aligned, name).tolist() == getattr(expected, name).tolist()
    assert trimmed(reads[2:]).aligned.bases.tolist() == batch_of(reads[2:]).bases.tolist()


def test_batches_do_not_matter():
    pairs = [read for insert in (30, 400, 60, 120, 10, 99) for read in pair_of(GENOME[700 : 700 + insert])]
    whole, parameters = batch_of(pairs), TrimParameters(correct=True)
    parts = [trim(take(whole, "reads", slice(i, i + 4)), parameters).aligned for i in range(0, 12, 4)]
    joined, at_once = concatenate(parts, "reads"), trim(whole, parameters).aligned
    assert joined.bases.tolist() == at_once.bases.tolist()
    assert joined.read_offsets.tolist() == at_once.read_offsets.tolist()


def test_an_empty_batch():
    assert kept([], False) == [] and kept([""], False) == [0] and kept(["", ""]) == [0, 0]


# ---- correction


@pytest.mark.parametrize("insert", [60, 100, 150])
def test_correction_takes_the_base_that_is_certain(insert):
    """Of three places where mates differ, at one the first read is certain, at one the last, at one both."""
    fragment = GENOME[700 : 700 + insert]
    first, last = (list(read) for read in pair_of(fragment))
    qualities = [[40] * 100, [40] * 100]
    start = max(0, insert - 100)
    places = [start + offset for offset in (5, 10, 15)]
    for number, place in enumerate(places):
        other = insert - 1 - place
        wrong, at = (first, place) if number != 1 else (last, other)
        wrong[at] = "ACGT"["ACGT".index(wrong[at]) - 1]
        if number < 2:
            qualities[number][at] = 14
    named = [
        ("r", "".join(read), "".join(chr(q + 33) for q in row))
        for read, row in zip((first, last), qualities, strict=True)
    ]
    batch = steps.make_batch(named, True)
    before = batch.bases.tolist()
    made = trim(batch, TrimParameters(correct=True))
    assert made.corrected == 2 and batch.bases.tolist() == before
    right = batch_of(pair_of(fragment)).bases.tolist()
    right[places[2]] = batch.bases[places[2]]
    assert made.written.bases.tolist() == right
    assert set(made.written.qualities.tolist()) == {40}
    assert trim(batch, TrimParameters()).written is batch


def test_no_correction_without_qualities_or_of_uncertain_bases():
    first, last = pair_of(GENOME[700:760])
    changed = "ACGT"["ACGT".index(first[5]) - 1].join((first[:5], first[6:]))
    for qualities in (None, "0" * 100, "?" * 100):
        assert trimmed([changed, last], qualities=qualities, correct=True).corrected == 0


# ---- counts


def test_counts_and_words():
    metrics = Metrics()
    reads = [*pair_of(GENOME[700:760]), *pair_of(GENOME[700:710]), GENOME[:80] + "G" * 20, GENOME[:100]]
    count(trimmed(reads, poly_g="always", min_length=20), metrics)
    assert metrics.counts == {
        "reads_trimmed": 5,
        "bases_trimmed": 40 * 2 + 90 * 2 + 20,
        "reads_trimmed_mates": 2,
        "bases_trimmed_mates": 80,
        "reads_trimmed_adapter": 2,
        "bases_trimmed_adapter": 180,
        "reads_trimmed_poly_g": 1,
        "bases_trimmed_poly_g": 20,
        "reads_trimmed_quality": 0,
        "bases_trimmed_quality": 0,
        "reads_trimmed_too_short": 2,
        "bases_corrected": 0,
    }
    text = describe({**metrics.counts, "reads": 10, "bases": 1000, "bases_corrected": 3})
    assert text == (
        "trimmed 50.00 % of the reads, 28.00 % of the bases (2 adapters by the overlap of mates, 2 adapters by "
        "sequence, 1 poly-G tail); 2 became too short to be aligned; corrected in the overlap of mates: 3"
    )
