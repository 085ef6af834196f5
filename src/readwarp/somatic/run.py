"""Call alleles by fractions: learn the noise, call windows, and choose among all records."""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.pileup import PileupLimits
from readwarp.call.places.strips import Place
from readwarp.call.places.targets import bases_of
from readwarp.call.reads.depth import DepthLimit
from readwarp.call.steps import CallSteps, pile_up, pileups, read_window
from readwarp.call.windows.run import Calling, work_with
from readwarp.errors import UsageError
from readwarp.formats.variants.calls import Calls
from readwarp.formats.variants.vcf import VariantWriter
from readwarp.somatic.fractions.annotations import orientations_of
from readwarp.somatic.fractions.shortlist import Shortlist, ShortlistedRecords, candidates_of, filter_together
from readwarp.somatic.genome import ConsensusGenome
from readwarp.somatic.given import FractionModel, GivenFractions
from readwarp.somatic.noise import CONTEXTS, LEARNED, LEARNING_WINDOW
from readwarp.somatic.noise.contamination import (
    CARRIED,
    Contamination,
    are_two_people,
    estimate_contamination,
    have_same_reads,
)
from readwarp.somatic.noise.counts import ErrorCounts, add_counts, count_errors, covered_bases, no_counts
from readwarp.somatic.noise.fit import fit_noise
from readwarp.stream.reporter import Meter
from readwarp.stream.workers import ItemResult, Workers, map_counted
from readwarp.wording import counted

OpenOutput = Callable[[Sequence[str]], AbstractContextManager[VariantWriter]]
GOLDEN = (5**0.5 - 1) / 2  # multiples of it, modulo 1, are spread evenly
logger = logging.getLogger("readwarp")


def given_of(steps: CallSteps) -> GivenFractions:
    assert isinstance(steps.model, FractionModel)
    return steps.model.given


def learn_window(steps: CallSteps, place: Place, max_bases: int | None) -> ErrorCounts | None:
    """Count the errors of a window; None without reads. Raises RegionTooDeepError like `call_window`."""
    own, window = steps.on(place)
    reads = read_window(own, window, DepthLimit(own.parameters.max_depth), max_bases)
    if len(reads) == 0:
        return None
    piled, _ = pile_up(own, reads, window)
    limits = PileupLimits(window.start, window.stop, own.parameters.min_base_quality)
    common = given_of(own).common(window, own.bases(window.contig))
    orientations, each = orientations_of(piled.reads), pileups(own, piled, [])
    return count_errors(piled.reads, orientations, piled.around, each, (limits, window.mask()), common)


def learn(calling: Calling, window: Place) -> ItemResult[list[ErrorCounts]]:
    """Count the errors of a window, in parts where it was too deep; empty without reads."""
    parts, metrics = calling.work(window, learn_window)
    return ItemResult([part for part in parts if part is not None], metrics)


def learn_errors(calling: Calling, workers: Workers[Calling]) -> ErrorCounts:
    """Count the errors of all targets; of large ones, in windows spread over them until enough are covered."""
    if bases_of(calling.targets) <= LEARNED:
        windows = list(calling.windows(calling.window))
    else:
        windows = list(calling.windows(LEARNING_WINDOW))
        order = np.argsort((np.arange(len(windows)) * GOLDEN) % 1.0, kind="stable")  # of which any part is spread
        windows = [windows[row] for row in order.tolist()]
    total, metrics = no_counts(len(calling.samples)), calling.steps.metrics
    with metrics.time("noise"), closing(map_counted(workers, learn, windows, metrics)) as results:
        for parts in results:
            add_counts(parts, total)
            if covered_bases(total) >= LEARNED * len(calling.samples):
                break
    return total


class ListedCandidates(NamedTuple):
    """Candidates of a window, in parts where it was too deep."""

    parts: list[ShortlistedRecords]
    shallow: list[ndarray]  # runs of `genome.depths`
    bases: int  # bases called


def check_samples(samples: Sequence[str], normals: Sequence[str], kinship: ndarray) -> None:
    """Check that tumours and normals are from one person. Raises UsageError where they have the same reads."""
    for normal in normals:
        for name in (name for name in samples if name not in normals):
            pair = samples.index(name), samples.index(normal)
            if have_same_reads(kinship, *pair):
                raise UsageError(f"--normal {normal}: has the same reads as {name}, the tumour")
            if are_two_people(kinship, *pair):
                carried, lacked = kinship[pair][CARRIED:].tolist()
                text = "%s lacks %s of %s alleles that %s has: are the samples swapped, or from two people?"
                logger.warning(text, normal, f"{lacked:,}", f"{carried:,}", name)


def find_contamination(calling: Calling, errors: ErrorCounts) -> Contamination | None:
    """Return the contamination given, or estimate and log it; None without a population."""
    given, samples = given_of(calling.steps), calling.samples
    if given.population is None or given.contamination is not None:
        return given.contamination
    found = estimate_contamination(errors.piles, given.is_normal(calling.steps.parameters))
    for name, fraction, error, sites in zip(samples, *found, strict=True):
        if fraction == fraction:
            text = "%s: contamination %.2f %% (standard error %.2f %%, %s)"
            logger.info(text, name, 100 * fraction, 100 * error, counted(sites, "site"))
        else:
            logger.info("%s: contamination cannot be estimated from %s of the population", name, counted(sites, "site"))
    return found


def learn_fractions(calling: Calling, workers: Workers[Calling]) -> FractionModel:
    """Learn noise and contamination. Raises UsageError where the tumour and its normal have the same reads."""
    parameters, errors = calling.steps.parameters, learn_errors(calling, workers)
    assert parameters.fractions is not None
    check_samples(calling.samples, parameters.fractions.normals, errors.kinship)
    noise, contamination = fit_noise(errors), find_contamination(calling, errors)
    return FractionModel(parameters, replace(given_of(calling.steps), noise=noise, contamination=contamination))


def header_lines(model: FractionModel, threshold: float) -> list[str]:
    """Make header lines of the threshold, and of each sample's role, noise and contamination."""
    lines, given, mode = [f"##fraction_threshold={threshold:.4g}"], model.given, model.mode
    noise, known = given.noise, given.contamination
    assert noise is not None
    if mode.is_somatic:
        lines += [f"##{'normal' if name in mode.normals else 'tumor'}_sample={name}" for name in given.samples]
    for name, fraction, error, sites in zip(given.samples, *known, strict=True) if known else ():
        learned = f",StandardError={error:.3g},Sites={sites}" if error == error else ""
        if fraction == fraction:
            lines.append(f"##contamination=<ID={name},Fraction={fraction:.4g}{learned}>")
    for name, damage, (power, reach) in zip(given.samples, noise.damage, noise.shape, strict=True):
        rates = ",".join(f"{rate:.3g}" for rate in damage[:CONTEXTS].ravel())
        lines.append(f'##damage=<ID={name},Power={power:g},Reach={reach:g},Rates="{rates}">')
    return lines


def gather_fractions(calling: Calling, workers: Workers[Calling]) -> tuple[list[Calls], list[str]]:
    """Return calls by fractions with their filters, in order, and the lines of their header."""
    model = learn_fractions(calling, workers)
    with closing(calling.run(workers, partial(work_with, {"model": model}, Calling.call))) as windows:
        calls = [part.calls for parts in windows for part in parts]
        found, threshold = filter_together(calls, model.mode.min_probability)
    return found, header_lines(model, threshold)


def write_candidates(calling: Calling, window: Place) -> ItemResult[ListedCandidates]:
    """Write a window's alleles by fractions; see `write_window`."""
    contigs, (parts, metrics) = calling.steps.reference.names, calling.call(window)
    lines, shallow = [candidates_of(found.calls, contigs) for found in parts], [found.shallow for found in parts]
    return ItemResult(ListedCandidates(lines, shallow, bases_of(window.targets)), metrics)


def write_fractions(
    calling: Calling, workers: Workers[Calling], open_output: OpenOutput, meter: Meter, genome: ConsensusGenome | None
) -> Path | None:
    """Call alleles by fractions; once all are known, write them and their genome, and return the index.

    open_output: makes the writer for a header with these lines.
    """
    model, whole = learn_fractions(calling, workers), bases_of(calling.targets)
    work = partial(work_with, {"model": model}, write_candidates)
    with closing(Shortlist()) as shortlist, closing(calling.run(workers, work)) as results:
        for parts, shallow, bases in results:
            for part, runs in zip(parts, shallow, strict=True):
                shortlist.add(part)
                if genome:
                    genome.add_shallow(runs)
            meter.reach(meter.done + bases, whole)
        threshold = shortlist.choose_threshold(model.mode.min_probability)
        with open_output(header_lines(model, threshold)) as writer:
            for line in shortlist.lines(threshold, calling.steps.metrics):
                writer.write(line)
                if genome:
                    genome.add(line)
            if genome:
                writer.beside.append(genome.write())
    return writer.index
