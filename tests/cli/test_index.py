"""readwarp index, as a user calls it."""

import gzip
import random
import subprocess
import sys

import numpy as np
import pytest

from helpers.seeding import random_letters, write_fasta
from readwarp import Index
from readwarp.cli import main

PEAK = """
import re, sys
from readwarp.cli import main
code = main(sys.argv[1:])
print(re.search("VmHWM:(.*) kB", open("/proc/self/status").read())[1])
sys.exit(code)
"""


@pytest.fixture
def reference(tmp_path):
    return write_fasta(tmp_path / "ref.fa", [random_letters(random.Random(1), 5000), "ACGT"])


def test_writes_the_index_and_says_what_is_in_it(reference, capsys):
    assert main(["index", str(reference), "-t", "1"]) == 0
    index = Index.open(f"{reference}.rwx")
    assert f"2 contigs, 5,004 bases, {index.positions.size:,} seeds (k=20, s=16)" in capsys.readouterr().err


def test_existing_file_is_kept_without_force(reference, capsys):
    assert main(["index", str(reference)]) == 0
    assert main(["index", "--preset", "short", str(reference)]) == 2
    assert "already exists" in capsys.readouterr().err
    assert Index.open(f"{reference}.rwx").parameters.k == 20
    assert main(["index", "--preset", "short", "--force", str(reference)]) == 0
    assert Index.open(f"{reference}.rwx").parameters.k == 16


def test_another_name_and_own_parameters(reference, tmp_path):
    assert main(["index", str(reference), "-o", str(tmp_path / "x"), "-k", "24", "-s", "18", "-q"]) == 0
    parameters = Index.open(tmp_path / "x").parameters
    assert (parameters.k, parameters.s, parameters.t) == (24, 18, 3)


@pytest.mark.parametrize("wrong", [["-k", "21"], ["-k", "40"], ["-s", "30"], ["-k", "-4", "-s", "-8"]])
def test_parameters_that_do_not_go_together(reference, wrong):
    assert main(["index", str(reference), *wrong]) == 2
    assert not reference.with_name("ref.fa.rwx").exists()


@pytest.mark.parametrize("data", [b"", b">a\nACGT\n>a\nACGT\n", b"@r\nACGT\n+\nIIII\n"])
def test_bad_reference_leaves_no_file(tmp_path, data, capsys):
    path = tmp_path / "bad.fa"
    path.write_bytes(data)
    assert main(["index", str(path)]) == 3
    assert f"readwarp: error: {path}: " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [path]
    assert main(["index", str(tmp_path / "none.fa")]) == 3


def test_too_little_memory(reference, tmp_path, capsys):
    """align builds an index within its budget, too."""
    reads = tmp_path / "reads.fq"
    reads.write_text("@r\nACGT\n+\nIIII\n")
    for command in (["index", reference], ["align", reference, reads, "-o", tmp_path / "x.sam"]):
        assert main([*map(str, command), "--memory", "100M", "-t", "1"]) == 5
        said = capsys.readouterr().err
        assert "readwarp: error: --memory 100M is too small: building the index needs 2" in said
        assert not reference.with_name("ref.fa.rwx").exists()


@pytest.mark.slow
def test_memory_stays_within_the_budget(tmp_path):
    """Without a budget it takes 500 MB; compressed input, whose size is unknown, takes no more."""
    letters = np.frombuffer(b"ACGT", np.uint8)[np.random.default_rng(1).integers(0, 4, 100_000_000)]
    plain, packed = tmp_path / "ref.fa", tmp_path / "ref.fa.gz"
    plain.write_bytes(
        b">one\n" + letters[: letters.size // 2].tobytes() + b"\n>two\n" + letters[letters.size // 2 :].tobytes()
    )
    packed.write_bytes(gzip.compress(plain.read_bytes(), 1))
    indexes = []
    for source, budget in ((plain, 4096), (plain, 400), (packed, 400)):
        output = tmp_path / f"{source.name}.{budget}.rwx"
        command = [sys.executable, "-c", PEAK, "index", source, "-o", output, "--memory", f"{budget}M", "-t", "2", "-q"]
        done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, text=True, check=True)
        assert int(done.stdout.split()[-1]) << 10 <= budget << 20
        index = Index.open(output)
        indexes.append((index.bucket_starts, index.tags, index.positions, index.reference.packed))
    for other in indexes[1:]:
        assert all(np.array_equal(*pair) for pair in zip(indexes[0], other, strict=True))
