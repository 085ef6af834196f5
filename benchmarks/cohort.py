"""Time and memory of `readwarp genotype` for cohorts of many gVCFs, and what a target costs.

    cohort.py NAME REF.fa SAMPLE.g.vcf.gz [--copies 1000] [--targets 2000] [--folder FOLDER]

The gVCF is copied under other names of its sample. Runs, with one thread: the whole file; `-L` with so many targets of
20 bases, spread evenly; the same while the system allows 256 open files only.
Each beside one copy alone. Rows go to results/cohort.csv.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import pysam

from measure import CIRCUMSTANCES, Row, append, circumstances, measured, show, version

RESULTS = Path(__file__).resolve().parent / "results" / "cohort.csv"
COLUMNS = (*CIRCUMSTANCES, "set", "version", "files", "targets", "open_files", "seconds", "cpu_seconds", "peak_mb")
READWARP = f"{sys.executable} -m readwarp"
LIMIT = 256  # open files


def copied(gvcf: Path, copies: int, folder: Path) -> Path:
    """A list of copies, each with its index, under other names of the sample."""
    folder.mkdir(parents=True, exist_ok=True)
    with pysam.BGZFile(str(gvcf)) as file:
        text = file.read().decode()
    before, after = text.split("\tFORMAT\t", 1)
    _, rest = after.split("\n", 1)
    paths = [folder / f"s{number}.g.vcf.gz" for number in range(copies)]
    for number, path in enumerate(paths):
        if not path.with_name(path.name + ".tbi").exists():
            with pysam.BGZFile(str(path), "wb") as out:
                out.write(f"{before}\tFORMAT\ts{number}\n{rest}".encode())
            pysam.tabix_index(str(path), preset="vcf", force=True)
    names = folder / f"{copies}.txt"
    names.write_text("".join(f"{path}\n" for path in paths))
    return names


def targets_of(reference: Path, number: int, folder: Path) -> Path:
    with pysam.FastaFile(str(reference)) as fasta:
        name = max(fasta.references, key=fasta.get_reference_length)
        length = fasta.get_reference_length(name)
    path = folder / f"{number}.bed"
    starts = (i * (length - 20) // number for i in range(number))
    path.write_text("".join(f"{name}\t{start}\t{start + 20}\n" for start in starts))
    return path


def row(options: argparse.Namespace, files: int, targets: int, limit: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        names = copied(options.gvcf, files, options.folder)
        command = f"{READWARP} genotype {options.reference} --list {names} -t 1 -q -o {folder}/out.vcf.gz"
        if targets:
            command += f" -L {targets_of(options.reference, targets, options.folder)}"
        used = measured(f"ulimit -n {limit}; {command}" if limit else command)
    what = (options.name, version("readwarp"), files, targets, limit, used.seconds, used.cpu_seconds, used.peak_mb)
    out: Row = dict(zip(COLUMNS, (*circumstances(), *what), strict=True))
    show(out)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="name of the set, for the table")
    parser.add_argument("reference", type=Path)
    parser.add_argument("gvcf", type=Path)
    parser.add_argument("--copies", type=int, default=1000, help="[%(default)s]")
    parser.add_argument("--targets", type=int, default=2000, help="[%(default)s]")
    parser.add_argument("--folder", type=Path, default=Path("cohort"), help="[%(default)s]")
    options = parser.parse_args()
    rows = [row(options, files, targets, 0) for targets in (0, options.targets) for files in (1, options.copies)]
    rows.append(row(options, options.copies, options.targets, LIMIT))
    append(rows, RESULTS, COLUMNS)


if __name__ == "__main__":
    main()
