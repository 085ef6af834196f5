"""run: from reads to alignments, variants and a summary."""

import json

import pysam
import pytest
from command_samples import CONTIGS, pairs, record, reverse_complement, run_main


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """Pairs at 40x from contig `one` with a homozygous SNV at 3000 (0-based) and a heterozygous deletion at 4000."""
    folder = tmp_path_factory.mktemp("sample")
    letters = CONTIGS["one"]
    changed = letters[:3000] + {"A": "G", "C": "T", "G": "A", "T": "C"}[letters[3000]] + letters[3001:]
    haplotypes = (changed, changed[:4001] + changed[4004:])
    texts: list[list[str]] = [[], []]
    for number in range(1200):
        haplotype = haplotypes[number % 2]
        start = number * 7919 % (len(haplotype) - 300)
        fragment = haplotype[start : start + 300]
        texts[0].append(record(f"f{number}", fragment[:100]))
        texts[1].append(record(f"f{number}", reverse_complement(fragment)[:100]))
    paths = [folder / f"x_{mate}.fq" for mate in (1, 2)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text("".join(text))
    return paths


def test_run(reference, sample, tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    folder = tmp_path / "new" / "results"
    assert run_main(["run", reference, *sample, "-o", folder, "-t", "2"]) == 0
    names = ["metrics.json", "x.bam", "x.bam.bai", "x.vcf.gz", "x.vcf.gz.tbi"]
    assert sorted(path.name for path in folder.iterdir()) == names
    with pysam.AlignmentFile(str(folder / "x.bam")) as file:
        assert file.count(until_eof=True) == 2400
    with pysam.VariantFile(str(folder / "x.vcf.gz")) as file:
        calls = [(c.pos - 1, len(c.ref), len(c.alts[0]), c.samples[0]["GT"]) for c in file]
    assert calls[0] == (3000, 1, 1, (1, 1))
    assert [(ref, alt, genotype) for _, ref, alt, genotype in calls[1:]] == [(4, 1, (0, 1))]
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["counts"]["reads"] == 2400 and metrics["counts"]["snvs"] == metrics["counts"]["indels"] == 1
    out = capfd.readouterr().out
    for part in ("2,400", "100.00 %", "one:3,001", "1/1", "0/1", str(folder / "x.vcf.gz")):
        assert part in out


def test_run_refuses_results_that_exist(reference, sample, tmp_path, capsys):
    (tmp_path / "x.vcf.gz").write_text("precious")
    assert run_main(["run", reference, *sample, "-o", tmp_path]) == 2
    assert "x.vcf.gz: exists already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["x.vcf.gz"]


def test_run_leaves_nothing_after_bad_input(reference, tmp_path, capsys):
    reads = tmp_path / "bad.fq"
    reads.write_text("".join(record(n, a) for n, a, _ in pairs(10)) + "@b\nACGT\n+\nIII\n")
    assert run_main(["run", reference, reads, "-o", tmp_path / "out", "-q"]) == 3
    assert "record 11: quality has 3 letters" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_run_takes_one_sample(reference, sample, tmp_path, capsys):
    groups = [r"@RG\tID:a\tSM:s", r"@RG\tID:b\tSM:t"]
    options = [word for group in groups for word in ("-R", group)]
    assert run_main(["run", reference, *sample, *sample, *options, "-o", tmp_path / "out"]) == 2
    assert "these are of s, t" in capsys.readouterr().err


def test_unknown_region_is_refused_before_any_work(reference, sample, tmp_path, capsys):
    assert run_main(["run", reference, *sample, "-o", tmp_path / "out", "-r", "three", "-q"]) == 3
    assert "three" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
