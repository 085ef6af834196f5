"""Long reads of a small genome through all steps: known places, breaks, splits, and records that retell themselves."""

import random

import pysam
import pytest

from helpers.align_oracle import operations, random_bases, retold, reverse_complement
from helpers.seeding import write_fasta
from readwarp import Index
from readwarp.align import Aligner, steps
from readwarp.align.aligner import list_reads
from readwarp.align.insert_models import InsertModels
from readwarp.align.pair import given
from readwarp.align.results import Record, Records
from readwarp.config import PRESETS
from readwarp.ragged import concatenate, take

ONE = random_bases(60_000, 15)
TWO = random_bases(20_000, 16) + ONE[30_000:42_000] + random_bases(20_000, 17)  # ONE's stretch is there twice
GENOME = {"c0": ONE, "c1": TWO}


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Index:
    return Index.build(write_fasta(tmp_path_factory.mktemp("long") / "ref.fa", [ONE, TWO]))


@pytest.fixture(scope="module")
def aligner(index) -> Aligner:
    return Aligner(index, preset="hifi")


def noisy(bases: str, rate: float, rng: random.Random) -> str:
    out = []
    for base in bases:
        kind = rng.choice("XID") if rng.random() < rate else ""
        out.append({"": base, "X": rng.choice("ACGTN"), "I": base + rng.choice("ACGT"), "D": ""}[kind])
    return "".join(out)


def check(records: list[Record], reads: dict[str, str], aligner: Aligner) -> None:
    """Each CIGAR tells AS, NM and MD; SA names the other parts of the read, with their strands, CIGARs and MAPQ."""
    scoring, long = aligner.parameters.scoring, aligner.parameters.long.extend
    assert [r.name for r in records if not r.is_supplementary and not r.is_secondary] == list(reads)
    for record in records:
        bases = reads[record.name]
        if record.is_mapped:
            oriented = reverse_complement(bases) if record.is_reverse else bases
            said = record.tags["AS"], record.tags["NM"], record.tags["MD"]
            assert said == retold(record, oriented, GENOME[record.contig], scoring, long)
        parts = [r for r in records if r.name == record.name and not r.is_secondary]
        if len(parts) > 1 and not record.is_secondary:
            said = record.tags["SA"].rstrip(";").split(";")
            others = [each for each in parts if each is not record]
            assert said == [
                f"{o.contig},{o.position + 1},{'-' if o.is_reverse else '+'},"
                f"{o.cigar.replace('H', 'S')},{o.mapping_quality},{o.tags['NM']}"
                for o in others
            ]
        else:
            assert "SA" not in record.tags
        assert "XA" not in record.tags


def spans(records: list[Record]) -> list[tuple[str, int, int, bool]]:
    """Contig, start, stop and strand of each record."""
    found = []
    for record in records:
        covered = sum(count for count, letter in operations(record.cigar) if letter in "MDN=X")
        found.append((record.contig, record.position, record.position + covered, record.is_reverse))
    return found


@pytest.mark.parametrize(
    ("preset", "rate"),
    [*((preset, rate) for preset in ("hifi", "ont", "asm", "auto") for rate in (0.0, 0.001, 0.01)), ("ont", 0.05)],
)
def test_reads_of_all_lengths_come_back_to_their_places(index, preset, rate):
    aligner, rng, reads, truth = Aligner(index, preset=preset), random.Random(3), {}, []
    for number, length in enumerate([60, 120, 499, 500, 501, 900, 4096, 4097, 9000, 25_000]):
        start = rng.randrange(0, 3000)
        bases = noisy(ONE[start : start + length], rate, rng)
        is_reverse = number % 2 == 1
        reads[f"r{number}"] = reverse_complement(bases) if is_reverse else bases
        truth.append((start, start + length, is_reverse))
    records = list(aligner.align(list(reads.items())))
    check(records, reads, aligner)
    assert len(records) == len(reads)
    for record, (contig, start, stop, is_reverse), (first, last, strand) in zip(
        records, spans(records), truth, strict=True
    ):
        assert (contig, is_reverse) == ("c0", strand)
        assert abs(start - first) <= 30 and abs(stop - last) <= 30
        assert record.mapping_quality >= 30


def test_two_copies_share_mapq_0_and_a_difference_decides(aligner):
    alike = ONE[31_000:41_000]
    apart = ONE[29_000:41_000]
    records = list(aligner.align([(f"r{k}", alike) for k in range(40)] + [("apart", apart)]))
    assert [r.mapping_quality for r in records] == [0] * 40 + [60]
    assert 5 <= sum(r.contig == "c0" for r in records[:40]) <= 35  # ties scatter by name
    assert all(r.tags["XS"] == r.tags["AS"] for r in records[:40])
    again = list(aligner.align([("r7", alike)]))
    assert (again[0].contig, again[0].position) == (records[7].contig, records[7].position)


def test_secondary_records_are_the_rivals(index):
    aligner = Aligner(index, preset="hifi", secondary=3)
    reads = {"twice": ONE[31_000:41_000], "once": ONE[:5000]}
    records = list(aligner.align(list(reads.items())))
    check(records, reads, aligner)
    assert [(r.name, r.is_secondary) for r in records] == [("twice", False), ("twice", True), ("once", False)]
    assert {(c, start) for c, start, _, _ in spans(records[:2])} == {("c0", 31_000), ("c1", 21_000)}


@pytest.mark.parametrize("inverted", [250, 600, 1500, 8000])
def test_an_inversion_is_a_supplementary_alignment(aligner, inverted):
    left, right = ONE[2000:10_000], ONE[10_000 + inverted : 18_000 + inverted]
    read = left + reverse_complement(ONE[10_000 : 10_000 + inverted]) + right
    records = list(aligner.align([("inv", read)]))
    check(records, {"inv": read}, aligner)
    found = sorted(spans(records), key=lambda span: span[1])
    expected = [(2000, 10_000, False), (10_000, 10_000 + inverted, True), (10_000 + inverted, 18_000 + inverted, False)]
    assert len(found) == 3 and not records[0].is_supplementary and all(r.is_supplementary for r in records[1:])
    for (contig, start, stop, strand), (first, last, is_reverse) in zip(found, expected, strict=True):
        assert (contig, strand) == ("c0", is_reverse)
        assert abs(start - first) < 15 and abs(stop - last) < 15


@pytest.mark.parametrize("length", [30, 200, 480, 3000, 12_000])
def test_gaps_stay_within_one_alignment(aligner, length):
    foreign = random_bases(length, length)
    reads = {
        "deleted": ONE[5000:9000] + ONE[9000 + length : 13_000 + length],
        "inserted": ONE[5000:9000] + foreign + ONE[9000:13_000],
    }
    records = list(aligner.align(list(reads.items())))
    check(records, reads, aligner)
    assert [r.is_supplementary for r in records] == [False, False]
    assert [[n for n, letter in operations(r.cigar) if letter in "ID"] for r in records] == [[length], [length]]


@pytest.mark.parametrize("flank", [300, 800, 2400])
def test_a_short_part_beyond_a_long_gap_has_its_place(aligner, flank):
    """Its seeds bring less than the gap costs in a chain."""
    foreign, long = random_bases(12_000, 12), ONE[14_000:22_000]
    reads = {
        "deleted_before": ONE[3000 - flank : 3000] + long,
        "deleted_after": long + ONE[29_000 : 29_000 + flank],
        "inserted_before": ONE[14_000 - flank : 14_000] + foreign + long,
        "inserted_after": long + foreign + ONE[22_000 : 22_000 + flank],
    }
    starts = (3000 - flank, 14_000), (14_000, 29_000), (14_000 - flank, 14_000), (14_000, 22_000)
    reads |= {f"{name}_turned": reverse_complement(read) for name, read in reads.items()}
    records = list(aligner.align(list(reads.items())))
    check(records, reads, aligner)
    for name, expected in zip(reads, 2 * starts, strict=True):
        mine = sorted((r.position, r.mapping_quality) for r in records if r.name == name)
        matched = [n for r in records if r.name == name for n, letter in operations(r.cigar) if letter == "M"]
        assert abs(sum(matched) - 8000 - flank) < 30 and all(quality >= 10 for _, quality in mine)
        assert all(abs(place - at) < 15 for (place, _), at in zip(mine, expected, strict=False))


def test_far_parts_are_supplementary(aligner):
    reads = {
        "large_deletion": ONE[5000:9000] + ONE[43_000:49_000],
        "other_contig": ONE[5000:9000] + reverse_complement(TWO[1000:7000]),
        "duplicated": ONE[5000:31_000] + ONE[6000:8000],
    }
    records = list(aligner.align(list(reads.items())))
    check(records, reads, aligner)
    parts = {name: sorted(s for r, s in zip(records, spans(records), strict=True) if r.name == name) for name in reads}
    assert [(c, round(a, -2), round(b, -2), s) for c, a, b, s in parts["large_deletion"]] == [
        ("c0", 5000, 9000, False),
        ("c0", 43_000, 49_000, False),
    ]
    assert [(c, round(a, -2), round(b, -2), s) for c, a, b, s in parts["other_contig"]] == [
        ("c0", 5000, 9000, False),
        ("c1", 1000, 7000, True),
    ]
    assert [(c, round(a, -2), round(b, -2), s) for c, a, b, s in parts["duplicated"]] == [
        ("c0", 5000, 31_000, False),
        ("c0", 6000, 8000, False),
    ]


def test_what_is_not_of_the_reference_is_clipped_or_unmapped(aligner):
    foreign = random_bases(6000, 5)
    reads = {"whole": foreign, "ends": foreign[:700] + ONE[1000:6000] + foreign[700:2000], "N": "N" * 5000, "empty": ""}
    records = list(aligner.align(list(reads.items())))
    check(records, reads, aligner)
    assert [r.is_mapped for r in records] == [False, True, False, False]
    assert spans(records[1:2]) == [("c0", 1000, 6000, False)] or abs(records[1].position - 1000) < 12


def test_batches_and_company_do_not_matter(index, aligner):
    """Long reads, short ones and pairs in one batch, in any parts: the same records."""
    rng = random.Random(8)
    singles = [(f"s{k}", noisy(ONE[at : at + n], 0.01, rng)) for k, (at, n) in enumerate([(9, 150), (500, 7000)] * 6)]
    starts = [rng.randrange(50_000) for _ in range(6)]
    firsts = [(f"p{k}", ONE[at : at + 120]) for k, at in enumerate(starts)]
    lasts = [(f"p{k}", reverse_complement(ONE[at + 200 : at + 320])) for k, at in enumerate(starts)]
    pairs = steps.make_batch(list_reads(firsts, lasts), True)
    batch = concatenate([steps.make_batch(list_reads(singles[:7]), False), pairs], "reads")
    batch = concatenate([batch, steps.make_batch(list_reads(singles[7:]), False)], "reads")
    sizes = InsertModels(given(320, 30))

    def aligned(start: int, stop: int) -> list[Record]:
        part = take(batch, "reads", slice(start, stop))
        _, rows = steps.align_batch(part, aligner._placed, sizes, aligner.parameters, aligner.metrics)
        return list(Records(part, rows, index.reference))

    whole = aligned(0, len(batch))
    assert whole == aligned(0, 3) + aligned(3, 7) + aligned(7, 9) + aligned(9, 20) + aligned(20, len(batch))
    assert [r.name for r in whole if not r.is_supplementary] == [
        *(name for name, _ in singles[:7]),
        *(name for name, _ in firsts for _ in "12"),
        *(name for name, _ in singles[7:]),
    ]
    assert sum(r.is_proper_pair for r in whole) == 12 and all(r.is_mapped for r in whole)


def test_standard_takes_what_only_long_reads_can_be(index):
    """Reads of up to 4,096 bases are aligned as ever; longer ones were left unmapped once."""
    assert PRESETS["standard"].parameters.long.min_length == 4097
    read = ONE[100:4300]
    record = next(iter(Aligner(index).align([("r", read)])))
    assert (record.position, record.cigar, record.mapping_quality) == (100, "4200M", 60)


def test_a_read_that_is_too_long_is_left_unmapped_and_counted(index):
    """Scores must stay below 2^31, so large ones leave less room for bases."""
    aligner = Aligner(index, preset="hifi", match=10_000)
    assert (
        aligner.parameters.longest_single == (2**31 - 1) // 20_000 and PRESETS["hifi"].parameters.longest_single > 1e7
    )
    records = list(aligner.align([("r", ONE + TWO[:47_400]), ("s", ONE + TWO[:40_000])]))
    assert [r.is_mapped for r in records if not r.is_supplementary] == [False, True]
    assert aligner.metrics.counts["reads_too_long"] == 1


def test_long_reads_are_not_marked_as_duplicates(index, tmp_path):
    """Nor do they change which short ones are."""
    reads = [("a", ONE[:5000]), ("b", ONE[:5000]), ("c", ONE[7:300]), ("d", ONE[7:300])]
    records = Aligner(index).align(reads)
    records.write(tmp_path / "out.bam", sort="coordinate", mark_duplicates=True)
    with pysam.AlignmentFile(tmp_path / "out.bam") as file:
        assert [(r.query_name, r.is_duplicate) for r in file] == [("a", False), ("b", False), ("c", False), ("d", True)]
