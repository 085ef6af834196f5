"""--bam-output: reads carried over to the reference by the haplotypes that were called; a file that holds together."""

import os
import re
import threading
from itertools import pairwise

import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.command_samples import run_main
from helpers.jobs import call_variants
from helpers.making import Read, other, random_sequence, tiled, write_bam, write_fasta
from readwarp.call.records.realigned import CalledSite, carry_over, join_runs, join_sites, region_of
from readwarp.errors import UsageError
from readwarp.formats.variants.tabix import VcfIndexer
from readwarp.rules.cigar import DELETION, INSERTION, MATCH, SOFT_CLIP

SEQUENCE = random_sequence(2000, seed=21)
DELETED, INSERTED, SNV = 600, 1200, 1600
VARIANTS = [
    (DELETED, SEQUENCE[DELETED : DELETED + 13], SEQUENCE[DELETED]),
    (INSERTED, SEQUENCE[INSERTED], SEQUENCE[INSERTED] + "GATTACAGATTACA"),
    (SNV, SEQUENCE[SNV], other(SEQUENCE[SNV])),
]


@given(st.data())
def test_an_alignment_to_a_haplotype_becomes_one_to_the_reference(data):
    """Base by base: what a read's base is aligned to on the haplotype tells where it lies on the reference."""
    kinds = st.sampled_from([MATCH, INSERTION, DELETION])
    runs = join_runs(data.draw(st.lists(st.tuples(kinds, st.integers(1, 4)), min_size=1, max_size=6)))
    places, at = [], 100
    for _ in range(sum(length for kind, length in runs if kind != INSERTION)):
        at += data.draw(st.sampled_from([0, 0, 0, 3]))  # a deletion on the haplotype
        inserted = data.draw(st.sampled_from([False, False, True]))
        places.append(-1 if inserted else at)
        at += not inserted
    before, after = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    bases = sum(length for kind, length in runs if kind != DELETION)
    position, carried = carry_over(runs, places, before, before + bases + after)
    wanted, on_haplotype, on_read = {}, 0, before
    for kind, length in runs:
        for _ in range(length):
            if kind == MATCH and places[on_haplotype] >= 0:
                wanted[on_read] = places[on_haplotype]
            on_haplotype, on_read = on_haplotype + (kind != INSERTION), on_read + (kind != DELETION)
    found, p, q = {}, position, 0
    for kind, length in carried:
        if kind == MATCH:
            found |= {q + i: p + i for i in range(length)}
        p, q = p + length * (kind in (MATCH, DELETION)), q + length * (kind != DELETION)
    assert found == wanted
    if wanted:
        assert q == before + bases + after and position == min(wanted.values())
        ends = [kind for kind, _ in carried if kind != SOFT_CLIP]
        assert ends[0] == ends[-1] == MATCH and all(one != two for (one, _), (two, _) in pairwise(carried))
    else:
        assert carried == ()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Pairs of two haplotypes; on the one with variants, the reads are aligned as if there were no indels."""
    folder = tmp_path_factory.mktemp("bam_output")
    reads = []
    for read in tiled([VARIANTS, []], SEQUENCE, step=4, length=100):
        if re.search("[ID]", read.cigar):  # clipped where the indel is, if enough is left
            first = int(re.match(r"(\d+)M", read.cigar)[1]) if read.cigar[-1] == "M" and "S" not in read.cigar else 0
            if first < 20:
                continue
            read = Read(
                read.position,
                f"{first}M{len(read.bases) - first}S",
                read.bases,
                read.qualities,
                read.flag,
                60,
                read.name,
            )
        reads.append(read)
    reads = [
        Read(r.position, r.cigar, r.bases, r.qualities, 0x1 | (0x40, 0x80)[i % 2], 60, f"p{i // 2}")
        for i, r in enumerate(reads)
    ]
    bam = write_bam(folder / "made.bam", {"c": 2000}, [("c", r) for r in reads], {"RG": [{"ID": "g", "SM": "s"}]})
    fasta = write_fasta(folder / "ref.fa", {"c": SEQUENCE})
    call_variants(fasta, bam, folder / "a.vcf", bam_output=folder / "a.bam")
    return fasta, bam, folder


def test_reads_show_what_was_called(made):
    with pysam.AlignmentFile(str(made[2] / "a.bam")) as file:
        deleted = {r.query_name: r for r in file.fetch("c", DELETED + 5, DELETED + 6)}
        reads = [r for r in deleted.values() if not r.get_tag("RG").startswith("HAPLOTYPES")]
        carriers = [r for r in reads if "12D" in r.cigarstring]
        assert len(carriers) >= 8 and len({r.get_tag("HC") for r in carriers}) == 1
        assert any(r.has_tag("OC") and r.get_tag("OC").endswith("S") for r in carriers)
        names = {r.query_name for r in deleted.values()} - {r.query_name for r in reads}
        place = next(line.split("\t")[1] for line in (made[2] / "a.vcf").read_text().splitlines() if line[0] != "#")
        assert names == {f"c:{place}-{int(place) + 12}.{i}" for i in range(2)}
        assert {r.get_tag("HC") for r in reads if r.has_tag("HC")} == names
        assert len([r for r in file.fetch("c", INSERTED, INSERTED + 1) if "14I" in r.cigarstring]) >= 8
        assert not list(file.fetch("c", SNV, SNV + 1))  # a single substitution is no region


def test_the_file_holds_together(made):
    with pysam.AlignmentFile(str(made[1])) as file:
        given = {(r.query_name, r.is_read1): r for r in file}
    with pysam.AlignmentFile(str(made[2] / "a.bam")) as file:
        assert file.header["HD"]["SO"] == "coordinate"
        groups = {group["ID"]: group["SM"] for group in file.header["RG"]}
        assert groups == {"s": "s", "HAPLOTYPES.s": "s"}
        records = list(file)
    assert [r.reference_start for r in records] == sorted(r.reference_start for r in records)
    by_key = {(r.query_name, r.is_read1): r for r in records if r.get_tag("RG") == "s"}
    assert len({(r.query_name, r.flag) for r in records}) == len(records) > 20
    for record in records:
        assert record.infer_read_length() == record.query_length and record.get_tag("RG") in groups
        wrong = sum(
            SEQUENCE[p] != record.query_sequence[q]
            for q, p in record.get_aligned_pairs()
            if p is not None and q is not None
        )
        wrong += sum(length for operation, length in record.cigartuples if operation in (INSERTION, DELETION))
        if record.get_tag("RG") == "s":
            assert record.get_tag("NM") == wrong
        if record.is_paired:
            mate = by_key[record.query_name, not record.is_read1]
            assert record.next_reference_start == mate.reference_start and record.get_tag("MC") == mate.cigarstring
            assert record.template_length == -mate.template_length != 0
    for (name, first), record in by_key.items():
        was = given[name, first] if record.is_paired else given.get((name, True)) or given[name, False]
        if record.is_paired:
            assert (record.query_sequence, record.query_qualities) == (was.query_sequence, was.query_qualities)


def test_sites_make_regions():
    def site(position: int, ref: str, alt: str, phase_set: int = -1) -> CalledSite:
        return CalledSite(0, position, (ref, alt), ((0, 1),), (phase_set,))

    sites = [site(10, "A", "AC"), site(45, "C", "G"), site(100, "C", "G"), site(300, "C", "G", 300)]
    sites += [site(350, "A", "G", 300), site(500, "AC", "A")]
    groups = [[s.position for s in group] for group in join_sites(sites)]
    assert groups == [[10, 45], [100], [300, 350], [500]]
    assert region_of([site(100, "C", "G")], None) is None


def test_a_stream_cannot_be_shown(made, tmp_path):
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    feeder = threading.Thread(target=lambda: fifo.write_bytes(made[1].read_bytes()))
    feeder.start()
    with pytest.raises(UsageError, match="--bam-output reads the alignments twice"):
        call_variants(made[0], fifo, tmp_path / "x.vcf", bam_output=tmp_path / "x.bam")
    feeder.join()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_the_name_of_another_format_is_refused(made, tmp_path):
    with pytest.raises(UsageError, match="writes BAM only"):
        call_variants(made[0], made[1], tmp_path / "x.vcf", bam_output=tmp_path / "x.sam")
    assert not list(tmp_path.iterdir())


def test_both_files_or_none(made, tmp_path, monkeypatch):
    """The index of the variants cannot be made once the alignments are complete."""
    fasta, bam, _ = made

    def fails(*arguments, **named):
        assert {path.suffix for path in tmp_path.iterdir()} == {".partial", ".lock"}
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
        patch.setattr(VcfIndexer, "finish", fails)
        call_variants(fasta, bam, tmp_path / "o.vcf.gz", bam_output=tmp_path / "o.bam")
    assert list(tmp_path.iterdir()) == []
    call_variants(fasta, bam, tmp_path / "o.vcf.gz", bam_output=tmp_path / "o.bam")
    assert {path.name for path in tmp_path.iterdir()} == {"o.bam", "o.bam.bai", "o.vcf.gz", "o.vcf.gz.tbi"}


def test_what_a_killed_run_left_goes_before_an_output_is_refused(made, tmp_path):
    """It was killed as the alignments had their name, and the variants were about to get theirs."""
    for name in ("o.bam", "o.bam.lock", "o.vcf.gz.lock"):
        (tmp_path / name).touch()
    (tmp_path / "o.vcf.gz.partial").mkdir()
    job = ["call", made[0], made[1], "-o", tmp_path / "o.vcf.gz", "--bam-output", tmp_path / "o.bam", "-q"]
    assert run_main(job) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["o.bam"]
