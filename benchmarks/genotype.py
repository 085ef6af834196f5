"""Joint genotyping of a cohort of read subsets of one person, whose variants are known.

    genotype.py NAME REF.fa ALIGNMENTS.bam TRUTH.vcf --bed CONFIDENT.bed [--samples 10] [--fraction 0.2] [--copies 3]

Each sample is another random part of the reads; its gVCF and VCF are made once in --folder. `readwarp genotype` on
these gVCFs also compiles what is not compiled yet, and gives the mean F1 over samples of the calls that pass
(tools/call_accuracy.py), to compare with the samples' own VCFs. Then readwarp with one and two threads and
`bcftools merge --gvcf` take each gVCF `--copies` times, under other names, so that there is enough to measure: wall
time, processor time and peak memory. Rows go to results/genotype.csv.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from measure import CIRCUMSTANCES, Row, append, circumstances, measured, show, version

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "genotype.csv"
READWARP = f"{sys.executable} -m readwarp"
COLUMNS = (
    *(*CIRCUMSTANCES, "set", "tool", "version", "threads", "samples", "input_mb", "seconds", "cpu_seconds", "peak_mb"),
    *("snv_f1", "indel_f1", "own_snv_f1", "own_indel_f1"),
)


def sampled(options: argparse.Namespace, number: int) -> tuple[Path, Path]:
    """The gVCF and VCF of a part of the reads; the number is the seed."""
    base = options.folder / f"{options.name}.{options.fraction}.{number}"
    bam, gvcf, vcf = (base.with_name(f"{base.name}.{ending}") for ending in ("bam", "g.vcf.gz", "vcf.gz"))
    if not vcf.exists():
        part = f"samtools view -b -s {number + options.fraction} {options.alignments}"
        shell(f"{part} | samtools addreplacerg -r ID:s{number} -r SM:s{number} -m overwrite_all -o {bam} -")
        shell(f"samtools index {bam}")
        for output, more in ((gvcf, "--gvcf"), (vcf, "")):
            shell(f"{READWARP} call {options.reference} {bam} {more} -q -f --device cpu -o {output}")
    return gvcf, vcf


def copied(gvcfs: Sequence[Path], copies: int, folder: Path) -> list[Path]:
    """Copies of each file, under other names of its sample."""
    out = list(gvcfs)
    for copy in range(1, copies):
        for number, gvcf in enumerate(gvcfs):
            out.append(folder / f"{copy}_{number}.g.vcf.gz")
            name = folder / "name.txt"
            name.write_text(f"copy{copy}_{number}\n")
            shell(f"bcftools reheader -s {name} -o {out[-1]} {gvcf} && bcftools index -t {out[-1]}")
    return out


def accuracy(options: argparse.Namespace, calls: Sequence[Path]) -> dict[str, float]:
    """Mean F1 of the passing calls of single-sample files."""
    total = {"snv_f1": 0.0, "indel_f1": 0.0}
    tool = HERE / "tools" / "call_accuracy.py"
    for path in calls:
        arguments = [tool, options.truth, path, options.reference, "--bed", options.bed]
        found = subprocess.run([sys.executable, *map(str, arguments)], check=True, capture_output=True, text=True)
        for kind in ("snv", "indel"):
            total[f"{kind}_f1"] += json.loads(found.stdout)[kind]["f1"] / len(calls)
    return {name: round(value, 4) for name, value in total.items()}


def split(cohort: Path, samples: int, folder: Path) -> list[Path]:
    """The calls of each of the first samples, in files of their own."""
    out = [folder / f"s{number}.vcf" for number in range(samples)]
    for number, path in enumerate(out):
        shell(f"bcftools view -a -c 1 -s s{number} -o {path} {cohort}")
    return out


def rows(options: argparse.Namespace, folder: Path) -> list[Row]:
    made = [sampled(options, number) for number in range(options.samples)]
    inputs = copied([gvcf for gvcf, _ in made], options.copies, folder)
    size = round(sum(path.stat().st_size for path in inputs) / 1e6, 1)
    files, output, out = " ".join(map(str, inputs)), folder / "cohort.vcf.gz", []

    def row(tool: str, threads: int, command: str, scores: dict[str, float]) -> None:
        used = measured(command)
        what = (
            options.name,
            tool,
            version(tool),
            threads,
            len(inputs),
            size,
            used.seconds,
            used.cpu_seconds,
            used.peak_mb,
        )
        out.append(dict(zip(COLUMNS, (*circumstances(), *what), strict=False)) | scores)
        show(out[-1])

    genotype = f"{READWARP} genotype {options.reference} {files} -q -f -o {output}"
    shell(f"{READWARP} genotype {options.reference} {' '.join(str(gvcf) for gvcf, _ in made)} -q -f -o {output}")
    own = accuracy(options, [vcf for _, vcf in made])
    joint = accuracy(options, split(output, options.samples, folder))
    both = joint | {f"own_{name}": value for name, value in own.items()}
    for threads in (1, 2):
        row("readwarp", threads, f"{genotype} -t {threads}", both)
    row("bcftools", 1, f"bcftools merge --gvcf {options.reference} {files} -Oz -o {folder}/merged.vcf.gz", {})
    return out


def shell(command: str) -> None:
    subprocess.run(["bash", "-euo", "pipefail", "-c", command], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="name of the set, for the table")
    for path in ("reference", "alignments", "truth"):
        parser.add_argument(path, type=Path)
    parser.add_argument("--bed", type=Path, required=True)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--fraction", type=float, default=0.2, help="share of the reads in each sample [%(default)s]")
    parser.add_argument("--copies", type=int, default=3, help="copies of each gVCF [%(default)s]")
    parser.add_argument("--folder", type=Path, default=Path("cohort"), help="[%(default)s]")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        append(rows(options, Path(folder)), RESULTS, COLUMNS)


if __name__ == "__main__":
    main()
