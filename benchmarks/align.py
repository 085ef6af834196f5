"""Reads to SAM with readwarp and its peers in one run: CPU time, memory and, on simulated reads, accuracy.

    align.py REF.fa READS_1.fq READS_2.fq [-t THREADS] [--pairs N] [--peers minimap2,bwa,snap,...] [--repeats N]

Every tool maps plain FASTQ to SAM with an index built beforehand (minimap2 for short reads: `-x sr` with a `.mmi`). A
run on the first pairs compiles the kernels beforehand. The tools take turns, and of `--repeats` runs the one with the
least CPU time counts. Reads named by tools/simulate_diploid.py are scored by tools/map_accuracy.py. Appends to
results/align.csv and prints a table.
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from measure import CIRCUMSTANCES, Row, Usage, append, circumstances, measured, show, version

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "align.csv"
ACCURACY = ("correct", "wrong_q20", "placed_q20", "proper")
COLUMNS = (
    *(*CIRCUMSTANCES, "reference", "reads", "tool", "version", "threads"),
    *("seconds", "cpu_seconds", "reads_per_second", "peak_mb", *ACCURACY),
)


class Peer(NamedTuple):
    """Shell commands of a tool, with {ref}, {index}, {threads} and {reads} to fill in."""

    program: str
    index: str
    map: str
    version: str = "--version"  # the argument that makes it tell its version


PEERS = {
    "minimap2": Peer("minimap2", "minimap2 -x sr -d {index} {ref}", "minimap2 -ax sr -t {threads} {index} {reads}"),
    "bwa": Peer("bwa", "bwa index -p {index} {ref}", "bwa mem -t {threads} {index} {reads}", ""),
    "bwa-mem2": Peer(
        *("bwa-mem2", "bwa-mem2 index -p {index} {ref}"),
        *("bwa-mem2 mem -t {threads} {index} {reads}", "version"),
    ),
    "minibwa": Peer("minibwa", "minibwa index {ref} {index}", "minibwa map -t {threads} {index} {reads}", "version"),
    "snap": Peer(
        *("snap-aligner", "snap-aligner index {ref} {index} -t{threads}"),
        *("snap-aligner paired {index} {reads} -t {threads} -o -sam -", ""),
    ),
    "strobealign": Peer(  # its index lies beside the reference
        *("strobealign", "ln -s $(realpath {ref}) {index} && strobealign --create-index -r 150 {index}"),
        "strobealign --use-index -r 150 -t {threads} {index} {reads}",
    ),
}


def readwarp_on(reference: Path, threads: str) -> Peer:
    program = Path(sys.executable).with_name("readwarp")
    index = f"{program} index -t {{threads}} {{ref}}"
    if Path(f"{reference}.rwx").exists():
        index = "true"
    return Peer("readwarp", index, f"{program} align -q -t {{threads}} --device cpu {{ref}} {{reads}}")


def first_pairs(path: Path, pairs: int, folder: Path) -> Path:
    """Copy the first records of a FASTQ file."""
    copy = folder / f"{pairs}.{path.name}"
    with path.open("rb") as reads, copy.open("wb") as out:
        out.writelines(itertools.islice(reads, 4 * pairs))
    return copy


def accuracy(sam: Path) -> dict[str, float]:
    """The accuracy of reads named by the simulator; nothing for others."""
    told = subprocess.run([sys.executable, HERE / "tools" / "map_accuracy.py", sam], capture_output=True, text=True)
    found = json.loads(told.stdout) if told.returncode == 0 else {}
    return {key: found.get(key, "") for key in ACCURACY}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path)
    parser.add_argument("reads", type=Path, nargs=2)
    parser.add_argument("-t", "--threads", default="2")
    parser.add_argument("--pairs", type=int, help="only the first N pairs")
    parser.add_argument("--peers", default="minimap2", help=", ".join(PEERS))
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    tools = {"readwarp": readwarp_on(options.reference, options.threads)}
    tools |= {name: PEERS[name] for name in options.peers.split(",")}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reads = [first_pairs(path, options.pairs, folder) if options.pairs else path for path in options.reads]
        few = [first_pairs(path, 2000, folder) for path in options.reads]

        def run(tool: str, command: str, given: list[Path]) -> Usage:
            values = {"ref": options.reference, "index": folder / f"{tool}.fa", "threads": options.threads}
            filled = command.format(**values, reads=f"{given[0]} {given[1]}")
            return measured(f"{filled} > {folder / tool}.sam 2> {folder / tool}.log")

        for tool, peer in tools.items():
            run(tool, peer.index, few)
        run("readwarp", tools["readwarp"].map, few)
        number = 2 * sum(1 for _ in reads[0].open("rb")) // 4
        runs: dict[str, list[Usage]] = {tool: [] for tool in tools}
        for _ in range(options.repeats):
            for tool, peer in tools.items():
                runs[tool].append(run(tool, peer.map, reads))
        rows = list[Row]()
        for tool, peer in tools.items():
            used = min(runs[tool], key=lambda usage: usage.cpu_seconds)
            rows.append({
                **dict(zip(CIRCUMSTANCES, circumstances(), strict=True)),
                **{"reference": options.reference.name, "reads": number, "tool": tool},
                **{"version": version(peer.program, peer.version), "threads": options.threads, **asdict(used)},
                "reads_per_second": round(number / used.seconds), **accuracy(folder / f"{tool}.sam"),
            })  # fmt: skip
            show(rows[-1])
    append(rows, RESULTS, COLUMNS)


if __name__ == "__main__":
    main()
