"""What one thread has to do alone, by read and by called base: serial.py [FOLDER] [--threads 2] [--commands run]

Reads of chromosome 20 (10 Mb, 15x, prepare.py; in FOLDER, or a temporary one) as FASTQ.gz go through `readwarp align`,
`run` (sorted, marked, called) and `call`. Each command runs on few of them too, and the difference is what counts, so
that the start costs nothing. Of each thread the CPU time is measured (tools/thread_times.py). `interpreter` is the time
for which any thread holds Python's lock, by samples of py-spy (pip install py-spy), so this wants a quiet machine.

Threads of pools (workers, sort, mark, bgzf) share their work, so more cores make it faster. What is left are lanes
that go side by side: the reader, a decompressor for each file, the main thread, which writes, the interpreter, and
programs that are called. With s, the share of the longest lane in all CPU time, Amdahl's law (1967) allows on n cores
a speed-up of 1 / (s + (1 - s) / n). That takes the lane to stand alone; if all others work beside it, n cores are
as fast as min(n, 1 / s).

Appends to results/serial.csv. The last line is JSON: the speed-up that the law allows on 32 cores for each command.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pysam

import prepare
from measure import CIRCUMSTANCES, Row, append, circumstances, show
from run import first_records

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "serial.csv"
COLUMNS = (*CIRCUMSTANCES, "command", "threads", "lane", "microseconds", "per")
POOLS = ("readwarp worker", "sort", "mark", "prepare", "bgzf")
COMMANDS = ("align", "run", "call")
CORES, RATE = 32, 500  # samples a second
FEW = 40_000  # reads of a file, in the smaller run
FEW_BASES = 500_000  # called in the smaller run
Lanes = Counter[str]  # seconds


def lanes_of(arguments: list[str], threads: int, scratch: Path) -> Lanes:
    """Run a command: CPU seconds of each lane, of the pools together, and of `all`."""
    times, samples = scratch / "times.json", scratch / "samples.txt"
    program = [sys.executable, str(HERE / "tools" / "thread_times.py"), str(times), *arguments]
    options = ["-q", "-f", "--device", "cpu", "-t", str(threads)]
    spy = ["py-spy", "record", "--gil", "--nonblocking", "-r", str(RATE), "-f", "raw", "-o", str(samples), "--"]
    subprocess.run([*spy, *program, *options], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    measured = json.loads(times.read_text())
    lanes: Lanes = Counter()
    for name, seconds in measured["threads"].items():
        pool = re.sub(r"_\d+$", "", name)
        lanes["pools" if pool in POOLS else pool] += seconds
    lanes["programs"] = measured["children"]
    lanes["interpreter"] = sum(int(line.rsplit(" ", 1)[1]) for line in samples.read_text().splitlines()) / RATE
    lanes["all"] = measured["process"] + measured["children"]
    return lanes


def speed_up(lanes: Lanes) -> float:
    """That Amdahl's law allows on CORES."""
    serial = max(seconds for lane, seconds in lanes.items() if lane not in ("pools", "all")) / lanes["all"]
    return 1 / (serial + (1 - serial) / CORES)


def commands(reference: Path, reads: list[Path], few: list[Path], folder: Path) -> dict[str, tuple[list[str], ...]]:
    """Each command on all the reads and on few."""
    group = ["-R", r"@RG\tID:1\tSM:sample"]
    out, alignments = str(folder / "out.bam"), str(folder / "run" / "sample.bam")
    return {
        "align": tuple(["align", str(reference), *map(str, given), *group, "-o", out] for given in (reads, few)),
        "run": tuple(
            ["run", str(reference), *map(str, given), *group, "-o", str(folder / name)]
            for given, name in ((reads, "run"), (few, "few"))
        ),
        "call": tuple(
            ["call", str(reference), alignments, "-o", str(folder / "out.vcf.gz"), *region]
            for region in ([], ["-r", f"chr20:1-{FEW_BASES}"])
        ),
    }


def compressed(path: Path) -> Path:
    packed = Path(f"{path}.gz")
    if not packed.exists():
        with packed.open("wb") as out:
            subprocess.run(["gzip", "-c", path], stdout=out, check=True)
    return packed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--commands", nargs="+", choices=COMMANDS, default=COMMANDS, help="call needs the BAM file of run"
    )
    options = parser.parse_args()
    rows: list[Row] = []
    allowed = {}
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder = options.folder or scratch
        folder.mkdir(parents=True, exist_ok=True)
        plain = [folder / f"chr20x15_{mate}.fq" for mate in (1, 2)]
        if not plain[0].exists():
            prepare.SETS["chr20x15"](folder)
        number = sum(1 for _ in plain[0].open("rb")) // 2
        few = [compressed(first_records(path, scratch, FEW)) for path in plain]
        with pysam.FastaFile(str(folder / "chr20.fa")) as fasta:
            bases = sum(fasta.lengths)
        made = commands(folder / "chr20.fa", [compressed(path) for path in plain], few, scratch)
        for name in options.commands:
            whole, part = made[name]
            lanes_of(part, options.threads, scratch)  # compiles, and builds the index
            first, second = (lanes_of(arguments, options.threads, scratch) for arguments in (part, whole))
            size = bases - FEW_BASES if name == "call" else number - 2 * FEW
            lanes = Counter({lane: max(0.0, seconds - first[lane]) for lane, seconds in second.items()})
            allowed[name] = round(speed_up(lanes), 1)
            for lane, seconds in sorted(lanes.items(), key=lambda item: -item[1]):
                cost = {"lane": lane, "microseconds": round(1e6 * seconds / size, 4)}
                row = {"command": name, "threads": options.threads, **cost, "per": "base" if name == "call" else "read"}
                rows.append(dict(zip(CIRCUMSTANCES, circumstances(), strict=True)) | row)
                show(rows[-1])
    append(rows, RESULTS, COLUMNS)
    print(json.dumps(allowed))


if __name__ == "__main__":
    main()
