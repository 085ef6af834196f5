"""Fragments made of their mates, and what of a read is no evidence: compared with the fragments that were sequenced."""

import random
from contextlib import closing

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from helpers.making import Read, aligned_reads, other, random_sequence, tiled, window_of, write_bam
from readwarp.call.reads.mates import DEFAULT_QUALITY, MAX_RECORDS, MAX_UNIT, MIN_REPEAT
from readwarp.call.reads.mates.join import Removed, is_anchor, is_repeat, join_mates
from readwarp.call.reads.mates.primers import NO_PRIMERS, Primers, primers_of
from readwarp.formats.alignments.aligned import AlignedReads
from readwarp.formats.alignments.regions import AlignedReader, ReadFilter
from readwarp.ragged import check
from readwarp.rules.cigar import LETTERS

REFERENCE = random_sequence(1000, seed=5)
ADAPTER = "AGATCGGAAGAGC" * 12
FORWARD, REVERSE = 99, 147  # flags of mates


def join(reads: list[Read], primers: Primers = NO_PRIMERS, ignore: bool = False) -> tuple[AlignedReads, Removed]:
    found, removed = join_mates(aligned_reads(reads), window_of(REFERENCE), primers, ignore)
    check(found)
    return found, removed


def listed(reads: AlignedReads) -> list[tuple[int, int, str, str]]:
    """Position, stop, CIGAR and bases of each."""
    out = []
    for i in range(len(reads)):
        cigar = reads.cigar[reads.cigar_offsets[i] : reads.cigar_offsets[i + 1]]
        bases = reads.bases[reads.read_offsets[i] : reads.read_offsets[i + 1]]
        text = "".join(f"{code >> 4}{LETTERS[code & 15]}" for code in cigar.tolist())
        out.append((int(reads.position[i]), int(reads.reference_stop[i]), text, "".join("ACGTN"[b] for b in bases)))
    return out


def plain(position: int, size: int, **more) -> Read:
    """A read of the reference."""
    return Read(position, f"{size}M", REFERENCE[position : position + size], (30,) * size, **more)


def mates_of(fragment: Read, length: int) -> list[Read]:
    """Both mates of `length` bases of a fragment that is given as one read; what it lacks is clipped adapter."""
    cells = list(fragment.aligned())
    made = []
    for flag in (FORWARD, REVERSE):
        size = min(length, len(fragment.bases))
        first = 0 if flag == FORWARD else len(fragment.bases) - size
        own = [cell for cell in cells if cell[1] is None or first <= cell[1] < first + size]
        ends = [i for i, cell in enumerate(own) if cell[2] == "M"]
        own = [(p, q, "S" if o == "I" and not ends[0] < i < ends[-1] else o) for i, (p, q, o) in enumerate(own)]
        own = [cell for i, cell in enumerate(own) if cell[1] is not None or ends[0] < i < ends[-1]]
        more = length - size
        letters = [o for _, _, o in own]
        letters = letters + ["S"] * more if flag == FORWARD else ["S"] * more + letters
        bases = fragment.bases[first : first + size]
        bases = bases + ADAPTER[:more] if flag == FORWARD else ADAPTER[:more] + bases
        runs: list[list] = []
        for letter in letters:
            runs = [*runs[:-1], [letter, runs[-1][1] + 1]] if runs and runs[-1][0] == letter else [*runs, [letter, 1]]
        cigar = "".join(f"{n}{letter}" for letter, n in runs)
        position = min(p for p, _, letter in own if letter == "M")
        made.append(Read(position, cigar, bases, (30,) * len(bases), flag, 60, fragment.name))
    return made


@settings(max_examples=150)
@given(st.data())
def test_mates_make_the_fragment_that_was_sequenced(data):
    """With variants, read through or not: its bases, its alignment, and which strands read which of its bases."""
    start, size = data.draw(st.integers(0, 400)), data.draw(st.integers(100, 200))
    length = data.draw(st.integers((size + 60) // 2, 150))
    variants = []
    for place in data.draw(st.lists(st.integers(start + 30, start + size - 50), max_size=2, unique=True)):
        kind = data.draw(st.sampled_from(("snv", "insertion", "deletion")))
        new = {"snv": other(REFERENCE[place]), "insertion": REFERENCE[place] + "GATTACA", "deletion": REFERENCE[place]}
        old = REFERENCE[place : place + (6 if kind == "deletion" else 1)]
        if not variants or abs(variants[-1][0] - place) > 10:
            variants.append((place, old, new[kind]))
    (fragment,) = tiled([sorted(variants)], REFERENCE, 1, size, range(start, start + 1))
    letters = np.array(list(fragment.bases))
    assume(not any(runs(letters[unit:] == letters[:-unit]) for unit in range(8, length)))  # no repeat by chance
    reads = mates_of(fragment, length)
    found, removed = join(data.draw(st.permutations(reads)))
    assert listed(found) == [(fragment.position, fragment.stop, fragment.cigar, fragment.bases)]
    over = max(0, length - len(fragment.bases))
    assert removed.beyond.tolist() == [over] * 2 and removed.is_joined.all()
    inner = max(0, len(fragment.bases) - length)
    assert found.shared.tolist() == [[inner, len(fragment.bases) - inner]]
    assert found.qualities.tolist() == [30] * len(fragment.bases)


@pytest.mark.parametrize(
    ("one", "two", "kept"),
    [
        (("A", 30), ("A", 20), ("A", 30)),
        (("A", 20), ("A", 30), ("A", 30)),
        (("A", 30), ("C", 20), ("A", 10)),
        (("A", 20), ("C", 30), ("C", 10)),
        (("A", 20), ("C", 20), ("A", 0)),
        (("N", 30), ("C", 20), ("C", 20)),
        (("A", 20), ("N", 30), ("A", 20)),
    ],
)
def test_a_base_that_was_read_twice(one, two, kept):
    def read(flag, base, quality):
        bases = REFERENCE[100:150] + base + REFERENCE[151:200]
        return Read(100, "100M", bases, (30,) * 50 + (quality,) + (30,) * 49, flag)

    found, _ = join([read(FORWARD, *one), read(REVERSE, *two)])
    assert ("ACGTN"[found.bases[50]], found.qualities[50]) == kept


def test_better_mapping_quality_and_ends_of_the_mates():
    reads = [plain(100, 100, flag=163, mapping_quality=20), plain(130, 100, flag=83, mapping_quality=50)]
    found, _ = join(reads)
    assert listed(found) == listed(aligned_reads([plain(100, 130)]))
    assert found.mapping_quality.tolist() == [50] and found.shared.tolist() == [[30, 100]]


@pytest.mark.parametrize(
    "reads",
    [
        [plain(100, 60, flag=FORWARD), plain(200, 60, flag=REVERSE)],  # apart
        [plain(100, 60, flag=FORWARD), plain(150, 60, flag=REVERSE)],  # too few bases in common
        [plain(100, 60, flag=FORWARD), plain(110, 60, flag=FORWARD + 64)],  # one strand
        [plain(100, 60, flag=FORWARD), plain(110, 60, flag=REVERSE, name="s")],
        [plain(100, 60, flag=0), plain(110, 60, flag=16)],  # no mates
    ],
)
def test_others_stay_apart(reads):
    assert listed(join(reads)[0]) == listed(aligned_reads(reads))


@pytest.mark.parametrize(
    ("unit", "copies", "forward_stop", "reverse_start", "joined_stop"),
    [
        (3, 20, 250, 210, 275),
        (20, 2.8, 229, 205, 275),  # a longer unit than half of what they share
        (50, 2.8, 270, 240, 345),  # than all of it
    ],
)
def test_a_repeat_does_not_say_how_mates_lie(unit, copies, forward_stop, reverse_start, joined_stop):
    """The fragment may have one copy of the repeat's unit more or less, and each mate would still fit."""
    repeat = random_sequence(unit, seed=3) * 20
    reference = REFERENCE[:200] + repeat[: int(unit * copies)] + REFERENCE[200:]

    def read(start, stop, flag):
        return Read(start, f"{stop - start}M", reference[start:stop], (30,) * (stop - start), flag)

    reads = [read(100, forward_stop, FORWARD), read(reverse_start, 400, REVERSE)]
    found, removed = join_mates(aligned_reads(reads), window_of(reference), NO_PRIMERS, False)
    assert len(found) == 2 and not removed.is_joined.any()
    wide = [read(100, joined_stop, FORWARD), reads[1]]  # spans it
    assert len(join_mates(aligned_reads(wide), window_of(reference), NO_PRIMERS, False)[0]) == 1


@settings(max_examples=300)
@given(st.data())
def test_repeats_of_long_units_are_those_by_their_definition(data):
    """Some run of the fragment is the same one unit further on, and the two copies cover what the mates share."""
    unit = data.draw(st.integers(8, 80))
    inner = "".join(data.draw(st.lists(st.sampled_from("ACGT"), min_size=unit, max_size=unit)))
    repeat = (inner * 4)[: data.draw(st.integers(unit, 3 * unit))]
    fragment = REFERENCE[:60] + repeat + REFERENCE[60:120]
    begin = data.draw(st.integers(20, len(fragment) - 40))
    end = data.draw(st.integers(begin + 16, min(len(fragment) - 10, begin + 90)))
    bases = np.array(["ACGT".index(base) for base in fragment], np.uint8)
    expected = any(
        low <= begin and high >= end - size
        for size in range((end - begin) // 2 + 1, max(end - begin, MAX_UNIT + 1))
        for low, high in runs(bases[size:] == bases[:-size])
    )
    mate = 7  # bases of other reads lie between
    both = np.concatenate([bases[:end], np.zeros(mate, np.uint8), bases[begin:]])
    shift = begin - (end + mate)
    expected |= is_repeat(bases, begin, end)
    assert is_anchor(both, (0, end, bases.size, shift), begin, end) != expected


def runs(is_same):
    """[start, stop) of the runs of at least MIN_REPEAT."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], is_same.astype(int), [0]])))
    return [(low, high) for low, high in edges.reshape(-1, 2).tolist() if high - low >= MIN_REPEAT]


def test_many_records_of_a_name_stay_apart():
    reads = [plain(100 + i, 60, flag=(FORWARD, REVERSE)[i % 2]) for i in range(MAX_RECORDS + 2)]
    assert len(join(reads)[0]) == len(reads)
    assert len(join(reads[2:])[0]) == len(reads) // 2 - 1


# beyond the mate


@pytest.mark.parametrize("flag", [FORWARD, REVERSE])
def test_without_the_mate_its_record_tells_where_the_fragment_ends(flag):
    if flag == FORWARD:
        read = Read(100, "80M20S", REFERENCE[100:180] + ADAPTER[:20], (30,) * 100, flag, fragment_end=170)
        kept = plain(100, 70)
    else:
        read = Read(120, "20S80M", ADAPTER[:20] + REFERENCE[120:200], (30,) * 100, flag, fragment_end=130)
        kept = plain(130, 70)
    found, removed = join([read])
    assert listed(found) == listed(aligned_reads([kept])) and removed.beyond.tolist() == [30]


def test_a_mate_on_the_wrong_side_says_nothing():
    """Outward mates are no fragment that was read through."""
    reads = [plain(100, 60, flag=FORWARD, fragment_end=90), plain(200, 60, flag=REVERSE, fragment_end=260)]
    assert listed(join(reads)[0]) == listed(aligned_reads(reads))


@pytest.mark.parametrize(
    ("tags", "length", "forward", "reverse"),
    [
        ({"MC": "5S60M3D10M7S"}, 80, 130 + 73 + 7, 125),
        ({"MC": "2H4S60M1H"}, 80, 130 + 61, 124),
        ({}, 80, 180, 130),
        ({"MC": "80M"}, 25, -1, -1),  # too far off to be read through
    ],
)
def test_where_the_mate_begins(tmp_path, tags, length, forward, reverse):
    bam = tmp_path / "a.bam"
    reads = [plain(100, length, flag=FORWARD, name="f"), plain(100, length, flag=83, name="r")]
    write_bam(bam, {"c": 1000}, [("c", read) for read in reads], mates={"next": 130, "length": 80, "tags": tags})
    with closing(AlignedReader(bam)) as reader:
        assert reader.read(0, 0, 1000, ReadFilter()).fragment_end.tolist() == [forward, reverse]


# clips


def test_a_clip_that_matches_the_reference_was_made_on_purpose():
    read = Read(100, "20S60M", REFERENCE[80:160], (30,) * 80)
    found, removed = join([read])
    assert listed(found) == listed(aligned_reads([plain(100, 60)]))
    assert removed.hidden.tolist() == [20] and found.hidden.tolist() == [[20, 0]]
    read = Read(100, "60M20S", REFERENCE[100:180], (30,) * 80)
    assert join([read])[0].hidden.tolist() == [[0, 20]]


def test_a_clip_that_an_aligner_made_stays_unless_all_are_ignored():
    for cigar, bases in (("60M20S", REFERENCE[100:160] + ADAPTER[:20]), ("20S60M", ADAPTER[:20] + REFERENCE[100:160])):
        reads = [Read(100, cigar, bases, (30,) * 80)]
        assert listed(join(reads)[0]) == listed(aligned_reads(reads))
        assert listed(join(reads, ignore=True)[0]) == listed(aligned_reads([plain(100, 60)]))


# primers

SCHEME = primers_of([(100, 120, False, "a"), (280, 300, True, "a"), (250, 270, False, "b"), (430, 450, True, "b")])


def test_primers_of_a_fragment():
    """Those with which it was made, on both mates, aligned or clipped; not those of another amplicon."""
    left, right = plain(100, 120, flag=FORWARD), plain(180, 120, flag=REVERSE)
    found, removed = join([left, right], SCHEME)
    assert listed(found) == listed(aligned_reads([plain(120, 160)]))
    assert found.hidden.tolist() == [[20, 20]] and removed.hidden.tolist() == [20, 20]
    reads = [plain(98, 200, flag=FORWARD), plain(96, 204, flag=REVERSE)]  # it begins a little before its primer
    assert listed(join(reads, SCHEME)[0]) == listed(aligned_reads([plain(120, 160)]))
    whole = plain(150, 200)  # begins in none
    assert listed(join([whole], SCHEME)[0]) == listed(aligned_reads([whole]))
    clipped = Read(104, "4S100M", REFERENCE[100:204], (30,) * 104)
    assert listed(join([clipped], SCHEME)[0]) == listed(aligned_reads([plain(120, 84)]))


def test_primers_of_a_mate_that_is_not_here_and_of_a_single_read():
    read = plain(100, 190, flag=FORWARD, fragment_end=300)
    assert listed(join([read], SCHEME)[0]) == listed(aligned_reads([plain(120, 160)]))
    assert listed(join([plain(100, 190)], SCHEME)[0]) == listed(aligned_reads([plain(120, 160)]))
    nameless = primers_of([(100, 120, False, ""), (280, 300, True, "")])
    assert listed(join([plain(100, 190)], nameless)[0]) == listed(aligned_reads([plain(120, 170)]))
    assert listed(join([plain(260, 190, flag=16)], SCHEME)[0]) == listed(aligned_reads([plain(270, 160)]))


def test_a_primer_alone_is_no_read():
    assert len(join([plain(100, 18), plain(300, 30)], SCHEME)[0]) == 1


# all at once


@settings(max_examples=60)
@given(st.integers(0, 10_000))
def test_batches_are_whole_and_in_order(seed):
    """Awkward reads of a few names: what comes out is consistent, and has no more bases than went in."""
    rng, reads = random.Random(seed), []
    for _ in range(rng.randrange(12)):
        inner = rng.choice(("30M", "20M3D15M", "20M4I20M", "10M200N20M", "12=1X12=", "5M1P5M", "40M"))
        cigar = rng.choice(("", "9S", "2H", "3H12S")) + inner + rng.choice(("", "10S", "4S1H"))
        size = Read(0, cigar, "", ()).operations
        length = sum(n for n, letter in size if letter in "MIS=X")
        position = rng.randrange(300)
        bases = (
            "".join(rng.choices("ACGTN", k=length)) if rng.random() < 0.3 else REFERENCE[position : position + length]
        )
        flag, quality = rng.choice((99, 147, 83, 163, 0, 2147)), rng.choice((0, 9, 30, 255))
        more = flag, rng.randrange(61), rng.choice("abc"), rng.choice((-1, 50, 200, 310))
        reads.append(Read(position, cigar, bases, (quality,) * length, *more))
    found, removed = join(reads, SCHEME, ignore=rng.random() < 0.3)
    assert (np.diff(found.position) >= 0).all() and len(found) <= len(reads) == removed.position.size
    for i, (position, stop, cigar, bases) in enumerate(listed(found)):
        read = Read(position, cigar, bases, ())
        assert read.stop == stop > position
        assert sum(n for n, letter in read.operations if letter in "MIS=X") == len(bases)
        letters = [letter for _, letter in read.operations]
        assert all(letter not in "IDNHP" for letter in (*letters[:1], *letters[-1:]))
        assert 0 <= found.shared[i, 0] <= found.shared[i, 1] <= len(bases)
    assert found.bases.size <= sum(len(read.bases) for read in reads) and 255 not in found.qualities


def test_missing_qualities_take_the_default():
    found, _ = join([Read(0, "2M", "AC", (255, 255))])
    assert found.qualities.tolist() == [DEFAULT_QUALITY] * 2


def test_mates_that_contradict_each_other_where_they_overlap_stay_apart():
    """The reverse mate's clip is the end of one copy of a unit, where the forward mate has what is before the unit."""
    other_copy = random_sequence(40, seed=9)
    forward = plain(100, 150, flag=FORWARD)
    reverse = Read(200, "40S110M", other_copy + REFERENCE[200:310], (30,) * 150, REVERSE)
    assert len(join([forward, reverse])[0]) == 2
    doubtful = Read(200, "40S110M", other_copy + REFERENCE[200:310], (5,) * 40 + (30,) * 110, REVERSE)
    agreeing = Read(200, "40S110M", REFERENCE[160:200] + REFERENCE[200:310], (30,) * 150, REVERSE)
    assert len(join([forward, doubtful])[0]) == len(join([forward, agreeing])[0]) == 1
