"""Look up alleles known in other people: a population's, with frequencies, and a panel of normals.

Such files may have hundreds of millions of records, so a window fetches its own by the file's index. Alleles are
spelled like calls (`readwarp.call.candidates.spelling`); alleles with letters other than A, C, G and T are skipped.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pysam
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.candidates.sites.find import list_alleles
from readwarp.call.candidates.spelling import Allele, spell_alleles
from readwarp.call.places.bases import Bases, encode
from readwarp.errors import InputError
from readwarp.formats.common.index import explain_other
from readwarp.formats.common.silence import quiet_htslib
from readwarp.formats.variants.records import check_alleles, explaining, find_index
from readwarp.index.reference import Reference
from readwarp.somatic.noise.contamination import LEAST_FREQUENCY, MOST_FREQUENCY, CommonSites

SPARE = 1024  # bases that an allele may have moved left of its record's start

COLUMNS = np.int64, np.uint8, np.float64  # dtypes of CommonSites


@dataclass(frozen=True, slots=True)
class KnownAlleles:
    """Indexed VCF.gz or BCF file."""

    path: Path
    index: Path
    contigs: frozenset[str]  # contigs with records
    has_frequencies: bool  # has INFO AF

    def among(self, sites: Sites, bases: Bases) -> ndarray:
        """Return AF of each allele of sites of these bases, or 1 (float64 [alleles]); NaN where the file lacks it.

        Raises InputError.
        """
        out = np.full(sites.deleted.size, np.nan)
        if len(sites) == 0:
            return out
        low, high = int(sites.position.min()), int(sites.begin.max()) + 1
        places = frozenset(sites.begin.tolist())
        known = dict(self._within(low, high + SPARE, bases, places))
        for row, allele in enumerate(list_alleles(sites)):
            out[row] = known.get(allele, np.nan)
        return out

    def common(self, low: int, high: int, bases: Bases) -> CommonSites:
        """Return substitutions of [low, high) with a common allele; positions with two of them are left out.

        Raises InputError.
        """
        found = sorted(
            (begin, inserted[0], value)
            for (begin, deleted, inserted), value in self._within(low, high, bases)
            if deleted == len(inserted) == 1 and LEAST_FREQUENCY <= value <= MOST_FREQUENCY
        )
        position, base, frequency = (np.array([row[k] for row in found], kind) for k, kind in enumerate(COLUMNS))
        _, first, number = np.unique(position, return_index=True, return_counts=True)
        alone = first[number == 1]
        return CommonSites(position[alone], base[alone], frequency[alone])

    def _within(
        self, low: int, high: int, bases: Bases, places: frozenset[int] | None = None
    ) -> Iterator[tuple[Allele, float]]:
        """Yield the alleles of [low, high), and their AF. With `places`, single-base changes elsewhere are skipped.

        Most records change one base where no site is: they are skipped before anything is made of them.
        """
        for contig, origin in bases.parts:
            start, stop = max(0, low - origin), min(contig.length, high - origin)
            if start < stop and contig.name in self.contigs:
                for record in self._read(contig.name, start, stop):
                    if places and record.start + origin not in places and max(map(len, record.alleles or ("",))) == 1:
                        continue
                    for (begin, deleted, inserted), value in self._alleles_of(record, contig):
                        if record.start - begin <= SPARE:
                            yield (begin + origin, deleted, inserted), value

    def _read(self, name: str, start: int, stop: int) -> Iterator[Any]:
        place = f"{name}:{start + 1}-{stop}"
        with _open(self.path, self.index, place, "the file or its index is damaged") as file:
            for record in file.fetch(name, start, stop):
                check_alleles(self.path, record, f"{name}:{record.start + 1}")
                yield record

    def _alleles_of(self, record: Any, bases: Bases) -> Iterator[tuple[Allele, float]]:
        start, old = record.start, record.ref or ""
        if start + len(old) > bases.length or bases.between(start, start + len(old)) != encode(old):
            raise InputError(self.path, f"REF is {old}, unlike the reference", f"{record.chrom}:{start + 1}")
        frequencies: Any = record.info.get("AF") if self.has_frequencies else None
        values = np.atleast_1d(frequencies).tolist() if self.has_frequencies else (1.0,) * len(record.alts or ())
        for other, value in zip(record.alts or (), values, strict=False):
            if set(other) <= set("ACGTacgt") and value is not None:
                alleles = list(spell_alleles(bases, start, encode(other), len(old)))
                if len(alleles) == 1:
                    yield alleles[0], float(value)


def open_known(path: Path, reference: Reference, with_frequencies: bool, others: Iterable[str] = ()) -> KnownAlleles:
    """Open the file. others: samples whose calls it must not hold, since they are compared with it.

    Raises InputError for a file without an index, of another reference, or without AF if frequencies are wanted.
    """
    index = find_index(path)
    with _open(path, index, None, "not a VCF.gz or BCF file, or damaged") as file:
        contigs, field = frozenset(map(str, file.index)), file.header.info.get("AF")
        kind, own = field.type if field else None, set(file.header.samples).intersection(others)
    if own:
        raise InputError(path, f"holds calls of the sample {min(own)} itself: a panel is made of normals")
    if with_frequencies and kind is None:
        raise InputError(path, "has no INFO field AF, the frequency of alleles in the population")
    if with_frequencies and kind not in ("Float", "Integer"):
        raise InputError(path, f"its header says that INFO field AF is of type {kind}: frequencies are Float")
    if contigs.isdisjoint(reference.names):
        shown = ", ".join(sorted(contigs)[:3]) or "none"
        raise InputError(path, f"none of its contigs ({shown}) is in the reference, which has {reference.names[0]}")
    return KnownAlleles(path, index, contigs, with_frequencies)


@contextmanager
def _open(path: Path, index: Path, place: str | None, otherwise: str) -> Iterator[Any]:
    """Open a pysam.VariantFile. Raises InputError for htslib's errors in the block (see `explaining`)."""
    with (
        quiet_htslib(),
        explaining(path, place, otherwise),
        pysam.VariantFile(str(path), index_filename=str(index), drop_samples=place is not None) as file,
    ):
        if file.index is None:
            raise InputError(index, explain_other(path))
        yield file
