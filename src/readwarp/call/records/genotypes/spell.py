"""Spell the positions and alleles of calls for VCF (host only)."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from readwarp.call.candidates.batches import Sites
from readwarp.call.places.bases import Window
from readwarp.call.records.genotypes.emitted import MISSING_BASE, STAR, UNLISTED
from readwarp.formats.variants.gvcf import NON_REF
from readwarp.rules.bases import LETTERS, OUTSIDE

TO_LETTERS = LETTERS.tobytes().ljust(256, b"N")
NAMES = {bytes([MISSING_BASE]): STAR, bytes([UNLISTED]): NON_REF}  # alleles without bases, which come last
Alleles = tuple[str, ...]


class ListedRecords(NamedTuple):
    """Records and the alleles that they keep of their sites: see `Emitted`."""

    site: np.ndarray
    kept_offsets: np.ndarray
    allele: np.ndarray
    is_indel: np.ndarray


class Spelled(NamedTuple):
    """CHROM, POS, REF and ALT of records."""

    contig: int
    position: np.ndarray  # int64 [records], 0-based
    alleles: list[Alleles]


def spell_alleles(sites: Sites, out: ListedRecords, window: Window) -> Spelled:
    """Spell alleles; indels span the longest deletion and get an anchor base, at a contig's first base the one after.

    Bases that all alleles of a record share at an end are left out, as long as each keeps one.
    """
    reference, inserted = _text(window.bases), _text(sites.inserted)
    codes = sites.inserted.tobytes()
    ends = sites.inserted_offsets
    first, last = ends[out.allele].tolist(), ends[out.allele + 1].tolist()
    deleted, bounds = sites.deleted[out.allele].tolist(), pairwise(out.kept_offsets.tolist())
    positions, spelled = [], list[Alleles]()
    for begin, is_indel, (low, high) in zip(sites.begin[out.site].tolist(), out.is_indel.tolist(), bounds, strict=True):
        bases = [inserted[first[i] : last[i]] for i in range(low, high)]
        names = [NAMES.get(codes[first[i] : last[i]]) for i in range(low, high)]
        others = [name for name in names if name]
        bases, position = [own for own, name in zip(bases, names, strict=True) if not name], begin
        if is_indel:
            here, gone = begin - window.first, deleted[low : low + len(bases)]
            stop = here + max(gone)
            is_first = here == 0 or window.bases[here - 1] == OUTSIDE
            before, after = ("", reference[stop]) if is_first else (reference[here - 1], "")
            bases = [before + own + reference[here + n : stop] + after for own, n in zip(bases, gone, strict=True)]
            position, bases = trim(begin - len(before), bases)
        positions.append(position)
        spelled.append((*bases, *others))
    return Spelled(sites.contig, np.array(positions, np.int64), spelled)


def trim(position: int, alleles: list[str]) -> tuple[int, list[str]]:
    """Trim the bases that all alleles share at an end, as long as each keeps one."""
    alleles = list(trim_end(alleles))
    while min(map(len, alleles)) > 1 and len({allele[0] for allele in alleles}) == 1:
        position, alleles = position + 1, [allele[1:] for allele in alleles]
    return position, alleles


def trim_end(alleles: Sequence[str]) -> Alleles:
    """Trim the last bases that all alleles but * share, as long as each keeps one."""
    shared = count_shared_at_end([allele for allele in alleles if allele != STAR])
    return tuple(allele if allele == STAR else allele[: len(allele) - shared] for allele in alleles)


def count_shared_at_end(alleles: Sequence[str]) -> int:
    """Count the bases that all alleles share at their end, not counting one that each keeps."""
    shared = 0
    while min(map(len, alleles)) > shared + 1 and len({allele[-1 - shared] for allele in alleles}) == 1:
        shared += 1
    return shared


def _text(bases: np.ndarray) -> str:
    return bases.tobytes().translate(TO_LETTERS).decode()
