"""Odd alignments, from BAM to VCF: what must be called, and what must not break or slow down."""

import itertools
import random
import time

import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.jobs import call_variants
from helpers.making import REFERENCE, Read, random_sequence, reads_of, segment, tiled, write_bam, write_fasta
from readwarp.config import CallParameters, Resources
from readwarp.metrics import Metrics
from readwarp.ragged import replace

LENGTH = 3000
SEQUENCE = random_sequence(LENGTH, seed=21)
NEXT = dict(zip("ACGT", "CGTA", strict=True))
Expected = tuple[int, tuple[str, ...], tuple[int, ...]]  # position, alleles, genotype of a call that passes


def snv(position: int) -> tuple[int, str, str]:
    return position, SEQUENCE[position], NEXT[SEQUENCE[position]]


INSERTION = (900, SEQUENCE[900], SEQUENCE[900] + "GATTAC" + NEXT[SEQUENCE[900]])  # leftmost: it cannot be moved
DELETION = (1600, SEQUENCE[1600:1606], SEQUENCE[1600])
assert DELETION[1][-1] != DELETION[2]
SUBSTITUTIONS = [snv(400), snv(410), snv(415)]
BOTH = [snv(2200)]
PLANTED = [[*BOTH, *SUBSTITUTIONS, INSERTION], [*BOTH, DELETION]]


def made(variants=PLANTED, step: int = 4, length: int = 80) -> list[Read]:
    return tiled([sorted(own) for own in variants], SEQUENCE, step, length)


def call(folder, reads, sequence=SEQUENCE, name="a", edit=None, **options) -> tuple[list[Expected], Metrics]:
    """Calls that pass, as (position, alleles, genotype), of reads on one contig; `edit` changes each record."""
    fasta = write_fasta(folder / "ref.fa", {"c": sequence})
    bam = folder / f"{name}.bam"
    if edit is None:
        write_bam(bam, {"c": len(sequence)}, [("c", read) for read in reads])
    else:
        header = pysam.AlignmentHeader.from_dict(
            {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": "c", "LN": len(sequence)}]}
        )
        with pysam.AlignmentFile(str(bam), "wb", header=header) as out:
            for read in sorted(reads, key=lambda read: read.position):
                record = segment(out.header, read, "c")
                edit(record)
                out.write(record)
        pysam.index(str(bam))
    parameters = options.pop("parameters", CallParameters())
    metrics = call_variants(fasta, bam, folder / f"{name}.vcf", parameters, Resources(**options))
    return passing(folder / f"{name}.vcf"), metrics


def passing(path) -> list[Expected]:
    with pysam.VariantFile(str(path)) as file:
        return [
            (r.start, r.alleles, tuple(sorted(r.samples[0]["GT"]))) for r in file if list(r.filter) in ([], ["PASS"])
        ]


def lines(folder, name: str) -> list[str]:
    return [line for line in (folder / f"{name}.vcf").read_text().splitlines() if line[0] != "#"]


def expected(variants=PLANTED) -> list[Expected]:
    out: dict[tuple[int, str, str], int] = {}
    for variant in itertools.chain(*variants):
        out[variant] = out.get(variant, 0) + 1
    return [(p, (old, new), (int(n == 2), 1)) for (p, old, new), n in sorted(out.items())]


def with_equals(read: Read) -> Read:
    """The read with = and X in place of M."""
    operations = []
    for size, operation, p, q in _walk(read):
        if operation != "M":
            operations.append(f"{size}{operation}")
            continue
        same = [read.bases[q + k] == SEQUENCE[p + k] for k in range(size)]
        operations += [f"{len(list(run))}{'=' if is_same else 'X'}" for is_same, run in itertools.groupby(same)]
    return replace(read, cigar="".join(operations))


def _walk(read: Read):
    p, q = read.position, 0
    for size, operation in read.operations:
        yield size, operation, p, q
        p += size if operation in REFERENCE else 0
        q += size if operation in "MIS=X" else 0


def test_equals_and_mismatch_operations(tmp_path):
    assert call(tmp_path, made(), name="a")[0] == expected()
    call(tmp_path, [with_equals(read) for read in made()], name="b")
    assert lines(tmp_path, "a") == lines(tmp_path, "b")
    assert any("X" in with_equals(read).cigar for read in made())


def test_hard_clips_and_paddings_say_nothing(tmp_path):
    def odd(read: Read) -> Read:
        (size, operation), *rest = read.operations
        rest_text = "".join(f"{n}{o}" for n, o in rest)
        return replace(read, cigar=f"30H{size - 9}{operation}1P9{operation}{rest_text}7H")

    call(tmp_path, made(), name="a")
    call(tmp_path, [odd(r) if r.operations[0][0] > 9 else r for r in made()], name="b")
    assert lines(tmp_path, "a") == lines(tmp_path, "b")


def test_skips_are_no_deletions(tmp_path):
    """Reads across an intron of 1 kb: variants of the exons beside it are called, and nothing within."""
    intron = range(450, 1450)
    spliced = [p for p in range(LENGTH) if p not in intron]
    exons = [snv(440), snv(1460), (1499, SEQUENCE[1499:1502], SEQUENCE[1499])]
    reads = []
    for haplotype, start in itertools.product((0, 1), range(340, 440, 3)):
        bases = dict(enumerate(SEQUENCE))
        if haplotype:
            bases.update({440: exons[0][2], 1460: exons[1][2], 1500: "", 1501: ""})
        cells = spliced[start : start + 180]
        right = [p for p in cells if p >= intron.stop]
        text = "".join(bases[p] for p in cells)
        deleted = haplotype and right[-1] > 1501
        tail = f"50M2D{len(right) - 52}M" if deleted else f"{len(right)}M"
        if haplotype and 1500 <= right[-1] <= 1501:
            continue
        reads.append(Read(start, f"{450 - start}M{len(intron)}N{tail}", text, (35,) * len(text), 16 * (start % 2)))
    reads = [replace(read, name=f"r{i}") for i, read in enumerate(reads)]
    assert all(len(r.bases) == sum(n for n, o in r.operations if o in "MIS=X") for r in reads)
    assert call(tmp_path, reads)[0] == expected([exons])
    assert not [line for line in lines(tmp_path, "a") if 451 <= int(line.split("\t")[1]) <= 1450]


def test_huge_gaps_in_cigars(tmp_path):
    """A deletion of 5 kb and an insertion of 300 bases are too long to be called, but variants beside them are."""
    sequence = random_sequence(9000, seed=22)
    rng = random.Random(4)
    long = "".join(rng.choices("ACGT", k=300))
    bases = list(sequence)
    for p in (900, 6100, 8000):
        bases[p] = NEXT[bases[p]]
    reads = []
    for start in range(850, 980, 2):
        left, right = 1000 - start, 150 - (1000 - start)
        if right > 0:
            text = "".join(bases[start:1000] + bases[6000 : 6000 + right])
            reads.append(Read(start, f"{left}M5000D{right}M", text, (35,) * 150))
    for start in range(7800, 8100, 3):
        left = 8050 - start
        text = "".join(bases[start : start + 150])
        if 0 < left < 150:
            reads.append(Read(start, f"{left}M300I{150 - left}M", text[:left] + long + text[left:], (35,) * 450))
        else:
            reads.append(Read(start, "150M", text, (35,) * 150))
    reads += [Read(start, "150M", "".join(bases[start : start + 150]), (35,) * 150) for start in range(6005, 6200, 5)]
    reads = [replace(read, name=f"r{i}", flag=16 * (i % 2)) for i, read in enumerate(reads)]
    found, _ = call(tmp_path, reads, sequence)
    assert [row for row in found if len(row[1][0]) == len(row[1][1])] == [
        (p, (sequence[p], NEXT[sequence[p]]), (1, 1)) for p in (900, 6100, 8000)
    ]
    assert len(found) == 3


@pytest.mark.parametrize("identical_names", [False, True])
def test_depth_of_ten_thousand(tmp_path, identical_names):
    """A substitution, an insertion and a deletion under 10,000 reads, in bounded time; thinned regions are counted."""
    sequence = SEQUENCE[:500]
    first = sequence[:200] + NEXT[sequence[200]] + sequence[201:]
    second = sequence[:280] + sequence[283:]
    reads = []
    for i in range(10_000):
        start = 150 + i % 40
        if i % 2:
            read = Read(start, "120M", first[start : start + 120], (30,) * 120)
        else:
            read = Read(start, f"{280 - start}M3D{start - 160}M", second[start : start + 120], (30,) * 120)
            if start < 165:
                read = Read(start, "115M", sequence[start : start + 115], (30,) * 115)
        reads.append(replace(read, flag=16 * (i % 4 > 1), name="r" if identical_names else f"r{i}"))
    call(tmp_path, reads[:100], sequence, name="warm")
    began = time.process_time()
    found, metrics = call(tmp_path, reads, sequence)
    assert time.process_time() - began < 20
    if not identical_names:
        assert [(p, g) for p, _, g in found] == [(200, (0, 1)), (279, (0, 1))]
        assert (metrics.counts["regions"], metrics.counts["regions_thinned"]) == (1, 1)


@pytest.mark.parametrize("deleted", [0, 90])
def test_gaps_that_only_clips_show(tmp_path, deleted):
    """An insertion of 60 bases, or a deletion of 90, at which every read is clipped."""
    place, new = 1200, "" if deleted else random_sequence(60, seed=23)
    while SEQUENCE[place - 1] == (new or SEQUENCE[: place + deleted])[-1]:  # it could be moved left
        place += 1
    haplotype = SEQUENCE[:place] + new + SEQUENCE[place + deleted :]
    reads = []
    for i, start in enumerate(range(place - 300, place + 300, 6)):
        bases = haplotype[start : start + 150]
        left = place - start
        right = 150 - left - len(new)
        if left >= 150 or left <= -len(new):
            p = start if left >= 150 else start - len(new) + deleted
            reads.append(Read(p, "150M", bases, (35,) * 150, 16 * (i % 2), 60, f"r{i}"))
        elif left >= max(right, 20):
            reads.append(Read(start, f"{left}M{150 - left}S", bases, (35,) * 150, 16 * (i % 2), 60, f"r{i}"))
        elif right >= 20:
            reads.append(
                Read(place + deleted, f"{150 - right}S{right}M", bases, (35,) * 150, 16 * (i % 2), 60, f"r{i}")
            )
    anchor = SEQUENCE[place - 1]
    wanted = (place - 1, (SEQUENCE[place - 1 : place + deleted], anchor + new), (1, 1))
    assert call(tmp_path, reads)[0] == [wanted]


def test_nothing_is_covered(tmp_path):
    assert call(tmp_path, [])[0] == []
    text = (tmp_path / "a.vcf").read_text().splitlines()
    assert text[-1].startswith("#CHROM")
    assert text[-1].split("\t")[9:] == ["a"]


def test_clips_hang_over_the_ends_of_the_contig(tmp_path):
    """Reads of a circular genome are clipped at both ends of its linear reference, with a variant close to each."""
    variants = [snv(6), snv(LENGTH - 7)]
    bases = list(SEQUENCE)
    for p, _, new in variants:
        bases[p] = new
    text = "".join(bases)
    reads = [Read(0, f"{n}S{80 - n}M", (text[-n:] + text)[:80], (35,) * 80) for n in range(1, 60, 2)]
    reads += [Read(LENGTH - 80 + n, f"{80 - n}M{n}S", text[n - 80 :] + text[:n], (35,) * 80) for n in range(1, 60, 2)]
    reads = [replace(read, name=f"r{i}", flag=16 * (i % 2)) for i, read in enumerate(reads)]
    assert call(tmp_path, reads)[0] == expected([variants, variants])


def test_reads_of_n_only(tmp_path):
    nothing = [replace(r, bases="N" * len(r.bases), name=f"n{r.name}") for r in made(step=8)]
    assert call(tmp_path, nothing, name="n")[0] == []
    assert call(tmp_path, made() + nothing, name="b")[0] == expected()


def test_missing_qualities_are_twenty(tmp_path):
    def without(record) -> None:
        record.query_qualities = None

    assert call(tmp_path, made(), edit=without)[0] == expected()
    call(tmp_path, [replace(read, qualities=(20,) * len(read.bases)) for read in made()], name="b")
    assert lines(tmp_path, "a") == lines(tmp_path, "b")


def test_reads_of_one_base(tmp_path):
    """They count like others: where all reads end, ends are no sign against an allele."""
    bases = [SEQUENCE[50]] * 12 + [NEXT[SEQUENCE[50]]] * 12
    reads = [Read(50, "1M", b, (35,), 16 * (i % 2), 60, f"r{i}") for i, b in enumerate(bases)]
    call(tmp_path, reads)
    with pysam.VariantFile(str(tmp_path / "a.vcf")) as file:
        (record,) = file
        sample = record.samples[0]
        assert (record.start, record.alleles, sample["GT"], sample["AD"]) == (50, snv(50)[1:], (0, 1), (12, 12))
        assert list(record.filter) == ["PASS"]


@pytest.mark.parametrize("missing", ["query_sequence", "cigarstring"])
def test_reads_without_bases_or_cigar(tmp_path, missing):
    def without(record) -> None:
        if record.query_name.startswith("e"):
            setattr(record, missing, None)

    empty = [Read(p, "80M", "A" * 80, (35,) * 80, 0, 60, f"e{p}") for p in range(300, 2300, 3)]
    assert call(tmp_path, made() + empty, edit=without)[0] == expected()


def test_gaps_at_the_ends_of_reads(tmp_path):
    """Insertions and deletions without a base before or after them say nothing and break nothing."""
    odd = []
    for i, read in enumerate(made([[], []], step=10)[:-30]):
        size = len(read.bases)
        odd.append(replace(read, cigar=f"{size}M3D", name=f"o{i}"))
        if i % 2:
            odd[-1] = replace(odd[-1], cigar=f"4I{size - 4}M", bases="ACGT" + read.bases[:-4])
    found, _ = call(tmp_path, made() + odd)
    assert [row[:2] for row in found] == [row[:2] for row in expected()]


@settings(max_examples=12)
@given(reads_of(150, most=40, few_bases="ACGTN"), st.integers(1, 40))
def test_any_reads_in_any_windows(tmp_path_factory, reads, size):
    """Whatever CIGARs say, calling ends, and windows do not change a line."""
    folder = tmp_path_factory.mktemp("any")
    sequence = SEQUENCE[:150]
    parameters = CallParameters(min_mapping_quality=0, min_base_quality=2)
    call(folder, reads, sequence, name="a", parameters=parameters)
    (folder / "b").mkdir()
    call(folder / "b", reads, sequence, name="a", parameters=parameters, threads=2, batch_bases=64 * size)
    assert lines(folder, "a") == lines(folder / "b", "a")
