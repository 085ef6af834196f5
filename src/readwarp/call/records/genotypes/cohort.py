"""Join the annotations of several genomic VCFs into that of a cohort's record (host only).

Each function makes the value of one record from its `Reports`; an annotation's row in `annotations` names one.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

NAN = math.nan
ENOUGH = 100  # reads of one kind; more count as this many, so tests mean the same at any depth
LARGEST = 1e15  # cap of an annotation
ITEMS = re.compile("([^;=]+)=?([^;]*)")  # key and value of INFO
Values = Iterable[tuple[float, float]]  # value and weight


class Reports(NamedTuple):
    """Values of a cohort's files for one record; a line is a file's record at the site."""

    lines: Sequence[dict[str, str]]  # INFO of each line
    reads: Sequence[int]  # reads of each line
    alt_reads: Sequence[int]  # reads of each line that show ALT alleles
    strands: Sequence[int] | None  # sums of SBI, else SB; None if a line has neither
    quality: float  # QUAL of the record
    depth: int  # summed over all samples
    alt_depth: int  # summed over samples with ALT alleles


def read_information(text: str) -> dict[str, str]:
    """Parse INFO; MQ from RAW_MQandDP, the sum of squared MAPQ and the number of reads, if given."""
    out: dict[str, str] = dict(ITEMS.findall(text))
    squares, _, reads = out.get("RAW_MQandDP", "").partition(",")
    if squares.isdecimal() and _number(reads) > 0:
        out["MQ"] = str(math.sqrt(_number(squares) / _number(reads)))
    return out


Join = Callable[[Reports, str], float]  # annotation of this name; NaN if there is none


def by_reads(combine: Callable[[Values], float]) -> Join:
    """Combine the lines' values, weighted by their reads."""
    return lambda reports, name: combine(_values(reports.lines, name, reports.reads))


def by_alt_reads(combine: Callable[[Values], float]) -> Join:
    """Combine the lines' values, weighted by their reads of ALT alleles."""
    return lambda reports, name: combine(_values(reports.lines, name, reports.alt_reads))


def by_ref_reads(combine: Callable[[Values], float]) -> Join:
    """Combine the lines' values, weighted by their other reads."""

    def join(reports: Reports, name: str) -> float:
        weights = [max(0, n - alt) for n, alt in zip(reports.reads, reports.alt_reads, strict=True)]
        return combine(_values(reports.lines, name, weights))

    return join


def by_strands(rule: Callable[..., float]) -> Join:
    """Compute from the strands of all reads; if a line lacks them, use the value of the only line."""

    def join(reports: Reports, name: str) -> float:
        return only(_values(reports.lines, name, reports.reads)) if reports.strands is None else rule(*reports.strands)

    return join


def quality_by_depth(reports: Reports, name: str) -> float:
    return reports.quality / reports.alt_depth if reports.alt_depth else NAN


def by_genotypes(reports: Reports, name: str) -> float:
    """Return NaN: `calls` computes the value from the record's genotypes."""
    return NAN


def mean(values: Values) -> float:
    known = _known(values)
    return sum(v * w for v, w in known) / sum(w for _, w in known) if known else NAN


def root_mean_square(values: Values) -> float:
    return math.sqrt(mean((v * v, w) for v, w in values))


def only(values: Values) -> float:
    """Return the value if there is only one."""
    (value, *more) = [v for v, _ in values] or [NAN]
    return NAN if more else value


def stouffer(values: Values) -> float:
    """Combine z of independent tests, each weighted by the root of its number of reads, at most 2 * ENOUGH."""
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
