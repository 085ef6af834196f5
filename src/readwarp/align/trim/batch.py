"""Trim a batch of reads, count what was cut off, and describe it."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.align.trim.cuts import Cuts, Patterns, Reason, TrimRules, correct_mates, find_cuts
from readwarp.align.trim.known import ADAPTERS, INSTRUMENTS
from readwarp.config import TrimParameters
from readwarp.formats.common.reads import ReadBatch
from readwarp.formats.common.text import copy_rows, pack_names
from readwarp.metrics import Metrics
from readwarp.ragged import empty, offsets_of, replace
from readwarp.wording import counted

IUPAC = "?ACMGRSVTWYHKDBN"  # letter of each base mask: 1 A, 2 C, 4 G, 8 T
MASK = {letter: mask for mask, letter in enumerate(IUPAC) if mask} | {"U": 8}
WORDS = {  # noun and the rest of the phrase
    Reason.MATES: ("adapter", " by the overlap of mates"),
    Reason.ADAPTER: ("adapter", " by sequence"),
    Reason.POLY_G: ("poly-G tail", ""),
    Reason.QUALITY: ("end", " of low quality"),
}


class Trimmed(NamedTuple):
    aligned: ReadBatch
    written: ReadBatch  # reads shown in records: `aligned`, or with the cut bases
    cuts: Cuts
    too_short: int  # reads not aligned because they were cut below the minimum length
    corrected: int  # bases


def trim(reads: ReadBatch, parameters: TrimParameters) -> Trimmed:
    """Cut adapters and bad ends off the reads of a batch."""
    cuts = empty(Cuts, {"reads": len(reads)})
    find_cuts(reads, rules_of(parameters), cuts)
    corrected = 0
    if parameters.correct:
        reads = replace(reads, bases=reads.bases.copy(), qualities=reads.qualities.copy())
        corrected = correct_mates(reads.segment, reads.read_offsets, cuts.fragment, reads.bases, reads.qualities)
    lengths, cut = np.diff(reads.read_offsets), cuts.bases.sum(axis=1)
    is_too_short = (cut > 0) & (lengths - cut < parameters.min_length)
    kept = shorten(reads, lengths - cut) if parameters.bases == "drop" else reads
    aligned = shorten(reads, np.where(is_too_short, 0, lengths - cut))
    return Trimmed(aligned, kept, cuts, int(is_too_short.sum()), int(corrected))


def untrimmed(reads: ReadBatch) -> Trimmed:
    """Return the reads unchanged."""
    return Trimmed(reads, reads, empty(Cuts, {"reads": 0}), 0, 0)


def shorten(reads: ReadBatch, lengths: ndarray) -> ReadBatch:
    """Keep the first `lengths` (int64 [reads]) bases of the reads."""
    offsets = offsets_of(lengths)
    if offsets[-1] == reads.read_offsets[-1]:
        return reads
    columns = reads.bases, reads.qualities
    bases, qualities = (copy_rows(column, reads.read_offsets[:-1], offsets) for column in columns)
    return replace(reads, bases=bases, qualities=qualities, read_offsets=offsets)


@lru_cache(maxsize=4)
def rules_of(parameters: TrimParameters) -> TrimRules:
    given = parameters.adapters, parameters.last_adapters
    firsts, lasts = given if parameters.adapters else known_adapters()
    return TrimRules(
        firsts=patterns_of(firsts),
        lasts=patterns_of(lasts or firsts),
        always_poly_g=parameters.poly_g == "always",
        instruments=pack_names(tuple(INSTRUMENTS) if parameters.poly_g == "auto" else ()),
        min_quality=parameters.min_quality,
        all_fragments=parameters.correct,
        anything_beyond=False,
    )


def known_adapters() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the known adapters of first and single reads, and of last reads."""
    return tuple(kit.first for kit in ADAPTERS.values()), tuple(kit.last for kit in ADAPTERS.values())


def patterns_of(adapters: tuple[str, ...]) -> Patterns:
    masks = [MASK[letter] for adapter in adapters for letter in adapter]
    return Patterns(np.array(masks, np.uint8), offsets_of([len(adapter) for adapter in adapters]))


def count(trimmed: Trimmed, metrics: Metrics) -> None:
    """Add a batch to the counters: reads and bases cut, in total and by reason."""
    cut = trimmed.cuts.bases
    metrics.count("reads_trimmed", int(cut.any(axis=1).sum()))
    metrics.count("bases_trimmed", int(cut.sum()))
    for reason in Reason:
        name = reason.name.lower()
        metrics.count(f"reads_trimmed_{name}", int((cut[:, reason] > 0).sum()))
        metrics.count(f"bases_trimmed_{name}", int(cut[:, reason].sum()))
    metrics.count("reads_trimmed_too_short", trimmed.too_short)
    metrics.count("bases_corrected", trimmed.corrected)


def describe(counts: Mapping[str, int]) -> str:
    """Say: `trimmed 12.34 % of the reads, 5.60 % of the bases (9 poly-G tails); 12 became too short to be aligned`."""
    shares = (100 * counts[f"{what}_trimmed"] / max(1, counts[what]) for what in ("reads", "bases"))
    text = "trimmed {:.2f} % of the reads, {:.2f} % of the bases".format(*shares)
    number = {reason: counts[f"reads_trimmed_{reason.name.lower()}"] for reason in Reason}
    reasons = [counted(number[reason], noun) + rest for reason, (noun, rest) in WORDS.items() if number[reason]]
    text += f" ({', '.join(reasons)})" if reasons else ""
    if short := counts["reads_trimmed_too_short"]:
        text += f"; {short:,} became too short to be aligned"
    if corrected := counts["bases_corrected"]:
        text += f"; corrected in the overlap of mates: {corrected:,}"
    return text
