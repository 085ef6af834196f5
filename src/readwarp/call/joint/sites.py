"""Where any file has a variant, and the alleles of all (host only). See the step's contract."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import comb

import numpy as np

from readwarp.call.joint import REACH, STAR
from readwarp.formats.variants.genomic import Rows
from readwarp.formats.variants.genomic_kernels import VARIANT

OTHER = 127  # code of <NON_REF>, which any allele is that the line does not list
LEFT_OUT = 126  # code of an allele that the line lists and the site does not
MOST_GENOTYPES = 1000  # of a site
Codes = tuple[int, ...]  # of each allele of a line: its number at the site, OTHER or LEFT_OUT


@dataclass(frozen=True, slots=True)
class Record:
    """A line with alleles of its own; the last one of the file's, <NON_REF>, is not among them."""

    file: int
    row: int  # in the file's Rows
    position: int  # 0-based
    reference: str
    alternates: tuple[str, ...]
    information: str

    @property
    def alleles(self) -> int:
        """How many the line has, REF and <NON_REF> among them."""
        return len(self.alternates) + 2


@dataclass(slots=True)
class JointSite:
    """One place and its alleles, REF first and `*` last."""

    position: int
    is_indel: bool
    alleles: tuple[str, ...]
    own: dict[int, tuple[Record, Codes]]  # by file
    above: dict[int, list[tuple[Record, Codes]]] = field(default_factory=dict)  # other lines of a file across it
    is_cut: bool = False  # alleles were left out

    @property
    def star(self) -> int:
        """Number of `*`, -1 where no deletion lies across."""
        return len(self.alleles) - 1 if self.alleles[-1] == STAR else -1


def records_of(file: int, rows: Rows, low: int) -> list[Record]:
    """The lines with variants that begin at `low` or behind it."""
    out = []
    for row in np.flatnonzero((rows.kind == VARIANT) & (rows.begin >= low)).tolist():
        _, _, _, reference, alternates, _, _, information, *_ = rows.fields(row)
        spelled = (reference.decode().upper(), tuple(alternates.decode().upper().split(",")[:-1]))
        out.append(Record(file, row, int(rows.begin[row]), *spelled, information.decode()))
    return out


def find_sites(records: Iterable[Record], start: int, stop: int, most_alternates: int, ploidy: int) -> list[JointSite]:
    """The sites with positions in [start, stop), in order; at one position substitutions come first.

    `ploidy`: the highest, which limits the number of alleles.
    """
    groups: dict[tuple[int, bool], list[Record]] = defaultdict(list)
    mixed, long = set(), []
    for record in records:
        is_indel, is_mixed = shape(record.reference, record.alternates)
        groups[record.position, is_indel].append(record)
        if is_mixed:
            mixed.add(record.position)
        if len(record.reference) > 1:
            long.append(record)
    for position in mixed:
        groups[position, True] += groups.pop((position, False), [])
    most = most_alleles(most_alternates, ploidy)
    keys = sorted(key for key in groups if start <= key[0] < stop)
    sites = [_site(*key, sorted(groups[key], key=lambda r: r.file), most) for key in keys]
    _add_lines_above(sites, groups, long, most)
    return [_with_star(site, most) for site in sites]


@lru_cache(maxsize=1 << 14)
def shape(reference: str, alternates: tuple[str, ...]) -> tuple[bool, bool]:
    """Whether alleles are longer than a base; whether such ones stand beside others that change the first base."""
    named = [a for a in alternates if a != STAR and a.isalpha()]
    is_indel = len(reference) > 1 or any(len(a) > 1 for a in named)
    return is_indel, is_indel and any(a[0] != reference[0] for a in named)


@lru_cache
def most_alleles(most_alternates: int, ploidy: int) -> int:
    """Most alleles of a site, so that its genotypes do not become too many."""
    most = most_alternates + 1
    while most > 2 and comb(most + ploidy - 1, ploidy) > MOST_GENOTYPES:
        most -= 1
    return most


def _site(position: int, is_indel: bool, records: Sequence[Record], most: int) -> JointSite:
    reference = max((r.reference for r in records), key=len)
    counts = Counter(
        allele for r in records for a in r.alternates if (allele := lengthened(a, r.reference, reference)).isalpha()
    )
    kept = sorted(sorted(counts, key=lambda a: -counts[a])[: most - 1], key=list(counts).index)
    alleles = (reference, *kept)
    own = {r.file: (r, codes_of(r.reference, r.alternates, alleles)) for r in reversed(records)}
    return JointSite(position, is_indel, alleles, own, is_cut=len(kept) < len(counts))


def lengthened(allele: str, reference: str, longest: str) -> str:
    """An allele of REF `reference` as one of the longer REF; `*` and symbols stay."""
    return allele + longest[len(reference) :] if allele.isalpha() else allele


@lru_cache(maxsize=1 << 14)
def codes_of(reference: str, alternates: tuple[str, ...], alleles: tuple[str, ...]) -> Codes:
    """`*` has the number behind the last of `alleles`; see `_with_star`."""
    numbers = {allele: i for i, allele in enumerate(alleles)} | {STAR: len(alleles)}
    spelled = (lengthened(a, reference, alleles[0]) for a in alternates)
    return (0, *(numbers.get(a, LEFT_OUT if a.isalpha() else OTHER) for a in spelled), OTHER)


def _add_lines_above(
    sites: Sequence[JointSite], groups: dict[tuple[int, bool], list[Record]], long: Iterable[Record], most: int
) -> None:
    """Lines of a file that span a site of which they are not: of the same position, or longer ones from before."""
    positions = [site.position for site in sites]
    for site in sites:
        for record in groups.get((site.position, not site.is_indel), ()):
            site.above.setdefault(record.file, []).append((record, plain_codes(record.alleles)))
    for record in sorted(long, key=lambda r: (r.position, r.file)):
        last = record.position + min(len(record.reference), REACH + 1)
        for i in range(bisect_right(positions, record.position), bisect_left(positions, last)):
            codes = across(record, sites[i].position, len(sites[i].alleles))
            sites[i].above.setdefault(record.file, []).append((record, codes))


@lru_cache
def plain_codes(alleles: int) -> Codes:
    """All listed alleles are the reference's at another site."""
    return (*(0,) * (alleles - 1), OTHER)


def across(record: Record, position: int, star: int) -> Codes:
    """At a later position, alleles that delete it are `*`, whose number is given; the others are the reference's."""
    offset = position - record.position
    deletes = (deleted_by(record.reference, alternate) for alternate in record.alternates)
    return (0, *(star if first <= offset < last else 0 for first, last in deletes), OTHER)


@lru_cache(maxsize=1 << 14)
def deleted_by(reference: str, alternate: str) -> tuple[int, int]:
    """Which bases of REF an allele lacks, [first, last); those of the common end are left aside."""
    if not alternate.isalpha():
        return 0, 0
    while len(alternate) > 1 and len(reference) > 1 and alternate[-1] == reference[-1]:
        reference, alternate = reference[:-1], alternate[:-1]
    return len(alternate), len(reference)


def _with_star(site: JointSite, most: int) -> JointSite:
    """`*` is one of the alleles where a line says so; one that deletes comes first among those of its file."""
    star = len(site.alleles)
    named = (codes for _, codes in (*site.own.values(), *(x for xs in site.above.values() for x in xs)))
    if any(star in codes for codes in named):
        site.alleles = (*site.alleles, STAR)
    for file, found in site.above.items():
        site.above[file] = sorted(found, key=lambda x: star not in x[1])
    return site
