"""Calling circular contigs: the origin is a place like any other."""

import pickle
import random
from collections import Counter
from dataclasses import replace

import pytest

import readwarp
from helpers.batch_samples import samtools
from helpers.circles import (
    align_pairs,
    change,
    deletion,
    first_turn,
    insertion,
    random_variants,
    rows_of,
    snv,
    spell,
    turn,
    write_pairs,
)
from helpers.jobs import call_variants
from helpers.making import Read, random_sequence, write_bam, write_fasta
from helpers.vcf_checks import check_vcf, check_with_bcftools
from readwarp.call.places.targets import MARGIN, join_targets
from readwarp.call.windows import run as windows
from readwarp.config import CallParameters, Resources

HAPLOID = CallParameters(ploidy=1)
CIRCLE = random_sequence(2600, 5)
LENGTH = len(CIRCLE)


@pytest.fixture(scope="module")
def across(tmp_path_factory):
    """Two haplotypes with deletions across the origin, one of which ends later, and variants on both sides of it."""
    folder = tmp_path_factory.mktemp("across")
    haplotypes = (
        [deletion(CIRCLE, -5, 9), snv(CIRCLE, 40), snv(CIRCLE, 1300)],
        [deletion(CIRCLE, -5, 14), snv(CIRCLE, -40), insertion(CIRCLE, 700, "ACG")],
    )
    reads = write_pairs(folder, [change(CIRCLE, variants) for variants in haplotypes], 30, 1)
    other = random_sequence(1500, 6)
    return align_pairs(folder, {"line": other, "circle": CIRCLE}, reads)


@pytest.mark.parametrize("seed", range(10))
def test_calls_spell_the_genome_wherever_the_origin_is(tmp_path, seed):
    rng = random.Random(seed)
    circle = random_sequence(rng.randint(500, 2500), seed)
    genome = change(circle, random_variants(circle, rng))
    reads = write_pairs(tmp_path, [genome], 60, seed)
    for name, own in (("as it is", circle), ("turned", turn(circle, len(circle) // 2))):
        fasta, bam = align_pairs(tmp_path / name, {"c": own}, reads)
        call_variants(fasta, bam, tmp_path / "x.vcf", HAPLOID, circular=("c",))
        check_vcf(tmp_path / "x.vcf", fasta)
        assert first_turn(spell(own, rows_of(tmp_path / "x.vcf"))) == first_turn(genome)


def test_substitutions_have_the_same_numbers_wherever_the_origin_is(tmp_path):
    genome = change(CIRCLE, [snv(CIRCLE, place) for place in (-149, -60, -2, 0, 3, 30, 120, 1300)])
    reads, by, found = write_pairs(tmp_path, [genome], 60, 3), LENGTH // 2, []
    for name, own in (("as it is", CIRCLE), ("turned", turn(CIRCLE, by))):
        fasta, bam = align_pairs(tmp_path / name, {"c": own}, reads)
        call_variants(fasta, bam, tmp_path / "x.vcf", HAPLOID, circular=("c",))
        found.append(rows_of(tmp_path / "x.vcf"))
    for row in found[1]:
        row[1] = str((int(row[1]) - 1 + by) % LENGTH + 1)
    assert found[0] == sorted(found[1], key=lambda row: int(row[1]))
    assert len(found[0]) == 8


def test_without_the_option_variants_at_the_origin_are_missed(across, tmp_path):
    fasta, bam = across
    call_variants(fasta, bam, tmp_path / "line.vcf")
    call_variants(fasta, bam, tmp_path / "circle.vcf", circular=("circle",))
    lines, circles = rows_of(tmp_path / "line.vcf"), rows_of(tmp_path / "circle.vcf")

    def inner(rows):
        return [row for row in rows if MARGIN <= int(row[1]) - 1 < LENGTH - MARGIN]

    assert inner(lines) == inner(circles) != []
    places = {int(row[1]) for row in circles}
    assert places - {int(row[1]) for row in lines} == {1, LENGTH - 4}


def test_a_deletion_across_the_origin_is_two_records_in_one_phase_set(across, tmp_path):
    fasta, bam = across
    call_variants(fasta, bam, tmp_path / "x.vcf", circular=("circle",))
    check_vcf(tmp_path / "x.vcf", fasta)
    check_with_bcftools(tmp_path / "x.vcf", fasta)
    rows = {int(row[1]): row for row in rows_of(tmp_path / "x.vcf")}
    after, before = rows[1], rows[LENGTH - 4]
    assert before[3:5] == [CIRCLE[-5:], CIRCLE[-5]]  # the same in both alleles, which are one
    assert after[3] == CIRCLE[:11]
    assert set(after[4].split(",")) == {CIRCLE[10], CIRCLE[5:11]}
    values = [dict(zip(row[8].split(":"), row[9].split(":"), strict=True)) for row in (before, after)]
    assert values[0]["PS"] == values[1]["PS"] == str(LENGTH - 4)
    assert values[0]["PID"] == values[1]["PID"]
    assert values[0]["GT"] == "1|1"
    assert values[1]["GT"] in ("1|2", "2|1")
    depths = [list(map(int, own["AD"].split(","))) for own in values]
    assert depths[0] == [depths[1][0], sum(depths[1][1:])]


def test_the_limit_of_depth_chooses_the_same_reads_on_both_sides(across, tmp_path):
    fasta, bam = across
    parameters = CallParameters(max_depth=25)
    call_variants(fasta, bam, tmp_path / "x.vcf", parameters, circular=("circle",))
    rows = {int(row[1]): row for row in rows_of(tmp_path / "x.vcf")}
    before, after = (dict(zip(rows[k][8].split(":"), rows[k][9].split(":"), strict=True)) for k in (LENGTH - 4, 1))
    assert before["DP"] == after["DP"]
    assert rows[1][5] == rows[LENGTH - 4][5]
    assert int(before["DP"]) < 40


def test_neither_windows_nor_threads_nor_regions_matter(across, tmp_path, monkeypatch):
    fasta, bam = across
    call_variants(fasta, bam, tmp_path / "x.vcf", circular=("circle",))
    whole = rows_of(tmp_path / "x.vcf")
    monkeypatch.setattr(windows, "join_targets", lambda targets, _: join_targets(targets, 250))
    call_variants(fasta, bam, tmp_path / "y.vcf", resources=Resources(threads=3), circular=("circle",))
    assert rows_of(tmp_path / "y.vcf") == whole
    for start, stop in ((0, 1), (0, 60), (LENGTH - 60, LENGTH), (LENGTH - 2, LENGTH), (500, 1400)):
        regions = [("circle", start, stop)]
        call_variants(fasta, bam, tmp_path / "z.vcf", regions=regions, circular=("circle",))
        assert rows_of(tmp_path / "z.vcf") == [row for row in whole if start < int(row[1]) <= stop]


def test_blocks_of_a_genomic_vcf_hold_every_position_once(across, tmp_path):
    fasta, bam = across
    call_variants(fasta, bam, tmp_path / "x.g.vcf", circular=("circle",), gvcf=True)
    check_with_bcftools(tmp_path / "x.g.vcf", fasta)
    held, depths = Counter[int](), {}
    for row in rows_of(tmp_path / "x.g.vcf"):
        if row[0] == "circle" and row[7].startswith("END="):
            stop = int(row[7].split("=")[1])
            held.update(range(int(row[1]), stop + 1))
            depths |= dict.fromkeys((int(row[1]), stop), int(row[9].split(":")[3]))
        elif row[0] == "circle":
            held.update(range(int(row[1]), int(row[1]) + len(row[3])))
    assert set(held) == set(range(1, LENGTH + 1))
    assert set(held.values()) == {1}
    assert min(depths.values()) > 25


def test_forms_of_input_and_samples(across, tmp_path):
    fasta, bam = across
    call_variants(fasta, bam, tmp_path / "x.vcf", circular=("circle",))
    samtools("view", "-C", "-T", str(fasta), "-o", str(tmp_path / "x.cram"), "--write-index", str(bam))
    call_variants(fasta, tmp_path / "x.cram", tmp_path / "y.vcf", circular=("circle",))
    assert rows_of(tmp_path / "x.vcf") == rows_of(tmp_path / "y.vcf")
    caller = pickle.loads(pickle.dumps(readwarp.Caller(fasta, circular="circle")))
    places = [variant.position for variant in caller.call(bam) if variant.contig == "circle"]
    assert places == [int(row[1]) - 1 for row in rows_of(tmp_path / "x.vcf")]
    call_variants(fasta, [bam, tmp_path / "x.cram"], tmp_path / "z.vcf", circular=("circle",))
    both = [dict(zip(row[8].split(":"), row[9].split(":"), strict=True)) for row in rows_of(tmp_path / "z.vcf")]
    assert [own["GT"] for own in both] == [row[9].split(":")[0] for row in rows_of(tmp_path / "x.vcf")]


def test_ploidies_and_given_alleles_hold_across_the_origin(across, tmp_path):
    fasta, bam = across
    (tmp_path / "ploidy.bed").write_text(f"circle\t0\t100\t3\ncircle\t{LENGTH - 100}\t{LENGTH}\t3\n")
    asked = [snv(CIRCLE, -2), snv(CIRCLE, 20), snv(CIRCLE, LENGTH // 2)]
    lines = [
        "##fileformat=VCFv4.2",
        f"##contig=<ID=circle,length={LENGTH}>",
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO",
    ]
    lines += [f"circle\t{position + 1}\t.\t{ref}\t{alt}\t.\t.\t." for position, ref, alt in asked]
    (tmp_path / "asked.vcf").write_text("\n".join(lines) + "\n")
    options = {"ploidies": tmp_path / "ploidy.bed", "alleles": tmp_path / "asked.vcf", "circular": ("circle",)}
    call_variants(fasta, bam, tmp_path / "x.vcf", **options)
    copies = {int(row[1]): len(row[9].split(":")[0]) // 2 + 1 for row in rows_of(tmp_path / "x.vcf")}
    assert {position + 1 for position, *_ in asked} <= copies.keys()
    assert copies[1] == copies[LENGTH - 4] == copies[21] == copies[LENGTH - 1] == 3
    assert copies[LENGTH // 2 + 1] == 2


def test_contigs_with_primers_leave_others_as_they_are(tmp_path):
    """On one axis, small contigs would lie where the first one has its primers."""
    contigs = {name: random_sequence(500, seed) for seed, name in enumerate(("panel", "one", "two"), 10)}
    changed = snv(contigs["one"], 110)
    genome = change(contigs["one"], [changed])
    reads = [
        Read(start, "100M", genome[start : start + 100], (30,) * 100, 16 * (start % 2)) for start in range(95, 115)
    ]
    records = [("one", replace(read, name=f"r{n}")) for n, read in enumerate(reads)]
    fasta = write_fasta(tmp_path / "ref.fa", contigs)
    bam = write_bam(tmp_path / "x.bam", dict.fromkeys(contigs, 500), records)
    (tmp_path / "primers.bed").write_text("panel\t90\t120\ta_LEFT\t1\t+\npanel\t300\t320\ta_RIGHT\t1\t-\n")
    found = []
    for primers in (None, tmp_path / "primers.bed"):
        call_variants(fasta, bam, tmp_path / "x.vcf", HAPLOID, primers=primers)
        found.append(rows_of(tmp_path / "x.vcf"))
    assert found[0] == found[1] != []


def test_primers_hide_their_bases_across_the_origin(tmp_path):
    """The amplicon begins before the origin and ends after it; its primers have bases of their own."""
    text = list(CIRCLE[-200:] + CIRCLE[:200])
    text[15], text[391] = (snv(CIRCLE, place).alt for place in (-185, 191))
    text[205] = snv(CIRCLE, 5).alt
    genome, records = "".join(text), []
    for n in range(20):
        left = Read(LENGTH - 200, "200M20S", genome[:220], (30,) * 220, 99, name=f"r{n}")
        right = Read(0, "20S200M", genome[180:], (30,) * 220, 147, name=f"r{n}")
        records += [("c", left), ("c", right)]
    fasta = write_fasta(tmp_path / "ref.fa", {"c": CIRCLE})
    bam = write_bam(tmp_path / "x.bam", {"c": LENGTH}, records)
    rows = f"c\t{LENGTH - 200}\t{LENGTH - 180}\ta_LEFT\t1\t+\nc\t180\t200\ta_RIGHT\t1\t-\n"
    (tmp_path / "primers.bed").write_text(rows)
    places = {}
    for primers in (None, tmp_path / "primers.bed"):
        call_variants(fasta, bam, tmp_path / "x.vcf", HAPLOID, primers=primers, circular=("c",))
        places[primers is None] = [int(row[1]) for row in rows_of(tmp_path / "x.vcf")]
    assert places == {True: [6, 192, LENGTH - 184], False: [6]}
    row = rows_of(tmp_path / "x.vcf")[0]
    assert dict(zip(row[8].split(":"), row[9].split(":"), strict=True))["DP"] == "20"
