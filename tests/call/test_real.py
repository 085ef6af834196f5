"""NA12878: reads to variants by the package alone, against the truth (slow)."""

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
    """Folder with the output of `readwarp run`; the reference is copied, since its index is written beside it."""
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
    assert result["snv"]["recall"] >= 0.99 and result["snv"]["fp"] <= 3, result
    assert result["indel"]["recall"] >= 0.94 and result["indel"]["fp"] <= 3, result


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
