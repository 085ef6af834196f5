"""A primary assembly of one contig, ALT contigs made from its stretches, and the lines of bwa's .alt file."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from helpers.align_oracle import operations, random_bases, reverse_complement

Edit = tuple[int, str, int]  # (offset in the stretch, X I or D, bases): a substitution, insertion or deletion there
OTHER = dict(zip("ACGT", "CGTA", strict=True))
STRETCH = 1500, 4000  # with two ALT contigs
REVERSED = 5000, 7000
COPY, DUPLICATE = (
    2300,
    8000,
)  # where 600 bases are alike but for one in 30, which one ALT contig has as DUPLICATE has it
GENE = 9500, 10_500  # HLA, without a lift-over
INSERTED, DELETED = 1200, 1800  # offsets in STRETCH


@dataclass(frozen=True)
class Alternate:
    name: str
    bases: str
    line: str

    @cached_property
    def images(self) -> dict[int, tuple[int, int]]:
        return images_of(self.line, len(self.bases))


def substituted(bases: str, places: range) -> str:
    return "".join(OTHER[base] if i in places else base for i, base in enumerate(bases))


def edited(bases: str, edits: list[Edit], seed: int) -> tuple[str, str]:
    """The stretch with edits, and its CIGAR."""
    parts, runs, at = list[str](), list[tuple[int, str]](), 0
    for offset, kind, size in sorted(edits):
        parts.append(bases[at:offset])
        matched, at = offset - at, offset
        if kind == "X":
            parts.append("".join(OTHER[base] for base in bases[at : at + size]))
            matched, at = matched + size, at + size
        runs.append((matched, "M"))
        if kind == "I":
            parts.append(random_bases(size, seed))
        if kind != "X":
            runs.append((size, kind))
        at += size if kind == "D" else 0
    runs.append((len(bases) - at, "M"))
    joined = list[tuple[int, str]]()
    for size, kind in runs:
        if joined and joined[-1][1] == kind:
            size += joined.pop()[0]
        joined.append((size, kind))
    return "".join([*parts, bases[at:]]), "".join(f"{size}{kind}" for size, kind in joined if size)


def sam_line(name: str, flag: int, target: str, position: int, cigar: str) -> str:
    return f"{name}\t{flag}\t{target}\t{position}\t60\t{cigar}\t*\t0\t0\t*\t*"


def images_of(line: str, length: int) -> dict[int, tuple[int, int]]:
    """Of each aligned base of an ALT contig, by its record: position on the target, and 1 if the contig is reversed."""
    _, flag, _, position, _, cigar, *_ = line.split("\t") if "\t" in line else ("", "4", "", "1", "", "*")
    is_reverse, query, target = bool(int(flag) & 16), 0, int(position) - 1
    found = {}
    for count, kind in operations(cigar.replace("H", "S")):
        for _ in range(count):
            if kind in "M=X":
                found[length - 1 - query if is_reverse else query] = (target, int(is_reverse))
            query += kind in "M=XIS"
            target += kind in "M=XDN"
    return found


def primary_assembly() -> str:
    bases = random_bases(12_000, 101)
    copied = substituted(bases[COPY : COPY + 600], range(7, 600, 30))
    return bases[:DUPLICATE] + copied + bases[DUPLICATE + 600 :]


def make_alternates(one: str) -> list[Alternate]:
    """Of contig `one`: two of STRETCH, one of REVERSED with loose ends, a gene and a decoy without a lift-over."""
    start, stop = STRETCH
    edits: list[Edit] = [(offset, "X", 1) for offset in range(50, stop - start, 97)]
    edits = [edit for edit in edits if not DELETED - 2 <= edit[0] <= DELETED + 32]
    bases, cigar = edited(one[start:stop], [*edits, (INSERTED, "I", 400), (DELETED, "D", 30)], 102)
    first = Alternate("one_alt", bases, sam_line("one_alt", 0, "one", start + 1, cigar))
    converted = range(COPY + 7 - start, COPY + 600 - start, 30)
    places = sorted({*range(20, stop - start, 61), *converted})
    bases, cigar = edited(one[start:stop], [(offset, "X", 1) for offset in places], 103)
    second = Alternate("other_alt", bases, sam_line("other_alt", 0, "one", start + 1, cigar))
    start, stop = REVERSED
    bases, cigar = edited(one[start:stop], [(offset, "X", 1) for offset in range(30, stop - start, 71)], 104)
    bases = random_bases(200, 105) + bases + random_bases(300, 106)
    line = sam_line("turned_alt", 16, "one", start + 1, f"200S{cigar}300S")
    third = Alternate("turned_alt", reverse_complement(bases), line)
    gene = substituted(one[slice(*GENE)], range(11, 1000, 43))
    name = "HLA-A*01:01:01:01"
    decoy = Alternate("decoy", random_bases(1000, 107), "decoy")
    return [first, second, third, Alternate(name, gene, sam_line(name, 4, "*", 0, "*")), decoy]


def write_reference(folder: Path, name: str = "ref.fa") -> Path:
    """ref.fa and ref.fa.alt"""
    one = primary_assembly()
    made = make_alternates(one)
    contigs = {"one": one} | {each.name: each.bases for each in made}
    path = folder / name
    path.write_text("".join(f">{name}\n{bases}\n" for name, bases in contigs.items()))
    Path(f"{path}.alt").write_text("@CO\tmade\n" + "".join(f"{each.line}\n" for each in made))
    return path
