"""de, -Y, --eqx and secondary records of long reads: against plain Python, and against minimap2."""

import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pysam
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helpers.align_oracle import random_bases, reverse_complement
from helpers.seeding import write_fasta
from readwarp.align import Aligner
from readwarp.cli import main
from readwarp.rules.cigar import rounded_share

REPEAT = random_bases(9000, 71)
ONE = random_bases(40_000, 72) + REPEAT + random_bases(30_000, 73)
TWO = random_bases(30_000, 74) + REPEAT + random_bases(30_000, 75)
GENOME = {"c0": ONE, "c1": TWO}
SNVS = {1000: "A", 4000: "C", 4001: "G"}


def changed(bases: str, places: dict[int, str]) -> str:
    """Other letters at some places."""
    return "".join("ACGT"["ACGT".index(b) - 3] if places.get(n) == b else places.get(n, b) for n, b in enumerate(bases))


READS = {
    "whole": changed(ONE[2000:10_000], SNVS),
    "gaps": ONE[12_000:16_000] + "ACGT" * 5 + ONE[16_000:20_000] + ONE[20_300:24_000],
    "split": ONE[26_000:32_000] + reverse_complement(TWO[4000:9000]),
    "clipped": random_bases(900, 76) + changed(TWO[12_000:18_000], SNVS) + random_bases(700, 77),
    "twice": ONE[41_000:48_500],
    "short": TWO[20_000:20_300],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("long_records")
    write_fasta(folder / "ref.fa", [ONE, TWO])
    text = "".join(f"@{name}\n{bases}\n+\n{'I' * len(bases)}\n" for name, bases in READS.items())
    (folder / "r.fq").write_text(text)
    return folder


def ours(folder: Path, *options: str, output: str = "o.sam") -> list[pysam.AlignedSegment]:
    out = folder / output
    files = [str(folder / "ref.fa"), str(folder / "r.fq"), "-o", str(out), "-f", "-q"]
    assert main(["align", *files, "--preset", "hifi", *options]) == 0
    with pysam.AlignmentFile(str(out), reference_filename=str(folder / "ref.fa")) as file:
        return list(file)


def theirs(folder: Path, *options: str) -> list[pysam.AlignedSegment]:
    command = ["minimap2", "-ax", "map-hifi", *options, str(folder / "ref.fa"), str(folder / "r.fq")]
    with (folder / "m.sam").open("w") as out:
        subprocess.run(command, check=True, stdout=out, stderr=subprocess.DEVNULL)
    with pysam.AlignmentFile(str(folder / "m.sam")) as file:
        return list(file)


def divergence(record: pysam.AlignedSegment, read: str) -> float:
    """By columns, each equal, different or one gap."""
    contig, bases = GENOME[record.reference_name], reverse_complement(read) if record.is_reverse else read
    q, position, different, columns = 0, record.reference_start, 0, 0
    for operation, length in record.cigartuples:
        if operation in (0, 7, 8):
            different += sum(bases[q + n] != contig[position + n] for n in range(length))
        elif operation in (1, 2):
            different += 1
        columns += length if operation in (0, 7, 8) else operation in (1, 2)
        q, position = q + length * (operation in (0, 1, 4, 5, 7, 8)), position + length * (operation in (0, 2, 7, 8))
    return different / columns


@pytest.mark.parametrize("output", ["o.sam", "o.bam", "o.cram"])
def test_de_of_long_reads_only(folder, output):
    records = ours(folder, "--secondary", "2", output=output)
    assert [record.query_name for record in records if not record.has_tag("de")] == ["short"]
    found = {record.query_name: record.get_tag("de") for record in records if record.has_tag("de")}
    assert found["whole"] == pytest.approx(3 / 8000, abs=6e-5) and found["twice"] == 0
    for record in records:
        if record.has_tag("de"):
            share = divergence(record, READS[record.query_name])
            assert record.get_tag("de") == pytest.approx(share, abs=5.1e-5)
            assert f"{record.get_tag('de'):.6g}" == f"{round(record.get_tag('de'), 4):.6g}"  # four decimals


def test_de_is_that_of_paf(folder):
    records = {(r.query_name, r.reference_start): r for r in ours(folder) if r.has_tag("de")}
    text = "".join(f"{record.to_string()}\n" for record in records.values())
    ours_of_paf = folder / "o.paf"
    files = [str(folder / "ref.fa"), str(folder / "r.fq"), "-o", str(ours_of_paf), "-f", "-q"]
    assert main(["align", *files, "--preset", "hifi"]) == 0
    rows = [line.split("\t") for line in ours_of_paf.read_text().splitlines()]
    said = {(row[0], int(row[7])): next(tag for tag in row if tag.startswith("de:f:")) for row in rows}
    assert len(records) == 6 and all(f"\t{said[key]}\t" in text for key in records)
    assert {key: said[key] for key in records} == {
        key: next(tag for tag in record.to_string().split("\t") if tag.startswith("de:f:"))
        for key, record in records.items()
    }


def test_de_from_python(folder):
    records = list(Aligner(folder / "ref.fa", preset="hifi").align(list(READS.items())))
    assert records[0].tags["de"] == 0.0004
    assert "de" not in records[-1].tags and len(records) == 7
    standard = Aligner(folder / "ref.fa").align([("r", READS["whole"]), ("s", READS["whole"][:4000])])
    assert ["de" in record.tags for record in standard] == [True, False]


@example(1, 20_000)  # its double is above the tie
@given(st.integers(0, 10**7), st.integers(1, 10**7))
def test_shares_are_rounded_as_c_does(part, whole):
    part = min(part, whole)
    assert f"{rounded_share.py_func(part, whole) / 10_000:.4f}" == f"{part / whole:.4f}"


def test_ties_are_rounded_as_c_does():
    """All of them, and as compiled."""
    for odd in range(1, 20_000, 2):
        for times in (1, 3, 499):
            part, whole = odd * times, 20_000 * times
            wanted = f"{part / whole:.4f}"
            assert f"{rounded_share.py_func(part, whole) / 10_000:.4f}" == wanted, (part, whole)
            assert f"{rounded_share(part, whole) / 10_000:.4f}" == wanted, (part, whole)


def clips(record: pysam.AlignedSegment) -> list[tuple[int, int]]:
    return [run for run in record.cigartuples if run[0] in (4, 5)]


def test_soft_clipped_parts_show_the_whole_read(folder):
    for options, operation in ((("-Y",), 4), ((), 5)):
        parts = [record for record in ours(folder, *options) if record.is_supplementary]
        assert [record.query_name for record in parts] == ["split"]
        (part,) = parts
        assert {kind for kind, _ in clips(part)} == {operation}
        read = READS["split"]
        read = reverse_complement(read) if part.is_reverse else read
        lengths = [n for _, n in clips(part)]
        assert part.infer_read_length() == len(read) and len(lengths) == 1
        shown = read if operation == 4 else read[lengths[0] :] if clips(part)[0] == part.cigartuples[0] else None
        assert part.query_sequence == (shown or read[: len(read) - lengths[0]])
        assert len(part.query_qualities) == len(part.query_sequence)


def test_eqx_tells_equal_bases_from_others(folder):
    plain = {(r.query_name, r.flag): r for r in ours(folder)}
    for record in ours(folder, "--eqx"):
        other = plain[record.query_name, record.flag]
        assert 0 not in {operation for operation, _ in record.cigartuples}
        merged: list[list[int]] = []
        for operation, length in record.cigartuples:
            kind = 0 if operation in (7, 8) else operation
            if merged and merged[-1][0] == kind == 0:
                merged[-1][1] += length
            else:
                merged.append([kind, length])
        assert [tuple(run) for run in merged] == other.cigartuples
        unequal = sum(length for operation, length in record.cigartuples if operation == 8)
        gaps = sum(length for operation, length in record.cigartuples if operation in (1, 2))
        assert unequal + gaps == record.get_tag("NM") == other.get_tag("NM")
        assert record.tags == other.tags or record.has_tag("SA")  # SA's CIGARs have M, as those of bwa mem


def test_secondary_records_are_other_places_of_the_read(folder):
    records = defaultdict(list)
    for record in ours(folder, "--secondary", "5"):
        records[record.query_name].append(record)
    first, second = records["twice"]
    assert not first.is_secondary and second.is_secondary and first.mapping_quality == second.mapping_quality == 0
    assert {(r.reference_name, r.reference_start) for r in (first, second)} == {("c0", 41_000), ("c1", 31_000)}
    assert second.query_sequence is None and second.query_qualities is None
    assert not first.has_tag("SA") and not second.has_tag("SA")
    assert [name for name, each in records.items() if any(r.is_secondary for r in each)] == ["twice"]


def summary(records: list[pysam.AlignedSegment]) -> set[tuple[object, ...]]:
    """Place, strand, role, clipped bases and those shown; the two places of a duplication are as good.

    With -Y, minimap2 repeats the bases in secondary records too, bwa mem and readwarp do not.
    """
    out = set[tuple[object, ...]]()
    for r in records:
        place = ("either",) if r.query_name == "twice" else (r.reference_name, r.reference_start, r.reference_end)
        strand = r.is_reverse, r.is_supplementary, r.is_secondary
        shown = "" if r.is_secondary else r.query_sequence if r.query_name != "twice" else "bases"
        out.add((r.query_name, *place, *strand, *(n for _, n in clips(r)), shown))
    return out


@pytest.mark.skipif(shutil.which("minimap2") is None, reason="needs minimap2")
@pytest.mark.parametrize("options", [[], ["-Y"], ["--eqx"]])
def test_records_are_those_of_minimap2(folder, options):
    mine = ours(folder, *options, "--secondary", "5")
    others = theirs(folder, *options, "--secondary=yes", "-N", "5")
    is_clipped = ("clipped",)  # its ends may differ by chance matches
    same = [[r for r in each if r.query_name not in is_clipped] for each in (mine, others)]
    assert summary(same[0]) == summary(same[1])
    for name in ("whole", "gaps", "split"):
        said = [sorted((r.flag, r.cigarstring, round(r.get_tag("de"), 4)) for r in each if r.query_name == name)
                for each in same]  # fmt: skip
        assert said[0] == said[1]
