"""Run the workflow, and read its results."""

import os
import subprocess
import sys
from pathlib import Path

import pysam

ROOT = Path(__file__).resolve().parents[2]
READS = ROOT / "test_data" / "na12878_chr21"
OTHER = ROOT / "benchmarks" / "data" / "na12878_chr20"
HEAD = "sample\tunit\treads_1\treads_2\tlibrary\n"


def unit(sample: str, name: str, folder: Path, library: str = "a") -> str:
    """A line of units.tsv."""
    return f"{sample}\t{name}\t{folder}/reads_1.fq.gz\t{folder}/reads_2.fq.gz\t{library}\n"


def snakemake(
    folder: Path, *options: object, check: bool = True, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Run Snakemake in that folder; its messages are in stdout."""
    workflow = "--snakefile", folder / "workflow" / "Snakefile"
    surroundings = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--directory", folder, *workflow, *map(str, options)],
        cwd=folder,
        env=surroundings | environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0 or not check, done.stdout[-4000:]
    return done


def records(path: Path) -> list[str]:
    """The lines of a BAM file, without its header."""
    with pysam.AlignmentFile(str(path)) as file:
        return [record.to_string() for record in file]
