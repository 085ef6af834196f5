"""Know alleles beyond their reads, from the libraries' noise and from other people, and call fractions by it.

A population, with frequencies, and a panel of normals are files of alleles known in other people. Such files may have
hundreds of millions of records, so a window fetches its own by the file's index. Alleles are spelled like calls
(`readwarp.call.candidates.spelling`); alleles with letters other than A, C, G and T are skipped.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from readwarp.call.likelihoods.batches import Likelihoods, Phase
from readwarp.call.places.bases import Bases, encode
from readwarp.call.places.targets import TargetStretch
from readwarp.call.records.model import Here
from readwarp.config import CallParameters, FractionParameters
from readwarp.errors import InputError, UsageError
from readwarp.formats.common.index import explain_other
from readwarp.formats.common.silence import quiet_htslib
from readwarp.formats.variants.calls import Calls
from readwarp.formats.variants.records import check_alleles, explaining, find_index
from readwarp.index.reference import Reference
from readwarp.somatic.fractions.calls import Setting, call_alleles
from readwarp.somatic.fractions.events import count_events
from readwarp.somatic.fractions.products import PopulationAlleles
from readwarp.somatic.noise.contamination import (
    LEAST_FREQUENCY,
    MOST_FREQUENCY,
    CommonSites,
    Contamination,
    given_contamination,
)
from readwarp.somatic.noise.fit import Noise, no_noise
from readwarp.wording import counted

SPARE = 1024  # bases that an allele may have moved left of its record's start

COLUMNS = np.int64, np.uint8, np.float64  # dtypes of CommonSites
logger = logging.getLogger("readwarp")


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
        if len(sites) == 0:
            return np.empty(0)
        low, high = int(sites.position.min()), int(sites.begin.max()) + 1
        known = dict(self._within(low, high + SPARE, bases, frozenset(sites.begin.tolist())))
        return np.array([known.get(allele, np.nan) for allele in list_alleles(sites)])

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


@dataclass(frozen=True, slots=True)
class GivenFractions:
    """Population, panel, noise and contamination of all windows."""

    samples: tuple[str, ...]
    population: KnownAlleles | None = None
    panel: KnownAlleles | None = None  # panel of normals
    noise: Noise | None = None  # noise of the samples, once learned
    contamination: Contamination | None = None  # estimated or given

    def setting(self, parameters: CallParameters) -> Setting:
        samples, known = len(self.samples), self.contamination
        foreign = known.fraction if known else np.full(samples, np.nan)
        is_normal, noise = self.is_normal(parameters), self.noise or no_noise(samples)
        return Setting(parameters, is_normal, noise, foreign, self.is_blind(parameters))

    def is_normal(self, parameters: CallParameters) -> ndarray:
        """Return which samples are normals (bool [samples])."""
        assert parameters.fractions is not None
        return np.isin(self.samples, parameters.fractions.normals)

    def is_blind(self, parameters: CallParameters) -> bool:
        """Return whether nothing tells a tumour's mutations from inherited variants."""
        mode = parameters.fractions
        return mode is not None and mode.is_somatic and not (mode.normals or self.population or self.panel)

    def common(self, window: TargetStretch, bases: Bases) -> CommonSites | None:
        """Return the sites of a window of these bases that estimate contamination, or None."""
        if self.population is None or self.contamination is not None:
            return None
        return self.population.common(window.start, window.stop, bases)

    def known(self, sites: Sites, bases: Bases) -> PopulationAlleles:
        """Look up sites of these bases. Raises InputError."""
        nothing, files = np.full(sites.deleted.size, np.nan), (self.population, self.panel)
        population, panel = (nothing if file is None else file.among(sites, bases) for file in files)
        return PopulationAlleles(population, ~np.isnan(panel))


def open_given(
    population: Path | None,
    panel: Path | None,
    parameters: CallParameters,
    reference: Reference,
    samples: tuple[str, ...],
) -> GivenFractions:
    """Open the files. population: a file with frequencies. Raises InputError."""
    known = open_known(population, reference, True) if population else None
    shown = open_known(panel, reference, False, samples) if panel else None
    fraction = parameters.fractions.contamination if parameters.fractions else None
    contamination = None if fraction is None else given_contamination(fraction, len(samples))
    return GivenFractions(samples, known, shown, contamination=contamination)


@dataclass(frozen=True, slots=True)
class FractionModel:
    """Alleles at any fraction of the molecules."""

    parameters: CallParameters
    given: GivenFractions
    are_fractions: bool = True

    @property
    def mode(self) -> FractionParameters:
        assert self.parameters.fractions is not None
        return self.parameters.fractions

    def call(self, sites: Sites, likelihoods: Likelihoods, phase: Phase | None, here: Here) -> Calls:
        known = self.given.known(sites, here.bases)
        setting = self.given.setting(self.parameters)
        return call_alleles(sites, (likelihoods, phase), here.reads, here.window, known, setting)

    def finish(self, calls: Calls, join: Callable[[Calls], Calls]) -> Calls:
        return count_events(join(calls), self.mode)


def check_roles(mode: FractionParameters, samples: Sequence[str], are_named: bool) -> None:
    """Raise UsageError for samples that do not fit the mode. are_named: by --sample."""
    names = ", ".join(samples)
    for name in mode.normals:
        if name not in samples:
            raise UsageError(f"--normal {name}: no such sample in the alignments, which have {names}")
    if not set(samples).difference(mode.normals):
        raise UsageError(f"--normal names all samples ({names}): the tumour is missing")
    if mode.is_somatic and not mode.normals and len(samples) > 1 and not are_named:
        text = f"--somatic with {len(samples)} samples ({names}): which is the normal? Name it with --normal"
        raise UsageError(f"{text}; if all are tumours, name each with --sample")


def warn_of_inherited(given: GivenFractions | None, parameters: CallParameters, passed: int | None = None) -> None:
    """Warn that calls may be inherited: before calling and, at the end, with the number that `passed`."""
    if given and given.is_blind(parameters):
        which = "what passes" if passed is None else f"the {counted(passed, 'variant')} that pass"
        cause = "without --normal, --population or --panel-of-normals, nothing tells mutations from inherited variants"
        logger.warning("%s: most of %s may be inherited (FORMAT ORIGIN: unknown)", cause, which)
