"""Reads of all kinds on one small reference, with variants so close that many windows begin and end at one."""

import os
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pysam

from helpers.command_samples import CONTIGS, fasta, letters, record, reverse_complement
from helpers.umi_samples import copies_of, fastq_of

REPEATS = "".join(letters(90, 40 + n) + unit * 12 for n, unit in enumerate(("A", "CA", "GAT", "T", "TTTAG", "C") * 3))
PLACES = {**CONTIGS, "repeats": REPEATS, "ring": letters(1500, 7), **{f"small{n}": letters(500, n) for n in (11, 12)}}
ALTERNATE = CONTIGS["two"][500:900]
SHORT, FRAGMENT = 100, 280


class Variant(NamedTuple):
    """Of some copies of a contig."""

    contig: str
    position: int  # 0-based, of the base before an insertion or deletion
    old: str
    new: str
    copies: tuple[bool, bool]

    def row(self, information: str = ".") -> str:
        return f"{self.contig}\t{self.position + 1}\t.\t{self.old}\t{self.new}\t.\t.\t{information}\n"


def variants_of(rng: random.Random, mean: int, gaps: float = 0.5) -> list[Variant]:
    """At about every `mean` bases one; `gaps` of them insertions and deletions."""
    made = []
    for contig, text in PLACES.items():
        at = 20
        while (at := at + 12 + int(rng.expovariate(1 / (mean - 12)))) < len(text) - 40:
            old = new = text[at]
            if rng.random() >= gaps:
                new = rng.choice("ACGT".replace(old, ""))
            elif rng.random() < 0.6:
                new += "".join(rng.choices("ACGT", k=rng.choice((1, 2, 3, 7))))
            else:
                old = text[at : at + 1 + rng.choice((1, 2, 3, 9))]
            made.append(Variant(contig, at, old, new, rng.choice(((True, True), (True, False), (False, True)))))
    return made


def copies_with(variants: Sequence[Variant]) -> list[dict[str, str]]:
    """The two copies of each contig."""
    made = [dict(PLACES), dict(PLACES)]
    for variant in reversed(variants):
        for own, has in zip(made, variant.copies, strict=True):
            if has:
                text, stop = own[variant.contig], variant.position + len(variant.old)
                own[variant.contig] = text[: variant.position] + variant.new + text[stop:]
    return made


def misread(bases: str, rng: random.Random, rate: float, gaps: float = 0.0) -> str:
    """With errors, `gaps` of which are lost or double bases."""
    out = []
    for base in bases:
        if rng.random() >= rate:
            out.append(base)
        elif rng.random() < gaps:
            out.append(base * rng.choice((0, 2)))
        else:
            out.append(rng.choice("ACGT"))
    return "".join(out)


def qualities(count: int, rng: random.Random, mean: int) -> str:
    return "".join(chr(33 + max(2, min(40, round(rng.gauss(mean, 5))))) for _ in range(count))


def pairs_of(copies: Sequence[dict[str, str]], depth: float, rng: random.Random, name: str) -> Iterator[list[str]]:
    """FASTQ records of both mates; those of ring go on across its origin, and one pair in ten is there twice."""
    for contig in PLACES:
        for number in range(int(depth * len(PLACES[contig]) / 2 / SHORT)):
            text = rng.choice(copies)[contig]
            text += text[:FRAGMENT] if contig == "ring" else ""
            size = min(len(text), round(rng.gauss(FRAGMENT, 25)))
            start = rng.randrange(len(text) - size + 1)
            fragment = text[start : start + size]
            fragment = fragment if rng.random() < 0.5 else reverse_complement(fragment)
            mates = [misread(own[:SHORT], rng, 0.004) for own in (fragment, reverse_complement(fragment))]
            for copy in "ab"[: 1 + (rng.random() < 0.1)]:
                yield [record(f"{name}:{contig}{number}{copy}", own, qualities(len(own), rng, 32)) for own in mates]


def long_of(
    copies: Sequence[dict[str, str]], depth: float, rng: random.Random, rate: float, mean: int
) -> Iterator[str]:
    """FASTQ records of single long reads; the first copy of contig `one` lacks 70 bases and has 60 more."""
    one = copies[0]["one"]
    changed = one[:1500] + one[1570:3600] + letters(60, 5) + one[3600:]
    for contig in ("one", "two", "repeats"):
        done = 0
        while done < depth * len(PLACES[contig]):
            copy = rng.randrange(2)
            text = changed if (contig, copy) == ("one", 0) else copies[copy][contig]
            start, size = rng.randrange(len(text) - 300), max(300, int(rng.expovariate(1 / 2500)))
            bases = misread(text[start : start + size], rng, rate, gaps=0.5)
            bases = bases if rng.random() < 0.5 else reverse_complement(bases)
            done += len(bases)
            yield record(f"{contig}{done}", bases, qualities(len(bases), rng, mean))


def write_vcf(path: Path, rows: Sequence[str]) -> None:
    """Compressed, and its index."""
    lines = ["##fileformat=VCFv4.2\n", '##INFO=<ID=AF,Number=A,Type=Float,Description="Frequency">\n']
    lines += [f"##contig=<ID={name},length={len(text)}>\n" for name, text in PLACES.items()]
    path.write_text("".join([*lines, "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n", *rows]))
    pysam.tabix_index(str(path), preset="vcf", force=True)


def write_beds(folder: Path) -> None:
    rng = random.Random(8)
    starts = [(name, at) for name, text in PLACES.items() for at in range(50, len(text) - 400, 700)]
    beds = {
        "targets": [f"{name}\t{at}\t{at + rng.randrange(40, 400)}" for name, at in starts],
        "excluded": [f"{name}\t{at + 60}\t{at + 90}" for name, at in starts],
        "ploidy": ["one\t1000\t2000\t1", "one\t2000\t3500\t3", "two\t0\t1500\t1", "ring\t0\t1500\t1"],
        "primers": [
            line
            for at in range(100, 5500, 250)
            for line in (f"one\t{at}\t{at + 24}\tp\t1\t+", f"one\t{at + 226}\t{at + 250}\tp\t1\t-")
        ],
    }
    for name, lines in beds.items():
        (folder / f"{name}.bed").write_text("".join(f"{line}\n" for line in lines))


def write_inputs(folder: Path) -> None:
    """All but alignments."""
    (folder / "ref.fa").write_text(fasta({**PLACES, "two_alt": ALTERNATE}))
    (folder / "ref.alt").write_text(f"two_alt\t0\ttwo\t501\t60\t{len(ALTERNATE)}M\t*\t0\t0\t*\t*\n")
    (folder / "circle.fa").write_text(fasta(PLACES))
    for name in ("ref.fa", "circle.fa"):
        os.utime(folder / name, (1e9, 1e9))  # which their indexes have
    rng = random.Random(1)
    inherited, mutations = variants_of(rng, 90), variants_of(rng, 400)
    taken = {(v.contig, v.position + step) for v in inherited for step in range(-12, 13)}
    mutations = [v._replace(copies=(True, False)) for v in mutations if (v.contig, v.position) not in taken]
    copies = copies_with(inherited)
    mutated = copies_with(sorted([*inherited, *mutations], key=lambda v: (list(PLACES).index(v.contig), v.position)))
    others = copies_with(variants_of(rng, 150))
    people = {"a": copies, "b": others, "tumour": [*copies, *mutated], "normal": copies}
    for name, own in people.items():
        both = list(pairs_of(own, 30 if name == "tumour" else 16, rng, name))
        for mate in (0, 1):
            (folder / f"{name}_{mate + 1}.fq").write_text("".join(pair[mate] for pair in both))
    mates = ((folder / f"b_{mate}.fq").read_text().splitlines() for mate in (1, 2))
    parts, raised = ([], []), {quality: quality + 31 for quality in range(33, 74)}
    for row, lines in enumerate(zip(*mates, strict=True)):
        for number, line in enumerate(lines):
            parts[number].append((f"{line} XX:i:{row}", line, line, line.translate(raised))[row % 4])
    records = (part[row : row + 4] for row in range(0, len(parts[0]), 4) for part in parts[: 1 + (row % 20 > 0)])
    mixed = "".join(f"{line}\n" for record in records for line in record)  # each fifth first read has no mate
    (folder / "mixed64.fq").write_text(mixed + odd_reads())
    (folder / "ont.fq").write_text("".join(long_of(copies, 12, rng, 0.025, 18)))
    (folder / "hifi.fq").write_text("".join(long_of(others, 10, rng, 0.002, 33)))
    for form, duplex, name in (("bases", False, "umi"), ("name", True, "duplex")):
        for mate, text in enumerate(fastq_of(copies_of(40, 3, 5, duplex=duplex), form), 1):
            (folder / f"{name}_{mate}.fq").write_text(text)
    write_vcf(folder / "alleles.vcf", [v.row() for v in inherited[::3]])
    write_vcf(folder / "population.vcf", [v.row(f"AF={0.05 + n % 9 / 12:.3f}") for n, v in enumerate(inherited)])
    write_vcf(folder / "panel.vcf", [v.row() for v in sorted([*inherited[::2], *mutations[::4]], key=place_of)])
    write_beds(folder)
    for name, size in (("few", 90), ("windows", 200)):
        parts = (f">{n}\n{PLACES['one'][60 * n : 60 * n + size]}\n" for n in range(60))
        (folder / f"{name}.fa").write_text("".join(parts))


def odd_reads() -> str:
    """Single reads in Phred + 64: across deletions, with scattered N, and within runs of a few bases."""
    one = PLACES["one"]
    across = [one[at : at + 70] + one[at + 70 + size : at + 120 + size] for at in (900, 2100) for size in (36, 90, 400)]
    unknown = ["".join("N" if at % 13 == step else base for at, base in enumerate(one[1500:1600])) for step in (0, 5)]
    reads = [*across, *unknown, "A" * 60, "AT" * 40, "CAA" * 30]
    return "".join(f"@odd{number}\n{read}\n+\n{'h' * len(read)}\n" for number, read in enumerate(reads))


def place_of(variant: Variant) -> tuple[int, int]:
    return list(PLACES).index(variant.contig), variant.position


def raise_qualities(source: Path, target: Path) -> None:
    """To Phred+64."""
    with pysam.AlignmentFile(str(source)) as file, pysam.AlignmentFile(str(target), "wb", template=file) as out:
        for each in file:
            each.query_qualities = pysam.qualitystring_to_array("".join(chr(64 + q) for q in each.query_qualities))
            out.write(each)
    pysam.index(str(target))


SORTED = ("--sort", "coordinate", "--write-index", "--no-pg")
ALIGNED = {
    **{f"{name}.bam": (f"{name}_1.fq", f"{name}_2.fq", "--mark-duplicates") for name in ("a", "b", "tumour", "normal")},
    "a.cram": ("a_1.fq", "a_2.fq"),
    "ont.bam": ("ont.fq", "--preset", "ont"),
    "hifi.bam": ("hifi.fq", "--preset", "hifi"),
    "umi.bam": ("umi_1.fq", "umi_2.fq", "--umi", "8M10S+T,+T", "--mark-duplicates"),
    "duplex.bam": ("duplex_1.fq", "duplex_2.fq", "--umi", "name", "--umi-duplex", "--mark-duplicates"),
}


def make_samples(folder: Path, run: Callable[[Path, Sequence[object]], None]) -> None:
    """All inputs of the cases, in a folder in which `run` runs commands."""
    write_inputs(folder)
    run(folder, ["index", "ref.fa", "-q"])
    for name, reads in ALIGNED.items():
        run(folder, ["align", "circle.fa", *reads, *SORTED, "-o", name, "-q", "--device", "cpu"])
    for name, given in (("a", ("a.bam",)), ("b", ("b.bam", "--ploidy-bed", "ploidy.bed")), ("hifi", ("hifi.bam",))):
        output = ("--gvcf", "-o", f"{name}.g.vcf.gz", "-q", "--device", "cpu")
        run(folder, ["call", "circle.fa", *given, *output])
    raise_qualities(folder / "b.bam", folder / "b64.bam")
    for name in ("tumour", "normal"):
        given = ("call", "circle.fa", f"{name}.bam", "--somatic", "-o", f"{name}.vcf.gz", "-q", "--device", "cpu")
        run(folder, given)
    umis = {"part": ("umi", "8M10S+T,+T"), "twin": ("duplex", "name", "--umi-duplex")}
    for name, (reads, *how) in umis.items():
        for part in (1, 2):
            given = ("align", "circle.fa", f"{reads}_1.fq", f"{reads}_2.fq", "--part", f"{part}/2", "--umi", *how)
            run(folder, [*given, "-o", f"{name}{part}.bam", "--no-pg", "-q", "--device", "cpu"])
