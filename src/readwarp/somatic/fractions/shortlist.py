"""Hold records until all are known, and choose the probability that they must reach. See the package's text."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from tempfile import SpooledTemporaryFile
from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.records import limits
from readwarp.call.records.variant_job import HeaderFields
from readwarp.formats.variants.calls import Calls
from readwarp.formats.variants.vcf import format_calls
from readwarp.metrics import Metrics
from readwarp.ragged import replace
from readwarp.somatic.fractions.annotations import FORMAT, INFORMATION
from readwarp.somatic.fractions.filters import BY_QUALITY, FILTERS

HELD = 64 << 20  # bytes of records in memory; more are on disk
PASS, FILTER = b"PASS", 6  # FILTER value; its column in VCF
FRACTION_FIELDS = HeaderFields((*INFORMATION, limits.FIELD), FORMAT, filters=FILTERS)
TRANSITIONS = {b"AG", b"GA", b"CT", b"TC"}


class ShortlistedRecords(NamedTuple):
    """Records of a window as lines, with the probabilities against each."""

    lines: list[bytes]
    doubts: Annotated[ndarray, "float64 [records, filters by quality]"]  # probabilities
    passes: Annotated[ndarray, "bool [records]"]  # passes all other filters


def candidates_of(calls: Calls, contigs: tuple[str, ...]) -> ShortlistedRecords:
    lines = [line for _, line in format_calls(calls, contigs)]
    return ShortlistedRecords(lines, doubts_of(calls), passes_of(calls))


def doubts_of(calls: Calls) -> ndarray:
    """Return the probabilities against each call (float64 [records, filters by quality])."""
    if len(calls) == 0:
        return np.zeros((0, len(BY_QUALITY)))
    phred = np.stack([calls.annotations[row.quality] for row in BY_QUALITY], axis=1)
    return np.asarray(np.where(np.isnan(phred), 0.0, 10.0 ** (-0.1 * phred)))


def passes_of(calls: Calls) -> ndarray:
    """Return whether each call passes all other filters (bool [records])."""
    return np.array([not own for own in calls.filters], bool)


def find_unlikely(doubts: ndarray, threshold: float) -> ndarray:
    """Find the filters by quality that each record fails (bool, shaped like `doubts`)."""
    real = np.prod(1 - doubts, axis=1)
    fails = np.asarray((doubts > 1 - threshold) & (real < threshold)[:, None])
    rows = np.flatnonzero(real < threshold)
    fails[rows, np.argmax(doubts[rows], axis=1)] = True
    return fails


def name_failed(others: Iterable[str], failed: ndarray) -> tuple[str, ...]:
    """Name the filters that a record fails, in the order of the table. failed: bool [filters by quality]."""
    names = {*others, *(row.name for row, fails in zip(BY_QUALITY, failed, strict=True) if fails)}
    return tuple(row.name for row in FILTERS if row.name in names)


def filter_together(batches: Sequence[Calls], least: float) -> tuple[list[Calls], float]:
    """Set the filters by quality; return all calls, and the least P(real) to pass, `least` or more."""
    doubts = [doubts_of(calls) for calls in batches]
    real = [np.prod(1 - own[passes_of(calls)], axis=1) for own, calls in zip(doubts, batches, strict=True)]
    threshold = max(least, best_threshold(np.concatenate([np.zeros(0), *real])))
    filtered = []
    for own, calls in zip(doubts, batches, strict=True):
        failed = zip(calls.filters, find_unlikely(own, threshold), strict=True)
        filtered.append(replace(calls, filters=[name_failed(others, rows) for others, rows in failed]))
    return filtered, threshold


class Shortlist:
    """Store of the candidates of all windows, added in order and yielded once, with the filters by quality."""

    def __init__(self) -> None:
        self._lines = SpooledTemporaryFile(HELD, prefix="readwarp-")  # noqa: SIM115
        self._doubts, self._passes = list[ndarray](), list[ndarray]()

    def add(self, found: ShortlistedRecords) -> None:
        self._lines.writelines(found.lines)
        self._doubts.append(found.doubts)
        self._passes.append(found.passes)

    def choose_threshold(self, least: float) -> float:
        """Return the least P(real) to pass that gives the highest expected F1; `least` or more."""
        doubts, passes = self._columns()
        return max(least, best_threshold(np.prod(1 - doubts[passes], axis=1)))

    def lines(self, threshold: float, metrics: Metrics) -> Iterator[bytes]:
        """Yield the records with their filters, and count them."""
        doubts, _ = self._columns()
        metrics.count("variants", 0)
        self._lines.seek(0)
        for line, own in zip(self._lines, find_unlikely(doubts, threshold), strict=True):
            fields = line.split(b"\t", FILTER + 1)
            others = fields[FILTER].decode().split(";")  # PASS is not a filter
            fields[FILTER] = ";".join(name_failed(others, own)).encode() or PASS
            count(fields, metrics)
            yield b"\t".join(fields)
        self.close()

    def close(self) -> None:
        self._lines.close()

    def _columns(self) -> tuple[ndarray, ndarray]:
        doubts = np.concatenate([np.zeros((0, len(BY_QUALITY))), *self._doubts])
        return doubts, np.concatenate([np.zeros(0, bool), *self._passes])


def best_threshold(real: ndarray) -> float:
    """Return half of the highest expected F1, which calls of higher P raise. real: P of each candidate (float64)."""
    real = np.sort(real)[::-1]
    expected = 2 * np.cumsum(real) / (np.arange(1, real.size + 1) + real.sum())
    return float(expected.max(initial=0.0)) / 2


def count(fields: list[bytes], metrics: Metrics) -> None:
    """Count one record: see `variant_job.count_calls`."""
    counts = Counter(variants=1)
    if fields[FILTER] == PASS:
        reference, other = fields[3:5]
        is_snv = len(reference) == len(other) == 1
        counts["variants_pass"] += 1
        counts["snvs" if is_snv else "indels"] += 1
        if is_snv:
            counts["transitions" if reference + other in TRANSITIONS else "transversions"] += 1
    for name, number in counts.items():
        metrics.count(name, number)
