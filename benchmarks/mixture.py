"""Compare callers on alleles of few molecules.

    mixture.py FOLDER made REF.fa:CONTIG:FROM-TO [--seed N] [--depth 1500]
    mixture.py FOLDER spiked ALIGNMENTS.bam REF.fa [--seed N]
    mixture.py FOLDER tumour ALIGNMENTS.bam REF.fa [--seed N] --tools call

made: the case mixture of tools/awkward_reads.py, with variants on 1, 2, 5, 10 and 20 % of the molecules at 1,500x; a
lower --depth leaves some of the reads out. spiked: real reads with variants put into such shares of them
(tools/spike_reads.py), aligned anew by readwarp. What the sample has itself on 30 % of the reads or more, by readwarp
or freebayes, counts neither as found nor as false. tumour: half of the reads are the normal, and the other half, with
variants on 5 to 50 %, the tumour; what the sample has itself is inherited, and false.

An allele is found where a record lists it. Calls of readwarp count if they pass its filters, those of the peers from
the QUAL on that makes their F1 best. Rows go to results/mixture.csv. readwarp runs once before it is timed.
"""

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pysam

from awkward import Called, Cell, cells_of, make, taken
from measure import CIRCUMSTANCES, Row, append, circumstances, measured, show, version

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "mixture.csv"
SHARES = "0.01", "0.02", "0.05", "0.1", "0.2", "0.5"
OF_TUMOURS = "0.05,0.1,0.2,0.5"
DEPTH = 1500  # of what awkward_reads.py makes
TOOLS = "call", "freebayes", "bcftools"
COLUMNS = (
    *(*CIRCUMSTANCES, "set", "seed", "depth", "bases", "tool", "version", "cpu_seconds", "peak_mb"),
    *(*(f"found_{share}" for share in SHARES), "cells", "found", "false"),
)


def command(tool: str, reference: Path, alignments: Path, output: Path) -> str:
    program = Path(sys.executable).with_name("readwarp")
    if tool == "call":
        normal = alignments.with_suffix(".normal.bam")
        call, options = f"{program} call {reference} {alignments}", "-t 2 --device cpu -q -f -o"
        if not normal.exists():
            return f"{call} --mixture {options} {output}"
        both = output.with_suffix(".both.vcf")
        return f"{call} {normal} --somatic --normal NORMAL {options} {both} && bcftools view -s s1 -o {output} {both}"
    if tool == "freebayes":
        return f"freebayes -f {reference} --pooled-continuous -F 0.005 -C 2 {alignments} > {output}"
    pileup = f"bcftools mpileup -Ou -d 1000000 -a AD,DP -f {reference} {alignments} 2> /dev/null"
    return f"{pileup} | bcftools call -mv -Ov -o {output} 2> /dev/null"


def shares_of(truth: Path, reference: Path) -> dict[Cell, str]:
    """The share of each variant, normalised as `cells_of` does."""
    norm = ["bcftools", "norm", "-m", "-any", "-a", "-f", reference, truth]
    text = subprocess.run([*map(str, norm)], capture_output=True, text=True, check=True).stdout
    rows = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return {(f[0], int(f[1]), f[3], f[4], ""): f[7].split("SHARE=")[1].split(";")[0] for f in rows}


def make_set(options: argparse.Namespace) -> tuple[str, Path, Path, Path, set[Cell]]:
    """(name, reference, alignments, truth, what the sample has itself)"""
    folder, seed = options.folder, options.seed
    if options.kind == "made":
        case = make(folder, options.source[0], "mixture", seed)
        alignments = case.alignments
        if options.depth < DEPTH:
            alignments = case.alignments.with_suffix(f".{options.depth}.bam")
            thin = f"samtools view -b -s {seed}{f'{options.depth / DEPTH:.4f}'[1:]} {case.alignments} -o {alignments}"
            subprocess.run(["bash", "-c", f"{thin} && samtools index {alignments}"], check=True)
        return options.source[0].split(":", 1)[1], case.reference, alignments, case.truth, set()
    source, reference = map(Path, options.source)
    made, is_tumour = folder / f"{source.stem}.{options.kind}.{seed}", options.kind == "tumour"
    alignments, truth = Path(f"{made}.bam"), Path(f"{made}.truth.vcf")
    if not alignments.exists():
        spike(split(source, made, seed) if is_tumour else source, made, reference, seed, is_tumour)
    own = set[Cell]() if is_tumour else own_variants(source, reference, made)
    return f"{source.stem} {options.kind}", reference, alignments, truth, own


def split(source: Path, made: Path, seed: int) -> Path:
    """Half of the pairs for the tumour; the others are the sample NORMAL."""
    half, rest, normal = (f"{made}.{name}.bam" for name in ("half", "rest", "normal"))
    group = r"@RG\tID:normal\tSM:NORMAL"
    lines = (
        f"samtools view -b -s {seed}.5 -o {half} -U {rest} {source}",
        f"samtools addreplacerg -w -r '{group}' -o {normal} {rest} && samtools index {normal}",
    )
    for line in lines:
        subprocess.run(["bash", "-c", line], check=True)
    return Path(half)


def spike(source: Path, made: Path, reference: Path, seed: int, is_tumour: bool) -> None:
    """Put variants into the reads, and align them."""
    tool, program = HERE / "tools" / "spike_reads.py", Path(sys.executable).with_name("readwarp")
    shares = ("--shares", OF_TUMOURS) if is_tumour else ()
    subprocess.run([sys.executable, tool, source, made, reference, "--seed", str(seed), *shares], check=True)
    job = ["align", reference, f"{made}_1.fq.gz", f"{made}_2.fq.gz", "-R", r"@RG\tID:s1\tSM:s1", "--sort", "coordinate"]
    subprocess.run([program, *job, "-o", f"{made}.bam", "-q", "-t", "2", "-f"], check=True)
    subprocess.run(["samtools", "index", f"{made}.bam"], check=True)


def own_variants(source: Path, reference: Path, made: Path) -> set[Cell]:
    """Alleles on 30 % or more of the reads as they are, by readwarp or freebayes."""
    found = set[Cell]()
    for tool, line in (
        ("call", f"{Path(sys.executable).with_name('readwarp')} call {reference} {source} --ploidy 2 -q -f -o"),
        ("freebayes", f"freebayes -f {reference} --pooled-continuous -F 0.3 {source} >"),
    ):
        output = Path(f"{made}.own.{tool}.vcf")
        subprocess.run(["bash", "-c", f"{line} {output}"], check=True)
        found |= cells_of(output, reference, True).keys()
    return found


def covered(alignments: Path, least: int = 20) -> int:
    """Bases with so many reads."""
    line = f"samtools depth {alignments} | awk '$3 >= {least}' | wc -l"
    return int(subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout)


def compared(options: argparse.Namespace) -> list[Row]:
    name, reference, alignments, truth, own = make_set(options)
    known, rows = shares_of(truth, reference), list[Row]()
    total, bases = Counter(known.values()), covered(alignments)
    for tool in options.tools.split(","):
        output = truth.with_suffix(f".{options.depth}.{tool}.vcf")
        line = command(tool, reference, alignments, output)
        if tool == "call":
            measured(line)
        used = measured(line)
        calls = {cell: call for cell, call in cells_of(output, reference, True).items() if cell not in own}
        kept = taken(tool, calls, {cell: Called(1, 0.0, True) for cell in known})
        hits = Counter(known[cell] for cell in kept if cell in known)
        values = [f"{hits[share]}/{total[share]}" for share in SHARES]
        found = sum(hits.values())
        what = name, options.seed, options.depth, bases, tool, version("readwarp" if tool == "call" else tool)
        row = (*circumstances(), *what, used.cpu_seconds, used.peak_mb, *values, len(known), found, len(kept) - found)
        rows.append(dict(zip(COLUMNS, row, strict=True)))
        show(rows[-1])
    return rows


def main() -> None:
    pysam.set_verbosity(0)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("kind", choices=("made", "spiked", "tumour"))
    parser.add_argument("source", nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--depth", type=int, default=DEPTH)
    parser.add_argument("--tools", default=",".join(TOOLS), help="[%(default)s]")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    append(compared(options), RESULTS, COLUMNS)


if __name__ == "__main__":
    main()
