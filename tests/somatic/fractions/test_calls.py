"""Which alleles become records, and what is written of them."""

import numpy as np
import pytest

from helpers.making import Read, aligned_reads, window_of
from helpers.making_sites import from_bases, made_sites, substitutions
from readwarp.call.records.filters import find_failed
from readwarp.config import CallParameters, FractionParameters
from readwarp.device.backend import Backend
from readwarp.formats.variants.vcf import format_calls
from readwarp.ragged import empty
from readwarp.somatic.fractions import EMIT
from readwarp.somatic.fractions.annotations import AlleleTally
from readwarp.somatic.fractions.calls import (
    Setting,
    call_alleles,
    choose_records,
    share_of_damage,
)
from readwarp.somatic.fractions.events import count_events
from readwarp.somatic.fractions.filters import FILTERS, FractionFacts
from readwarp.somatic.fractions.products import PopulationAlleles
from readwarp.somatic.noise.fit import no_noise

MIXTURE, TUMOUR = FractionParameters(), FractionParameters(is_somatic=True)
REFERENCE = "A" * 60


def call(sites, likelihoods, *, normals=(False,), fractions=MIXTURE, noise=None):
    """Reads in pairs, of which every other one is F2R1."""
    number = int(likelihoods.read.max(initial=-1)) + 1
    reads = aligned_reads([Read(0, "1M", "A", (30,), 0x41 + 16 * (i % 2)) for i in range(number)])
    foreign = np.full(len(normals), np.nan)
    setting = Setting(
        CallParameters(fractions=fractions), np.array(normals), noise or no_noise(len(normals)), foreign, Backend("cpu")
    )
    known = PopulationAlleles(np.full(sites.deleted.size, np.nan), np.zeros(sites.deleted.size, bool))
    return call_alleles(sites, (likelihoods, None), reads, window_of(REFERENCE), known, setting)


def test_a_record_for_each_allele_that_reads_speak_for():
    """A site of three alleles, one where none is, one with an error, and one whose other allele is all there is."""
    bases = ["A" * 80 + "C" * 15 + "G" * 5, "A" * 50, "A" * 60 + "T", "T" * 40]
    sites = substitutions((5, "ACG"), (12, "AC"), (20, "AT"), (30, "AT"))
    found = call(sites, from_bases(bases, ["ACG", "AC", "AT", "AT"]))
    assert found.position.tolist() == [5, 5, 30]
    assert found.alleles == [("A", "C"), ("A", "G"), ("A", "T")]
    assert found.genotype == [((0, 1),), ((0, 1),), ((1, 1),)]
    assert found.allele_depth == [((80, 15),), ((80, 5),), ((0, 40),)]
    assert found.depth[:, 0].tolist() == [100, 100, 40]
    assert found.of_samples["AF"][:, 0] == pytest.approx([0.15, 0.05, 1.0], abs=2e-3)
    low, high = found.of_samples["AFCI"][:, 0].T
    assert (low < found.of_samples["AF"][:, 0]).all() and (high[:2] > found.of_samples["AF"][:2, 0]).all()
    assert high[2] == pytest.approx(0.975 ** (1 / 41), abs=2e-3)  # of Beta(41, 1)
    assert found.of_samples["F1R2"][0, 0].tolist() == [40, 8] and found.of_samples["F2R1"][0, 0].tolist() == [40, 7]
    assert found.filters == [(), (), ()]


@pytest.mark.parametrize("rate, fails", [(0.02, False), (0.027, True)])
def test_damage_that_makes_half_of_the_reads(rate, fails):
    """Of 100 among 2,000 reads 40 and 54 are expected; what is too weak to be listed is none."""
    noise = no_noise(1)
    noise = noise._replace(damage=np.full_like(noise.damage, rate))
    bases = from_bases(["A" * 1900 + "C" * 100], ["AC"])
    found, listed = (call(substitutions((5, "AC")), bases, noise=own) for own in (noise, None))
    assert found.annotations["TLOD"] < listed.annotations["TLOD"] and listed.filters == [()]
    assert found.filters == [("orientation",) * fails]


def test_a_mutation_makes_one_other_allele_of_a_site():
    found = call(substitutions((5, "ACG")), from_bases(["A" * 80 + "C" * 15 + "G" * 15], ["ACG"]), fractions=TUMOUR)
    assert found.filters == [("multiallelic",)] * 2


def test_an_allele_that_was_given_is_none_of_a_site_if_no_molecule_has_it():
    sites = substitutions((5, "ACG"), forced=[(0, 2)])
    found = call(sites, from_bases(["A" * 80 + "C" * 15], ["ACG"]), fractions=TUMOUR)
    assert found.alleles == [("A", "C"), ("A", "G")] and found.filters == [(), ()]
    assert found.genotype == [((0, 1),), ((0, 0),)]


def test_samples_without_reads_have_no_genotype_and_no_fraction():
    found = call(
        substitutions((5, "AC")), from_bases(["A" * 30 + "C" * 9], ["AC"], sample=[[0] * 39]), normals=(False, False)
    )
    assert found.genotype == [((0, 1), (-1, -1))]
    (line,) = (text.decode().rstrip().split("\t") for _, text in format_calls(found, ("c",)))
    names = line[8].split(":")
    own = dict(zip(names, line[10].split(":"), strict=True))
    assert own["GT"] == "./." and own["AF"] == "." and own["DP"] == "0" and own["AD"] == "0,0"


def test_the_fraction_of_a_tumour_is_of_samples_that_have_reads():
    """low_allele_frac looks at the greatest AF, and not at what a sample without reads could have."""
    bases = from_bases(["A" * 90 + "C" * 10], ["AC"], sample=[[0] * 100])
    rare = FractionParameters(min_fraction=0.2)
    assert call(substitutions((5, "AC")), bases, normals=(False, False), fractions=rare).filters == [
        ("low_allele_frac",)
    ]


def test_no_median_of_no_reads():
    found = call(substitutions((5, "AC")), from_bases(["C" * 30], ["AC"]))
    (line,) = (text.decode() for _, text in format_calls(found, ("c",)))
    assert "MBQ=.,30;MMQ=.,60;" in line and "nan" not in line


def test_alleles_of_the_normal_alone_are_no_records():
    bases, samples = from_bases(["A" * 60 + "C" * 30], ["AC"], sample=[[0] * 30 + [1] * 60]), (False, True)
    assert call(substitutions((5, "AC")), bases, normals=samples, fractions=TUMOUR).position.tolist() == []


def test_forced_and_missing_alleles():
    sites = made_sites([(5, [(1, "A"), (1, "C"), (1, "*")]), (9, [(1, "A"), (1, "G"), (1, "T")])], forced=[(1, 1)])
    shown = np.array([9.0, EMIT, 50.0, 9.0, 0.0, EMIT - 0.1])
    found = choose_records(sites, shown)
    assert found.site.tolist() == [0, 1] and found.allele.tolist() == [1, 4]


def test_no_sites():
    found = call(made_sites([]), from_bases([], []))
    assert len(found) == 0 and format_calls(found, ("c",)) == []
    assert len(count_events(found, TUMOUR)) == 0


def facts_of(is_indel=False, damage=0.0, **columns) -> FractionFacts:
    """Of one record that passes."""
    own = {"FS": 0.0, "SOR": 0.5, "MBQ": [35.0, 35.0], "MMQ": [60.0, 60.0], "MPOS": 20.0, **columns}
    info = {name: np.array([value]) for name, value in own.items()}
    one, damage = (np.array([is_indel]), np.array([0.2]), np.array([0])), np.array([damage])
    return FractionFacts(info, *one, np.zeros(1, bool), damage, CallParameters(), TUMOUR)


@pytest.mark.parametrize(
    "columns, failed",
    [
        ({}, ()),
        ({"FS": 100.0, "SOR": 4.0}, ("strand_bias",)),
        ({"FS": 100.0, "SOR": 0.9}, ()),
        ({"MBQ": [35.0, 19.0]}, ("base_qual",)),
        ({"MBQ": [np.nan, 20.0]}, ()),
        ({"MBQ": [35.0, np.nan], "MPOS": np.nan}, ()),
        ({"MMQ": [60.0, 29.0]}, ("map_qual",)),
        ({"MPOS": 0.0}, ("position",)),
        ({"damage": 0.4}, ()),
        ({"damage": 0.5}, ("orientation",)),
        ({"damage": 0.5, "is_indel": True}, ("slippage",)),
        ({"MBQ": [35.0, 2.0], "MMQ": [60.0, 2.0], "MPOS": 0.0}, ("base_qual", "map_qual", "position")),
    ],
)
def test_filters_of_one_record(columns, failed):
    assert find_failed(FILTERS, facts_of(**columns)) == [failed]
    assert [row.name for row in FILTERS if row.name in failed] == list(failed)


def test_reads_that_damage_makes():
    """Of 100 reads in F1R2 and 50 in F2R1 of a tumour, with the rates 0.01 and 0.04; the normal's do not count."""
    counts = tally_of([[100, 50], [1000, 1000]], shown=6)
    damage = np.array([[[0.01, 0.04], [0.5, 0.5]]])
    assert share_of_damage(damage, counts, np.array([True, False])).tolist() == [pytest.approx(3 / 6)]


def tally_of(orientations: list[list[int]], shown: int) -> AlleleTally:
    """Of one record: reads of each sample by orientation, of which the first sample's show the allele so often."""
    samples = len(orientations)
    out = empty(AlleleTally, {"records": 1, "samples": samples})
    for column in out:
        column[:] = 0
    out.orientations[0, :, 0] = orientations
    out.orientations[0, 0, 0, 0] -= shown
    out.orientations[0, 0, 1, 0] = out.reads[0, 0, 1] = shown
    return out
