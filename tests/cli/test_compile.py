"""readwarp compile: folders that are filled beforehand, and commands that then compile nothing."""

import json
import os
import subprocess
import sys

import pytest

from helpers.command_samples import run_main
from readwarp.compiler import levels

X86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="has one level")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--level", "x86-64-v5"], "x86-64-v5: unknown processor level; known are x86-64, x86-64-v2"),
        (["--command", "doctor"], "--command doctor: unknown, or needs no kernels; known are Aligner, Aligner.long"),
        (["--capability", "90"], "--capability 90: not a compute capability, such as 9.0"),
        (["-o", "x", "--package"], "not allowed with argument"),
        (["-o", "/proc/none"], "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_told(arguments, message, capsys):
    assert run_main(["compile", "--command", "index", *arguments]) == 2
    assert message in capsys.readouterr().err


@X86
def test_another_kind_of_processor_is_refused(capsys):
    assert run_main(["compile", "--level", "aarch64"]) == 2
    assert "--level aarch64: kernels for aarch64 can only be compiled on one" in capsys.readouterr().err


@X86
def test_a_filled_folder_serves_another_user(tmp_path, capsys, test_data):
    """One of a site, for a lower level than the machine's: its code is used, and nothing is compiled."""
    folder, reference = tmp_path / "kernels", test_data / "odd" / "phix.fasta"
    assert run_main(["compile", "--level", "x86-64-v2", "-o", folder, "--command", "index"]) == 0
    number, told = len(list(folder.rglob("*.kernel"))), capsys.readouterr()
    assert told.out == f"x86-64-v2: {number} kernels in {folder} ({number} compiled, 0 copied)\n"
    assert f"readwarp: compiling {number} kernels, one time only (about" in told.err
    environment = os.environ | {"READWARP_KERNELS": str(folder), "READWARP_CACHE": str(tmp_path / "own")}
    metrics = tmp_path / "metrics.json"
    command = ["-m", "readwarp", "index", reference, "-o", tmp_path / "x.rwx", "--metrics", metrics]
    done = subprocess.run([sys.executable, *map(str, command)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "compil" not in done.stderr
    assert "compiled_kernels" not in json.loads(metrics.read_text())
    assert not list(tmp_path.glob("own/**/*.kernel"))


@pytest.mark.slow
def test_the_same_bytes_at_each_level(tmp_path, test_data):
    """Records and calls at the machine's level, and at the one below, whose vectors are half as wide."""
    real, have = test_data / "na12878_chr21", levels.host_level()
    below = levels.LEVELS[levels.LEVELS.index(have) - 1]
    if below.machine != have.machine:
        pytest.skip("has one level")
    outputs = []
    for level in (have, below):
        environment = os.environ | {"READWARP_LEVEL": level.name}
        bam, vcf = tmp_path / f"{level.name}.bam", tmp_path / f"{level.name}.vcf"
        reads = (real / f"reads_{k}.fq.gz" for k in (1, 2))
        made = ("align", real / "ref.fa", *reads, "-o", bam, "--sort", "coordinate", "--write-index", "--no-pg")
        called = ("call", real / "ref.fa", bam, "-o", vcf)
        for command in (made, called):
            subprocess.run([sys.executable, "-m", "readwarp", *map(str, command)], env=environment, check=True)
        calls = [line for line in vcf.read_text().splitlines() if line[:2] != "##"]
        outputs.append((bam.read_bytes(), calls))
    assert outputs[0] == outputs[1]
