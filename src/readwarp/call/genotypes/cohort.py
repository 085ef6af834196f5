"""Ways to join the annotations of several genomic VCFs into that of a cohort's record (host only).

Each makes the value of one record from its `Reports`; an annotation's row in `annotations` names one.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

NAN = math.nan
ENOUGH = 100  # reads of one kind: tests of more of them tell what so many would, and so mean the same at any depth
LARGEST = 1e15  # of an annotation
ITEMS = re.compile("([^;=]+)=?([^;]*)")  # of INFO
Values = Iterable[tuple[float, float]]  # value and weight


class Reports(NamedTuple):
    """What the files say about one record. A line is what one file has at the site."""

    lines: Sequence[dict[str, str]]  # INFO
    reads: Sequence[int]  # of each line
    alt_reads: Sequence[int]  # of each line, those that show ALT alleles
    strands: Sequence[int] | None  # sums of SBI, else SB; None where a line has none
    quality: float  # QUAL of the record
    depth: int  # DP of all samples
    alt_depth: int  # DP of the samples that have ALT alleles


def read_information(text: str) -> dict[str, str]:
    """The fields of INFO; MQ by RAW_MQandDP, the sum of squared MAPQ and the number of reads, where that is given."""
    out: dict[str, str] = dict(ITEMS.findall(text))
    squares, _, reads = out.get("RAW_MQandDP", "").partition(",")
    if squares.isdecimal() and _number(reads) > 0:
        out["MQ"] = str(math.sqrt(_number(squares) / _number(reads)))
    return out


Join = Callable[[Reports, str], float]  # the annotation of this name; NaN if there is none


def by_reads(combine: Callable[[Values], float]) -> Join:
    """The lines' values, weighted by their reads."""
    return lambda reports, name: combine(_values(reports.lines, name, reports.reads))


def by_alt_reads(combine: Callable[[Values], float]) -> Join:
    """The lines' values, weighted by their reads of ALT alleles."""
    return lambda reports, name: combine(_values(reports.lines, name, reports.alt_reads))


def by_ref_reads(combine: Callable[[Values], float]) -> Join:
    """The lines' values, weighted by their other reads."""

    def join(reports: Reports, name: str) -> float:
        weights = [max(0, n - alt) for n, alt in zip(reports.reads, reports.alt_reads, strict=True)]
        return combine(_values(reports.lines, name, weights))

    return join


def by_strands(rule: Callable[..., float]) -> Join:
    """From the strands of all reads; if a line does not give them, the value of the only line."""

    def join(reports: Reports, name: str) -> float:
        return only(_values(reports.lines, name, reports.reads)) if reports.strands is None else rule(*reports.strands)

    return join


def total_depth(reports: Reports, name: str) -> float:
    return reports.depth


def quality_by_depth(reports: Reports, name: str) -> float:
    return reports.quality / reports.alt_depth if reports.alt_depth else NAN


def by_genotypes(reports: Reports, name: str) -> float:
    """Not from the lines: from the record's genotypes, see `population`."""
    return NAN


def mean(values: Values) -> float:
    known = _known(values)
    return sum(v * w for v, w in known) / sum(w for _, w in known) if known else NAN


def root_mean_square(values: Values) -> float:
    return math.sqrt(mean((v * v, w) for v, w in values))


def only(values: Values) -> float:
    """The value if there is only one."""
    (value, *more) = [v for v, _ in values] or [NAN]
    return NAN if more else value


def stouffer(values: Values) -> float:
    """z of several independent tests, each weighted by the root of its number of reads; as if of at most 2 * ENOUGH."""
    known = _known(values)
    total = sum(n for _, n in known)
    return mean((z / _root(n), n) for z, n in known) * _root(total)


def _root(reads: float) -> float:
    return math.sqrt(min(reads, 2 * ENOUGH))


def _known(values: Values) -> list[tuple[float, float]]:
    return [(value, weight) for value, weight in values if value == value and weight > 0]


def _values(lines: Sequence[dict[str, str]], name: str, weights: Sequence[int]) -> Values:
    return [(_number(line[name]), weight) for line, weight in zip(lines, weights, strict=True) if name in line]


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return NAN
    return value if abs(value) < LARGEST else NAN
