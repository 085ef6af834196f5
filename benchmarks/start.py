"""The time of small jobs, most of which is starting: readwarp beside tools in C.

    start.py [--repeats 5] [--reference REF.fa --alignments BAM --region CHR:START-STOP]    appends to results/start.csv

align: phiX, 45 pairs. call: 2 kb of a BAM file, by default of the one that `run` makes. run: the README's example with
its report. The first run of each, which may compile, is not counted, and the tools take turns. A row has the medians.
"cold" jobs have no compiled kernels: a first run on a new machine.
Python's bytecode is kept, as it is of an installed package.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path
from shlex import quote
from statistics import median

from measure import CIRCUMSTANCES, Row, Usage, append, circumstances, measured, show, version

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "start.csv"
COLUMNS = (*CIRCUMSTANCES, "job", "tool", "version", "repeats", "cpu_seconds", "seconds", "peak_mb")
ODD, NA12878 = ROOT / "test_data" / "odd", ROOT / "test_data" / "na12878_chr21"
QUIET = ">/dev/null 2>&1"


def commands(options: argparse.Namespace, folder: Path) -> dict[tuple[str, str], str]:
    """Of each job and tool. References are copied to the folder, since their indexes are written beside them."""
    phix, genome = (Path(shutil.copy(path, folder)) for path in (ODD / "phix.fasta", NA12878 / "ref.fa"))
    pairs, reads = f"{ODD}/phix.1.fastq {ODD}/phix.2.fastq", f"{NA12878}/reads_1.fq.gz {NA12878}/reads_2.fq.gz"
    results, readwarp = folder / "results", f"{quote(sys.executable)} -m readwarp"
    reference, alignments = options.reference or genome, options.alignments or results / "reads.bam"
    made = {
        ("run", "readwarp"): f"{readwarp} run {genome} {reads} -o {results} --force {QUIET}",
        ("align", "readwarp"): f"{readwarp} align {phix} {pairs} -o {folder}/phix.bam --force {QUIET}",
        ("align", "minimap2"): f"minimap2 -ax sr {phix} {pairs} {QUIET}",
        ("call", "readwarp"): f"{readwarp} call {reference} {alignments} -r {options.region} "
        f"-o {folder}/calls.vcf.gz --force {QUIET}",
        ("call", "bcftools"): f"bcftools mpileup -f {reference} -r {options.region} {alignments} 2>/dev/null "
        f"| bcftools call -mv -Oz -o {folder}/peer.vcf.gz {QUIET}",
    }
    empty = f"rm -rf {folder}/kernels; READWARP_CACHE={folder}/kernels"
    cold = {(f"cold {job}", tool): f"{empty} {text}" for (job, tool), text in made.items() if tool == "readwarp"}
    return made | cold


def row_of(job: str, tool: str, usages: list[Usage]) -> Row:
    figures = {name: round(median(getattr(usage, name) for usage in usages), 2) for name in Usage.__annotations__}
    return {
        **dict(zip(CIRCUMSTANCES, circumstances(), strict=True)),
        "job": job,
        "tool": tool,
        "version": version(tool),
        "repeats": len(usages),
        **figures,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--reference", type=Path, help="of --alignments")
    parser.add_argument("--alignments", type=Path)
    parser.add_argument("--region", default="chr21part:100001-102000")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = f"{name}/bytecode"
        todo = commands(options, Path(name))
        usages: dict[tuple[str, str], list[Usage]] = {key: [] for key in todo}
        for repeat in range(options.repeats + 1):
            for key, command in todo.items():
                usage = measured(command)
                if repeat:
                    usages[key].append(usage)
    rows = [row_of(*key, found) for key, found in usages.items()]
    for row in rows:
        show(row)
    append(rows, RESULTS, COLUMNS)


if __name__ == "__main__":
    main()
