"""Read the alleles that the user asks for from VCF, VCF.gz or BCF, in the notation of `Sites`.

Each ALT of the file is spelled like a call (`readwarp.call.candidates.spelling`): trimmed and left-aligned, and a
record that changes several bases becomes several substitutions. Records may be in any order; their genotypes, filters
and INFO are not read.

Alleles that cannot be genotyped are skipped and counted by reason in `Forced.skipped`:

    symbolic    <DEL>, <NON_REF>, breakends and `*`
    not_acgt    letters other than A, C, G and T are inserted, deleted, or before an indel
    long        more than MAX_INDEL bases deleted, or more than MAX_INSERTION inserted
    at_start    an insertion or deletion before the second base of a contig, which has no anchor base
    at_end      an insertion after the last base of a contig, where no read is aligned
    too_many    more than MAX_ALLELES - 1 insertions and deletions at one place; the first in the file stay

All others are genotyped, and no limit drops one of them: `sites.find` makes them alleles of a window's Sites, and in a
region each has a haplotype of its own, which stays (`haplotypes`, `alleles`). At most 3 substitutions and
MAX_ALLELES - 1 insertions and deletions begin at each of a region's MAX_REGION places: that bounds its haplotypes.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.pileup import MAX_INDEL, MAX_INSERTION
from readwarp.call.candidates.sites import MAX_ALLELES
from readwarp.call.candidates.spelling import Allele, is_indel, spell_alleles
from readwarp.call.places.bases import Bases, encode
from readwarp.call.places.strips import Strip
from readwarp.errors import InputError
from readwarp.formats.common.contig_names import explain_absent
from readwarp.formats.common.silence import quiet_htslib
from readwarp.formats.variants.records import RecordFile
from readwarp.index.reference import Reference
from readwarp.ragged import offsets_of, ranges


@dataclass(frozen=True, slots=True)
class Forced:
    """Alleles of the file, A distinct ones, sorted by contig and position in VCF."""

    contig_offsets: ndarray  # int64 [contigs + 1]
    position: ndarray  # int64 [A], VCF position, but 0-based: of the base, or of an indel's anchor base
    begin: ndarray  # int64 [A]
    deleted: ndarray  # int32 [A]
    inserted: ndarray  # uint8, 0-3
    inserted_offsets: ndarray  # int64 [A + 1]
    skipped: dict[str, int]  # reason -> number of alleles of the file

    def __len__(self) -> int:
        return self.begin.size

    def along(self, strip: Strip) -> "Forced | None":
        """Move alleles to the strip's axis, as contig 0; None if there are none."""
        rows = ranges(self.contig_offsets, np.array(strip.contigs))
        origins = np.repeat(strip.origins, np.diff(self.contig_offsets)[strip.contigs])
        offsets = offsets_of(np.diff(self.inserted_offsets)[rows])
        inserted, bounds = self.inserted[ranges(self.inserted_offsets, rows)], np.array([0, rows.size])
        moved = self.position[rows] + origins, self.begin[rows] + origins
        return Forced(bounds, *moved, self.deleted[rows], inserted, offsets, {}) if rows.size else None

    def within(self, contig: int, low: int, high: int) -> list[Allele]:
        """Return the alleles whose VCF position (0-based) is in [low, high), sorted by position."""
        first, last = self.contig_offsets[contig : contig + 2].tolist()
        start, stop = (first + np.searchsorted(self.position[first:last], (low, high))).tolist()
        offsets = self.inserted_offsets[start : stop + 1].tolist()
        inserted = (self.inserted[first:last].tobytes() for first, last in pairwise(offsets))
        return list(zip(self.begin[start:stop].tolist(), self.deleted[start:stop].tolist(), inserted, strict=True))


def read_alleles(path: Path, reference: Reference) -> Forced:
    """Read the ALTs of a VCF, VCF.gz or BCF file.

    Raises InputError for a file in another format, an unknown contig, a position beyond its end, and a REF that differs
    from the reference.
    """
    skipped: Counter[str] = Counter()
    found: dict[tuple[int, Allele], None] = {}
    numbers = {name: i for i, name in enumerate(reference.names)}
    for record, name, position, ref, alts in _records(path):
        if name not in numbers:
            raise InputError(path, explain_absent(name, numbers, "variants"), record)
        here = Bases(reference, numbers[name])
        _check(path, record, here, position, ref)
        for alt in alts:
            if not alt.isalpha():
                skipped["symbolic"] += 1
                continue
            for allele in spell_alleles(here, position, encode(alt), len(ref)):
                if reason := _reason_to_skip(here, allele):
                    skipped[reason] += 1
                else:
                    found[numbers[name], allele] = None
    return _sort(found, skipped, len(reference.names))


def _reason_to_skip(bases: Bases, allele: Allele) -> str | None:
    begin, deleted, inserted = allele
    if deleted > MAX_INDEL or len(inserted) > MAX_INSERTION:
        return "long"
    if is_indel(allele) and begin < 1:
        return "at_start"
    if begin == bases.length:
        return "at_end"
    return "not_acgt" if max(inserted + bases.between(begin - is_indel(allele), begin + deleted)) > 3 else None


def _check(path: Path, record: int, bases: Bases, position: int, ref: str) -> None:
    if not 0 <= position <= position + len(ref) <= bases.length:
        reason = f"position {position + 1} is beyond its contig, which has {bases.length} bases"
        raise InputError(path, reason, record)
    here = bases.between(position, position + len(ref))
    if here != encode(ref):
        letters = here.translate(b"ACGTN".ljust(256, b"N")).decode()
        raise InputError(path, f"REF is {ref}, the reference has {letters} there", record)


def _records(path: Path) -> Iterator[tuple[int, str, int, str, tuple[str, ...]]]:
    """Yield number, contig, 0-based position, REF and ALTs of each record. Raises InputError."""
    with ExitStack() as stack:
        stack.enter_context(quiet_htslib())  # the InputError replaces htslib's message on stderr
        for number, record in RecordFile(path, stack):
            yield number, record.chrom, record.pos - 1, record.ref or "", record.alts or ()


def _sort(found: dict[tuple[int, Allele], None], skipped: Counter[str], contigs: int) -> Forced:
    kept: list[tuple[int, Allele]] = []
    places: Counter[tuple[int, int]] = Counter()
    for contig, allele in found:
        if is_indel(allele):
            places[contig, allele[0]] += 1
            if places[contig, allele[0]] >= MAX_ALLELES:
                skipped["too_many"] += 1
                continue
        kept.append((contig, allele))
    kept.sort(key=lambda x: (x[0], x[1][0] - is_indel(x[1]), is_indel(x[1])))  # stable: alleles at one place as given
    alleles = [allele for _, allele in kept]
    return Forced(
        contig_offsets=np.searchsorted([contig for contig, _ in kept], np.arange(contigs + 1)),
        position=np.array([allele[0] - is_indel(allele) for allele in alleles], np.int64),
        begin=np.array([begin for begin, _, _ in alleles], np.int64),
        deleted=np.array([deleted for _, deleted, _ in alleles], np.int32),
        inserted=np.frombuffer(b"".join(bases for *_, bases in alleles), np.uint8),
        inserted_offsets=np.cumsum([0, *(len(bases) for *_, bases in alleles)], dtype=np.int64),
        skipped=dict(sorted(skipped.items())),
    )
