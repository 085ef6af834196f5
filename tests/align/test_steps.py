"""Reads of a small genome through all steps, compared with their known places and a letter-by-letter oracle."""

import random

import numpy as np
import pytest

from helpers.align_oracle import READ, cut_pair, operations, random_bases, retold, reverse_complement
from helpers.making import write_fasta
from readwarp.align import Aligner, steps
from readwarp.align.aligner import list_reads
from readwarp.align.insert_models import InsertModels
from readwarp.align.pair import given
from readwarp.align.results import Records
from readwarp.config import AlignParameters, RecordParameters
from readwarp.finish.writer import Preparer
from readwarp.formats.alignments.sam import Encoder
from readwarp.formats.reads import fastx
from readwarp.index import Index
from readwarp.ragged import replace, take


def mutated(bases: str, rng: random.Random) -> str:
    """A few substitutions, and now and then an insertion or a deletion."""
    letters = list(bases)
    for _ in range(rng.randrange(5)):
        letters[rng.randrange(len(letters))] = rng.choice("ACGTN")
    if rng.random() < 0.4:
        at = rng.randrange(20, len(letters) - 20)
        letters[at:at] = rng.choices("ACGT", k=rng.randrange(1, 8))
    if rng.random() < 0.4:
        at = rng.randrange(20, len(letters) - 20)
        del letters[at : at + rng.randrange(1, 8)]
    return "".join(letters)


def simulated(genome, pairs: int, seed: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]], list[int]]:
    rng = random.Random(seed)
    reads, mates, starts = [], [], []
    for number in range(pairs):
        start = rng.randrange(len(genome["one"]) - 600)
        first, last = cut_pair(genome["one"], start, rng.randrange(250, 450))
        reads.append((f"pair{number}", mutated(first, rng)))
        mates.append((f"pair{number}", mutated(last, rng)))
        starts.append(start)
    return reads, mates, starts


def test_every_record_retells_its_score_distance_and_md(aligner, genome):
    reads, mates, starts = simulated(genome, 150, seed=1)
    records = aligner.align(reads, mates)
    sequences = {(name, 0x40): bases for name, bases in reads} | {(name, 0x80): bases for name, bases in mates}
    primaries = [record for record in records if not record.is_supplementary]
    assert [(r.name, r.flag & 0xC0) for r in primaries] == [
        (name, side) for (name, _) in reads for side in (0x40, 0x80)
    ]
    right = 0
    for record in records:
        bases = sequences[record.name, record.flag & 0xC0]
        oriented = reverse_complement(bases) if record.is_reverse else bases
        if record.is_mapped:
            said = record.tags["AS"], record.tags["NM"], record.tags["MD"]
            assert said == retold(record, oriented, genome[record.contig], aligner.parameters.scoring)
            if record.flag & 0x40 and not record.is_supplementary:
                clip = operations(record.cigar)[0]
                start = record.position - (clip[0] if clip[1] == "S" else 0)
                right += abs(start - starts[int(record.name[4:])]) <= 10
    assert right >= 149
    assert sum(record.is_proper_pair for record in primaries) >= 298


def test_batches_do_not_matter(aligner, genome, index):
    reads, mates, _ = simulated(genome, 40, seed=2)
    batch = steps.make_batch(list_reads(reads, mates), True)
    sizes = InsertModels(given(350, 40))

    def aligned(start, stop):
        part = take(batch, "reads", slice(start, stop))
        _, rows = steps.align_batch(part, aligner._placed, sizes, aligner.parameters, aligner.metrics)
        return list(Records(part, rows, index.reference))

    assert aligned(0, 80) == aligned(0, 14) + aligned(14, 16) + aligned(16, 80)


def test_a_mate_without_seeds_is_rescued(aligner, genome):
    first, last = cut_pair(genome["one"], 5000)
    changed = "".join("ACGT"["ACGT".index(base) - 1] if i % 16 == 7 else base for i, base in enumerate(last))
    lone = aligner.align([changed])[0]
    read, mate = aligner.align([first], [changed])
    assert not lone.is_mapped
    assert (mate.position, mate.cigar, mate.flag) == (5000 + 350 - READ, f"{READ}M", 0x1 | 0x2 | 0x10 | 0x80)
    assert (read.template_length, mate.template_length) == (350, -350)
    assert read.tags["MC"] == f"{READ}M" and read.tags["MQ"] == mate.mapping_quality


def test_settled_mates_lose_nothing(tmp_path, monkeypatch):
    """Reads of copies that differ by 0 to 8 % have the same places, as sure as before, if all mates are looked for."""
    rng = random.Random(3)
    parts, copy = [], random_bases(1200, 21)
    for number in range(12):
        changed = "".join(rng.choice("ACGT") if rng.random() < number / 150 else base for base in copy)
        parts += [changed, random_bases(300, 30 + number)]
    genome = {"one": "".join(parts)}
    reads, mates, _ = simulated(genome, 400, seed=4)
    aligner = Aligner(Index.build(write_fasta(tmp_path / "ref.fa", genome)), insert_sizes=given(350, 40))

    def placed():
        records = [record for record in aligner.align(reads, mates) if not record.is_supplementary]
        return [(record.flag, record.position, record.cigar, record.mapping_quality >= 20) for record in records]

    few, plan_rescue, windows = placed(), steps.pair.plan_rescue, []

    def look_for_all(reads, settled, *rest):
        windows.append(len(plan_rescue(reads, settled, *rest)))
        windows.append(len(plan_rescue(reads, np.zeros_like(settled), *rest)))
        return plan_rescue(reads, np.zeros_like(settled), *rest)

    monkeypatch.setattr(steps.pair, "plan_rescue", look_for_all)
    assert placed() == few and sum(windows[::2]) < sum(windows[1::2])


def test_a_split_read_names_its_other_part(aligner, genome):
    read = genome["one"][1000:1080] + reverse_complement(genome["one"][9000:9060])
    primary, other = aligner.align([("split", read, "I" * 140)])
    assert (primary.position, primary.cigar, primary.flag) == (1000, "80M60S", 0)
    assert (other.position, other.cigar, other.flag) == (9000, "60M80H", 0x800 | 0x10)
    assert primary.tags["SA"] == f"one,9001,-,60M80S,{other.mapping_quality},0;"
    assert other.tags["SA"] == f"one,1001,+,80M60S,{primary.mapping_quality},0;"


def test_soft_clips_and_eqx(index, genome):
    parameters = replace(Aligner(index).parameters, records=RecordParameters(soft_clip_supplementary=True, eqx=True))
    aligner = Aligner(index, parameters)
    bases = genome["one"]
    split = bases[1000:1080] + reverse_complement(bases[9000:9060])
    mismatched = bases[3000:3050] + {"A": "C", "C": "G", "G": "T", "T": "A"}[bases[3050]] + bases[3051:3120]
    assert [record.cigar for record in aligner.align([split, mismatched])] == ["80=60S", "60=80S", "50=1X69="]


def test_places_of_a_repeat_are_named_and_scattered(aligner, genome):
    two = genome["two"]
    starts = [1500, 3800, 6100]
    read = two[1600 : 1600 + READ]
    records = aligner.align([(f"r{number}", read) for number in range(60)])
    assert {record.position for record in records} == {start + 100 for start in starts}
    for record in records:
        assert record.mapping_quality == 0 and record.tags["XS"] == record.tags["AS"] == READ
        others = {f"two,+{start + 101},{READ}M,0" for start in starts if start + 100 != record.position}
        assert set(str(record.tags["XA"]).rstrip(";").split(";")) == others
    assert records == aligner.align([(f"r{number}", read) for number in range(60)])


def test_the_unique_mate_decides_among_the_places_of_a_repeat(aligner, genome):
    """The fragment starts 100 bases before the second copy, so the first mate is unique and the second is not."""
    first, last = cut_pair(genome["two"], 3650)
    read, mate = aligner.align([first], [last])
    assert (read.position, mate.position) == (3650, 3650 + 350 - READ)
    assert read.mapping_quality == 60 and mate.mapping_quality >= 20
    assert mate.tags["XS"] == mate.tags["AS"]


def test_mapped_read_with_unmapped_mate(aligner, genome):
    read, mate = aligner.align([genome["one"][700 : 700 + READ]], [random_bases(READ, 99)])
    assert (read.flag, mate.flag) == (0x1 | 0x8 | 0x40, 0x1 | 0x4 | 0x80)
    assert (read.mate_contig, read.mate_position) == ("one", 700)
    assert (mate.contig, mate.position, mate.mate_contig, mate.mate_position) == ("one", 700, "one", 700)
    assert (mate.cigar, mate.mapping_quality, mate.tags["MC"]) == ("", 0, f"{READ}M")
    assert "MC" not in read.tags and read.template_length == 0


@pytest.mark.parametrize("odd", ["", "N" * READ, "ACGT", "A" * 19, random_bases(READ, 98), random_bases(5000, 97)])
def test_odd_reads_come_out_once(aligner, genome, odd):
    single = aligner.align([odd])
    assert [(r.flag, r.contig, r.position, r.cigar, r.mapping_quality) for r in single] == [(0x4, None, -1, "", 0)]
    pair = aligner.align([odd], [genome["one"][700 : 700 + READ]])
    assert [record.flag & 0xC4 for record in pair] == [0x44, 0x80]
    assert [record.flag & 0xC0 for record in aligner.align([odd], [odd])] == [0x40, 0x80]


def test_no_reads(aligner):
    assert aligner.align([]) == [] and aligner.align([], []) == []


@pytest.mark.parametrize("insert, turn", [(350, "same"), (350, "apart"), (3000, "far")])
def test_pairs_that_lie_otherwise_are_not_proper(aligner, genome, insert, turn):
    first, last = cut_pair(genome["one"], 2000, insert)
    if turn == "same":
        last = reverse_complement(last)
    if turn == "apart":
        first, last = reverse_complement(first), reverse_complement(last)
    records = aligner.align([first], [last])
    assert [record.position for record in records] == [2000, 2000 + insert - READ]
    assert not any(record.is_proper_pair for record in records)
    assert all(record.is_mapped for record in records)


def test_reads_that_hang_over_a_contig(aligner, genome):
    """A read across the end of a contig is clipped there, one longer than the contig on both sides."""
    over_end = genome["one"][-80:] + random_bases(40, 96)
    longer = random_bases(20, 95) + genome["tiny"] + random_bases(20, 94)
    end, whole = aligner.align([over_end, longer])
    assert (end.contig, end.position, end.cigar) == ("one", 20_000 - 80, "80M40S")
    assert (whole.contig, whole.position, whole.cigar) == ("tiny", 0, "20S90M20S")


def test_lengths_mixed(aligner, genome):
    lengths = [30, 36, 50, 75, 101, 150, 250, 500, 1000]
    records = aligner.align([genome["one"][4000 : 4000 + length] for length in lengths])
    assert [(record.position, record.cigar) for record in records] == [(4000, f"{length}M") for length in lengths]


def test_warm_up_compiles_what_a_run_needs(index):
    """This includes rescue, traces with gaps, and full vector lanes."""
    aligner = Aligner(index)
    reads = fastx.parse(steps.sample_pairs(index))
    steps.warm_up(aligner._placed, aligner.parameters, (Encoder(()), Preparer()))
    _, rows = steps.align_batch(
        reads, aligner._placed, InsertModels(given(300, 30)), aligner.parameters, aligner.metrics
    )
    counts = aligner.metrics.counts
    assert counts["rescue_windows"] == steps.SAMPLE_PAIRS // 2 and counts["proper"] == len(rows) == len(reads)


def test_sample_pairs_of_a_tiny_reference(tmp_path):
    from readwarp.index import Index

    path = tmp_path / "tiny.fa"
    path.write_text(">tiny\nACGTTGCA\n")
    index = Index.build(path)
    reads = fastx.parse(steps.sample_pairs(index))
    assert set(np.diff(reads.read_offsets).tolist()) == {8} and len(reads) == 2 * steps.SAMPLE_PAIRS
    assert [record.flag for record in Aligner(index).align(["ACGTTGCA"])] == [0x4]


def two_parts(one: str, event: str, size: int, flank: int, length: int) -> tuple[str, list[tuple[int, int]]]:
    """A read whose last `flank` bases lie beyond an event, and where its parts begin and end on the read and contig."""
    left = length - flank - (size if event == "insertion" else 0)
    second = 6000 + {"deletion": size, "duplication": -size}.get(event, 0)
    inserted = random_bases(size, 77) if event == "insertion" else ""
    return one[6000 - left : 6000] + inserted + one[second : second + flank], [(6000 - left, left), (second, flank)]


def test_chance_is_no_part(index, genome):
    """Not even if every score will do, as with `bwa mem -T 0`."""
    aligner = Aligner(index, AlignParameters(records=RecordParameters(min_score=0)))
    reads = [(f"r{i}", genome["one"][500 * i : 500 * i + 80] + random_bases(70, 60 + i)) for i in range(20)]
    assert [record.name for record in aligner.align(reads)] == [name for name, _ in reads]


@pytest.mark.parametrize("length", [150, 250])
@pytest.mark.parametrize("flank", [34, 50, 70])
@pytest.mark.parametrize(
    ("event", "sizes"),
    [("deletion", (36, 60, 69, 80, 100, 140, 2000)), ("insertion", (50,)), ("duplication", (20, 40, 60, 90, 150))],
)
def test_each_part_of_a_short_read_has_its_place(aligner, genome, event, sizes, flank, length):
    """As a gap or as a supplementary alignment, on either side and strand of the read."""
    reads, parts = [], {}
    for size in sizes:
        read, places = two_parts(genome["one"], event, size, flank, length)
        mirrored, far = two_parts(reverse_complement(genome["one"]), event, size, flank, length)
        parts[f"right{size}"] = places
        parts[f"left{size}"] = [(len(genome["one"]) - start - bases, bases) for start, bases in far]
        reads += [(f"right{size}", read), (f"left{size}", reverse_complement(mirrored))]
        reads += [(f"{name}_turned", reverse_complement(bases)) for name, bases in reads[-2:]]
    covered: dict[str, set[int]] = {name: set() for name, _ in reads}
    for record in aligner.align(reads):
        assert record.mapping_quality > 0
        place = record.position
        for size, letter in operations(record.cigar):
            if letter == "M":
                covered[record.name].update(range(place, place + size))
            place += size if letter in "MD" else 0
    for name, places in covered.items():
        for start, size in parts[name.removesuffix("_turned")]:
            assert len(places.intersection(range(start, start + size))) >= size - 4, name
