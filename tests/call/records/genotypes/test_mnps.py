"""Phased substitutions as one record."""

import numpy as np
import pytest

from helpers.jobs import call_variants, genotype_cohort
from helpers.making import Read, other, random_sequence, tiled, write_bam, write_fasta
from helpers.making_sites import made_calls
from helpers.vcf_checks import body
from readwarp.call.records.genotypes.mnps import join_substitutions
from readwarp.caller.api import make_job
from readwarp.config import CallParameters
from readwarp.errors import UsageError
from readwarp.formats.variants.calls import Calls
from readwarp.ragged import replace


def made(*found) -> Calls:
    """Position, alleles, genotype, phase set (-1: none) and QUAL of each call."""
    positions, alleles, genotypes, sets, qualities = zip(*found, strict=True)
    columns = {"phase_set": np.array([[own] for own in sets]), "quality": np.array(qualities)}
    return made_calls(positions, alleles, genotypes, **columns)


REFERENCE = "ACGTACGTACGTACGTACGT"


def letters(start: int, stop: int) -> str:
    return REFERENCE[start:stop]


def rows(*found, distance: int = 2):
    calls = join_substitutions(made(*found), distance, letters)
    return list(zip(calls.position.tolist(), calls.alleles, [g[0] for g in calls.genotype], strict=True))


A4, A5, A6 = (4, ("A", "T")), (5, ("C", "G")), (6, ("G", "C"))


def test_on_one_haplotype():
    both = rows((*A4, (0, 1), 4, 50.0), (*A5, (0, 1), 4, 90.0))
    assert both == [(4, ("AC", "TG"), (0, 1))]
    three = rows((*A4, (0, 1), 4, 50.0), (*A5, (0, 1), 4, 90.0), (*A6, (0, 1), 4, 90.0))
    assert three == [(4, ("ACG", "TGC"), (0, 1))]
    apart = rows((*A4, (1, 0), 4, 50.0), (*A6, (1, 0), 4, 90.0))
    assert apart == [(4, ("ACG", "TCC"), (1, 0))]
    assert rows((*A4, (1, 1), -1, 50.0), (*A5, (1, 1), -1, 90.0)) == [(4, ("AC", "TG"), (1, 1))]
    assert rows((*A4, (1,), -1, 50.0), (*A5, (1,), -1, 90.0)) == [(4, ("AC", "TG"), (1,))]


def test_alleles_that_were_given_and_are_in_no_sample_stay_apart():
    assert len(rows((*A4, (0, 0), -1, 0.0), (*A5, (0, 0), -1, 0.0))) == 2


def test_a_phase_set_is_named_by_its_first_record_as_it_is_then():
    calls = made((*A4, (0, 1), 4, 50.0), (*A5, (0, 1), 4, 90.0), (9, ("C", "A"), (1, 0), 4, 90.0))
    calls = join_substitutions(replace(calls, phase_name=[("5_A_T",)] * 3), 2, letters)
    assert calls.phase_name == [("5_AC_TG",)] * 2 and calls.phase_set.tolist() == [[4]] * 2


@pytest.mark.parametrize(
    ("one", "other_"),
    [
        ((*A4, (0, 1), 4, 50.0), (*A5, (1, 0), 4, 50.0)),  # on different haplotypes
        ((*A4, (0, 1), 4, 50.0), (*A5, (0, 1), 5, 50.0)),  # of different sets
        ((*A4, (0, 1), -1, 50.0), (*A5, (0, 1), -1, 50.0)),  # without a phase
        ((*A4, (1, 1), -1, 50.0), (*A5, (0, 1), 4, 50.0)),
        ((*A4, (0, 1), 4, 50.0), (7, ("T", "C"), (0, 1), 4, 50.0)),  # too far
        ((*A4, (0, 1), 4, 50.0), (5, ("CG", "C"), (0, 1), 4, 50.0)),
        ((*A4, (0, 1), 4, 50.0), (5, ("C", "*"), (0, 1), 4, 50.0)),
        ((*A4, (0, 1), 4, 50.0), (5, ("C", "G", "T"), (0, 1), 4, 50.0)),
    ],
)
def test_what_stays_apart(one, other_):
    assert [row[:2] for row in rows(one, other_)] == [one[:2], other_[:2]]


def test_numbers_are_those_of_the_less_sure_record():
    calls = join_substitutions(made((*A4, (0, 1), 4, 90.0), (*A5, (0, 1), 4, 50.0)), 1, letters)
    assert calls.quality.tolist() == [50.0] and calls.phase_set.tolist() == [[4]]
    same = made((*A4, (0, 1), 4, 90.0), (*A5, (0, 1), 4, 50.0))
    assert join_substitutions(same, 0, letters) is same


def test_runs(tmp_path):
    """By call, and by genotype from a gVCF, which never has them; windows do not matter."""
    sequence = random_sequence(1200, seed=6)
    changes = [(at, sequence[at], other(sequence[at])) for at in (400, 401, 403, 800, 801)]
    reads = [
        ("one", Read(r.position, r.cigar, r.bases, r.qualities, r.flag, 60, r.name))
        for r in tiled([changes, []], sequence)
    ]
    bam = write_bam(tmp_path / "a.bam", {"one": 1200}, reads)
    reference = write_fasta(tmp_path / "ref.fa", {"one": sequence})
    joint = CallParameters(max_mnp_distance=2)
    call_variants(reference, bam, tmp_path / "a.vcf", joint)
    call_variants(reference, bam, tmp_path / "a.g.vcf", gvcf=True)
    genotype_cohort(reference, [tmp_path / "a.g.vcf"], tmp_path / "b.vcf", calling=joint)
    new = {position: base for position, _, base in changes}
    wanted = [
        (str(a + 1), sequence[a:b], "".join(new.get(i, sequence[i]) for i in range(a, b)))
        for a, b in ((400, 404), (800, 802))
    ]
    for name in ("a.vcf", "b.vcf"):
        assert [(x[1], x[3], x[4]) for x in body((tmp_path / name).read_text())] == wanted
    with pytest.raises(UsageError, match="--gvcf and --max-mnp-distance"):
        make_job(reference, bam, None, {"gvcf": True, "max_mnp_distance": 3}, "call")
    with pytest.raises(UsageError, match="0 to 10"):
        CallParameters(max_mnp_distance=11)
