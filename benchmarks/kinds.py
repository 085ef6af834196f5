"""Variants of one kind at a time in real sequence: which callers find exactly the two haplotypes that were sequenced.

    kinds.py REF.fa CONTIG [--kinds ins dup del far under nested multi dense run str] [--start 1000000] [--seed 1]
             [--each 12] [--depth 30] [--length 150] [--insert 400] [--keep FOLDER] [--no-save]

Each trial has 750 bases of the contig on either side of one locus; 100 trials follow each other on a contig of their
own. readwarp aligns the reads (binned qualities, errors as these say), and all callers get the same alignments.

    ins, dup, del    new bases, a second copy of the bases before, and lost bases, on one or both copies
    far              deletions of 210 to 1,000 bases, which are not called: anything else that is called is false
    under, nested    a deletion on one copy, another variant within it on the other
    multi            two insertions or deletions at one place
    dense            several substitutions near each other
    run, str         a longer or shorter homopolymer or tandem repeat

A trial is `exact` if the calls spell both haplotypes with their genotypes and phase, `alleles` if only the alleles are
right, `filtered` if they are with the calls that filters removed, `none` without a call, and else `wrong`. readwarp's
calls are those that pass, the others' have QUAL of 20 and more. Appends to results/kinds.csv.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pysam

from measure import CIRCUMSTANCES, Row, append, circumstances, show, version

RESULTS = Path(__file__).resolve().parent / "results" / "kinds.csv"
OUTCOMES = ("exact", "alleles", "filtered", "wrong", "none")
SETTINGS = ("depth", "length", "insert", "seed", "start")
COLUMNS = (*CIRCUMSTANCES, "reference", "kind", *SETTINGS, "tool", "version", "trials", *OUTCOMES)
FLANK, NEAR, TOGETHER = 750, 300, 100  # bases beside a locus, those in which calls count, trials on one contig
MAX_PHASES, MAX_WAYS = 10, 100_000
LETTERS = "ACGT"
Allele = tuple[int, str, str]  # position, bases of the reference, bases in their place


class Locus(NamedTuple):
    """Bases between two flanks, in the reference and on both copies."""

    reference: str
    haplotypes: tuple[str, str]


class Call(NamedTuple):
    """A record of one sample."""

    position: int
    alleles: tuple[str, ...]  # the reference's first
    genotype: tuple[int, ...]
    phase_set: int | None  # None: unphased
    passes: bool


class Trial(NamedTuple):
    label: str
    contig: str
    start: int  # of [start, stop), which holds the locus and NEAR bases on either side
    stop: int
    haplotypes: tuple[str, str]


class Source:
    """Random choices, and bases of their own."""

    def __init__(self, seed: int, spare: str):
        self.rng, self.spare, self.used = np.random.default_rng(seed), spare, 0

    def new(self, size: int) -> str:
        return "".join(self.rng.choice(list(LETTERS), size))

    def other(self, base: str) -> str:
        return str(self.rng.choice([letter for letter in LETTERS if letter != base]))

    def genomic(self, size: int) -> str:
        """Bases of the genome, in which repeats are as usual."""
        self.used += size
        return self.spare[self.used - size : self.used]

    def on(self, copies: int, reference: str, changed: str, unchanged: str | None = None) -> Locus:
        """On both copies, or on one of them, either."""
        both = [changed, changed if copies == 2 else reference if unchanged is None else unchanged]
        self.rng.shuffle(both)
        return Locus(reference, (both[0], both[1]))


Maker = Callable[[Source, str], Locus]  # from the bases before the locus


def insertion(size: int, copies: int) -> Maker:
    return lambda source, left: source.on(copies, "", source.new(size))


def duplication(size: int, copies: int) -> Maker:
    return lambda source, left: source.on(copies, "", left[-size:])


def deletion(size: int, copies: int) -> Maker:
    return lambda source, left: source.on(copies, source.genomic(size), "")


def compound(size: int, inner: str, place: float) -> Maker:
    """A deletion, and a variant within its bases on the other copy, or at their beginning."""

    def make(source: Source, left: str) -> Locus:
        bases = source.new(size + 6)
        at = 3 + int(size * place)
        changed = {
            "snv": bases[:at] + source.other(bases[at]) + bases[at + 1 :],
            "ins": bases[:at] + source.new(4) + bases[at:],
            "del": bases[:at] + bases[at + max(1, min(3, size // 4)) :],
        }[inner]
        return source.on(1, bases, bases[:3] + bases[3 + size :], changed)

    return make


def two_indels(first: int, second: int) -> Maker:
    """At one place; negative sizes are deletions."""

    def make(source: Source, left: str) -> Locus:
        bases = source.new(max(0, -first, -second) + 6)
        one, two = (
            bases[:3] + (source.new(size) + bases[3:] if size > 0 else bases[3 - size :]) for size in (first, second)
        )
        return source.on(1, bases, one, two)

    return make


def substitutions(number: int, span: int, form: str) -> Maker:
    """`cis`, `trans` (every other one on the other copy) or `hom`."""

    def make(source: Source, left: str) -> Locus:
        bases = source.new(span)
        copies = [list(bases), list(bases)]
        for i, at in enumerate(sorted(source.rng.choice(span, number, replace=False))):
            copies[i % 2 if form == "trans" else 0][at] = source.other(bases[at])
        one, two = ("".join(copy) for copy in copies)
        return source.on(2 if form == "hom" else 1, bases, one, two)

    return make


def repeat(unit: str, number: int, change: int, copies: int) -> Maker:
    """A tandem repeat between bases that do not continue it."""

    def make(source: Source, left: str) -> Locus:
        before, after = source.other(unit[-1]), source.other(unit[0])
        return source.on(copies, before + unit * number + after, before + unit * (number + change) + after)

    return make


def both(form: Callable[[int, int], Maker], *sizes: int) -> Iterator[tuple[str, Maker]]:
    return ((f"{size} {name}", form(size, copies)) for size in sizes for copies, name in ((1, "het"), (2, "hom")))


def kinds() -> dict[str, list[tuple[str, Maker]]]:
    """The labels and makers of each kind."""
    runs = product((10, 14, 18), (-1, 1, 3), (1, 2))
    units = product((("CA", 10), ("CA", 20), ("AT", 12), ("CAG", 10), ("AAAG", 10)), (-2, 1, 5), (1, 2))
    inner = [(size, name) for size in (50, 90, 130, 150, 170, 195) for name in ("snv", "ins", "del")]
    pairs = (-1, -2), (-3, 4), (-10, -4), (5, 6), (1, 20), (-20, 20), (-1, 1), (30, 60), (-40, -80), (40, -40)
    near = product(((2, 2), (4, 10), (6, 10), (12, 40)), ("cis", "trans", "hom"))
    return {
        "ins": list(both(insertion, 10, 20, 30, 40, 50, 75, 100, 125, 150, 175, 200, 250, 300)),
        "dup": list(both(duplication, 15, 24, 33, 45, 60, 75, 90, 105, 120, 135, 150, 180)),
        "del": list(both(deletion, 10, 30, 50, 75, 100, 150, 195)),
        "far": list(both(deletion, 210, 250, 300, 500, 1000)),
        "under": [(f"{size} over {name}", compound(size, name, 0.5)) for size, name in inner],
        "nested": [
            (f"{size} over {name} at {place}", compound(size, name, place))
            for size, name, place in product((4, 10, 20, 40, 80), ("snv", "ins", "del"), (0.0, 0.5))
        ],
        "multi": [(f"{first:+d}/{second:+d}", two_indels(first, second)) for first, second in pairs],
        "dense": [(f"{n} in {span} {form}", substitutions(n, span, form)) for (n, span), form in near],
        "run": [(f"A{n} {by:+d} {copies}", repeat("A", n, by, copies)) for n, by, copies in runs],
        "str": [(f"({unit}){n} {by:+d} {copies}", repeat(unit, n, by, copies)) for (unit, n), by, copies in units],
    }


def turned(bases: str) -> str:
    return bases.translate(str.maketrans("ACGTN", "TGCAN"))[::-1]


class Sequencer:
    """Pairs of reads in two FASTQ files."""

    def __init__(self, files: Sequence, options: argparse.Namespace):
        self.files, self.options, self.rng, self.number = files, options, np.random.default_rng(options.seed), 0

    def sequence(self, haplotype: str, depth: float) -> None:
        length, rng = self.options.length, self.rng
        for _ in range(rng.poisson(len(haplotype) * depth / (2 * length))):
            size = min(len(haplotype), max(length, int(rng.normal(self.options.insert, self.options.insert / 5))))
            start = int(rng.integers(0, len(haplotype) - size + 1))
            fragment = haplotype[start : start + size]
            mates = [fragment[:length], turned(fragment[-length:])]
            for file, mate in zip(self.files, mates if rng.random() < 0.5 else mates[::-1], strict=True):
                file.write(self.record(mate))
            self.number += 1

    def record(self, bases: str) -> str:
        rng, size = self.rng, len(bases)
        worse = 0.1 + 0.1 * np.arange(size) / size
        drawn = rng.random(size) / worse
        qualities = np.select([drawn > 1, drawn > 0.3, drawn > 0.05], [37, 23, 12], 2)
        letters = list(bases)
        for at in np.flatnonzero(rng.random(size) < 0.75 * 10.0 ** (-qualities / 10)):
            letters[at] = str(rng.choice([letter for letter in LETTERS if letter != letters[at]]))
        return f"@r{self.number}\n{''.join(letters)}\n+\n{''.join(chr(33 + q) for q in qualities)}\n"


def make_trials(name: str, base: str, options: argparse.Namespace, folder: Path) -> list[Trial]:
    """Write the reference and the reads of a kind; returns its trials."""
    source = Source(options.seed, base[len(base) // 2 :].replace("N", ""))
    makers = [maker for maker in kinds()[name] for _ in range(options.each)]
    trials, at = list[Trial](), options.start
    with ExitStack() as stack:
        fasta, *reads = (stack.enter_context((folder / f).open("w")) for f in ("x.fa", "x_1.fq", "x_2.fq"))
        sequencer = Sequencer(reads, options)
        for first in range(0, len(makers), TOGETHER):
            contig, reference, copies = f"c{first}", "", ["", ""]
            for label, maker in makers[first : first + TOGETHER]:
                while "N" in base[at : at + 2 * FLANK]:
                    at += FLANK
                left, right = base[at : at + FLANK], base[at + FLANK : at + 2 * FLANK]
                at += 2 * FLANK
                locus = maker(source, left)
                start = len(reference) + FLANK - NEAR
                near = [left[-NEAR:] + copy + right[:NEAR] for copy in locus.haplotypes]
                stop = start + 2 * NEAR + len(locus.reference)
                trials.append(Trial(label, contig, start, stop, (near[0], near[1])))
                reference += left + locus.reference + right
                copies = [before + left + copy + right for before, copy in zip(copies, locus.haplotypes, strict=True)]
            fasta.write(f">{contig}\n{reference}\n")
            for copy in copies:
                sequencer.sequence(copy, options.depth / 2)
    pysam.faidx(str(folder / "x.fa"))
    return trials


def run(command: str) -> None:
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"failed: {command}\n{done.stderr}")


def call(tool: str, reference: Path, bam: Path, out: Path) -> list[tuple[str, Call]]:
    command = {
        "readwarp": f"{sys.executable} -m readwarp call {reference} {bam} -q -f -o {out}",
        "freebayes": f"freebayes -f {reference} {bam} > {out}",
        "bcftools": f"bcftools mpileup -f {reference} -a AD,DP {bam} 2> /dev/null | bcftools call -mv -o {out}",
    }[tool]
    run(command)
    found = list[tuple[str, Call]]()
    with pysam.VariantFile(str(out)) as file:
        for record in file:
            genotype = record.samples[0]
            copies = tuple(allele or 0 for allele in genotype["GT"])
            phase = genotype.get("PS", 0) if genotype.phased and len(set(copies)) > 1 else None
            is_good = list(record.filter.keys()) in ([], ["PASS"]) if tool == "readwarp" else (record.qual or 0) >= 20
            if any(copies):
                alleles = tuple(map(str.upper, record.alleles or ()))
                found.append((record.chrom, Call(record.start, alleles, copies * (2 // len(copies)), phase, is_good)))
    return found


def trim(position: int, old: str, new: str) -> Allele:
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    while old and new and old[0] == new[0]:
        position, old, new = position + 1, old[1:], new[1:]
    return position, old, new


def spell(reference: str, start: int, alleles: Sequence[Allele]) -> str | None:
    """The haplotype with these alleles, None if they overlap. reference: its bases from `start` on."""
    out, done = "", start
    for position, old, new in sorted(alleles):
        if position < done:
            return None
        out, done = out + reference[done - start : position - start] + new, position + len(old)
    return out + reference[done - start :]


def choices(calls: Sequence[Call]) -> Iterator[tuple[list[Allele], list[Allele]]]:
    """The alleles of both copies, for each way in which phase sets and unphased calls may lie on them."""
    groups = [call.phase_set if call.phase_set is not None else -1 - i for i, call in enumerate(calls)]
    free = sorted({group for group, call in zip(groups, calls, strict=True) if len(set(call.genotype)) > 1})
    for sides in product((0, 1), repeat=max(0, min(len(free), MAX_PHASES) - 1)):
        turn = dict(zip(free, (0, *sides), strict=False))
        copies: tuple[list[Allele], list[Allele]] = [], []
        for group, call in zip(groups, calls, strict=True):
            for side, copy in enumerate(copies):
                allele = call.genotype[side ^ turn.get(group, 0)]
                if allele and call.alleles[allele] != "*":
                    copy.append(trim(call.position, call.alleles[0], call.alleles[allele]))
        yield copies


def judge(trial: Trial, reference: str, calls: Sequence[Call]) -> str:
    """reference: the bases of [start, stop) of the trial."""
    good = [call for call in calls if call.passes]
    verdict = judge_calls(trial, reference, good)
    is_filtered = verdict in ("none", "wrong") and len(good) < len(calls)
    return "filtered" if is_filtered and judge_calls(trial, reference, calls) in ("exact", "alleles") else verdict


def judge_calls(trial: Trial, reference: str, calls: Sequence[Call]) -> str:
    if not calls:
        return "none"
    for copies in choices(calls):
        if sorted(str(spell(reference, trial.start, copy)) for copy in copies) == sorted(trial.haplotypes):
            return "exact"
    alleles = [[None, *(trim(c.position, c.alleles[0], new) for new in c.alleles[1:] if new != "*")] for c in calls]
    ways = np.prod([len(own) for own in alleles], dtype=float)
    chosen = ([one for one in way if one] for way in product(*alleles)) if ways <= MAX_WAYS else iter(())
    spelled = {spell(reference, trial.start, way) for way in chosen}
    return "alleles" if spelled.issuperset(trial.haplotypes) else "wrong"


def compare(name: str, base: str, options: argparse.Namespace, folder: Path) -> list[Row]:
    folder.mkdir(parents=True, exist_ok=True)
    trials, fasta, bam = make_trials(name, base, options, folder), folder / "x.fa", folder / "x.bam"
    group = "-R '@RG\\tID:S\\tSM:S\\tPL:ILLUMINA' --sort coordinate --write-index"
    reads = f"{folder}/x_1.fq {folder}/x_2.fq"
    run(f"{sys.executable} -m readwarp align {fasta} {reads} {group} --device cpu -q -f -o {bam}")
    rows = list[Row]()
    with pysam.FastaFile(str(fasta)) as file:
        for tool in options.tools:
            calls = call(tool, fasta, bam, folder / f"{tool}.vcf")
            by_label = Counter[tuple[str, str]]()
            for trial in trials:
                near = [c for at, c in calls if at == trial.contig and trial.start <= c.position]
                near = [c for c in near if c.position + len(c.alleles[0]) <= trial.stop]
                bases = file.fetch(trial.contig, trial.start, trial.stop)
                by_label[trial.label, judge(trial, bases, near)] += 1
            if options.verbose:
                for label in dict.fromkeys(trial.label for trial in trials):
                    print(tool, name, label, {o: n for o in OUTCOMES if (n := by_label[label, o])})
            totals = [sum(n for (_, own), n in by_label.items() if own == outcome) for outcome in OUTCOMES]
            settings = [getattr(options, setting) for setting in SETTINGS]
            about = options.reference.name, name, *settings, tool, version(tool), len(trials)
            rows.append(dict(zip(COLUMNS, (*circumstances(), *about, *totals), strict=True)))
            show(rows[-1])
    return rows


def main() -> None:
    pysam.set_verbosity(0)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path)
    parser.add_argument("contig")
    parser.add_argument("--kinds", nargs="+", choices=list(kinds()), default=list(kinds()))
    parser.add_argument("--tools", nargs="+", default=["readwarp", "freebayes", "bcftools"])
    parser.add_argument("--start", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=12, help="trials of each size and form")
    parser.add_argument("--depth", type=int, default=30)
    parser.add_argument("--length", type=int, default=150)
    parser.add_argument("--insert", type=int, default=400)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave reads, alignments and calls there")
    parser.add_argument("--verbose", action="store_true", help="show the outcomes of each size and form")
    parser.add_argument("--no-save", action="store_true", help="add no rows to the results")
    options = parser.parse_args()
    with pysam.FastaFile(str(options.reference)) as file:
        base = file.fetch(options.contig).upper()
    with tempfile.TemporaryDirectory() as scratch:
        rows = [
            row
            for name in options.kinds
            for row in compare(name, base, options, (options.keep or Path(scratch)) / name)
        ]
    if not options.no_save:
        append(rows, RESULTS, COLUMNS)


if __name__ == "__main__":
    main()
