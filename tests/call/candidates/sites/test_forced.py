"""Forced alleles: how a file is read, and that sites have them whatever the reads show."""

import gzip
import random
import subprocess
import sys

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.making import (
    LETTERS,
    Read,
    aligned_reads,
    codes,
    other,
    random_sequence,
    window_of,
    write_fasta,
    write_vcf,
)
from readwarp.call.candidates.batches import Sites
from readwarp.call.candidates.pileup import count_window
from readwarp.call.candidates.sites import MAX_ALLELES
from readwarp.call.candidates.sites.find import find_sites, limit_alleles
from readwarp.call.candidates.sites.forced import Forced, read_alleles
from readwarp.call.candidates.spelling import is_indel, spell_alleles
from readwarp.config import CallParameters
from readwarp.errors import InputError
from readwarp.index.build import read_reference

ONE = random_sequence(300, seed=5) + "CACACACACACATTTTTTTTTTGG" + random_sequence(200, seed=6) + "NNNNN" + "ACGTACGTAC"
CONTIGS = {"one": ONE, "two:1": random_sequence(80, seed=7)}


@pytest.fixture(scope="module")
def fasta(tmp_path_factory):
    return write_fasta(tmp_path_factory.mktemp("forced") / "ref.fa", CONTIGS)


@pytest.fixture(scope="module")
def reference(fasta):
    return read_reference(fasta)


def read(tmp_path, reference, *rows) -> Forced:
    return read_alleles(write_vcf(tmp_path / "alleles.vcf", rows, CONTIGS), reference)


def letters(bases: bytes) -> str:
    return "".join(LETTERS[b] for b in bases)


def listed(forced: Forced) -> list[tuple[int, int, int, str]]:
    return [
        (contig, begin, deleted, letters(bases))
        for contig in range(len(CONTIGS))
        for begin, deleted, bases in forced.within(contig, 0, 1 << 40)
    ]


def test_kinds_of_alleles(tmp_path, reference):
    a, b, c = ONE[10], ONE[20:23], ONE[30:34]
    mnp = "".join(map(other, b[:2])) + b[2]
    assert c == "TTCT"
    rows = [("one", 11, a, other(a)), ("one", 21, b, mnp), ("one", 31, c, "G")]
    forced = read(tmp_path, reference, *rows, ("two:1", 5, CONTIGS["two:1"][4], "."))
    assert listed(forced) == [
        (0, 10, 1, other(a)),
        (0, 20, 1, mnp[0]),
        (0, 21, 1, mnp[1]),
        (0, 30, 3, ""),
        (0, 33, 1, "G"),
    ]
    assert forced.skipped == {} and len(forced) == 5


def test_what_cannot_be_aligned_stays_one_allele():
    new = codes("CC" + "A" * 11 + "C").tobytes()
    assert list(spell_alleles(Stretch("C" * 40), 8, new, 11)) == [(10, 8, codes("A" * 11).tobytes())]


def test_indels_are_trimmed_and_moved_left(tmp_path, reference):
    start = ONE.index("CACACACACACA")
    runs = ONE.index("TTTTTTTTTT", start)
    end = start + 12
    forced = read(
        tmp_path, reference,
        ("one", end - 3, ONE[end - 4 : end], ONE[end - 4 : end - 2]),  # a unit less, written at the end of the repeat
        ("one", runs + 10, "T", "TTT"),
        ("one", runs + 9, "TTG", "TTTTG"),  # the same with more bases around
    )  # fmt: skip
    assert listed(forced) == [(0, start, 2, ""), (0, runs, 0, "TT")]
    assert forced.within(0, start - 1, start) and not forced.within(0, start, runs - 1)


@settings(max_examples=150)
@given(st.text("AC", min_size=12, max_size=40), st.data())
def test_an_allele_makes_the_same_sequence(sequence, data):
    """Compared with plain Python: the same altered contig, trimmed, and no allele could be moved further left."""
    position = data.draw(st.integers(1, len(sequence) - 2))
    size = data.draw(st.integers(1, min(6, len(sequence) - position)))
    new = data.draw(st.text("AC", min_size=1, max_size=6))
    alleles = list(spell_alleles(Stretch(sequence), position, codes(new).tobytes(), size))
    out, shift = sequence, 0
    for begin, deleted, inserted in alleles:
        out = out[: begin + shift] + letters(inserted) + out[begin + shift + deleted :]
        shift += len(inserted) - deleted
    assert out == sequence[:position] + new + sequence[position + size :]
    barrier = 1
    for begin, deleted, inserted in alleles:
        old, text = sequence[begin : begin + deleted], letters(inserted)
        assert not (old and text and (old[0] == text[0] or old[-1] == text[-1]))
        if begin > 1 and not (old and text):
            assert sequence[begin - 1] != (old or text)[-1]
        assert begin >= barrier or not is_indel((begin, deleted, inserted))
        barrier = begin + deleted + is_indel((begin, deleted, inserted))


class Stretch:
    """Stands for `Bases`."""

    def __init__(self, sequence: str):
        self.codes, self.length = codes(sequence).tobytes(), len(sequence)

    def between(self, start: int, stop: int) -> bytes:
        return self.codes[start:stop]


def test_equals_bcftools_norm(tmp_path, fasta, reference):
    rng = random.Random(3)
    rows = []
    for _ in range(900):
        position = rng.randrange(5, len(ONE) - 40)
        size, new = rng.randrange(1, 6), "".join(rng.choices("ACGT", k=rng.randrange(1, 6)))
        old = ONE[position : position + size]
        if (
            new[0] == old[0]
            and old != new
            and (len(old) == 1 or len(new) == 1)
            and "N" not in ONE[position - 1 : position + size + 1]
        ):
            rows.append(("one", position + 1, old, new))
    path = write_vcf(tmp_path / "a.vcf", rows, CONTIGS)
    done = subprocess.run(
        [sys.executable, "-c", "import sys, pysam.bcftools as b; b.norm(*sys.argv[1:], catch_stdout=False)",
         "-f", str(fasta), "-d", "exact", "-o", str(tmp_path / "b.vcf"), str(path)], check=True, capture_output=True,
    )  # fmt: skip
    assert b"error" not in done.stderr.lower()
    with pysam.VariantFile(str(tmp_path / "b.vcf")) as file:
        expected = {(r.start, r.ref, r.alts[0]) for r in file}
    found = set()
    for _, begin, deleted, bases in listed(read_alleles(path, reference)):
        anchor = ONE[begin - 1]
        found.add((begin - 1, anchor + ONE[begin : begin + deleted], anchor + bases))
    assert len(rows) > 30 and found == expected


@pytest.mark.parametrize(
    ("position", "alt", "reason"),
    [
        (11, "<DEL>", "symbolic"),
        (11, "*", "symbolic"),
        (11, ONE[10] + "[two:1:3[", "symbolic"),
        (11, "R", "not_acgt"),
        (11, ONE[10] + "A" * 301, "long"),
        (1, other(ONE[0]) + "GG" + ONE[0], "at_start"),
        (ONE.index("NNN") + 1, "NA", "not_acgt"),
        (len(ONE), ONE[-1] + "GG", "at_end"),
    ],
)
def test_what_cannot_be_genotyped_is_counted(tmp_path, reference, position, alt, reason):
    assert read(tmp_path, reference, ("one", position, ONE[position - 1], alt)).skipped == {reason: 1}


def test_more_indels_than_fit_at_one_place(tmp_path, reference):
    rows = [("one", 41, ONE[40], ONE[40] + other(ONE[40]) * n) for n in range(1, MAX_ALLELES + 2)]
    forced = read(tmp_path, reference, *rows)
    assert len(forced) == MAX_ALLELES - 1 and forced.skipped == {"too_many": 2}
    assert [len(bases) for *_, bases in forced.within(0, 0, 1000)] == list(range(1, MAX_ALLELES))


def test_the_same_allele_twice_counts_once_and_order_does_not_matter(tmp_path, reference):
    rows = [("two:1", 9, CONTIGS["two:1"][8], other(CONTIGS["two:1"][8])), ("one", 11, ONE[10], other(ONE[10]))]
    forced = read(tmp_path, reference, *rows, *rows)
    assert [x[:2] for x in listed(forced)] == [(0, 10), (1, 8)] and forced.skipped == {}
    assert forced.contig_offsets.tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", ["vcf.gz", "bcf"])
def test_containers(tmp_path, reference, kind):
    row = ("one", 11, ONE[10].lower(), other(ONE[10]).lower())
    plain = read(tmp_path, reference, row)
    path = tmp_path / f"alleles.{kind}"
    with (
        pysam.VariantFile(str(tmp_path / "alleles.vcf")) as file,
        pysam.VariantFile(str(path), "w" if kind == "vcf.gz" else "wb", header=file.header) as out,
    ):
        for record in file:
            out.write(record)
    assert listed(read_alleles(path, reference)) == listed(plain) == [(0, 10, 1, other(ONE[10]))]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("one", 12, other(ONE[11]), ONE[11]), rf"record 2: REF is {other(ONE[11])}, the reference has {ONE[11]}"),
        (("three", 12, "A", "C"), "record 2: no contig 'three' in the reference"),
        (("two:1", 81, "A", "C"), "record 2: position 81 is beyond its contig, which has 80 bases"),
        (("two:1", 80, CONTIGS["two:1"][79] + "A", "C"), "record 2: position 80 is beyond"),
        (("two:1", 0, "N", "C"), "record 2: position 0 is beyond"),
        (("one", 12, ONE[11], ONE[11].lower()), f"record 2: REF is an ALT too: {ONE[11]}"),
    ],
)
def test_bad_records(tmp_path, reference, row, reason):
    first = ("one", 11, ONE[10], other(ONE[10]))
    path = write_vcf(tmp_path / "bad.vcf", [first, row], {**CONTIGS, "three": "A" * 50})
    with pytest.raises(InputError, match=rf"bad\.vcf: {reason}"):
        read_alleles(path, reference)


def test_files_that_are_no_vcf(tmp_path, reference, capfd):
    whole = write_vcf(tmp_path / "w.vcf", [("one", p + 1, ONE[p], other(ONE[p])) for p in range(300)], CONTIGS)
    cut = gzip.compress(whole.read_bytes())
    for name, data in (("a.vcf", b"hello\n"), ("b.vcf", b""), ("c.vcf.gz", cut[: len(cut) // 2]), ("d.bam", b"BAM\1")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError, match=name):
            read_alleles(tmp_path / name, reference)
    with pytest.raises(InputError, match="No such file"):
        read_alleles(tmp_path / "none.vcf", reference)
    broken = tmp_path / "broken.vcf"
    broken.write_text(whole.read_text() + "one\tx\n")
    with pytest.raises(InputError, match=r"broken\.vcf"):
        read_alleles(broken, reference)
    broken.write_bytes(whole.read_bytes().rpartition(b"\t.\t.\t.")[0] + b"\xc7\t.\t.\t.\n")
    with pytest.raises(InputError, match=r"broken\.vcf: record 300: cannot be read"):
        read_alleles(broken, reference)
    assert capfd.readouterr().err == ""


PARAMETERS = CallParameters()


def forced_of(*alleles: tuple[int, int, str]) -> Forced:
    ordered = sorted(alleles, key=lambda a: a[0] - (a[1] != len(a[2])))
    return Forced(
        contig_offsets=np.array([0, len(ordered)]),
        position=np.array([a[0] - (a[1] != len(a[2])) for a in ordered]),
        begin=np.array([a[0] for a in ordered]),
        deleted=np.array([a[1] for a in ordered], np.int32),
        inserted=codes("".join(a[2] for a in ordered)),
        inserted_offsets=np.cumsum([0, *(len(a[2]) for a in ordered)]),
        skipped={},
    )


def written(sites: Sites) -> list[tuple[int, bool, list[tuple[int, str, bool]]]]:
    out = []
    for s in range(len(sites)):
        own = []
        for a in range(sites.allele_offsets[s], sites.allele_offsets[s + 1]):
            bases = sites.inserted[sites.inserted_offsets[a] : sites.inserted_offsets[a + 1]]
            own.append((int(sites.deleted[a]), letters(bases.tobytes()), bool(sites.is_forced[a])))
        out.append((int(sites.begin[s]), bool(sites.is_indel[s]), own))
    return out


def sites(reads: list[Read], sequence: str, forced: Forced | None) -> Sites:
    window = window_of(sequence)
    return find_sites(count_window(aligned_reads(reads), window, PARAMETERS), window, PARAMETERS, forced)


SHORT = random_sequence(120, seed=9)


def reads_with(cigar: str, bases: str, number: int) -> list[Read]:
    return [Read(20, cigar, bases, (35,) * len(bases), 16 * (i % 2), 60, f"{cigar}{i}") for i in range(number)]


def test_alleles_that_no_read_shows():
    base, forced = other(SHORT[30]), forced_of((30, 1, other(SHORT[30])), (50, 0, "GAG"), (60, 4, ""), (70, 2, "TGTGT"))
    for reads in ([], reads_with("80M", SHORT[20:100], 10)):
        found = sites(reads, SHORT, forced)
        assert written(found) == [
            (30, False, [(1, SHORT[30], False), (1, base, True)]),
            (50, True, [(0, "", False), (0, "GAG", True)]),
            (60, True, [(0, "", False), (4, "", True)]),
            (70, True, [(0, "", False), (2, "TGTGT", True)]),
        ]
        assert found.stop[3] >= 72 and found.unit[3] == 5


def test_other_sites_stay_as_they_are():
    shown = SHORT[20:40] + other(SHORT[40]) + SHORT[41:100]
    reads = reads_with("80M", shown, 6) + reads_with("30M2D50M", SHORT[20:50] + SHORT[52:102], 6)
    without = sites(reads, SHORT, None)
    same = sites(reads, SHORT, forced_of())
    with_forced = sites(reads, SHORT, forced_of((70, 1, other(SHORT[70]))))
    assert written(without) == written(same) and len(without) >= 2
    assert [x for x in written(with_forced) if x[0] != 70] == written(without)


def test_an_allele_too_rare_to_be_a_site_is_one_if_asked_for():
    reads = reads_with("80M", SHORT[20:100], 30) + reads_with("30M2D50M", SHORT[20:50] + SHORT[52:102], 1)
    assert len(sites(reads, SHORT, None)) == 0
    begin = 50
    while SHORT[begin - 1] == SHORT[begin + 1]:
        begin -= 1
    found = sites(reads, SHORT, forced_of((begin, 2, "")))
    assert written(found) == [(begin, True, [(0, "", False), (2, "", True)])]


def test_a_shown_allele_is_marked():
    shown = SHORT[20:40] + other(SHORT[40]) + SHORT[41:100]
    found = sites(reads_with("80M", shown, 6), SHORT, forced_of((40, 1, other(SHORT[40]))))
    assert written(found) == [(40, False, [(1, SHORT[40], False), (1, other(SHORT[40]), True)])]


def test_the_limit_costs_no_forced_allele():
    """Six insertions are shown and three forced, one of which is also shown: the rarest of the rest give way."""
    sequence = "G" * 40 + "C" * 40
    reads = []
    for n in range(1, 7):
        text = "G" * 20 + "A" * n + "C" * 40
        reads += reads_with(f"20M{n}I40M", text, 12 - n)
    wanted = forced_of((40, 0, "AAAAAA"), (40, 0, "TA"), (40, 0, "AT"))
    found, left_out = limit_alleles(sites(reads, sequence, wanted), window_of(sequence))
    assert [letters(bases) for *_, bases in left_out] == ["AAA", "AAAA", "AAAAA"]
    expected = [("", False), ("A", False), ("AA", False), ("A" * 6, True), ("TA", True), ("AT", True)]
    assert written(found) == [(40, True, [(0, bases, is_forced) for bases, is_forced in expected])]
