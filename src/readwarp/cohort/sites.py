"""Find the sites where any file has a variant, the alleles of all files there, and their priors (host only)."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import compress
from math import comb
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.sites import MAX_TRACT
from readwarp.call.candidates.sites.find import Allele, sites_of
from readwarp.call.places.bases import Bases, Window, encode
from readwarp.call.records.genotypes.emitted import STAR
from readwarp.call.records.genotypes.order import most_alleles
from readwarp.call.records.genotypes.quality import indel_prior, substitution_prior
from readwarp.call.records.genotypes.spell import count_shared_at_end
from readwarp.cohort import REACH
from readwarp.config import CallParameters
from readwarp.formats.variants.genomic_lines import VARIANT, Lines
from readwarp.formats.variants.gvcf import NON_REF
from readwarp.rules.bases import LETTERS

OTHER = 127  # code of <NON_REF>: any allele that the line does not list
LEFT_OUT = 126  # code of an allele that the line lists, but not the site
OPEN = (NON_REF, "<*>")  # last ALT of a line, for any unlisted allele
MAX_GENOTYPES = 1000  # limit per site
ALLELE = re.compile(r"[ACGTN]+|[*.]|<[!-~]+>|[!-~]*[][][!-~]*|[ACGTN]+\.|\.[ACGTN]+")
AMBIGUOUS = str.maketrans("RYSWKMBDHV", "N" * 10)
SHOWN = 50  # letters of an allele in a message
Spans = tuple[ndarray, ndarray]  # ascending starts and stops, which do not touch
Codes = tuple[int, ...]  # for each allele of a line, its number at the site, OTHER or LEFT_OUT


@dataclass(frozen=True, slots=True)
class GvcfRecord:
    """Line with alleles of its own; `is_open` says whether <NON_REF> followed them."""

    file: int
    row: int  # row in the file's Lines
    position: int  # 0-based
    reference: str
    alternates: tuple[str, ...]
    information: str
    is_open: bool = True

    def code(self, numbers: Iterable[int]) -> Codes:
        """Return the codes of its alleles, given the numbers of its alternates."""
        return (0, *numbers, OTHER) if self.is_open else (0, *numbers)


@dataclass(slots=True)
class JointSite:
    """Site of a cohort with its alleles, REF first and `*` last."""

    position: int
    is_indel: bool
    alleles: tuple[str, ...]
    own: dict[int, tuple[GvcfRecord, Codes]]  # lines of the site, by file
    across: dict[int, list[tuple[GvcfRecord, Codes]]] = field(default_factory=dict)  # lines of other sites, by file
    is_cut: bool = False  # alleles were left out

    @property
    def star(self) -> int:
        """Return the number of `*`, -1 if no deletion spans the site."""
        return len(self.alleles) - 1 if self.alleles[-1] == STAR else -1


class SiteAlleles(NamedTuple):
    """Sites in the columns that kernels take."""

    number: Annotated[ndarray, "int64 [sites]"]  # number of alleles, `*` included
    star: Annotated[ndarray, "int64 [sites]"]  # number of `*`, -1 none
    is_cut: Annotated[ndarray, "bool [sites]"]  # alleles were left out


def alleles_of(sites: Sequence[JointSite]) -> SiteAlleles:
    return SiteAlleles(
        number=np.array([len(site.alleles) for site in sites], np.int64),
        star=np.array([site.star for site in sites], np.int64),
        is_cut=np.array([site.is_cut for site in sites], np.bool_),
    )


def lie_in(positions: ndarray, spans: Spans) -> ndarray:
    """Return whether each position is in one of the spans (bool)."""
    start, stop = spans
    place = np.searchsorted(start, positions, side="right") - 1
    return np.asarray((place >= 0) & (positions < stop[place]))


def records_of(file: int, lines: Lines, spans: Spans) -> list[GvcfRecord]:
    """Return the lines with variants that begin in the spans."""
    out, rows = [], np.flatnonzero(lines.kind == VARIANT)
    for row in rows[lie_in(lines.begin[rows], spans)].tolist():
        _, _, _, reference, alternates, _, _, information, *_ = lines.fields(row)
        stated = reference.decode(errors="replace").upper()
        spelled = alternates.decode(errors="replace").upper().split(",")
        is_open = spelled[-1] in OPEN
        if (plain := stated.translate(AMBIGUOUS)) != stated:  # bcftools repeats such letters of the reference in ALT
            spelled = [allele.translate(AMBIGUOUS) if allele.isalpha() else allele for allele in spelled]
        own = (plain, tuple(spelled[: len(spelled) - is_open]))
        out.append(GvcfRecord(file, row, int(lines.begin[row]), *own, information.decode("ascii", "replace"), is_open))
    return out


def find_sites(
    records: Iterable[GvcfRecord], spans: Spans, max_alts: int, ploidy: int, higher: Mapping[int, int] | None = None
) -> list[JointSite]:
    """Return the sorted sites with positions in the spans; at one position substitutions come first.

    `ploidy`: the highest one, which limits the number of alleles; `higher`: that of single positions.
    """
    groups: dict[tuple[int, bool], list[GvcfRecord]] = defaultdict(list)
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
    keys, sites = sorted(groups), list[JointSite]()
    is_near = lie_in(np.array([position for position, _ in keys], np.int64), spans)
    for position, is_indel in compress(keys, is_near):
        limit = limit_alleles(max_alts, (higher or {}).get(position, ploidy))
        own = sorted(groups[position, is_indel], key=lambda r: r.file)
        sites.append(_make_site(position, is_indel, own, limit))
    _add_lines_across(sites, groups, long)
    for site in sites:
        _add_star(site)
    return sites


@lru_cache(maxsize=1 << 14)
def classify(reference: str, alternates: tuple[str, ...]) -> tuple[bool, bool]:
    """Return whether any allele is longer than a base, and whether one then also changes the first base."""
    named = [a for a in alternates if a != STAR and a.isalpha()]
    is_indel = len(reference) > 1 or any(len(a) > 1 for a in named)
    return is_indel, is_indel and any(a[0] != reference[0] for a in named)


@lru_cache
def limit_alleles(max_alts: int, ploidy: int) -> int:
    """Return the most alleles of a site, so that genotypes are limited."""
    limit = max_alts + 1
    while limit > 2 and comb(limit + ploidy - 1, ploidy) > MAX_GENOTYPES:
        limit -= 1
    return max(2, min(limit, most_alleles(ploidy) - 1))  # one more may be `*`


def _make_site(position: int, is_indel: bool, records: Sequence[GvcfRecord], limit: int) -> JointSite:
    reference = max((r.reference for r in records), key=len)
    spelled = (lengthen(allele, r.reference, reference) for r in records for allele in r.alternates)
    counts = Counter(allele for allele in spelled if allele.isalpha())
    order = {allele: i for i, allele in enumerate(counts)}
    commonest = sorted(counts, key=lambda a: -counts[a])[: limit - 1]
    alleles = (reference, *sorted(commonest, key=lambda a: order[a]))
    own = {r.file: (r, r.code(numbers_of(r.reference, r.alternates, alleles))) for r in reversed(records)}
    return JointSite(position, is_indel, alleles, own, is_cut=len(commonest) < len(counts))


def lengthen(allele: str, reference: str, longest: str) -> str:
    """Extend an allele of REF `reference` to the longer REF; `*` and symbols stay."""
    return allele + longest[len(reference) :] if allele.isalpha() else allele


@lru_cache(maxsize=1 << 14)
def numbers_of(reference: str, alternates: tuple[str, ...], alleles: tuple[str, ...]) -> Codes:
    """Return the codes of `alternates`. `*` has the number after the last of `alleles`; see `_add_star`."""
    numbers = {allele: i for i, allele in enumerate(alleles)} | {STAR: len(alleles)}
    spelled = (lengthen(a, reference, alleles[0]) for a in alternates)
    return tuple(numbers.get(a, LEFT_OUT if a.isalpha() else OTHER) for a in spelled)


def _add_lines_across(
    sites: Sequence[JointSite], groups: dict[tuple[int, bool], list[GvcfRecord]], long: Iterable[GvcfRecord]
) -> None:
    """Add lines that span a site but do not begin there: at the same position, or long ones that begin before it.

    A line that is not open counts only if it deletes the position; otherwise a block beside it may say more.
    """
    positions = [site.position for site in sites]
    for site in sites:
        for record in groups.get((site.position, not site.is_indel), ()):
            if record.is_open:
                site.across.setdefault(record.file, []).append((record, record.code([0] * len(record.alternates))))
    for record in sorted(long, key=lambda r: (r.position, r.file)):
        last = record.position + min(len(record.reference), REACH + 1)
        for i in range(bisect_right(positions, record.position), bisect_left(positions, last)):
            star = len(sites[i].alleles)
            codes = codes_across(record, sites[i].position, star)
            if record.is_open or star in codes:
                sites[i].across.setdefault(record.file, []).append((record, codes))


def codes_across(record: GvcfRecord, position: int, star: int) -> Codes:
    """Return codes at a later position: alleles that delete it are `star`; the others are the reference's."""
    offset = position - record.position
    deletes = (find_deleted(record.reference, alternate) for alternate in record.alternates)
    return record.code(star if first <= offset < last else 0 for first, last in deletes)


@lru_cache(maxsize=1 << 14)
def find_deleted(reference: str, alternate: str) -> tuple[int, int]:
    """Return the bases of REF that an allele lacks, [first, last), before the common end."""
    if not alternate.isalpha():
        return 0, 0
    shared = count_shared_at_end((reference, alternate))
    return len(alternate) - shared, len(reference) - shared


def _add_star(site: JointSite) -> None:
    """Make `*` an allele if any line has its number, and sort lines that have it first in each file."""
    star = len(site.alleles)
    lines = (*site.own.values(), *(line for found in site.across.values() for line in found))
    if any(star in codes for _, codes in lines):
        site.alleles = (*site.alleles, STAR)
    for found in site.across.values():
        found.sort(key=lambda line: star not in line[1])


def find_priors(sites: Sequence[JointSite], bases: Bases, parameters: CallParameters) -> np.ndarray:
    """Return the priors of bases, or of indels in their repeats, as in `genotypes` (float64 [sites])."""
    out = np.full(len(sites), substitution_prior(parameters.snv_prior))
    rows = [s for s, site in enumerate(sites) if site.is_indel]
    if not rows:
        return out
    start = sites[rows[0]].position
    last = max(sites[s].position + len(sites[s].alleles[0]) for s in rows)
    reference = bases.array(start, min(bases.length, last + MAX_TRACT + 2))
    window = Window(0, start, start + reference.size, reference, start)
    gaps = sites_of([(sites[s].position + 1, True, _list_gaps(sites[s].alleles)) for s in rows], window)
    tracts = zip(gaps.unit.tolist(), (gaps.stop - gaps.begin).tolist(), strict=True)
    out[rows] = [indel_prior(parameters.indel_prior, unit, tract) for unit, tract in tracts]
    return out


def _list_gaps(alleles: Sequence[str]) -> list[Allele]:
    """List the bases that REF and each other allele delete and insert after the anchor."""
    spans = [(allele, find_deleted(alleles[0], allele)) for allele in alleles[1:] if allele != STAR]
    return [(0, b""), *((stop - 1, encode(allele[1:first])) for allele, (first, stop) in spans)]


def find_misfit(records: Sequence[GvcfRecord], bases: Bases) -> tuple[GvcfRecord, str] | None:
    """Return the first line whose REF differs from the reference, or whose ALT is invalid, and how."""
    if not records:
        return None
    start = min(record.position for record in records)
    stop = max(record.position + len(record.reference) for record in records)
    text = LETTERS[bases.array(min(start, bases.length), min(stop, bases.length))].tobytes().decode()
    for record in records:
        first, size = record.position - start, len(record.reference)
        here = text[first : first + size]
        if len(here) < size:
            return record, f"it is beyond the end of its contig, which has {bases.length} bases"
        if here != record.reference and "N" not in here:
            return record, f"REF is {_shorten(record.reference)}, the reference has {_shorten(here)} there"
        if not are_alleles(record.alternates):
            return record, f"ALT is {_shorten(','.join(record.alternates))}"
        if record.reference in record.alternates:
            return record, f"REF is an ALT too: {_shorten(record.reference)}"
    return None


@lru_cache(maxsize=1 << 14)
def are_alleles(alternates: tuple[str, ...]) -> bool:
    """Return whether each is made of A, C, G, T and N, or is `*`, `.`, a symbol or a breakend."""
    return all(ALLELE.fullmatch(allele) for allele in alternates)


def _shorten(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
