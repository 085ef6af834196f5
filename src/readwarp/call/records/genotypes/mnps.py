"""Join phased substitutions near each other into multi-nucleotide polymorphisms (`--max-mnp-distance`).

Neighbouring records of one other allele each, both substitutions, become one if they are at most that many bases apart,
fail the same filters, and have the same genotype in every sample: on the same copies, or homozygous. So no haplotype
has one of the changes alone. The record takes its values from the one of lowest QUAL; its alleles are the reference
from the first base to the last, and the same with all changes (host only).
"""

from collections.abc import Callable

import numpy as np

from readwarp.call.records.genotypes.calls import name_set, take_calls
from readwarp.formats.variants.calls import Calls
from readwarp.ragged import replace

Reference = Callable[[int, int], str]  # letters of [start, stop) of the contig


def join_substitutions(calls: Calls, distance: int, reference: Reference) -> Calls:
    """Join calls of one contig, sorted by position; a distance of 0 joins none."""
    if not distance or not len(calls):
        return calls
    groups = [[0]]
    for row in range(1, len(calls)):
        if are_one(calls, row - 1, row, distance):
            groups[-1].append(row)
        else:
            groups.append([row])
    if len(groups) == len(calls):
        return calls
    out = take_calls(calls, np.array([min(group, key=lambda row: calls.quality[row]) for group in groups]))
    renamed = dict[str, str]()  # PID of phase sets that begin with joined records
    for row, group in enumerate(groups):
        if len(group) > 1:
            out.position[row] = start = int(calls.position[group[0]])
            out.alleles[row] = spell(calls, group, reference(start, int(calls.position[group[-1]]) + 1))
            out.phase_set[row], out.phase_name[row] = calls.phase_set[group[0]], calls.phase_name[group[0]]
            renamed[name_set(start, calls.alleles[group[0]])] = name_set(start, out.alleles[row])
    phase_name = [tuple(renamed.get(name, name) for name in own) for own in out.phase_name]
    return replace(out, phase_name=phase_name)


def are_one(calls: Calls, one: int, other: int, distance: int) -> bool:
    """Return whether two neighbouring records change the same copies, near each other."""
    gap = int(calls.position[other] - calls.position[one])
    if not 0 < gap <= distance or calls.filters[one] != calls.filters[other]:
        return False
    if not is_substitution(calls.alleles[one]) or not is_substitution(calls.alleles[other]):
        return False
    sets = zip(calls.phase_set[one].tolist(), calls.phase_set[other].tolist(), strict=True)
    genotypes = zip(calls.genotype[one], calls.genotype[other], strict=True)
    if not any(allele > 0 for genotype in calls.genotype[one] for allele in genotype):  # forced, and in no sample
        return False
    return all(
        first == second and (len(set(first)) <= 1 or a == b >= 0)
        for (first, second), (a, b) in zip(genotypes, sets, strict=True)
    )


def is_substitution(alleles: tuple[str, ...]) -> bool:
    """Return whether one base replaces another."""
    return len(alleles) == 2 and len(alleles[0]) == len(alleles[1]) == 1 and alleles[1] != "*"


def spell(calls: Calls, group: list[int], bases: str) -> tuple[str, str]:
    """Return REF and ALT of the joined record."""
    changed, start = list(bases), int(calls.position[group[0]])
    for row in group:
        changed[int(calls.position[row]) - start] = calls.alleles[row][1]
    return bases, "".join(changed)
