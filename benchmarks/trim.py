"""What `--trim` cuts off reads whose fragments are known, beside fastp and cutadapt: trim.py REF.fa [SET ...]

Reads are made from the reference: fragments of a set's lengths, adapters beyond their ends, then A as after the end of
an adapter, or G on an instrument that reads G without a signal; errors become more frequent along the read, and
qualities say so. All tools trim adapters only. fastp runs as usual, and cutadapt knows the adapters.

    exact     reads of which precisely what lies beyond the fragment was cut, per cent
    over      bases of fragments that were cut, of a million
    left      bases beyond fragments that were left, of a million
    cpu_us    processor time per read; of readwarp, that of the step alone, of the others with reading and writing

`--align` also aligns each set with `--trim`, and shows the step's part in the time of all steps, per cent.
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pysam

import measure
from readwarp.align.trim import learn, trim, with_learned
from readwarp.align.trim.known import ADAPTERS
from readwarp.config import TrimParameters
from readwarp.formats.common.reads import ReadBatch
from readwarp.formats.reads.raw import ReadInput
from readwarp.formats.reads.stream import open_reads, parse

RESULTS = Path(__file__).parent / "results" / "trim.csv"
COLUMNS = (
    *measure.CIRCUMSTANCES,
    "set",
    "reads",
    "tool",
    "version",
    "exact",
    "over",
    "left",
    "cpu_us",
    "align_cpu_share",
)
TRUSEQ, NEXTERA, SMALL_RNA, MGI = ADAPTERS.values()
UNKNOWN = "CAGTTGCAAGGCTTACGACTTGCATGACCA", "GTACCTGATCGGATTGCACTAGCATCGTAC"


@dataclass(frozen=True, slots=True)
class Library:
    insert: float  # bases, mean ...
    deviation: float
    length: int = 150
    adapters: tuple[str, str] = TRUSEQ
    errors: float = 0.002  # per base at the beginning; five times as many at the end
    paired: bool = True
    dark: bool = False  # G where there is no signal


LIBRARIES = {
    "clean": Library(400, 60),
    "cell-free": Library(120, 20),
    "fine": Library(200, 60),
    "old": Library(50, 25, dark=True),
    "noisy": Library(120, 40, errors=0.01),
    "unknown": Library(120, 30, adapters=UNKNOWN),
    "nextera": Library(180, 60, adapters=NEXTERA),
    "mgi": Library(130, 40, length=100, adapters=MGI),
    "small-rna": Library(25, 6, length=75, adapters=SMALL_RNA, paired=False),
    "single": Library(120, 60, length=100, paired=False),
    "single-clean": Library(400, 60, length=100, paired=False),
}


def simulate(library: Library, contigs: list[np.ndarray], pairs: int, seed: int) -> Iterator[tuple[str, list[tuple]]]:
    """Name, and (sequence, qualities) of each read. The name ends with the length of the fragment."""
    rng = np.random.default_rng(seed)
    weights = np.array([contig.size for contig in contigs]) / sum(contig.size for contig in contigs)
    tails = [
        np.frombuffer((adapter + "ATCACGATCTCGTATGC").encode() + (b"G" if library.dark else b"A") * 500, np.uint8)
        for adapter in library.adapters
    ]
    rates = library.errors * np.linspace(1, 5, library.length)
    made = 0
    while made < pairs:
        insert = max(0, round(rng.normal(library.insert, library.deviation)))
        contig = contigs[rng.choice(len(contigs), p=weights)]
        start = int(rng.integers(0, contig.size - insert))
        fragment = contig[start : start + insert]
        if (fragment == ord("N")).any():
            continue
        sides = [fragment, complement(fragment)][:: -1 if rng.random() < 0.5 else 1][: 2 if library.paired else 1]
        reads = []
        for side, tail in zip(sides, tails, strict=False):
            bases = np.concatenate([side, tail])[: library.length].copy()
            wrong = rng.random(library.length) < rates
            bases[wrong] = rng.choice(np.frombuffer(b"ACGT", np.uint8), wrong.sum())
            quality = np.clip(rng.normal(-10 * np.log10(rates), 3) - 12 * wrong, 2, 41).astype(np.uint8)
            reads.append((bases.tobytes().decode(), (quality + 33).tobytes().decode()))
        made += 1
        yield f"r{made}:{insert}", reads


def complement(bases: np.ndarray) -> np.ndarray:
    table = np.arange(256, dtype=np.uint8)
    table[np.frombuffer(b"ACGT", np.uint8)] = np.frombuffer(b"TGCA", np.uint8)
    return table[bases[::-1]]


def write(library: Library, contigs: list[np.ndarray], pairs: int, seed: int, folder: Path) -> list[Path]:
    paths = [folder / f"reads_{side}.fq" for side in (1, 2)[: 2 if library.paired else 1]]
    files = [path.open("w") for path in paths]
    for name, reads in simulate(library, contigs, pairs, seed):
        for file, (bases, qualities) in zip(files, reads, strict=True):
            file.write(f"@{name}\n{bases}\n+\n{qualities}\n")
    for file in files:
        file.close()
    return paths


def score(library: Library, kept: dict[str, list[int]], pairs: list[Path]) -> dict[str, object]:
    """kept: how many bases each file's reads have left, by name; a read that is missing has none."""
    exact = over = left = reads = 0
    for side, path in enumerate(pairs):
        with pysam.FastxFile(str(path)) as file:
            for record in file:
                fragment, length = int(record.name.split(":")[1]), len(record.sequence)
                have = kept.get(record.name, [0, 0])[side]
                true = min(fragment, length)
                exact, reads = exact + (have == true), reads + 1
                over, left = over + max(0, true - have), left + max(0, have - true)
    bases = reads * library.length / 1e6
    return {
        "reads": reads,
        "exact": round(100 * exact / reads, 3),
        "over": round(over / bases, 1),
        "left": round(left / bases, 1),
    }


def by_readwarp(paths: list[Path]) -> tuple[dict[str, list[int]], float]:
    given = ReadInput(tuple(map(str, paths)), interleaved=False, comments=False, groups=())
    kept: dict[str, list[int]] = {}
    seconds, parameters = 0.0, TrimParameters(min_length=0)
    batches = [parse(raw) for raw in open_reads([given], 1 << 22)]
    if learned := learn(batches[:1], parameters):
        parameters = with_learned(parameters, learned)
    trim(batches[0], parameters)  # compiles
    for reads in batches:
        started = time.process_time()
        trimmed = trim(reads, parameters)
        seconds += time.process_time() - started
        note(trimmed.aligned, kept)
    return kept, seconds


def note(reads: ReadBatch, kept: dict[str, list[int]]) -> None:
    names, ends = reads.names.tobytes().decode(), reads.name_offsets.tolist()
    lengths = np.diff(reads.read_offsets).tolist()
    for i, length in enumerate(lengths):
        kept.setdefault(names[ends[i] : ends[i + 1]], []).append(length)


def by_tool(command: str, outputs: list[Path]) -> tuple[dict[str, list[int]], float]:
    usage = measure.measured(command)
    kept: dict[str, list[int]] = {}
    for side, path in enumerate(outputs):
        with pysam.FastxFile(str(path)) as file:
            for record in file:
                kept.setdefault(record.name, [0, 0])[side] = len(record.sequence or "")
    return kept, usage.cpu_seconds


def commands(library: Library, paths: list[Path], folder: Path) -> dict[str, tuple[str, list[Path]]]:
    out = [folder / f"out_{path.name}" for path in paths]
    log = f"-j {folder}/fastp.json -h {folder}/fastp.html"
    fastp = f"fastp -w 1 -Q -L -G {log} -i {paths[0]} -o {out[0]}"
    cutadapt = f"cutadapt -j 1 -a {library.adapters[0]} -o {out[0]}"
    if library.paired:
        fastp += f" -I {paths[1]} -O {out[1]}"
        cutadapt += f" -A {library.adapters[1]} -p {out[1]}"
    files = " ".join(map(str, paths))
    return {"fastp": (f"{fastp} 2>/dev/null", out), "cutadapt": (f"{cutadapt} {files} >/dev/null", out)}


def others_us(reference: Path, paths: list[Path], folder: Path) -> float:
    """Microseconds per read of the other steps of `readwarp align --trim`, without those of its first pairs alone."""
    metrics = folder / "metrics.json"
    words = ["readwarp", "align", reference, *paths, "-o", folder / "out.bam", "--trim", "--force", "-q", "-t", "1"]
    for _ in range(2):  # the first compiles
        subprocess.run([*map(str, words), "--device", "cpu", "--metrics", metrics], check=True)
    found = json.loads(metrics.read_text())
    others = sum(seconds for stage, seconds in found["stage_seconds"].items() if stage not in ("trim", "train"))
    return 1e6 * others / found["counts"]["reads"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path)
    parser.add_argument("sets", nargs="*", default=[], choices=[*LIBRARIES, []])
    parser.add_argument("--pairs", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--align", action="store_true", help="also align")
    parser.add_argument("--save", action="store_true", help=f"add rows to {RESULTS.name}")
    options = parser.parse_args()
    with pysam.FastaFile(str(options.reference)) as file:
        texts = (file.fetch(name).upper().encode() for name in file.references)
        contigs = [np.frombuffer(text, np.uint8) for text in texts if len(text) > 10_000]
    rows, when = [], dict(zip(measure.CIRCUMSTANCES, measure.circumstances(), strict=True))
    for name in options.sets or LIBRARIES:
        library = LIBRARIES[name]
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            paths = write(library, contigs, options.pairs, options.seed, folder)
            found = {"readwarp": by_readwarp(paths)}
            found |= {tool: by_tool(*given) for tool, given in commands(library, paths, folder).items()}
            others = others_us(options.reference, paths, folder) if options.align else None
            for tool, (kept, seconds) in found.items():
                figures = score(library, kept, paths)
                figures |= {"cpu_us": round(1e6 * seconds / int(str(figures["reads"])), 2)}
                if others and tool == "readwarp":
                    own = 1e6 * seconds / int(str(figures["reads"]))
                    figures["align_cpu_share"] = round(100 * own / (own + others), 1)
                rows.append({**when, "set": name, "tool": tool, "version": measure.version(tool), **figures})
                measure.show(rows[-1])
    if options.save:
        measure.append(rows, RESULTS, COLUMNS)


if __name__ == "__main__":
    main()
