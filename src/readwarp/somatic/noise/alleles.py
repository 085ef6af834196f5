"""Look up the noise of libraries for the alleles of sites (host only)."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy import ndarray

from readwarp.call.candidates.batches import Sites
from readwarp.call.places.window import Window
from readwarp.call.records.genotypes.emitted import MISSING_BASE
from readwarp.compiler.jit import kernel
from readwarp.somatic.noise import CONTEXTS, ORIENTATIONS, SUBSTITUTIONS
from readwarp.somatic.noise.counts import class_of_gap, context_of
from readwarp.somatic.noise.fit import Noise


class AlleleNoise(NamedTuple):
    """Noise of alleles; zeros for the reference, missing bases, and replacements of several bases."""

    damage: Annotated[ndarray, "float64 [alleles, samples, orientations]"]
    copying: Annotated[ndarray, "float64 [alleles, samples]"]
    variants: Annotated[ndarray, "float64 [alleles, samples]"]
    scattered: Annotated[ndarray, "float64 [alleles, samples]"]
    shape: Annotated[ndarray, "float64 [samples, 2]"]
    context: Annotated[ndarray, "int64 [alleles]"]  # context of a substitution, for the report; -1 for others


def noise_of(sites: Sites, window: Window, noise: Noise) -> AlleleNoise:
    alleles, samples = sites.deleted.size, noise.shape.shape[0]
    damage, (copying, variants, scattered) = np.zeros((alleles, samples, ORIENTATIONS)), np.zeros((3, alleles, samples))
    out = AlleleNoise(damage, copying, variants, scattered, noise.shape, np.full(alleles, -1))
    look_up(sites, window.bases, window.first, noise, out)
    return out


@kernel
def look_up(sites, reference, first, noise, out):
    for site in range(sites.begin.size):
        w = sites.begin[site] - first
        own = reference[w]
        for a in range(sites.allele_offsets[site] + 1, sites.allele_offsets[site + 1]):
            source, size = sites.inserted_offsets[a], sites.inserted_offsets[a + 1] - sites.inserted_offsets[a]
            if not sites.is_indel[site]:
                other = sites.inserted[source]
                if not 0 < w < reference.size - 1 or other >= MISSING_BASE:
                    continue
                before, after = reference[w - 1], reference[w + 1]
                if max(before, own, after) > 3:
                    continue
                context, is_reverse = context_of(before, own, after, other)
                out.context[a] = context
                row, kind = context, context // 16
            elif sites.deleted[a] == 0 or size == 0:
                run = 1
                while w + run < reference.size and reference[w + run] == own:
                    run += 1
                kind, is_reverse = class_of_gap(run, size == 0), False
                row = CONTEXTS + kind - SUBSTITUTIONS
            else:
                continue
            for s in range(out.copying.shape[1]):
                out.copying[a, s], out.variants[a, s] = noise.copying[s, kind], noise.variants[s, kind]
                out.scattered[a, s] = noise.scattered[s, kind]
                for side in range(2):
                    turned = 1 - side if is_reverse else side
                    out.damage[a, s, side] = noise.damage[s, row, 0 if kind >= SUBSTITUTIONS else turned]
