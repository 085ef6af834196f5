"""Alignments in several files: what is called is what one file with the same reads gives."""

import json
from pathlib import Path

import pytest

import readwarp
from helpers.command_samples import run_main
from helpers.jobs import call_variants
from helpers.making import Read, other, random_sequence, tiled, write_bam, write_fasta, write_samples
from readwarp.config import Resources
from readwarp.errors import InputError, MemoryBudgetError, UsageError
from readwarp.ragged import replace

SEQUENCE = random_sequence(2000, seed=5)
LENGTHS = {"one": len(SEQUENCE), "two": 500}
VARIANTS = [(at, SEQUENCE[at], other(SEQUENCE[at])) for at in (400, 700, 1300)]


def reads_of(name: str, haplotypes: list[list[tuple[int, str, str]]]) -> list[tuple[str, Read]]:
    return [("one", replace(read, name=f"{name}{read.name}")) for read in tiled(haplotypes, SEQUENCE)]


SAMPLES = {
    "s": reads_of("s", [VARIANTS[:1], VARIANTS[:1]]),
    "t": reads_of("t", [VARIANTS[1:2], []]),
    "u": reads_of("u", [VARIANTS, []]),
}


def write(path: Path, samples: dict[str, list[tuple[str, Read]]], contigs: dict[str, int] = LENGTHS) -> Path:
    return write_samples(path, contigs, samples)


def body(path: Path) -> list[str]:
    """The lines from #CHROM on."""
    return [line for line in path.read_text().splitlines() if not line.startswith("##")]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    write_fasta(folder / "ref.fa", {"one": SEQUENCE, "two": random_sequence(500, seed=6)})
    write(folder / "all.bam", SAMPLES)
    for name, reads in SAMPLES.items():
        write(folder / f"{name}.bam", {name: reads})
    write(folder / "u1.bam", {"u": SAMPLES["u"][::2]})
    write(folder / "u2.bam", {"u": SAMPLES["u"][1::2]}, dict(reversed(LENGTHS.items())))
    write(folder / "tu.bam", {name: SAMPLES[name] for name in "tu"})
    call_variants(folder / "ref.fa", folder / "all.bam", folder / "all.vcf")
    return folder


def called(made: Path, tmp_path: Path, names: str, **options: object) -> list[str]:
    call_variants(made / "ref.fa", [made / f"{name}.bam" for name in names.split()], tmp_path / "out.vcf", **options)
    return body(tmp_path / "out.vcf")


@pytest.mark.parametrize("names", ["s t u", "s tu", "s t u1 u2", "s t u2 u1"])
def test_several_files_are_called_as_one(made, tmp_path, names):
    """Files of one sample are one sample, whatever the order of contigs in each."""
    together = body(made / "all.vcf")
    assert len(together) == 1 + len(VARIANTS)
    assert called(made, tmp_path, names) == together
    assert called(made, tmp_path, names, resources=Resources(threads=3, batch_bases=64 * 300)) == together


def test_samples_are_chosen_from_all_files(made, tmp_path):
    alone = called(made, tmp_path, "all", samples=("u", "s"))
    assert called(made, tmp_path, "s t u1 u2", samples=("u,s",)) == alone
    assert alone[0].split("\t")[9:] == ["u", "s"]
    with pytest.raises(InputError, match=r"all 2 files: no read group of sample 'u' \(there are: s, t\)"):
        called(made, tmp_path, "s t", samples=("u",))


def test_files_without_read_groups_are_samples(made, tmp_path):
    for name in "st":
        write_bam(tmp_path / f"x{name}.bam", LENGTHS, SAMPLES[name])
    call_variants(made / "ref.fa", [tmp_path / "xs.bam", tmp_path / "xt.bam"], tmp_path / "out.vcf")
    lines = body(tmp_path / "out.vcf")
    assert lines[0].split("\t")[9:] == ["xs", "xt"]
    assert [line.split("\t")[9][:3] for line in lines[1:]] == ["1/1", "0/0"]


def test_gvcf_of_one_sample_in_several_files(made, tmp_path):
    whole = called(made, tmp_path, "u", gvcf=True)
    assert called(made, tmp_path, "u1 u2", gvcf=True) == whole
    with pytest.raises(UsageError, match="--gvcf takes one sample; choose it with --sample: s, t"):
        called(made, tmp_path, "s t", gvcf=True)


def test_list_of_files(made, tmp_path):
    listed = tmp_path / "list.txt"
    listed.write_text(f"# the cohort\n{made / 't.bam'}\n\n{made / 'u.bam'}\n")
    common = ["-q", "--device", "cpu", "-o", tmp_path / "out.vcf"]
    for inputs in ([made / "s.bam", "-b", listed], [made / "s.bam", f"@{listed}"]):
        metrics = tmp_path / "metrics.json"
        assert run_main(["call", made / "ref.fa", *inputs, *common, "-f", "--metrics", metrics]) == 0
        assert body(tmp_path / "out.vcf") == body(made / "all.vcf")
        assert json.loads(metrics.read_text())["alignment_files"] == [
            {"file": str(made / f"{name}.bam"), "samples": [name]} for name in "stu"
        ]


def test_several_files_in_python(made, tmp_path):
    paths = [made / "s.bam", str(made / "t.bam"), made / "u.bam"]
    readwarp.call(made / "ref.fa", paths, output=tmp_path / "a.vcf", device="cpu")
    assert body(tmp_path / "a.vcf") == body(made / "all.vcf")
    variants = list(readwarp.Caller(made / "ref.fa").call(paths))
    assert [variant.position for variant in variants] == [at for at, _, _ in VARIANTS]
    assert set(variants[0].genotypes) == {"s", "t", "u"}


def test_files_that_are_refused(made, tmp_path):
    with pytest.raises(UsageError, match=r"s\.bam: is given twice$"):
        called(made, tmp_path, "s t s")
    (tmp_path / "link.bam").symlink_to(made / "s.bam")
    with pytest.raises(UsageError, match=r"link\.bam: is given twice \(it is .*s\.bam\)"):
        call_variants(made / "ref.fa", [made / "s.bam", tmp_path / "link.bam"], tmp_path / "out.vcf")
    (tmp_path / "bare.bam").write_bytes((made / "t.bam").read_bytes())
    with pytest.raises(InputError, match=r"bare\.bam: has no index"):
        call_variants(made / "ref.fa", [made / "s.bam", tmp_path / "bare.bam"], tmp_path / "out.vcf", regions=("one",))
    write(tmp_path / "short.bam", {"t": []}, {"one": 1999})
    with pytest.raises(InputError, match=r"short\.bam: its contig 'one' has 1999 bases, in the reference 2000"):
        call_variants(made / "ref.fa", [made / "s.bam", tmp_path / "short.bam"], tmp_path / "out.vcf")
    with pytest.raises(UsageError, match="no alignments are given"):
        call_variants(made / "ref.fa", [], tmp_path / "out.vcf")
    assert not (tmp_path / "out.vcf").exists()


def test_memory_and_open_files_are_planned(made, tmp_path, monkeypatch):
    with pytest.raises(
        MemoryBudgetError, match="--memory 1 is too small: the program, the reference and the indexes of 2"
    ):
        called(made, tmp_path, "s t", resources=Resources(memory=1))
    monkeypatch.setattr("resource.getrlimit", lambda _: (16, 16))
    with pytest.raises(InputError, match=r"inputs: 5 files need 37 to be open at once, .*`samtools merge`"):
        called(made, tmp_path, "s t")
