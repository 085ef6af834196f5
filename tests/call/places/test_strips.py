"""Contigs that are called together on one axis: the same bytes as those of one contig after the other."""

import random
import re
from itertools import groupby
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.jobs import call_variants
from helpers.making import Read, codes, other, random_sequence, write_bam, write_fasta
from readwarp.call.candidates.sites.find import sites_of
from readwarp.call.places.bases import Window
from readwarp.call.places.strips import Strip, join_contigs, next_origin
from readwarp.call.places.targets import BLOCK, MARGIN, MAX_REGION, STEP, Target, join_targets, stretch_of
from readwarp.call.records.genotypes.emitted import allocate
from readwarp.call.records.genotypes.order import genotype_tables
from readwarp.call.records.genotypes.spell import spell_alleles
from readwarp.call.windows import run as windows
from readwarp.call.windows.resources import PROGRAM
from readwarp.config import CallParameters, Resources
from readwarp.errors import InputError
from readwarp.metrics import Metrics
from readwarp.rules.bases import OUTSIDE

Cell = tuple[str, str]  # operations on a base of the reference, M, D or M2I, and what a haplotype has there
LONG_GAP, START = re.compile("I{20,}|D{20,}"), re.compile("([SI]*)(D*)")


def make_contig(rng: random.Random, size: int) -> str:
    """With repeats, also at its ends, and sometimes N."""
    text = ""
    while len(text) < size:
        unit = "".join(rng.choices("ACGT", k=rng.choice((1, 1, 2, 3))))
        text += rng.choice((unit * rng.randint(2, 9), "".join(rng.choices("ACGT", k=rng.randint(1, 60)))))
    text = text[:size]
    if rng.random() < 0.2:
        place = rng.choice((0, rng.randrange(size), max(0, size - 3)))
        text = (text[:place] + "N" * rng.randint(1, 3) + text[place + 3 :])[:size].ljust(size, "N")
    return text


def make_haplotype(rng: random.Random, text: str) -> list[Cell]:
    """Substitutions, insertions and deletions, most of them near the ends."""
    cells = [("M", base) for base in text]
    for _ in range(rng.randint(0, 5)):
        place = rng.choice((rng.randrange(len(text)), rng.randrange(min(9, len(text))), len(text) - 1))
        kind = rng.randrange(4)
        if kind < 2:
            cells[place] = ("M", rng.choice("ACGT"))
        elif kind == 2 and cells[place][0] == "M":
            added = "".join(rng.choices("ACGT", k=rng.choice((1, 2, 3, 30))))
            cells[place] = (f"M{len(added)}I", cells[place][1] + added)
        else:
            gone = range(place, min(len(text), place + rng.choice((1, 2, 3, 25, 60))))
            for i in gone:
                cells[i] = ("D", "")
    return cells


def make_read(rng: random.Random, cells: list[Cell], name: str, flag: int, size: int) -> Read | None:
    """Of a part of the haplotype. Some of its ends are clipped, off the contig too, or at a long gap."""
    start = rng.choice((0, rng.randrange(len(cells)), max(0, len(cells) - size)))
    own = cells[start : start + size]
    text = "".join(bases for _, bases in own)
    operations = "".join(operation[0] + "I" * int(operation[1:-1] or 0) for operation, _ in own)
    if gap := LONG_GAP.search(operations):
        operations = clip_gap(operations, gap, rng.randrange(3))
    clipped, gone = START.match(operations).group(1, 2)
    start, operations = start + len(gone), clipped + operations[len(clipped) + len(gone) :].rstrip("D")
    if "M" not in operations:
        return None
    if "S" not in operations:
        before, after = ("".join(rng.choices("ACGT", k=rng.choice((0, 0, 0, 5, 12, 40)))) for _ in range(2))
        operations, text = "S" * len(before) + operations + "S" * len(after), before + text + after
    bases = [rng.choice("ACGTN") if rng.random() < 0.01 else base for base in text]
    cigar = "".join(f"{len(list(run))}{operation}" for operation, run in groupby(operations))
    cigar = rng.choice(("", "", "", "7H")) + cigar + rng.choice(("", "", "", "5H"))
    qualities = tuple(rng.choice((2, 15, 30, 37, 40)) for _ in bases)
    return Read(start, cigar, "".join(bases), qualities, flag, rng.choice((0, 20, 60, 60, 60)), name)


def clip_gap(operations: str, gap: re.Match[str], kind: int) -> str:
    """A read's operations, with what is before (0) or after (1) the gap clipped, as aligners do; 2: as they are."""
    if kind == 2:
        return operations
    before, after = operations[: gap.start()], operations[gap.end() :]
    added = gap[0] if "I" in gap[0] else ""
    if kind:
        return before + "S" * len((added + after).replace("D", ""))
    skipped = (before + gap[0]).replace("I", "")
    return "S" * len((before + added).replace("D", "")) + "D" * len(skipped) + after


def make_reads(rng: random.Random, contigs: dict[str, str], depth: int) -> list[tuple[str, Read]]:
    """Single reads and pairs; names come again on other contigs."""
    out = []
    for contig, text in contigs.items():
        if rng.random() < 0.15:
            continue
        haplotypes = [make_haplotype(rng, text) for _ in range(2)]
        shared = haplotypes[0] if rng.random() < 0.3 else None
        for i in range(rng.choice((1, 5, depth, depth, 3 * depth))):
            cells, size = shared or rng.choice(haplotypes), rng.choice((20, 60, 100, 150))
            for flag in (99, 147) if rng.random() < 0.5 else (16 * rng.randrange(2),):
                read = make_read(rng, cells, f"r{i}", flag, size)
                out += [(contig, read)] if read else []
    return out


def make_options(rng: random.Random, folder: Path, contigs: dict[str, str]) -> dict:
    """Options by which contigs or places of them differ."""
    parameters, options = {}, dict[str, object]()
    names = list(contigs)
    spans = [(name, *sorted((rng.randrange(len(contigs[name])), len(contigs[name])))) for name in names[::2]]

    def bed(name: str, last: object = "") -> Path:
        (folder / name).write_text("".join(f"{c}\t{a}\t{b}{last}\n" for c, a, b in spans))
        return folder / name

    if rng.random() < 0.3:
        options["gvcf"] = True
    elif rng.random() < 0.4:
        lines = ["##fileformat=VCFv4.2", *(f"##contig=<ID={name},length={len(contigs[name])}>" for name in names)]
        lines += ["#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"]
        for name, start, _ in spans:
            old = contigs[name][start : start + rng.choice((1, 3))]
            lines.append(
                f"{name}\t{start + 1}\t.\t{old}\t{rng.choice((old[0] + 'GA', 'A' if old != 'A' else 'C'))}\t.\t.\t."
            )
        (folder / "asked.vcf").write_text("\n".join(lines) + "\n")
        options["alleles"] = folder / "asked.vcf"
    if rng.random() < 0.3:
        options["ploidies"] = bed("ploidy.bed", f"\t{rng.choice((0, 1, 3))}")
    if rng.random() < 0.3:
        options["primers"] = bed("primers.bed", "\tx_1_LEFT\t1\t+")
    if rng.random() < 0.3:
        options[rng.choice(("targets", "excluded"))] = [str(bed("targets.bed"))]
    if rng.random() < 0.3:
        parameters["max_depth"] = rng.choice((5, 10))
    if rng.random() < 0.3 and "gvcf" not in options:
        parameters["max_mnp_distance"] = 3
    if rng.random() < 0.2:
        parameters["ignore_soft_clips"] = True
    return {"parameters": CallParameters(**parameters), **options}


def check_strips(folder: Path, seed: int) -> int:
    """-> records"""
    rng = random.Random(seed)
    sizes = [rng.choice((1, 2, 9, 40, 150, 400, 400, 900)) for _ in range(rng.randint(2, 12))]
    if rng.random() < 0.3:
        sizes.insert(rng.randrange(len(sizes)), 12_000)
    contigs = {f"c{i}": make_contig(rng, size) for i, size in enumerate(sizes)}
    fasta = write_fasta(folder / "ref.fa", contigs)
    options = make_options(rng, folder, contigs)
    several = "gvcf" not in options and rng.random() < 0.4
    order = list(contigs) if rng.random() < 0.7 else rng.sample(list(contigs), len(contigs))
    bams = []
    for sample in ("a", "b")[: 1 + several]:
        reads = make_reads(rng, contigs, rng.choice((8, 20)))
        lengths = {name: len(contigs[name]) for name in order}
        header = {"RG": [{"ID": sample, "SM": sample}]}
        bams.append(write_bam(folder / f"{sample}.bam", lengths, reads, header))
    resources = Resources(
        threads=rng.choice((1, 3)),
        batch_bases=rng.choice((None, None, 1 << 20)),
        memory=rng.choice((None, None, PROGRAM + 400_000)),  # strips of few contigs, and halves of these
    )
    call_variants(fasta, bams, folder / "together.vcf", resources=resources, **options)
    call_apart(fasta, bams, folder / "apart.vcf", **options)
    together, apart = ((folder / name).read_text() for name in ("together.vcf", "apart.vcf"))
    assert together == apart
    return sum(line[0] != "#" for line in together.splitlines())


def call_apart(*arguments, **options) -> Metrics:
    """Each contig by itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "join_contigs", lambda own, *_: own)
        return call_variants(*arguments, **options)


@pytest.mark.parametrize("seed", range(24))
def test_contigs_are_called_as_each_by_itself(tmp_path, seed):
    check_strips(tmp_path, seed)


def test_random_contigs_have_calls(tmp_path):
    assert sum(check_strips(tmp_path, seed) for seed in range(30, 38)) > 100


FIRST, LAST = random_sequence(300, 1), random_sequence(300, 2)  # contigs before and after the one looked at
RUN = "A" * 30 + "C" + random_sequence(150, 3)
PLAIN = random_sequence(200, 4)
FAR = next_origin(len(PLAIN)) - len(PLAIN)  # bases to the next contig


def copies(position: int, cigar: str, bases: str, number: int = 8) -> list[Read]:
    return [Read(position, cigar, bases, (37,) * len(bases), 16 * (i % 2), name=f"r{i}") for i in range(number)]


@pytest.mark.parametrize(
    ("contig", "reads"),
    [
        (PLAIN, copies(150, "50M4I", PLAIN[150:185] + other(PLAIN[185]) + PLAIN[186:] + "GATC")),  # after the last base
        (PLAIN, copies(100, "30M51S", PLAIN[100:130] + PLAIN[150:] + "A")),  # what is clipped goes on beyond the end
        (RUN, copies(0, "20M31S", RUN[:20] + RUN[30:61])),  # a deletion that moves to the first base
        (PLAIN, copies(150, f"50M{FAR + 40}S", PLAIN[150:] + "N" * FAR + LAST[:40])),  # clips as far as the next contig
        (PLAIN, copies(0, f"{FAR}S60M", "T" * FAR + PLAIN[:60])),
    ],
)
def test_ends_of_contigs(tmp_path, contig, reads):
    contigs = {"first": FIRST, "c": contig, "last": LAST}
    single = [(name, read) for name in ("first", "last") for read in copies(0, "60M", contigs[name][:60], 3)]
    fasta, lengths = write_fasta(tmp_path / "ref.fa", contigs), {name: len(text) for name, text in contigs.items()}
    header = {"RG": [{"ID": "a", "SM": "a"}]}
    bam = write_bam(tmp_path / "a.bam", lengths, [*single, *(("c", read) for read in reads)], header)
    for gvcf in (False, True):
        counts = [
            run(fasta, bam, tmp_path / f"{number}.vcf", CallParameters(platform="short"), gvcf=gvcf).counts
            for number, run in enumerate((call_variants, call_apart))
        ]
        assert (tmp_path / "0.vcf").read_text() == (tmp_path / "1.vcf").read_text()
        assert counts[0] == counts[1]


def test_an_indel_at_the_first_base_has_the_anchor_after_it():
    """On an axis too."""
    bases, tables = codes("ACGTTGCA"), genotype_tables(((2, 2),))
    out = allocate(np.array([0]), np.array([2]), np.array([0, 1]), np.array([[2]]), tables)
    out.is_indel[:] = True
    for origin in (0, 40):
        axis = np.concatenate((np.full(origin, OUTSIDE, np.uint8), bases))
        window = Window(0, 0, axis.size, axis, 0)
        spelled = spell_alleles(sites_of([(origin, True, [(0, b""), (2, b"")])], window), out, window)
        assert (spelled.position.tolist(), spelled.alleles) == ([origin], [("ACG", "G")])


@given(
    st.lists(st.integers(0, 9000), min_size=1, max_size=30),
    st.sets(st.integers(0, 29), max_size=3),
    st.integers(1000, 30_000),
)
def test_strips_hold_each_window_once(lengths, apart, size):
    targets = [Target(i, 0, length) for i, length in enumerate(lengths)]
    windows = list(join_targets(targets, size))
    places = list(join_contigs(windows, lengths, apart, size))
    assert [own for place in places for own in (place.stretches if isinstance(place, Strip) else [place])] == windows
    for strip in (place for place in places if isinstance(place, Strip)):
        assert len(strip.contigs) > 1 and strip.stop <= size and not apart & set(strip.contigs)
        assert [Target(i, 0, lengths[i]) for i in strip.contigs] == list(strip.targets)
        origins, ends = strip.origins, strip.origins + np.array(strip.lengths)
        assert (origins % [[BLOCK], [STEP], [MAX_REGION]] == 0).all() and (origins[1:] - ends[:-1] >= MARGIN).all()
        on_axis = strip.as_stretch()
        assert (on_axis.start, on_axis.stop) == (0, strip.stop) and on_axis.mask().sum() == sum(strip.lengths)
        left, right = strip.halves()
        assert left.targets + right.targets == strip.targets


def test_windows_within_contigs_are_not_joined():
    """Their reads may reach beyond what is read of the contig."""
    whole, inner = stretch_of([Target(0, 0, 500)]), stretch_of([Target(1, MARGIN + 1, 3000)])
    near = stretch_of([Target(2, MARGIN, 3000)])
    joined = list(
        join_contigs(
            [whole, inner, near, near._replace(contig=3)], [500, 3000, 3000 + MARGIN, 3000 + MARGIN + 1], (), 1 << 17
        )
    )
    assert joined == [whole, inner, near, near._replace(contig=3)]
    assert list(join_contigs([whole, near], [500, 0, 3000 + MARGIN], (), 1 << 17)) == [
        Strip((whole, near), (500, 3000 + MARGIN))
    ]


def test_a_cram_file_is_read_alike(tmp_path):
    rng = random.Random(5)
    contigs = {f"c{i}": make_contig(rng, 300) for i in range(8)}
    fasta, lengths = write_fasta(tmp_path / "ref.fa", contigs), dict.fromkeys(contigs, 300)
    bam, cram = write_bam(tmp_path / "a.bam", lengths, make_reads(rng, contigs, 15)), tmp_path / "a.cram"
    pysam.view("-C", "-T", str(fasta), "-o", str(cram), str(bam), catch_stdout=False)
    pysam.index(str(cram))
    call_variants(fasta, bam, tmp_path / "bam.vcf", samples=("a",))
    call_variants(fasta, cram, tmp_path / "cram.vcf", samples=("a",))
    assert (tmp_path / "cram.vcf").read_text() == (tmp_path / "bam.vcf").read_text()
    assert "\nc7\t" in (tmp_path / "bam.vcf").read_text()


def test_damage_is_reported_at_its_contig(tmp_path):
    contigs = {f"c{i}": make_contig(random.Random(i), 300) for i in range(4)}
    reads = [(name, Read(90 + 200 * (name == "c2"), "50M", "A" * 50, (30,) * 50)) for name in contigs]
    bam = write_bam(tmp_path / "a.bam", dict.fromkeys(contigs, 300), reads)
    with pytest.raises(InputError, match=r"a\.bam: record .* near c2:291: lies on a contig that"):
        call_variants(write_fasta(tmp_path / "ref.fa", contigs), bam, tmp_path / "a.vcf")
