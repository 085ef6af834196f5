"""What can be made of the variants that Caller finds."""

import pickle
import sys

import pysam
import pytest

from helpers.making import random_sequence, tiled, write_bam, write_fasta
from readwarp import Caller
from readwarp.errors import InputError, OutputExistsError, UsageError

SEQUENCE = random_sequence(3000, seed=21)


def snv(position: int) -> tuple[int, str, str]:
    return position, SEQUENCE[position], "ACGT"["CGTA".index(SEQUENCE[position])]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two samples: one shares its homozygous substitution and its deletion with the other, not a heterozygous one."""
    folder = tmp_path_factory.mktemp("variants")
    both = [snv(400), (1500, SEQUENCE[1500:1504], SEQUENCE[1500])]
    bams = []
    for name, haplotypes in (("a", [both, [*both, snv(2400)]]), ("b", [both])):
        reads = tiled(haplotypes, SEQUENCE, step=6)
        groups = {"RG": [{"ID": "1", "SM": name}]}
        bams.append(write_bam(folder / f"{name}.bam", {"c": 3000}, [("c", read) for read in reads], groups))
    return write_fasta(folder / "ref.fa", {"c": SEQUENCE}), bams


@pytest.fixture(scope="module")
def caller(made):
    return Caller(made[0])


@pytest.fixture
def called(caller, made):
    return lambda: caller.call(made[1])


def test_as_pysam_and_as_a_file(called, caller, made, tmp_path):
    records = called().to_pysam()
    assert [(r.chrom, r.start, r.alleles) for r in records] == [(v.contig, v.position, v.alleles) for v in called()]
    assert list(records[0].header.samples) == ["a", "b"] == list(called().samples)
    out = called().write(tmp_path / "x.vcf.gz")
    with pysam.VariantFile(str(out)) as file:
        assert [str(record) for record in file.fetch("c")] == [str(record) for record in records]
    caller.write(made[1], tmp_path / "y.vcf.gz")
    assert (tmp_path / "y.vcf.gz").read_bytes() == out.read_bytes()
    for write in (lambda: called().write(out), lambda: caller.write(made[1], out)):
        with pytest.raises(OutputExistsError, match=r"x.vcf.gz: already exists"):
            write()
    called().write(out, force=True)
    caller.write(made[1], out, force=True)
    with pytest.raises(UsageError, match=r"must end in \.vcf"):
        called().write(tmp_path / "x.txt")


def test_chosen_records_can_be_written(called, tmp_path):
    """As one does who filters in Python."""
    records = called().to_pysam()
    with pysam.VariantFile(str(tmp_path / "x.vcf"), "w", header=records[0].header) as file:
        for record in records:
            if record.samples["b"]["GT"] == (1, 1):
                file.write(record)
    with pysam.VariantFile(str(tmp_path / "x.vcf")) as file:
        assert [record.start for record in file] == [400, 1500]


def test_tables(called):
    variants, arrow, frame = list(called()), called().to_arrow(), called().to_pandas()
    rows = [(v, name, genotype) for v in variants for name, genotype in v.genotypes.items()]
    assert len(frame) == arrow.num_rows == len(rows) == 2 * len(variants) >= 6
    assert arrow.column_names == list(frame.columns)
    for row, record, (variant, name, genotype) in zip(arrow.to_pylist(), frame.to_dict("records"), rows, strict=True):
        assert (row["contig"], row["position"], row["sample"]) == (variant.contig, variant.position, name)
        assert (row["reference"], *row["alternates"]) == variant.alleles
        assert row["genotype"] == "/".join(map(str, genotype.alleles)) or genotype.phase_set is not None
        assert row["genotype_quality"] == genotype.quality and row["filters"] == (";".join(variant.filters) or "PASS")
        assert row["AF"] == pytest.approx(sum(genotype.allele_depth[1:]) / sum(genotype.allele_depth), abs=0.001)
        assert tuple(row["allele_depth"]) == genotype.allele_depth and row["depth"] == genotype.depth
        assert row["DP"] == variant.annotations["DP"] == record["DP"] and row["quality"] == variant.quality
        assert (record["position"], record["reference"], record["genotype"]) == (
            variant.position,
            variant.alleles[0],
            str(genotype),
        )
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(called())["position"].to_list() == frame["position"].tolist()


def test_no_variants(caller, made):
    assert caller.call(made[1], "c:10-20").to_pandas().empty and caller.call(made[1], "c:10-20").to_pysam() == []


def test_variants_are_gone_through_once(called, tmp_path):
    variants = called()
    assert repr(variants) == "Variants(samples: a, b; not begun)" and iter(variants) is variants
    assert next(variants).position == 400 and [v.position for v in variants] == [1500, 2400] and list(variants) == []
    assert repr(variants) == "Variants(samples: a, b; begun)"
    for use in (variants.to_pandas, variants.to_pysam, variants.to_arrow, lambda: variants.write(tmp_path / "x.vcf")):
        with pytest.raises(UsageError, match="is exhausted: call again, or keep list"):
            use()
    assert not list(tmp_path.iterdir())


def test_a_table_without_its_library_costs_no_variants(called, monkeypatch):
    variants = called()
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "pandas", None)
        with pytest.raises(ImportError, match="data frames need pandas: python -m pip install pandas"):
            variants.to_pandas()
    assert len(list(variants)) == 3


def test_bad_files_are_refused_at_once(caller, made, tmp_path):
    with pytest.raises(InputError, match=r"no\.bam: no such file"):
        caller.call("no.bam")
    with pytest.raises(InputError, match=r"chr1.*contig"):
        caller.call(made[1], "chr1")
    with pysam.AlignmentFile(str(made[1][0])) as file, pytest.raises(UsageError, match="AlignmentFile is not a path"):
        caller.call([file])


def test_names_of_other_libraries_are_explained(called):
    variant = next(called())
    with pytest.raises(AttributeError, match=r"a Variant has no 'chrom'; here it is contig, and Variants.to_pysam\(\)"):
        _ = variant.chrom
    with pytest.raises(AttributeError, match=r"no 'colour'$"):
        _ = variant.colour


def test_a_caller_pickles(caller, made):
    again = pickle.loads(pickle.dumps(Caller(made[0], ploidy=1, threads=2, heterozygosity=0.01)))
    assert (again.parameters.ploidy, again.parameters.snv_prior, again.resources.threads) == (1, 0.01, 2)
    assert len(pickle.dumps(caller)) < 5000
    assert list(pickle.loads(pickle.dumps(caller)).call(made[1])) == list(caller.call(made[1]))
    assert repr(again) == f"Caller({made[0]}, ploidy=1, threads=2)"


def test_variants_do_not_pickle(called):
    with pytest.raises(TypeError, match=r"pickle list\(variants\), or the Caller"):
        pickle.dumps(called())


def test_samples_may_be_one_name(caller, made):
    assert caller.call(made[1], samples="b").samples == ("b",)
    with pytest.raises(TypeError, match=r"Caller\(\) got an unexpected keyword argument 'ploidi'; did you mean ploidy"):
        Caller(made[0], ploidi=1)


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize(("letter", "at", "size"), [("Y", 2, 4), ("N", 3, 4), ("R", 1, 40), ("N", 0, 3)])
def test_a_deletion_may_take_letters_that_are_no_base(tmp_path, copies, letter, at, size):
    """It is called where its first base is known; REF has N for the letter."""
    place = next(p for p in range(800, 3000) if SEQUENCE[p] != SEQUENCE[p + size])  # nowhere else to write it
    deletion = (place, SEQUENCE[place : place + size + 1], SEQUENCE[place])
    reads = tiled([[deletion], [deletion] if copies == 2 else []], SEQUENCE, step=4)
    bam = write_bam(tmp_path / "x.bam", {"c": 3000}, [("c", read) for read in reads])
    unknown = place + 1 + at
    fasta = write_fasta(tmp_path / "x.fa", {"c": SEQUENCE[:unknown] + letter + SEQUENCE[unknown + 1 :]})
    found = [(v.position, *v.alleles, sum(g.alleles)) for v in Caller(fasta).call([bam]) for g in v.genotypes.values()]
    old = SEQUENCE[place:unknown] + "N" + SEQUENCE[unknown + 1 : place + size + 1]
    assert found == ([(place, old, SEQUENCE[place], copies)] if at else [])
