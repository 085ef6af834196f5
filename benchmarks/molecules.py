"""Errors per base before and after `readwarp consensus`, on simulated molecules: molecules.py [--seed N]

tools/molecule_reads.py makes the reads, of a random reference. What is compared with the molecule's own sequence, by
MI: the reads themselves, their consensus by strand, and that of both strands.

    errors    bases that differ from the molecule, of a million that are called
    no_calls  bases that are N, per cent
    cpu_s     of `readwarp consensus`, with reading and writing, without compiling
    mb_per_s  millions of bases of the input by second of CPU time
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pysam

import measure

RESULTS = Path(__file__).parent / "results" / "molecules.csv"
FIGURES = ("molecules", "seed", "set", "reads", "bases", "errors", "no_calls", "cpu_s", "mb_per_s")
COLUMNS = (*measure.CIRCUMSTANCES, *FIGURES)
TOOL = Path(__file__).parent / "tools" / "molecule_reads.py"
REFERENCE = 20_000  # bases
SETS = {  # name -> options
    "reads": None,
    "strands": "",
    "strands, 3 reads": "--min-reads 3",
    "duplex, one strand or both": "--duplex --min-reads 1,1,0",
    "duplex": "--duplex --min-reads 2,1,1",
    "duplex, strands agree": "--duplex --min-reads 2,1,1 --require-single-strand-agreement",
    "duplex, 3 reads each": "--duplex --min-reads 6,3,3",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--append", action="store_true", help="add the rows to results/molecules.csv")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = list(rows_of(Path(name), options))
    if options.append:
        measure.append(rows, RESULTS, COLUMNS)


def rows_of(folder: Path, options: argparse.Namespace) -> Iterator[measure.Row]:
    letters = np.random.default_rng(options.seed).choice(list("ACGT"), REFERENCE)
    (folder / "ref.fa").write_text(f">panel\n{''.join(letters)}\n")
    made = [sys.executable, TOOL, folder / "ref.fa", folder / "in", "--truth-fasta"]
    subprocess.run([*made, "--molecules", str(options.molecules), "--seed", str(options.seed)], check=True)
    with pysam.FastxFile(str(folder / "in.molecules.fa")) as file:
        truth = {entry.name: entry.sequence for entry in file}
    for name, given in SETS.items():
        path, cost = folder / "in.bam", {}
        if given is not None:
            path = folder / "out.bam"
            command = f"{sys.executable} -m readwarp consensus {folder}/in.bam -o {path} -f -q -t 1 {given}"
            subprocess.run(command, shell=True, check=True)  # compiles what is missing
            usage = measure.measured(f"{command} --metrics {folder}/m.json")
            bases = json.loads((folder / "m.json").read_text())["counts"]["bases"]
            cost = {"cpu_s": round(usage.cpu_seconds, 2), "mb_per_s": round(bases / usage.cpu_seconds / 1e6, 1)}
        row = {**dict(zip(measure.CIRCUMSTANCES, measure.circumstances(), strict=True)), "set": name}
        row |= {"molecules": options.molecules, "seed": options.seed, **compare(path, truth), **cost}
        measure.show(row)
        yield row


def compare(path: Path, truth: dict[str, str]) -> dict[str, object]:
    """Bases of all records against their molecules."""
    reads = bases = wrong = masked = 0
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        for record in file:
            sequence = record.get_forward_sequence()
            molecule, _, strand = record.get_tag("MI").partition("/")
            is_left = record.is_read1 != (strand == "B")
            true = truth[molecule]
            if not strand and not is_as(sequence, true, is_left):
                is_left = not is_left  # of a duplex whose strand A has no reads
            if not is_left:
                true = true[::-1].translate(COMPLEMENT)
            read, expected = (np.frombuffer(text[: len(sequence)].encode(), np.uint8) for text in (sequence, true))
            called = read != ord("N")
            reads, bases, wrong = reads + 1, bases + called.sum(), wrong + (called & (read != expected)).sum()
            masked += read.size - called.sum()
    share = 100 * masked / (bases + masked)
    return {
        "reads": reads,
        "bases": int(bases),
        "errors": float(f"{1e6 * wrong / bases:.3g}"),
        "no_calls": round(float(share), 2),
    }


COMPLEMENT = str.maketrans("ACGT", "TGCA")


def is_as(sequence: str, true: str, is_left: bool) -> bool:
    """Whether the read is of this end: half of its bases fit."""
    true = true if is_left else true[::-1].translate(COMPLEMENT)
    return 2 * sum(a == b for a, b in zip(sequence, true, strict=False)) > len(sequence)


if __name__ == "__main__":
    main()
