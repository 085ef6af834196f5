"""Does memory grow? The Python interface again and again in one process, and one very long stream of reads.

    soak.py [--minutes 60] [--most 20] [--threads 1]

api     align, call, run with its report, genotype, pairwise and an Aligner, one after the other, for half of the time;
        after each round the memory, open files and threads of the process are looked at
stream  `readwarp align REF -`, which gets reads through a pipe and gives SAM to nobody, for the other half

The first quarter of each half warms up. Of the rest, a line is fitted through the memory (resident set) over time.
Ends with 1 if a line rises by more than --most MB per hour. Rows go to results/soak.csv.
"""

import argparse
import logging
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import readwarp
from measure import CIRCUMSTANCES, append, circumstances, show, version

RESULTS = Path(__file__).resolve().parent / "results" / "soak.csv"
FIGURES = ("what", "version", "threads", "minutes", "rounds", "reads", "first_mb", "last_mb", "mb_per_hour")
COLUMNS = (*CIRCUMSTANCES, *FIGURES, "files", "python_threads")
CONTIG, PAIRS, LENGTH, INSERT = 200_000, 5000, 100, 300
WARM_UP = 0.25  # share of the time
INTERVAL = 2.0  # seconds between two looks at the stream
COMPLEMENT = str.maketrans("ACGT", "TGCA")


class Look(NamedTuple):
    seconds: float
    megabytes: float  # resident
    files: int  # open
    threads: int


def look(started: float, process: int) -> Look:
    folder = Path(f"/proc/{process}")
    lines = (folder / "status").read_text().splitlines()
    facts = {name: rest.split()[0] for name, _, rest in (line.partition(":") for line in lines) if rest.strip()}
    files = len(list((folder / "fd").iterdir()))
    return Look(time.monotonic() - started, int(facts["VmRSS"]) / 1024, files, int(facts["Threads"]))


def make_pairs(sequence: str, number: int, chance: random.Random) -> Iterator[tuple[str, str]]:
    """FASTQ records of both mates, with an error now and then."""
    quality = "F" * LENGTH
    for i in range(number):
        start = chance.randrange(len(sequence) - INSERT)
        fragment = sequence[start : start + INSERT]
        mates = [fragment[:LENGTH], fragment[::-1].translate(COMPLEMENT)[:LENGTH]]
        at = chance.randrange(LENGTH)
        mates = [mate[:at] + chance.choice("ACGT") + mate[at + 1 :] for mate in mates]
        first, last = (f"@p{i}/{side}\n{mate}\n+\n{quality}\n" for side, mate in enumerate(mates, 1))
        yield first, last


def make_files(folder: Path) -> str:
    """ref.fa, s_1.fq, s_2.fq -> the text of all pairs, mates in turn."""
    chance = random.Random(1)
    sequence = "".join(chance.choices("ACGT", k=CONTIG))
    (folder / "ref.fa").write_text(f">one\n{sequence}\n")
    pairs = list(make_pairs(sequence, PAIRS, chance))
    for side in (0, 1):
        (folder / f"s_{side + 1}.fq").write_text("".join(pair[side] for pair in pairs))
    return "".join(map("".join, pairs))


def soak_api(folder: Path, seconds: float, threads: int) -> list[Look]:
    """Rounds of all that the Python interface offers."""
    reference, reads = folder / "ref.fa", [folder / "s_1.fq", folder / "s_2.fq"]
    sequences = reads[0].read_text().splitlines()[1:800:4]
    index, looks, started = readwarp.Index.build(reference), list[Look](), time.monotonic()
    common = {"threads": threads, "force": True, "progress": False}
    while time.monotonic() - started < seconds:
        bam, genomic = folder / "o.bam", folder / "o.g.vcf.gz"
        readwarp.align(
            reference, *reads, output=bam, sort="coordinate", mark_duplicates=True, write_index=True, **common
        )
        readwarp.call(reference, bam, output=genomic, gvcf=True, **common)
        readwarp.genotype(reference, genomic, output=folder / "o.vcf.gz", **common)
        readwarp.run(reference, *reads, output=folder / "out", **common)
        readwarp.pairwise(sequences, sequences[::-1])
        readwarp.Aligner(index).align(sequences)
        looks.append(look(started, os.getpid()))
    return looks


def soak_stream(folder: Path, text: str, seconds: float, threads: int) -> tuple[list[Look], int]:
    """One run that does not end -> looks, reads."""
    command = [sys.executable, "-m", "readwarp", "align", str(folder / "ref.fa"), "-", "-p", "-q", "-t", str(threads)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        stop, looks, started = threading.Event(), list[Look](), time.monotonic()

        def watch() -> None:
            while not stop.wait(INTERVAL):
                looks.append(look(started, process.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        data, reads = text.encode(), 0
        assert process.stdin is not None
        while time.monotonic() - started < seconds:
            process.stdin.write(data)
            reads += 2 * PAIRS
        stop.set()
        watcher.join()
        process.stdin.close()
        if process.wait():
            sys.exit("the stream failed")
    return looks, reads


def rise(looks: list[Look]) -> tuple[float, list[Look]]:
    """Megabytes per hour, and the looks that they are of."""
    late = [each for each in looks if each.seconds >= WARM_UP * looks[-1].seconds]
    slope, _ = np.polyfit([each.seconds for each in late], [each.megabytes for each in late], 1)
    return 3600 * float(slope), late


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--most", type=float, default=20.0, metavar="MB", help="rise per hour that is let pass [20]")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    logging.getLogger("readwarp").setLevel(logging.ERROR)
    rows = []

    def note(what: str, looks: list[Look], rounds: int, reads: int) -> None:
        slope, late = rise(looks)
        first, last = round(late[0].megabytes, 1), round(late[-1].megabytes, 1)
        facts = (
            what,
            version("readwarp"),
            options.threads,
            round(looks[-1].seconds / 60, 1),
            rounds,
            reads,
            first,
            last,
        )
        open_now = looks[-1].files, looks[-1].threads
        rows.append(dict(zip(COLUMNS, (*circumstances(), *facts, round(slope, 2), *open_now), strict=True)))
        show(rows[-1])

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text, seconds = make_files(folder), 30 * options.minutes
        looks = soak_api(folder, seconds, options.threads)
        note("api", looks, len(looks), len(looks) * 4 * PAIRS)
        looks, reads = soak_stream(folder, text, seconds, options.threads)
        note("stream", looks, 1, reads)
    append(rows, RESULTS, COLUMNS)
    sys.exit(int(any(row["mb_per_hour"] > options.most for row in rows)))


if __name__ == "__main__":
    main()
