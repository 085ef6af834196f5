"""Molecules of simulated UMIs by `readwarp merge --umi tag` and by UMI-tools: umis.py REF.fa [SET ...]

Molecules begin at a set's places and are copied; each base of a copy's UMI is wrong with 1 %. The pairs are aligned
once. Then both tools group the same records: readwarp from the unsorted file, which it sorts, UMI-tools from the sorted
one (`umi_tools group --paired --method directional`, by the names).

    same      pairs whose molecule has precisely the same pairs for both tools, per cent
    ties      pairs at places where UMI-tools' answer follows from the same rules with ties broken by the order of the
              file, which readwarp breaks by alphabet, per cent
    other     the rest, per cent: UMI-tools compares the 5' end of the first mate and TLEN, readwarp both 5' ends with
              clipped bases, so ends that are clipped make a difference (set `errors`)
    split     true molecules whose copies are not of one molecule, per cent
    joined    molecules that hold copies of several true ones, per cent

--umi-tools names the program (it needs other libraries than readwarp, so a virtual environment of its own).
"""

import argparse
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pysam

import measure

RESULTS = Path(__file__).parent / "results" / "umis.csv"
COLUMNS = (
    *measure.CIRCUMSTANCES,
    *("set", "pairs", "tool", "version", "molecules", "same", "ties", "other", "split", "joined"),
    *("seconds", "cpu_seconds", "peak_mb"),
)
LENGTH, INSERT = 100, 250
SEPARATOR = ":"
BASES = np.frombuffer(b"ACGT", np.uint8)
Molecules = dict[str, str]  # by the name of the pair


@dataclass(frozen=True, slots=True)
class Library:
    places: int
    molecules: int  # at each place
    copies: float  # mean of a geometric distribution
    umi: int  # bases
    errors: float = 0.0  # per base of the reads


LIBRARIES = {
    "panel": Library(places=400, molecules=40, copies=5, umi=8),
    "deep": Library(places=40, molecules=1000, copies=5, umi=12),
    "amplicon": Library(places=2, molecules=50_000, copies=3, umi=12),
    "sparse": Library(places=30_000, molecules=2, copies=3, umi=8),
    "errors": Library(places=400, molecules=40, copies=5, umi=8, errors=0.005),
}


def spoil(bases: np.ndarray, rate: float, rng: np.random.Generator) -> np.ndarray:
    """A copy with so many wrong bases."""
    wrong = rng.random(bases.size) < rate
    out = bases.copy()
    out[wrong] = BASES[(np.searchsorted(BASES, bases[wrong]) + rng.integers(1, 4, wrong.sum())) % 4]
    return out


def simulate(library: Library, contig: np.ndarray, seed: int) -> Iterator[tuple[str, bytes, bytes]]:
    """Name and both reads of each pair; the name says which molecule it is of, and ends in its UMI."""
    rng, turned = np.random.default_rng(seed), np.zeros(256, np.uint8)
    turned[BASES] = BASES[::-1]
    made = 0
    for _ in range(library.places):
        start, size = int(rng.integers(0, contig.size - 2 * INSERT)), int(rng.integers(LENGTH, 2 * INSERT))
        fragment = contig[start : start + size]
        if not np.isin(fragment, BASES).all():
            continue
        for _ in range(library.molecules):
            umi, is_turned, made = rng.choice(BASES, library.umi), rng.random() < 0.5, made + 1
            for copy in range(int(rng.geometric(1 / library.copies))):
                ends = [fragment[:LENGTH], turned[fragment[::-1][:LENGTH]]][:: -1 if is_turned else 1]
                first, last = (spoil(end, library.errors, rng).tobytes() for end in ends)
                yield f"m{made}.{copy}{SEPARATOR}{spoil(umi, 0.01, rng).tobytes().decode()}", first, last


def write(library: Library, reference: Path, seed: int, folder: Path) -> list[Path]:
    """The pairs in random order, as a sequencer gives them."""
    with pysam.FastaFile(str(reference)) as file:
        contig = np.frombuffer(file.fetch(file.references[0]).upper().encode(), np.uint8)
    pairs = list(simulate(library, contig, seed))
    order = np.random.default_rng(seed).permutation(len(pairs))
    paths = [folder / f"reads_{mate}.fq" for mate in (1, 2)]
    for mate, path in enumerate(paths, 1):
        with path.open("wb") as file:
            for at in order:
                name, bases = pairs[at][0], pairs[at][mate]
                file.write(b"@%b\n%b\n+\n%b\n" % (name.encode(), bases, b"I" * len(bases)))
    return paths


def by_readwarp(path: Path) -> tuple[Molecules, list[str]]:
    """Molecules, and the names in the order of the first mates."""
    found, order = {}, []
    with pysam.AlignmentFile(str(path)) as file:
        for record in file:
            if not record.is_supplementary and record.is_read1 and record.has_tag("MI"):
                found[record.query_name] = record.get_tag("MI")
                order.append(record.query_name)
    return found, order


def by_umi_tools(path: Path) -> Molecules:
    lines = path.read_text().splitlines()
    column = lines[0].split("\t").index("unique_id")
    return {fields[0]: fields[column] for fields in (line.split("\t") for line in lines[1:])}


def partition(molecules: Molecules) -> dict[str, frozenset[str]]:
    """All pairs of the molecule of each pair."""
    groups = defaultdict(set)
    for name, molecule in molecules.items():
        groups[molecule].add(name)
    frozen = {molecule: frozenset(names) for molecule, names in groups.items()}
    return {name: frozen[molecule] for name, molecule in molecules.items()}


def directional(counts: Mapping[str, int]) -> dict[str, str]:
    """Smith, Heger and Sudbery's rules in plain Python; of equally frequent UMIs the first in the mapping is first."""
    seeds: dict[str, str] = {}
    for seed in sorted(counts, key=lambda umi: -counts[umi]):
        if seed in seeds:
            continue
        seeds[seed], queue = seed, [seed]
        for umi in queue:
            for at in range(len(umi)):
                for letter in "ACGT":
                    other = umi[:at] + letter + umi[at + 1 :]
                    if other in counts and other not in seeds and counts[umi] >= 2 * counts[other] - 1:
                        seeds[other] = seed
                        queue.append(other)
    return seeds


def compare(ours: Molecules, theirs: Molecules, order: list[str]) -> dict[str, float]:
    """Per cent of the pairs that are in the same molecules, in others because of ties, or for other reasons."""
    mine, other = partition(ours), partition(theirs)
    places = defaultdict(list)
    for name in order:
        places[ours[name].rpartition(":")[0]].append(name)
    counts: Counter[str] = Counter()
    for names in places.values():
        same = sum(mine[name] == other.get(name) for name in names)
        counts["same"] += same
        if same < len(names):
            umis = [name.rpartition(SEPARATOR)[2] for name in names]
            seeds = directional(Counter(umis))
            by_order = partition({name: seeds[umi] for name, umi in zip(names, umis, strict=True)})
            is_tie = all(by_order[name] == other.get(name) for name in names)
            counts["ties" if is_tie else "other"] += len(names) - same
    return {kind: round(100 * counts[kind] / len(ours), 3) for kind in ("same", "ties", "other")}


def score(molecules: Molecules) -> dict[str, object]:
    """Against the truth, which the names have."""
    true, held = defaultdict(set), defaultdict(set)
    for name, molecule in molecules.items():
        true[name.partition(".")[0]].add(molecule)
        held[molecule].add(name.partition(".")[0])
    return {
        "molecules": len(held),
        "split": round(100 * sum(len(found) > 1 for found in true.values()) / len(true), 3),
        "joined": round(100 * sum(len(found) > 1 for found in held.values()) / len(held), 3),
    }


def rows_of(name: str, options: argparse.Namespace, folder: Path) -> Iterator[measure.Row]:
    first, last = write(LIBRARIES[name], options.reference, options.seed, folder)
    plain, ours, theirs = folder / "plain.bam", folder / "ours.bam", folder / "groups.tsv"
    measure.measured(f"readwarp align {options.reference} {first} {last} --umi name -o {plain} -f -q --device cpu")
    merge = f"readwarp merge {plain} --umi tag --mark-duplicates --write-index -o {ours} -f -q -t {options.threads}"
    measure.measured(merge)  # compiles
    used = measure.measured(merge)
    molecules, order = by_readwarp(ours)
    known = dict(zip(measure.CIRCUMSTANCES, measure.circumstances(), strict=True)) | {"set": name, "pairs": len(order)}
    usage = {"seconds": used.seconds, "cpu_seconds": used.cpu_seconds, "peak_mb": used.peak_mb}
    row = known | {"tool": "readwarp", "version": measure.version("readwarp")} | score(molecules) | usage
    if not options.umi_tools:
        yield row
        return
    group = f"{options.umi_tools} group -I {ours} --paired --method directional --umi-separator {SEPARATOR}"
    used = measure.measured(f"{group} --group-out {theirs} -L {folder}/log > /dev/null")
    others = by_umi_tools(theirs)
    yield row | compare(molecules, others, order)
    usage = {"seconds": used.seconds, "cpu_seconds": used.cpu_seconds, "peak_mb": used.peak_mb}
    yield known | {"tool": "umi_tools", "version": measure.version(options.umi_tools)} | score(others) | usage


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=Path, metavar="REF.fa")
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(LIBRARIES))
    parser.add_argument("--umi-tools", metavar="PROGRAM", help="umi_tools, to compare with")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help=f"add the rows to {RESULTS.name}")
    options = parser.parse_args()
    for name in options.sets or LIBRARIES:
        with tempfile.TemporaryDirectory() as folder:
            rows = list(rows_of(name, options, Path(folder)))
        for row in rows:
            measure.show(row)
        if options.save:
            measure.append(rows, RESULTS, COLUMNS)


if __name__ == "__main__":
    main()
