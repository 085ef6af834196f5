"""Sites and what reads say about them -> calls. See the step's contract."""

import numpy as np

from readwarp.batches import Calls, Likelihoods, Phase, Sites, Window
from readwarp.call.genotypes.annotations import annotate
from readwarp.call.genotypes.emitted import Emitted, allocate, mark_alleles
from readwarp.call.genotypes.order import GenotypeTables, tables_for
from readwarp.call.genotypes.phase import phase_genotypes
from readwarp.call.genotypes.records import build_calls
from readwarp.call.genotypes.score import Choice, Priors, Scores, choose_alleles, fill_genotypes, score_genotypes
from readwarp.call.genotypes.spell import spell_alleles
from readwarp.config import CallParameters
from readwarp.ragged import offsets_of, replace


def genotype_sites(
    sites: Sites,
    likelihoods: Likelihoods,
    window: Window,
    ploidy: np.ndarray,
    parameters: CallParameters,
    phase: Phase | None = None,
) -> Calls:
    """`window`: its bases are those around the sites; `ploidy`: int8 [sites, samples]; `phase`: what is known of the
    alleles on haplotypes.

    See the step's contract. Raises ValueError where a read is of a sample that `ploidy` does not have.
    """
    samples = ploidy.shape[1]
    if likelihoods.sample.size and likelihoods.sample.max() >= samples:
        raise ValueError(f"a read of sample {likelihoods.sample.max()}, of {samples}")
    number = np.diff(sites.allele_offsets)
    tables = tables_for(int(number.max(initial=1)), ploidy)
    offsets = offsets_of(tables.size[ploidy, number[:, None]])
    scores = Scores(ploidy, offsets, np.zeros(offsets[-1]), np.zeros(ploidy.shape, np.int32))
    score_genotypes(sites, likelihoods, tables, scores)
    choice = Choice(mark_alleles(sites), np.zeros(sites.deleted.size, np.bool_), np.zeros(len(sites)))
    choose_alleles(sites, scores, tables, Priors(parameters.snv_prior, parameters.indel_prior), choice)
    out = _emit(sites, scores, choice, tables)
    fill_genotypes(sites, scores, choice, tables, out)
    columns = annotate(out, sites, likelihoods, choice.is_kept)
    spelled = spell_alleles(sites, out, window)
    if phase is not None:
        out = phase_genotypes(out, sites, phase, spelled.position)
    return build_calls(spelled, out, columns, parameters)


def _emit(sites: Sites, scores: Scores, choice: Choice, tables: GenotypeTables) -> Emitted:
    """Records of the sites of which an allele is kept."""
    kept = np.add.reduceat(np.append(choice.is_kept, False).astype(np.int64), sites.allele_offsets[:-1])
    site = np.flatnonzero(kept)
    out = allocate(site, kept[site], np.flatnonzero(choice.is_kept), scores.ploidy[site], tables)
    quality = np.round(choice.quality[site], 2)
    return replace(out, is_indel=sites.is_indel[site], quality=quality, depth=scores.depth[site])
