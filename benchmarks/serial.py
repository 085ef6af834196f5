"""What one thread has to do alone, by read and by called base: serial.py [FOLDER] [--commands call] [--rounds 5]

Reads of chromosome 20 (10 Mb, 15x, prepare.py; in FOLDER, or a temporary one) as FASTQ.gz go through `readwarp align`,
`run` (sorted, marked, called) and `call`. The FASTQ is in blocks (BGZF), as Illumina's programs write it; with --gzip
it is one stream, which one thread has to decompress. Each command runs on few of the reads too, in the same process,
and the difference is what counts, so that the start costs nothing. Of each thread the CPU time is measured
(tools/thread_times.py). `interpreter` is the time for which any thread holds Python's lock, by samples of py-spy (pip
install py-spy), less the share of it that threads wait for a core (schedstat). Still, a quiet machine is better, and
more rounds where a lane is short: with processes, `call` has some 10 ms in 9.5 Mb.

A job is planned as on 32 cores (--plan-for), with large batches and with processes instead of threads where that is so,
but only --threads of them work, since 32 would take turns on a small machine, and hold Python's lock meanwhile.

Threads of pools (workers, sort, mark, bgzf, index) share their work, so more cores make it faster. So do worker
processes: each is one thread, and its lock of Python is its own. What is left are lanes that go side by side: in the
first process the reader, a thread for each file that is read, the main thread, the writer, and the interpreter; and
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
from itertools import chain, count
from pathlib import Path
from typing import Any

import pysam

import prepare
from measure import CIRCUMSTANCES, Row, append, circumstances, show
from run import first_records

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "serial.csv"
COLUMNS = (*CIRCUMSTANCES, "command", "threads", "lane", "microseconds", "per")
POOLS = ("readwarp worker", "sort", "mark", "prepare", "bgzf", "index")
FILE = "readwarp file"  # the name of a thread that reads one begins so
SHARED = ("pools", "processes", "all")  # no lanes
CORES, RATE = 32, 2000  # samples a second
COMMANDS = ("align", "run", "call")
FEW = 40_000  # reads of a file, in the smaller run
FEW_BASES = 500_000  # called in the smaller run
Lanes = Counter[str]  # seconds


def lanes_of(runs: tuple[list[str], ...], options: argparse.Namespace, scratch: Path) -> Lanes:
    """CPU seconds that a command takes for all beyond those for a part, of each lane and of `all`.

    Of each lane the least of the rounds counts, as what disturbs only adds; of the interpreter all samples.
    """
    times, samples = scratch / "times.json", scratch / "samples.txt"
    given = ["-q", "-f", "--device", "cpu", "-t", str(options.threads)]
    whole, part = ([*arguments, *given] for arguments in runs)
    settings = [str(times), str(options.plan_for), str(options.rounds)]
    spy = ["py-spy", "record", "--gil", "--threads", "--nonblocking", "-r", str(RATE), "-f", "raw", "-o", str(samples)]
    program = [sys.executable, str(HERE / "tools" / "thread_times.py"), *settings, *part, "---", *whole]
    subprocess.run([*spy, "--", *program], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lanes: Lanes = Counter()
    for phase, measured in json.loads(times.read_text()).items():
        sign = 1 if phase == "whole" else -1
        rounds = [summed(each) for each in measured]
        for lane in rounds[0]:
            lanes[lane] += sign * min(each[lane] for each in rounds)
        lanes["interpreter"] += sign * held(sampled(samples.read_text(), phase), measured) / len(rounds)
    return Counter({lane: max(0.0, seconds) for lane, seconds in lanes.items()})


def summed(measured: dict[str, Any]) -> Lanes:
    """The lanes of one run: threads of pools are one, so are worker processes; those of files are counted."""
    lanes: Lanes = Counter()
    for name, (seconds, _) in sorted(measured["threads"].items(), key=lambda item: (len(item[0]), item[0])):
        pool = pool_of(name)
        if pool == FILE:
            pool = next(own for number in count(1) if (own := f"{FILE} {number}") not in lanes)
        lanes["pools" if pool in POOLS else pool] += seconds
    lanes["processes"], lanes["programs"] = measured["workers"], measured["programs"]
    lanes["all"] = sum(measured[name] for name in ("process", "workers", "programs"))
    return lanes


def pool_of(thread: str) -> str:
    """Its name without a file's, and without a number, which a thread of a pool has at its end."""
    return re.sub(rf"(?<=^{FILE}) .*|_\d+$", "", thread)


def sampled(samples: str, phase: str) -> Lanes:
    """Seconds for which threads of a name held Python's lock. samples: a stack and a number in each line."""
    names = rf"{phase} ([^;\n]*)|MainThread;.*;{phase} \(thread_times\.py:"
    own = re.compile(rf"^thread \([^)]*\): (?:{names}).* (\d+)$", re.MULTILINE)
    seconds: Lanes = Counter()
    for thread, number in own.findall(samples):
        seconds[pool_of(thread) or "main"] += int(number) / RATE
    return seconds


def held(seconds: Lanes, measured: list[dict[str, Any]]) -> float:
    """Those of `sampled`, without the share in which threads of a name had no core."""
    works, waits = Lanes(), Lanes()
    for name, (worked, waited) in chain.from_iterable(each["threads"].items() for each in measured):
        works[pool_of(name)] += worked
        waits[pool_of(name)] += waited
    return sum(min(works[name], own * works[name] / (works[name] + waits[name])) for name, own in seconds.items())


def speed_up(lanes: Lanes) -> float:
    """That Amdahl's law allows on CORES."""
    serial = max(seconds for lane, seconds in lanes.items() if lane not in SHARED) / lanes["all"]
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


def align(arguments: list[str], bam: Path) -> None:
    """The alignments that `run` would have left, for `call`."""
    bam.parent.mkdir()
    command = [sys.executable, "-m", "readwarp", *arguments[:-1], str(bam), "--sort", "coordinate", "--mark-duplicates"]
    subprocess.run([*command, "--write-index", "-q"], check=True)


def compressed(path: Path, in_blocks: bool) -> Path:
    packed = Path(f"{path}.bgzf.gz" if in_blocks else f"{path}.gz")
    if packed.exists():
        return packed
    if in_blocks:
        pysam.tabix_compress(str(path), str(packed))
    else:
        with packed.open("wb") as out:
            subprocess.run(["gzip", "-c", path], stdout=out, check=True)
    return packed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--plan-for", type=int, default=CORES, metavar="CORES", help="0: for --threads")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=COMMANDS)
    parser.add_argument("--gzip", action="store_true")
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
        few = [compressed(first_records(path, scratch, FEW), not options.gzip) for path in plain]
        with pysam.FastaFile(str(folder / "chr20.fa")) as fasta:
            bases = sum(fasta.lengths)
        made = commands(folder / "chr20.fa", [compressed(path, not options.gzip) for path in plain], few, scratch)
        for name in options.commands:
            if name == "call" and not (scratch / "run").exists():
                align(made["align"][0], scratch / "run" / "sample.bam")
            lanes = lanes_of(made[name], options, scratch)
            size = bases - FEW_BASES if name == "call" else number - 2 * FEW
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
