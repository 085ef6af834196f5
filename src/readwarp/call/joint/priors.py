"""Prior of each site, and whether its REF is the reference's (host only)."""

from collections.abc import Iterator, Sequence

import numpy as np

from readwarp.batches import Window
from readwarp.call.genotypes.scalar import indel_prior
from readwarp.call.joint import STAR
from readwarp.call.joint.sites import JointSite, Record
from readwarp.call.sites import MAX_TRACT
from readwarp.call.sites.find import Allele, sites_of
from readwarp.call.spelling import Bases
from readwarp.config import CallParameters
from readwarp.rules.bases import CODES, LETTERS


def find_priors(sites: Sequence[JointSite], bases: Bases, parameters: CallParameters) -> np.ndarray:
    """float64 [s]: `snv_prior`, or that of an insertion or deletion in its repeat, as in `genotypes`."""
    out = np.full(len(sites), parameters.snv_prior)
    rows = [s for s, site in enumerate(sites) if site.is_indel]
    if not rows:
        return out
    start = sites[rows[0]].position
    last = max(sites[s].position + len(sites[s].alleles[0]) for s in rows)
    reference = bases.between(start, min(bases.length, last + MAX_TRACT + 2))
    window = Window(0, start, start + len(reference), np.frombuffer(reference, np.uint8), start)
    gaps = sites_of([(sites[s].position + 1, True, list(_gaps(sites[s]))) for s in rows], window)
    tracts = zip(gaps.unit.tolist(), (gaps.stop - gaps.begin).tolist(), strict=True)
    out[rows] = [indel_prior(parameters.indel_prior, unit, tract) for unit, tract in tracts]
    return out


def _gaps(site: JointSite) -> Iterator[Allele]:
    """Bases deleted and inserted after the anchor by REF and each other allele."""
    yield 0, b""
    for allele in site.alleles[1:]:
        reference = site.alleles[0]
        if allele == STAR:
            continue
        while min(len(reference), len(allele)) > 1 and reference[-1] == allele[-1]:
            reference, allele = reference[:-1], allele[:-1]
        yield len(reference) - 1, CODES[np.frombuffer(allele[1:].encode(), np.uint8)].tobytes()


def find_misfit(records: Sequence[Record], bases: Bases) -> tuple[Record, str] | None:
    """The first line whose REF is not the reference's, and why."""
    if not records:
        return None
    start = min(record.position for record in records)
    stop = max(record.position + len(record.reference) for record in records)
    codes = np.frombuffer(bases.between(min(start, bases.length), min(stop, bases.length)), np.uint8)
    text = LETTERS[codes].tobytes().decode()
    for record in records:
        first, size = record.position - start, len(record.reference)
        here = text[first : first + size]
        if len(here) < size:
            return record, f"it lies beyond the end of its contig, which has {bases.length} bases"
        if here != record.reference and "N" not in here:
            return record, f"REF is {record.reference}, the reference has {here} there"
    return None
