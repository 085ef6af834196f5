"""Molecules in plain Python, all against all: the rules of docs/methods/duplicates.md on the records of a file."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pysam

CLIPS = (4, 5)


def distance(a: str, b: str) -> int:
    return sum(x != y for x, y in zip(a, b, strict=True)) if len(a) == len(b) else max(len(a), len(b))


def directional(counts: Mapping[str, int]) -> dict[str, str]:
    """The UMI from which the cluster of each UMI grew (Smith, Heger, Sudbery 2017)."""
    seeds: dict[str, str] = {}
    for seed in sorted(counts, key=lambda umi: (-counts[umi], umi)):
        if seed in seeds:
            continue
        seeds[seed], queue = seed, [seed]
        for umi in queue:
            near = (x for x in counts if x not in seeds and distance(umi, x) == 1 and counts[umi] >= 2 * counts[x] - 1)
            for other in list(near):
                seeds[other] = seed
                queue.append(other)
    return seeds


class End(NamedTuple):
    contig: int
    start: int  # from 1, clipped bases included
    stop: int
    is_reverse: bool
    is_last: bool

    @property
    def five_prime(self) -> int:
        return self.stop if self.is_reverse else self.start


def end_of(record: pysam.AlignedSegment) -> End:
    cigar = record.cigartuples
    left = sum(n for op, n in cigar[:1] if op in CLIPS)
    right = sum(n for op, n in cigar[-1:] if op in CLIPS)
    span = record.reference_start + 1 - left, record.reference_end + right
    return End(record.reference_id, *span, record.is_reverse, record.is_read2)


class Template(NamedTuple):
    name: str
    library: int
    ends: tuple[End, ...]  # of the mapped mates, the leftmost first
    umi: str  # as it would be on strand 0
    strand: int
    score: int
    row: int  # in the file, of its first record

    @property
    def places(self) -> str:
        """As in the name of its molecule."""
        if len(self.ends) == 1:
            (end,) = self.ends
            return f"{self.library}:{end.contig}:{end.five_prime}:{'R' if end.is_reverse else 'F'}"
        left, right = self.ends
        if left.is_reverse != right.is_reverse:
            places, kind = (left.five_prime, right.five_prime), "RF" if left.is_reverse else "FR"
        else:  # as in samtools markdup
            places, kind = (left.start, right.stop), "RR" if left.is_reverse != left.is_last else "FF"
        return f"{self.library}:{left.contig}:{places[0]}:{right.contig}:{places[1]}:{kind}"


def templates_in(path: Path, libraries: Mapping[str, int], duplex: bool) -> list[Template]:
    """Those with a UMI without N and a mapped read."""
    rows = defaultdict(list)
    with pysam.AlignmentFile(str(path)) as file:
        for row, record in enumerate(file):
            if not (record.is_secondary or record.is_supplementary):
                rows[record.query_name].append((row, record))
    found = []
    for name, mates in rows.items():
        mapped = [record for _, record in mates if not record.is_unmapped]
        umi = mates[0][1].get_tag("RX")
        if not mapped or "N" in umi:
            continue
        ends = sorted(map(end_of, mapped), key=lambda e: (e.contig, e.five_prime, e.is_reverse, e.is_last))
        strand = ends[0].is_last if len(ends) == 2 else ends[0].is_last != ends[0].is_reverse
        parts = umi.split("-")
        text = "-".join(reversed(parts)) if duplex and strand else umi
        score = sum(q for record in mapped for q in record.query_qualities if q >= 15)
        library = libraries[mapped[0].get_tag("RG")]
        found.append(Template(name, library, tuple(ends), text, int(strand), score, mates[0][0]))
    return found


class Expected(NamedTuple):
    molecules: dict[str, str]  # MI by name of the template
    duplicates: set[str]  # names
    families: Counter[int]


def expect(path: Path, libraries: Mapping[str, int], duplex: bool = False) -> Expected:
    """What a file of records, sorted, should say."""
    groups, templates = defaultdict(list), templates_in(path, libraries, duplex)
    for template in templates:
        groups[template.places, 0 if duplex else template.strand].append(template)
    molecules: dict[str, str] = {}
    by_name: dict[str, list[Template]] = defaultdict(list)
    families: dict[str, int] = Counter()
    for (places, strand), members in groups.items():
        seeds = directional(Counter(each.umi for each in members))
        for each in members:
            molecule = f"{places}:{seeds[each.umi]}" if duplex else f"{places}{strand + 1}:{seeds[each.umi]}"
            families[molecule] += 1
            molecules[each.name] = f"{molecule}/{'AB'[each.strand]}" if duplex else molecule
            by_name[molecules[each.name]].append(each)
    duplicates = {each.name for members in by_name.values() for each in sorted(members, key=rank_of)[1:]}
    known = {
        (each.library, end.contig, end.five_prime, end.is_reverse, each.umi, each.strand)
        for each in templates
        for end in each.ends
        if len(each.ends) == 2
    }
    for each in templates:
        end = each.ends[0]
        place = each.library, end.contig, end.five_prime, end.is_reverse, each.umi, each.strand
        if len(each.ends) == 1 and place in known:
            duplicates.add(each.name)
    return Expected(molecules, duplicates, Counter(families.values()))


def rank_of(template: Template) -> tuple[object, ...]:
    """The best comes first."""
    tie = template.name.encode() if len(template.ends) == 2 else template.row
    return -template.score, tie
