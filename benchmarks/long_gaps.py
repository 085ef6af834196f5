"""Long reads with one long insertion or deletion in their middle: whether its gap comes out whole.

    long_gaps.py REF.fa CONTIG [--kinds hifi ont] [--reads 1200] [--seed 1] [--minimap2 PATH]

Reads of 12,000 bases with the errors of their kind (tools/simulate_long.py); their gaps have 20 to 1,000 bases,
log-uniform. `whole`: one gap of that length within 3 bases or 2 %, up to 20 bases from its place; `elsewhere`: farther
away; `in_two`: two gaps of the kind at the place, together of that length. `primary_two_piece` is the sum of scores on
minimap2's scale, divided by minimap2's.

Appends to results/long_gaps.csv.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pysam

from long import Job, sam_of, tools_of
from long_scores import SCALES, SUPPLEMENTARY, UNMAPPED, records_of, tally
from measure import CIRCUMSTANCES, Row, append, circumstances, measured, show

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))
from simulate_long import KINDS, mutate  # noqa: E402  (a tool)

RESULTS = HERE / "results" / "long_gaps.csv"
OUTCOMES = ("whole", "elsewhere", "in_two", "otherwise", "lies_elsewhere")
COLUMNS = (*CIRCUMSTANCES, "reference", "kind", "reads", "seed", "tool", "version", *OUTCOMES, "primary_two_piece")
LENGTH, NEAR = 12_000, 20

BASES = b"ACGTN"


class Made(NamedTuple):
    """A read's truth."""

    start: int  # on the reference
    gap: int  # its length; insertions above 0, deletions below
    at: int  # on the reference, the base before the gap


def make_reads(text: str, kind: str, number: int, seed: int, target: Path) -> dict[str, Made]:
    """Write FASTQ; returns each read's truth."""
    rng, codes, made = np.random.default_rng(seed), codes_of(text), dict[str, Made]()
    rate, share, _, _ = KINDS[kind]
    with target.open("wb") as out:
        while len(made) < number:
            gap = int(np.exp(rng.uniform(np.log(20), np.log(1000)))) * int(rng.choice([-1, 1]))
            start = int(rng.integers(0, codes.size - 2 * LENGTH))
            half = LENGTH // 2
            before, after = codes[start : start + half], codes[start + half + max(-gap, 0) :][:half]
            if (before == 4).any() or (after == 4).any():
                continue
            inserted = rng.integers(0, 4, max(gap, 0)).astype(np.uint8)
            bases, _ = mutate(np.concatenate([before, inserted, after]), rate, share, rng)
            name = f"r{len(made)}"
            out.write(b"@%s\n%s\n+\n%s\n" % (name.encode(), bases, b"5" * len(bases)))
            made[name] = Made(start, gap, start + half)
    return made


def codes_of(text: str) -> np.ndarray:
    code = np.full(256, 4, np.uint8)
    code[list(BASES)] = np.arange(5)
    return code[np.frombuffer(text.upper().encode(), np.uint8)]


def outcome(records: list[pysam.AlignedSegment], made: Made) -> str:
    """What became of a read. records: its primary and supplementary alignments."""
    records = [record for record in records if not record.flag & UNMAPPED]
    if not any(
        record.reference_start < made.start + LENGTH and record.reference_end > made.start for record in records
    ):
        return "lies_elsewhere"
    gaps = [gap for record in records if not record.flag & SUPPLEMENTARY for gap in gaps_of(record)]
    like = [(at, gap) for at, gap in gaps if is_like(gap, made.gap)]
    if like:
        low, high = made.at - NEAR, made.at + max(-made.gap, 0) + NEAR
        return "whole" if any(low <= at <= high for at, _ in like) else "elsewhere"
    around = [gap for at, gap in gaps if abs(at - made.at) <= LENGTH // 12 and abs(gap) > 2 and gap * made.gap > 0]
    return "in_two" if len(around) == 2 and is_like(sum(around), made.gap) else "otherwise"


def is_like(gap: int, wanted: int) -> bool:
    return abs(gap - wanted) <= max(3, abs(wanted) // 50)


def gaps_of(record: pysam.AlignedSegment) -> Iterator[tuple[int, int]]:
    """Place on the reference and length (deletions below 0) of each gap."""
    at = record.reference_start
    for operation, length in record.cigartuples or ():
        if operation in (pysam.CINS, pysam.CDEL):
            yield at, length if operation == pysam.CINS else -length
        at += length if operation in (pysam.CMATCH, pysam.CDEL, pysam.CEQUAL, pysam.CDIFF) else 0


def compare(options: argparse.Namespace, kind: str, folder: Path) -> None:
    with pysam.FastaFile(str(options.reference)) as file:
        text = file.fetch(options.contig)
    reads = folder / f"{kind}.fq"
    made = make_reads(text, kind, options.reads, options.seed, reads)
    job = Job(options.reference, reads, kind, len(made), len(made) * LENGTH)
    rows, sums = list[Row](), dict[str, int]()
    for tool in tools_of(job, folder, options):
        sam = sam_of(tool, folder)
        measured(tool.command.format(threads=2, reads=reads, out=sam))
        found: dict[str, list[pysam.AlignedSegment]] = {name: [] for name in made}
        for record in records_of(sam):
            found[str(record.query_name)].append(record)
        outcomes = Counter(outcome(found[name], truth) for name, truth in made.items())
        sums[tool.name] = tally(sam, SCALES[kind]).primary["two_piece"]
        what = options.reference.name, kind, len(made), options.seed, tool.name, tool.version
        row: Row = dict(zip(COLUMNS, (*circumstances(), *what, *(outcomes[name] for name in OUTCOMES)), strict=False))
        rows.append(row)
    base = sums.get(f"minimap2 map-{kind}")
    for row in rows:
        row["primary_two_piece"] = round(sums[str(row["tool"])] / base, 6) if base else ""
        show(row)
    append(rows, RESULTS, COLUMNS)


def main() -> None:
    pysam.set_verbosity(0)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path)
    parser.add_argument("contig")
    parser.add_argument("--kinds", nargs="+", choices=list(SCALES), default=list(SCALES))
    parser.add_argument("--reads", type=int, default=1200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minimap2", default="minimap2", metavar="PATH")
    parser.add_argument("--minibwa", default="minibwa", metavar="PATH")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for kind in options.kinds:
            compare(options, kind, Path(scratch))


if __name__ == "__main__":
    main()
