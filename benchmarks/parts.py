"""Reads of two parts, on both sides of a deletion, an insertion or a tandem duplication: whether both are placed.

    parts.py REF.fa CONTIG [--kinds hifi ont asm 150 250 150x2 250x2] [--reads 200] [--seed 1]
             [--minimap2 PATH] [--bwa PATH] [--keep FOLDER] [--no-save]

Long reads have a part of 10,000 bases (contigs 50,000) and one of 300 to 5,000, and 1,000 to 50,000 bases deleted or
inserted between them. Short reads have their event anywhere, but at least 30 bases from their ends: deletions of 36 to
300 bases, insertions of 50 and more, duplications of 20 to 300; `x2` reads have a mate 100 bases beyond their end.
Lengths are log-uniform, strands random; long reads have the errors of their kind (tools/simulate_long.py), short ones
0.3 % substitutions.

A part is `placed` if at least half of its bases are aligned to where they came from, in any record. `lost` parts are
those that another tool placed; `wrong_q20` has more than half of its bases in a record of MAPQ 20 or more, but is not
placed.

Appends to results/parts.csv.
"""

import argparse
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pysam

from long import Tool, quiet, sam_of
from long_gaps import codes_of
from long_scores import records_of
from measure import CIRCUMSTANCES, Row, append, circumstances, measured, show, version

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))
from simulate_long import KINDS as LONG_KINDS  # noqa: E402  (a tool)
from simulate_long import mutate  # noqa: E402

RESULTS = HERE / "results" / "parts.csv"
OUTCOMES = ("parts", "placed", "lost", "wrong_q20")
COLUMNS = (*CIRCUMSTANCES, "reference", "kind", "event", "reads", "seed", "tool", "version", *OUTCOMES)
END, APART, NEAR = 30, 100, 0.02  # NEAR: of a part's length, by which errors of the read may move its bases
EVENTS = "deletion", "insertion", "duplication"


class Kind(NamedTuple):
    preset: str  # of readwarp
    peer: str  # the same of minimap2
    length: int  # of short reads, or of the longer part
    rate: float  # of errors, and ...
    share: float  # ... how many of them are in homopolymers
    is_pair: bool = False

    @property
    def is_short(self) -> bool:
        return self.preset == "standard"


KINDS = {
    "hifi": Kind("hifi", "map-hifi", 10_000, *LONG_KINDS["hifi"][:2]),
    "ont": Kind("ont", "map-ont", 10_000, *LONG_KINDS["ont"][:2]),
    "asm": Kind("asm", "asm5", 50_000, *LONG_KINDS["hifi"][:2]),
    **{f"{n}{'x2' * pair}": Kind("standard", "sr", n, 0.003, 0, pair) for n in (150, 250) for pair in (False, True)},
}


class Part(NamedTuple):
    """Bases [start, stop) of a read on its forward strand, and where the first of them lies on the reference."""

    start: int
    stop: int
    reference: int


Made = tuple[np.ndarray, list[Part]]  # codes of the bases, without errors


def log_uniform(rng: np.random.Generator, low: int, high: int) -> int:
    return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))


def joined(codes: np.ndarray, at: int, left: int, right: int, skipped: int, inserted: np.ndarray) -> Made:
    """`left` bases before `at`, the inserted ones, and `right` bases from `at + skipped` on."""
    start, second = at - left, at + skipped
    bases = np.concatenate([codes[start:at], inserted, codes[second : second + right]])
    return bases, [Part(0, left, start), Part(bases.size - right, bases.size, second)]


def make_long(codes: np.ndarray, kind: Kind, event: str, at: int, rng: np.random.Generator) -> Made:
    sizes = [kind.length, log_uniform(rng, 300, 5000)]
    rng.shuffle(sizes)
    size = log_uniform(rng, 1000, 50_000)
    inserted = rng.integers(0, 4, size * (event == "insertion")).astype(np.uint8)
    return joined(codes, at, *sizes, size * (event == "deletion"), inserted)


def make_short(codes: np.ndarray, kind: Kind, event: str, at: int, rng: np.random.Generator) -> Made:
    size = log_uniform(rng, *{"deletion": (36, 300), "insertion": (50, kind.length - 2 * END)}.get(event, (20, 300)))
    inserted = rng.integers(0, 4, size * (event == "insertion")).astype(np.uint8)
    left = int(rng.integers(END, kind.length - END - inserted.size + 1))
    skipped = {"deletion": size, "duplication": -size}.get(event, 0)
    return joined(codes, at, left, kind.length - left - inserted.size, skipped, inserted)


def make_reads(
    codes: np.ndarray, kind: Kind, event: str, number: int, rng: np.random.Generator, paths: list[Path]
) -> dict[str, list[Part]]:
    """Write FASTQ; returns the parts of each read. Of pairs, the first read has the event."""
    made = dict[str, list[Part]]()
    margin = 3 * kind.length + 60_000
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("w")) for path in paths]
        while len(made) < number:
            at = int(rng.integers(margin, codes.size - margin))
            if (codes[at - margin : at + margin] == 4).any():
                continue
            bases, parts = (make_short if kind.is_short else make_long)(codes, kind, event, at, rng)
            stop = parts[1].reference + parts[1].stop - parts[1].start + kind.length + APART
            reads = [bases, 3 - codes[stop - kind.length : stop][::-1]]
            if not kind.is_pair and rng.random() < 0.5:
                reads[0] = 3 - bases[::-1]
            name = f"r{len(made)}"
            for file, read in zip(files, reads, strict=False):
                letters = mutate(read, kind.rate, kind.share, rng)[0].decode()
                file.write(f"@{name}\n{letters}\n+\n{'F' * len(letters)}\n")
            made[name] = parts
    return made


def judge(records: list[pysam.AlignedSegment], part: Part, length: int) -> str:
    """`placed`, `wrong` or nothing. length: of the read before errors were made."""
    right, sure = set[int](), set[int]()
    for record in records:
        here = record.query_length and record.get_aligned_pairs(matches_only=True)
        clipped = sum(n for op, n in record.cigartuples or () if op == pysam.CHARD_CLIP)
        before = hard_clip(record, 0)
        scale = length / (record.query_length + clipped)
        for query, reference in here or ():
            at = round((query + before) * scale)
            if part.start <= at < part.stop:
                if abs(reference - part.reference - at + part.start) <= max(2, NEAR * (part.stop - part.start)):
                    right.add(at)
                if record.mapping_quality >= 20:
                    sure.add(at)
    size = part.stop - part.start
    return "placed" if 2 * len(right) >= size else "wrong" if 2 * len(sure) >= size else ""


def hard_clip(record: pysam.AlignedSegment, end: int) -> int:
    operation, length = (record.cigartuples or [(0, 0)])[end]
    return length if operation == pysam.CHARD_CLIP else 0


def outcomes(
    sam: Path, made: dict[str, list[Part]], contig: str, lengths: dict[str, int]
) -> dict[tuple[str, int], str]:
    found: dict[str, list[pysam.AlignedSegment]] = {name: [] for name in made}
    for record in records_of(sam):
        if not record.is_read2 and not record.is_unmapped and record.reference_name == contig:
            found[str(record.query_name)].append(record)
    return {
        (name, side): judge(found[name], part, lengths[name])
        for name, parts in made.items()
        for side, part in enumerate(parts)
    }


def tools_of(reference: Path, kind: Kind, folder: Path, options: argparse.Namespace) -> list[Tool]:
    """readwarp and the peers that are there, with their indexes, which are made once."""
    program = f"{sys.executable} -m readwarp align -q --device cpu --preset {kind.preset} {reference}"
    index = folder / "readwarp.rwx"
    if not index.exists():
        quiet(f"{sys.executable} -m readwarp index -q {reference} -o {index}")
    made = [Tool("readwarp", version("readwarp"), f"{program} {{reads}} --index {index} -t {{threads}} > {{out}}")]
    if minimap2 := shutil.which(options.minimap2):
        command = f"{minimap2} -ax {kind.peer} -t {{threads}} {reference} {{reads}} > {{out}} 2> /dev/null"
        made.append(Tool("minimap2", version(minimap2), command))
    if kind.is_short and (bwa := shutil.which(options.bwa)):
        index = folder / "bwa"
        if not index.with_suffix(".bwt").exists():
            quiet(f"{bwa} index -p {index} {reference}")
        command = f"{bwa} mem -t {{threads}} {index} {{reads}} > {{out}} 2> /dev/null"
        made.append(Tool("bwa", version(bwa, ""), command))
    return made


def compare(options: argparse.Namespace, codes: np.ndarray, name: str, event: str, folder: Path) -> list[Row]:
    kind = KINDS[name]
    paths = [folder / f"{name}.{event}_{mate}.fq" for mate in range(1 + kind.is_pair)]
    made = make_reads(codes, kind, event, options.reads, np.random.default_rng(options.seed), paths)
    lengths = {each: parts[1].stop for each, parts in made.items()}
    found = {}
    for tool in tools_of(options.reference, kind, folder, options):
        sam = sam_of(tool, folder).with_suffix(f".{name}.{event}.sam")
        measured(tool.command.format(threads=2, reads=" ".join(map(str, paths)), out=sam))
        found[tool.name, tool.version] = outcomes(sam, made, options.contig, lengths)
    rows = list[Row]()
    for tool_name, mine in found.items():
        placed = [each for each, verdict in mine.items() if verdict == "placed"]
        others = {each for of in found.values() for each, verdict in of.items() if verdict == "placed"}
        lost = sorted(others.difference(placed))
        if options.keep:
            with (folder / f"lost.{tool_name[0]}.{name}.{event}").open("w") as file:
                file.writelines(f"{read} {made[read][side]}\n" for read, side in lost)
        figures = len(mine), len(placed), len(lost), sum(verdict == "wrong" for verdict in mine.values())
        what = options.reference.name, name, event, len(made), options.seed, *tool_name
        rows.append(dict(zip(COLUMNS, (*circumstances(), *what, *figures), strict=True)))
        show(rows[-1])
    return rows


def main() -> None:
    pysam.set_verbosity(0)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path)
    parser.add_argument("contig")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--reads", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minimap2", default="minimap2", metavar="PATH")
    parser.add_argument("--bwa", default="bwa", metavar="PATH")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave reads and alignments there")
    parser.add_argument("--no-save", action="store_true", help="add no rows to the results")
    options = parser.parse_args()
    with pysam.FastaFile(str(options.reference)) as file:
        codes = codes_of(file.fetch(options.contig))
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        events = [(name, event) for name in options.kinds for event in EVENTS[: 2 + KINDS[name].is_short]]
        rows = [row for name, event in events for row in compare(options, codes, name, event, folder)]
    if not options.no_save:
        append(rows, RESULTS, COLUMNS)


if __name__ == "__main__":
    main()
