"""readwarp index, as a user calls it."""

import random

import pytest

from helpers.seeding import random_letters, write_fasta
from readwarp import Index
from readwarp.cli import main


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
    assert "exists already" in capsys.readouterr().err
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
