"""Variants from real reads, made by the package alone and compared with the truth."""

import json
import subprocess
import sys
from pathlib import Path

import pysam
import pytest

from readwarp.cli import main

TOOL = Path(__file__).resolve().parents[2] / "benchmarks" / "tools" / "call_accuracy.py"


@pytest.fixture(scope="module")
def called(test_data, tmp_path_factory):
    """The output folder of `readwarp run`. The reference is copied, because its index is written beside it."""
    folder, real = tmp_path_factory.mktemp("real"), test_data / "na12878_chr21"
    (folder / "ref.fa").write_bytes((real / "ref.fa").read_bytes())
    reads = [str(real / f"reads_{mate}.fq.gz") for mate in (1, 2)]
    options = ["-R", "@RG\\tID:1\\tSM:NA12878", "-o", str(folder / "out"), "-t", "2", "--device", "cpu", "-q"]
    assert main(["run", str(folder / "ref.fa"), *reads, *options]) == 0
    return folder


def score(folder, real, calls) -> dict:
    command = [sys.executable, TOOL, real / "truth.vcf", calls, folder / "ref.fa", "--bed", real / "confident.bed"]
    return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)


@pytest.mark.slow
def test_confident_variants_are_found(called, test_data):
    result = score(called, test_data / "na12878_chr21", called / "out" / "NA12878.vcf.gz")
    assert result["snv"]["fn"] <= 1 and result["snv"]["fp"] <= 1, result
    assert result["indel"]["fn"] <= 2 and result["indel"]["fp"] <= 2, result


@pytest.mark.slow
def test_threads_and_windows_do_not_matter(called, tmp_path):
    bam, reference = str(called / "out" / "NA12878.bam"), str(called / "ref.fa")
    texts = set()
    for i, options in enumerate((["-t", "1"], ["-t", "2"], ["-t", "2", "--batch-bases", "300k"])):
        path = tmp_path / f"{i}.vcf"
        assert main(["call", reference, bam, "-o", str(path), "--device", "cpu", "-q", *options]) == 0
        texts.add("".join(x for x in path.read_text().splitlines(True) if not x.startswith("##readwarpCommand")))
    assert len(texts) == 1
    with pysam.VariantFile(str(tmp_path / "0.vcf")) as file:
        assert sum(1 for _ in file) > 400


def test_a_mitochondrion(test_data, tmp_path):
    """Reads come from a sorted BAM file of another reference; the SNVs are those of the expected sequence."""
    source, reference = test_data / "mito", tmp_path / "ref.fa"
    reference.write_bytes((source / "ref.fa").read_bytes())
    options = ["--ploidy", "1", "-o", str(tmp_path / "out"), "-t", "2", "--device", "cpu", "-q"]
    assert main(["run", str(reference), str(source / "HG03478.bam"), *options]) == 0
    expected = (source / "HG03478.expected.fa").read_text().split()[-1]
    with pysam.FastaFile(str(reference)) as file:
        letters = file.fetch("chrM")
    truth = {(at, b) for at, (a, b) in enumerate(zip(letters, expected, strict=True)) if a != b}
    found = set()
    with pysam.VariantFile(str(tmp_path / "out" / "HG03478.vcf.gz")) as file:
        for call in file.fetch():
            if list(call.filter) == ["PASS"] and len(call.ref) == len(call.alts[0]) and not 299 <= call.start < 316:
                assert call.samples["HG03478"]["GT"] == (1,)
                found.add((call.start, call.alts[0]))
    assert found == truth and len(truth) == 35
