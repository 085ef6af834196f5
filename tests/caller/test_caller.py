"""Calling from Python gives what the command line writes."""

import pickle

import pysam
import pytest

from helpers import made_mixtures
from helpers.cards import HAS_CARDS
from helpers.making import Read, random_sequence, tiled, write_bam, write_fasta
from readwarp import Caller, call
from readwarp.errors import InputError, UsageError, WorkspaceFullError

if HAS_CARDS:
    from readwarp.call.likelihoods.pairhmm import cuda as pairhmm_cuda

SEQUENCE = random_sequence(3000, seed=21)


def snv(position: int) -> tuple[int, str, str]:
    return position, SEQUENCE[position], "ACGT"["CGTA".index(SEQUENCE[position])]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A reference, and alignments with a homozygous and a heterozygous substitution and a deletion."""
    folder = tmp_path_factory.mktemp("caller")
    both = [snv(400), (1500, SEQUENCE[1500:1504], SEQUENCE[1500])]
    reads: list[Read] = tiled([both, [*both, snv(2400)]], SEQUENCE, step=6)
    bam = write_bam(folder / "made.bam", {"c": 3000}, [("c", r) for r in reads], {"RG": [{"ID": "1", "SM": "s"}]})
    return write_fasta(folder / "ref.fa", {"c": SEQUENCE, "d": SEQUENCE[:200]}), bam


def test_the_same_as_a_file(made, tmp_path):
    caller = Caller(made[0], threads=2)
    found = list(caller.call(made[1]))
    caller.write(made[1], tmp_path / "x.bcf")
    with pysam.VariantFile(str(tmp_path / "x.bcf")) as file:
        records = list(file)
    assert len(found) == len(records) >= 3
    for variant, record in zip(found, records, strict=True):
        assert (variant.contig, variant.position, variant.alleles) == (record.chrom, record.start, record.alleles)
        assert variant.quality == pytest.approx(record.qual, abs=0.01)
        assert list(variant.filters or ["PASS"]) == record.filter.keys()
        ours, theirs = variant.genotypes["s"], record.samples["s"]
        assert (ours.alleles, ours.quality, ours.depth) == (theirs["GT"], theirs["GQ"], theirs["DP"])
        assert (ours.allele_depth, ours.likelihoods) == (theirs["AD"], theirs["PL"])
        assert variant.annotations["DP"] == record.info["DP"]
    assert [v.position for v in found if v.is_snv and v.passes] == [400, 2400]


def test_tables_can_be_filtered_and_grouped(made):
    frame = Caller(made[0]).call(made[1]).to_pandas()
    assert (frame.filters == "PASS").sum() == 3 and frame.groupby("genotype").size().to_dict() == {"0/1": 1, "1/1": 2}
    assert (frame.AF.between(0.2, 0.8) == (frame.genotype == "0/1")).all()


@pytest.mark.parametrize(("options", "samples"), [({"mixture": True}, 1), ({"somatic": True, "normal": "NORMAL"}, 2)])
def test_alleles_on_fractions_of_molecules(options, samples, tmp_path):
    """As the command writes them, header and filters included."""
    inherited = [made_mixtures.snv(700, 0.5), made_mixtures.deletion(2100, 2, 0.5)]
    changed = [made_mixtures.snv(300, 0.2), made_mixtures.snv(1800, 0.02), *inherited]
    if samples == 1:
        reference, bam = made_mixtures.write_mixture(tmp_path, changed)
    else:
        reference, bam = made_mixtures.write_pair(tmp_path, changed, inherited)
    call(reference, bam, output=tmp_path / "command.vcf", **options)
    caller = pickle.loads(pickle.dumps(Caller(reference, **options)))
    caller.call(bam).write(tmp_path / "calls.vcf")
    texts = ((tmp_path / name).read_text() for name in ("command.vcf", "calls.vcf"))
    expected, found = ([line for line in text.splitlines() if "readwarpCommand" not in line] for text in texts)
    assert found == expected and any(line.startswith("##fraction_threshold") for line in found)
    variants = list(caller.call(bam))
    assert len(variants[0].genotypes) == samples and any(variant.filters for variant in variants) == (samples == 2)
    fraction = max(genotype.fractions[0] for genotype in variants[0].genotypes.values())
    assert variants[0].position == 300 and 0.1 < fraction < 0.3


def test_parts(made):
    caller = Caller(made[0])
    whole = list(caller.call(made[1]))
    assert list(caller.call(made[1], ["c:1-1,000", ("c", 1000, 3000), "d"])) == whole
    assert [v.position for v in caller.call(made[1], [("c", 400, 401)])] == [400]
    assert list(caller.call(made[1], [("c", 401, 402)])) == []


def test_parameters(made):
    variants = list(Caller(made[0], ploidy=1).call(made[1], ["c:400-410"]))
    assert [v.genotypes["s"].alleles for v in variants] == [(1,)]
    with pytest.raises(UsageError, match="ploidy"):
        Caller(made[0], ploidy=0)
    with pytest.raises(TypeError, match="colour"):
        Caller(made[0], colour=1)


@pytest.mark.parametrize("region", ["x", ("x", 0, 5), ("c", 5, 5), ("c", 0, 3001), ("c", -1, 5)])
def test_regions_that_do_not_exist(region, made):
    with pytest.raises(InputError):
        list(Caller(made[0]).call(made[1], [region]))


def test_a_call_that_is_left_early_closes_its_file(made):
    variants = Caller(made[0], threads=2).call(made[1])
    assert next(variants).position == 400
    variants.close()


def test_samples(made, tmp_path):
    reads = tiled([[snv(400)]], SEQUENCE, step=6)
    groups = [{"ID": "1", "SM": "s"}, {"ID": "2", "SM": "t"}]
    bam = write_bam(tmp_path / "two.bam", {"c": 3000}, [("c", r) for r in reads], {"RG": groups})
    caller = Caller(made[0])
    assert list(caller.call(bam)) == []
    assert caller.metrics.counts["reads_without_sample"] == len(reads)
    with pytest.raises(InputError, match="no read group of sample 'u'"):
        list(caller.call(bam, samples=["u"]))


@pytest.mark.cards
def test_comparisons_too_large_for_a_card_are_made_on_the_host(made, monkeypatch):
    expected = Caller(made[0])
    variants = list(expected.call(made[1]))
    asked = []

    def sum_given(given):
        asked.append(given)
        raise WorkspaceFullError(f"{len(given.places)} pairs")

    monkeypatch.setattr(pairhmm_cuda, "sum_given", sum_given)
    caller = Caller(made[0], device="cuda")
    assert list(caller.call(made[1])) == variants
    counts = dict(caller.metrics.counts)
    assert counts.pop("comparisons_on_host") == caller.metrics.facts["pairhmm_questions"] > 0
    assert len(asked) == 1 + caller.metrics.facts["pairhmm_questions"]  # one to warm up
    assert counts.pop("pairhmm_pairs_off_card") > 0
    assert {**counts, "pairhmm_pairs_off_card": 0} == expected.metrics.counts
