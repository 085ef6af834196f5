"""Where any file has a variant, and the alleles of all (host only). See the step's contract."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import comb
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.batches import Window
from readwarp.call.genotypes.scalar import indel_prior
from readwarp.call.joint import REACH, STAR
from readwarp.call.sites import MAX_TRACT
from readwarp.call.sites.find import Allele, sites_of
from readwarp.call.spelling import Bases, encode
from readwarp.config import CallParameters
from readwarp.formats.variants.genomic_kernels import VARIANT, Lines
from readwarp.rules.bases import LETTERS

OTHER = 127  # code of <NON_REF>, which any allele is that the line does not list
LEFT_OUT = 126  # code of an allele that the line lists and the site does not
MAX_GENOTYPES = 1000  # of a site
Codes = tuple[int, ...]  # of each allele of a line: its number at the site, OTHER or LEFT_OUT


@dataclass(frozen=True, slots=True)
class Record:
    """A line with alleles of its own; the last one of the file's, <NON_REF>, is not among them."""

    file: int
    row: int  # in the file's Lines
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


class SiteAlleles(NamedTuple):
    """What kernels know of sites."""

    number: Annotated[ndarray, "int64 [sites]"]  # alleles, `*` among them
    star: Annotated[ndarray, "int64 [sites]"]  # number of `*`, -1 none
    is_cut: Annotated[ndarray, "bool [sites]"]  # alleles were left out


def alleles_of(sites: Sequence[JointSite]) -> SiteAlleles:
    return SiteAlleles(
        number=np.array([len(site.alleles) for site in sites], np.int64),
        star=np.array([site.star for site in sites], np.int64),
        is_cut=np.array([site.is_cut for site in sites], np.bool_),
    )


def records_of(file: int, lines: Lines, low: int) -> list[Record]:
    """The lines with variants that begin at `low` or after it."""
    out = []
    for row in np.flatnonzero((lines.kind == VARIANT) & (lines.begin >= low)).tolist():
        _, _, _, reference, alternates, _, _, information, *_ = lines.fields(row)
        spelled = (reference.decode().upper(), tuple(alternates.decode().upper().split(",")[:-1]))
        out.append(Record(file, row, int(lines.begin[row]), *spelled, information.decode()))
    return out


def find_sites(records: Iterable[Record], start: int, stop: int, max_alts: int, ploidy: int) -> list[JointSite]:
    """The sites with positions in [start, stop), in order; at one position substitutions come first.

    `ploidy`: the highest, which limits the number of alleles.
    """
    groups: dict[tuple[int, bool], list[Record]] = defaultdict(list)
    mixed, long = set(), []
    for record in records:
        is_indel, is_mixed = classify(record.reference, record.alternates)
        groups[record.position, is_indel].append(record)
        if is_mixed:
            mixed.add(record.position)
        if len(record.reference) > 1:
            long.append(record)
    for position in mixed:
        groups[position, True] += groups.pop((position, False), [])
    limit = limit_alleles(max_alts, ploidy)
    keys = sorted(key for key in groups if start <= key[0] < stop)
    sites = [_make_site(*key, sorted(groups[key], key=lambda r: r.file), limit) for key in keys]
    _add_lines_above(sites, groups, long)
    for site in sites:
        _add_star(site)
    return sites


@lru_cache(maxsize=1 << 14)
def classify(reference: str, alternates: tuple[str, ...]) -> tuple[bool, bool]:
    """Whether alleles are longer than a base; whether such ones stand beside others that change the first base."""
    named = [a for a in alternates if a != STAR and a.isalpha()]
    is_indel = len(reference) > 1 or any(len(a) > 1 for a in named)
    return is_indel, is_indel and any(a[0] != reference[0] for a in named)


@lru_cache
def limit_alleles(max_alts: int, ploidy: int) -> int:
    """How many alleles a site may have, so that its genotypes do not become too many."""
    limit = max_alts + 1
    while limit > 2 and comb(limit + ploidy - 1, ploidy) > MAX_GENOTYPES:
        limit -= 1
    return limit


def _make_site(position: int, is_indel: bool, records: Sequence[Record], limit: int) -> JointSite:
    reference = max((r.reference for r in records), key=len)
    spelled = (lengthen(allele, r.reference, reference) for r in records for allele in r.alternates)
    counts = Counter(allele for allele in spelled if allele.isalpha())
    commonest = sorted(counts, key=lambda a: -counts[a])[: limit - 1]
    alleles = (reference, *sorted(commonest, key=list(counts).index))
    own = {r.file: (r, codes_of(r.reference, r.alternates, alleles)) for r in reversed(records)}
    return JointSite(position, is_indel, alleles, own, is_cut=len(commonest) < len(counts))


def lengthen(allele: str, reference: str, longest: str) -> str:
    """An allele of REF `reference` as one of the longer REF; `*` and symbols stay."""
    return allele + longest[len(reference) :] if allele.isalpha() else allele


@lru_cache(maxsize=1 << 14)
def codes_of(reference: str, alternates: tuple[str, ...], alleles: tuple[str, ...]) -> Codes:
    """`*` has the number after the last of `alleles`; see `_add_star`."""
    numbers = {allele: i for i, allele in enumerate(alleles)} | {STAR: len(alleles)}
    spelled = (lengthen(a, reference, alleles[0]) for a in alternates)
    return (0, *(numbers.get(a, LEFT_OUT if a.isalpha() else OTHER) for a in spelled), OTHER)


def _add_lines_above(
    sites: Sequence[JointSite], groups: dict[tuple[int, bool], list[Record]], long: Iterable[Record]
) -> None:
    """Lines of a file that span a site of which they are not: of the same position, or longer ones from before."""
    positions = [site.position for site in sites]
    for site in sites:
        for record in groups.get((site.position, not site.is_indel), ()):
            site.above.setdefault(record.file, []).append((record, codes_beside(record.alleles)))
    for record in sorted(long, key=lambda r: (r.position, r.file)):
        last = record.position + min(len(record.reference), REACH + 1)
        for i in range(bisect_right(positions, record.position), bisect_left(positions, last)):
            codes = codes_across(record, sites[i].position, len(sites[i].alleles))
            sites[i].above.setdefault(record.file, []).append((record, codes))


@lru_cache
def codes_beside(alleles: int) -> Codes:
    """All listed alleles are the reference's at another site."""
    return (*(0,) * (alleles - 1), OTHER)


def codes_across(record: Record, position: int, star: int) -> Codes:
    """At a later position, alleles that delete it are `*`, whose number is given; the others are the reference's."""
    offset = position - record.position
    deletes = (find_deleted(record.reference, alternate) for alternate in record.alternates)
    return (0, *(star if first <= offset < last else 0 for first, last in deletes), OTHER)


@lru_cache(maxsize=1 << 14)
def find_deleted(reference: str, alternate: str) -> tuple[int, int]:
    """Which bases of REF an allele lacks, [first, last); those of the common end are left aside."""
    if not alternate.isalpha():
        return 0, 0
    while len(alternate) > 1 and len(reference) > 1 and alternate[-1] == reference[-1]:
        reference, alternate = reference[:-1], alternate[:-1]
    return len(alternate), len(reference)


def _add_star(site: JointSite) -> None:
    """`*` is one of the alleles where a line says so; a line that deletes comes first among those of its file."""
    star = len(site.alleles)
    lines = (*site.own.values(), *(line for found in site.above.values() for line in found))
    if any(star in codes for _, codes in lines):
        site.alleles = (*site.alleles, STAR)
    for found in site.above.values():
        found.sort(key=lambda line: star not in line[1])


def find_priors(sites: Sequence[JointSite], bases: Bases, parameters: CallParameters) -> np.ndarray:
    """float64 [s]: `snv_prior`, or that of an insertion or deletion in its repeat, as in `genotypes`."""
    out = np.full(len(sites), parameters.snv_prior)
    rows = [s for s, site in enumerate(sites) if site.is_indel]
    if not rows:
        return out
    start = sites[rows[0]].position
    last = max(sites[s].position + len(sites[s].alleles[0]) for s in rows)
    reference = bases.between(start, min(bases.length, last + MAX_TRACT + 2))
    window = Window(0, start, start + len(reference), np.frombuffer(reference, np.uint8), start)
    gaps = sites_of([(sites[s].position + 1, True, list(_gaps(sites[s]))) for s in rows], window)
    tracts = zip(gaps.unit.tolist(), (gaps.stop - gaps.begin).tolist(), strict=True)
    out[rows] = [indel_prior(parameters.indel_prior, unit, tract) for unit, tract in tracts]
    return out


def _gaps(site: JointSite) -> Iterator[Allele]:
    """Bases deleted and inserted after the anchor by REF and each other allele."""
    yield 0, b""
    for allele in site.alleles[1:]:
        reference = site.alleles[0]
        if allele == STAR:
            continue
        while min(len(reference), len(allele)) > 1 and reference[-1] == allele[-1]:
            reference, allele = reference[:-1], allele[:-1]
        yield len(reference) - 1, encode(allele[1:])


def find_misfit(records: Sequence[Record], bases: Bases) -> tuple[Record, str] | None:
    """The first line whose REF is not the reference's, and why."""
    if not records:
        return None
    start = min(record.position for record in records)
    stop = max(record.position + len(record.reference) for record in records)
    codes = np.frombuffer(bases.between(min(start, bases.length), min(stop, bases.length)), np.uint8)
    text = LETTERS[codes].tobytes().decode()
    for record in records:
        first, size = record.position - start, len(record.reference)
        here = text[first : first + size]
        if len(here) < size:
            return record, f"it lies beyond the end of its contig, which has {bases.length} bases"
        if here != record.reference and "N" not in here:
            return record, f"REF is {record.reference}, the reference has {here} there"
    return None
