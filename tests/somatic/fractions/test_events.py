"""Which records are changes of the same molecules, and how many events lie near each other."""

import numpy as np
import pytest

from helpers.making_sites import from_bases, made_calls, substitutions
from readwarp.config import FractionParameters
from readwarp.ragged import replace
from readwarp.somatic.fractions import APART, REACH
from readwarp.somatic.fractions.annotations import TalliedAlleles
from readwarp.somatic.fractions.events import count_events, link_records
from readwarp.somatic.fractions.filters import BY_QUALITY, CLUSTERED

MIXTURE, TUMOUR = FractionParameters(), FractionParameters(is_somatic=True)


def link(places: list[tuple[int, str]], bases: list[str], region: list[int] | None = None) -> list[int]:
    """The bases of one site after the other, read by read; a record for each other allele."""
    sites = substitutions(*places)
    likelihoods = from_bases(bases, [letters for _, letters in places])
    likelihoods = replace(likelihoods, read=np.concatenate([np.arange(len(own), dtype=np.int32) for own in bases]))
    rows = np.setdiff1d(np.arange(sites.deleted.size), sites.allele_offsets[:-1])
    records = TalliedAlleles(np.searchsorted(sites.allele_offsets, rows, side="right") - 1, rows)
    return link_records(sites, likelihoods, np.array(region or [0] * len(places)), records).tolist()


def test_changes_of_the_same_molecules_are_linked():
    same = "AAAAAACCC"
    assert link([(5, "AC"), (6, "AC"), (7, "AC")], [same] * 3) == [0, 0, 0]
    assert link([(5, "AC"), (6, "AC"), (7, "AC")], [same, same[::-1], same]) == [0, -1, 0]
    assert link([(5, "AC"), (5 + APART, "AC")], [same] * 2) == [0, 0]
    assert link([(5, "AC"), (6 + APART, "AC")], [same] * 2) == [-1, -1]
    assert link([(5, "AC"), (6, "AC")], [same] * 2, [0, 1]) == [-1, -1]


def test_reads_that_say_something_of_both_sites_count():
    assert link([(5, "AC"), (6, "AC")], ["AAACCCCC", "AAACCC.."]) == [0, 0]
    assert link([(5, "AC"), (6, "AC")], ["AAACCCC", "AAACCCA"]) == [0, 0]  # 3 of 4
    assert link([(5, "AC"), (6, "AC")], ["AAACCC", "AAACCA"]) == [-1, -1]
    assert link([(5, "AC"), (6, "AC")], ["AAAC", "AAAC"]) == [-1, -1]  # one read is chance


def test_alleles_of_a_site_are_on_different_molecules():
    assert link([(5, "ACG"), (6, "AT")], ["AAACCCGG", "AAATTTAA"]) == [0, -1, 0]


def made(positions: list[int], **columns):
    """Records of an A and a C, all of them likely."""
    n = len(positions)
    known = {"PON": np.zeros(n, bool), **{row.quality: np.full(n, 60.0) for row in BY_QUALITY}}
    known |= {name: np.array(values) for name, values in columns.items() if name not in ("filters", "phase_set")}
    own = {name: columns[name] for name in ("filters",) if name in columns}
    own |= {"phase_set": np.array(columns["phase_set"])[:, None]} if "phase_set" in columns else {}
    return made_calls(positions, [("A", "C")] * n, [(0, 1)] * n, annotations=known, **own)


@pytest.mark.parametrize("fractions", [MIXTURE, TUMOUR])
def test_events_near_each_other(fractions):
    """More than `max_events` within the reach of a read; of a mixture they are counted alone."""
    positions = [10, 20, 20, 20 + REACH, 21 + REACH, 500]
    filters = [("position",), (), (), (), (), ()]
    found = count_events(made(positions, filters=filters), fractions)
    expected = [sum(abs(p - q) <= REACH for q in positions) for p in positions]
    assert found.annotations["ECNT"].tolist() == expected == [3, 4, 4, 4, 2, 1]
    if fractions.is_somatic:
        clustered = (CLUSTERED,)
        assert found.filters == [("position", CLUSTERED), clustered, clustered, clustered, (), ()]
    else:
        assert found.filters == filters


@pytest.mark.parametrize("quality", [row.quality for row in BY_QUALITY])
def test_what_is_likely_no_mutation_is_no_event(quality):
    """Inherited, in the normal, another person's, an error, or given and in no read."""
    calls = made([100, 110, 120, 130], **{quality: [60.0, 0.1, 2.9, 3.1]})
    assert count_events(calls, TUMOUR).annotations["ECNT"].tolist() == [2, 2, 2, 2]
    assert count_events(calls, TUMOUR).filters == [()] * 4


def test_what_normals_share_is_no_event():
    assert count_events(made([100, 110, 120], PON=[False, True, True]), TUMOUR).annotations["ECNT"].tolist() == [1] * 3


def test_changes_of_the_same_molecules_are_one_event():
    found = count_events(made([100, 101, 102, 130], phase_set=[100, 100, 100, -1]), TUMOUR)
    assert found.annotations["ECNT"].tolist() == [2] * 4 and found.filters == [()] * 4


@pytest.mark.parametrize(
    ("positions", "count"),
    [
        ([100, 104, 109], 1),  # a deletion with others beside it
        ([100, 101, 102, 103, 104, 105], 1),  # one substitution of six bases
        ([100, 102, 103, 105], 3),  # a chimeric end
    ],
)
def test_many_changes_are_one_event_if_they_touch(positions, count):
    found = count_events(made(positions, phase_set=[100] * len(positions)), TUMOUR)
    assert found.annotations["ECNT"].tolist() == [count] * len(positions)
    assert found.filters == [(CLUSTERED,) if count > TUMOUR.max_events else ()] * len(positions)


def test_a_change_touches_the_end_of_a_deletion():
    calls = replace(
        made([100, 103, 110, 111], phase_set=[100] * 4), alleles=[("ACG", "A"), ("A", "C"), ("A", "C"), ("A", "C")]
    )
    assert count_events(calls, TUMOUR).annotations["ECNT"].tolist() == [2] * 4
