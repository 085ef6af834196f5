"""Where the index of a reference is kept, and an index in the place of a reference."""

import os
import pwd
import random
import re
import shlex

import pytest

from helpers.seeding import random_letters, write_fasta
from readwarp.cli import main
from readwarp.config import PRESETS, SeedParameters
from readwarp.errors import InputError, UsageError
from readwarp.formats.common.fasta import read_contigs
from readwarp.formats.common.index_file import source_of
from readwarp.index import Index, index_path, open_or_build
from readwarp.index.build import read_reference
from readwarp.index.place import cache_folder, explain_place, kept_indexes, place_of
from readwarp.metrics import Metrics

LETTERS = random_letters(random.Random(5), 3001)


@pytest.fixture
def reference(tmp_path):
    (tmp_path / "in").mkdir()
    return write_fasta(tmp_path / "in" / "ref.fa", [LETTERS, "ACGTN" * 9, "acgu"])


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The folder of the reference cannot be written; the cache is this one."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("READWARP_INDEX_DIR", raising=False)
    return tmp_path / "home" / "readwarp" / "indexes"


def test_kept_in_the_cache_where_the_folder_cannot_be_written(reference, cache):
    metrics = Metrics()
    built = open_or_build(reference, metrics=metrics)
    assert [path.parent for path in kept_indexes()] == [cache] and not index_path(reference).exists()
    assert kept_indexes() == [place_of(reference, None)] and cache.stat().st_mode & 0o77 == 0
    again = open_or_build(reference, metrics=metrics)
    assert metrics.counts == {"index_built": 1} and (again.positions == built.positions).all()


def test_another_place_is_explained(reference, cache, monkeypatch):
    elsewhere = " (elsewhere: --index FILE or READWARP_INDEX_DIR)"
    kept, beside = place_of(reference, None), index_path(reference)
    assert explain_place(kept, reference) == f" since {reference.parent} cannot be written{elsewhere}"
    assert explain_place(beside, reference) == ""
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    owner = pwd.getpwuid(os.getuid()).pw_name
    assert explain_place(beside, reference) == f" in a folder of {owner}{elsewhere}"
    monkeypatch.setenv("READWARP_INDEX_DIR", str(cache))
    assert f" in READWARP_INDEX_DIR and in a folder of {owner} (" in explain_place(place_of(reference, None), reference)


def test_one_beside_the_reference_comes_first(reference, cache):
    Index.build(reference).save(index_path(reference), reference)
    metrics = Metrics()
    open_or_build(reference, metrics=metrics)
    assert not metrics.counts and not cache.exists()


def test_a_folder_that_the_user_names(reference, tmp_path, monkeypatch):
    monkeypatch.setenv("READWARP_INDEX_DIR", str(tmp_path / "site"))
    open_or_build(reference)
    assert kept_indexes() and not index_path(reference).exists() and cache_folder() == tmp_path / "site"


def test_indexes_are_told_apart_by_content_and_seeds(reference, cache, tmp_path):
    open_or_build(reference)
    copy = write_fasta(tmp_path / "ref.fa", [LETTERS, "ACGTN" * 9, "acgu"])
    (tmp_path / "other").mkdir()
    other = write_fasta(tmp_path / "other" / "ref.fa", [LETTERS[1:] + "A", "ACGTN" * 9, "acgu"])
    assert place_of(copy, None) == place_of(reference, SeedParameters())
    assert place_of(other, None) != place_of(reference, None) != place_of(reference, PRESETS["short"].parameters.seed)
    metrics = Metrics()
    open_or_build(copy, metrics=metrics)
    assert not metrics.counts
    open_or_build(other, metrics=metrics)
    assert metrics.counts == {"index_built": 1} and len(kept_indexes()) == 2


def test_a_damaged_one_in_the_cache_is_built_again(reference, cache):
    open_or_build(reference)
    (path,) = kept_indexes()
    path.write_bytes(path.read_bytes()[:-1])
    metrics = Metrics()
    open_or_build(reference, metrics=metrics)
    assert metrics.counts == {"index_built": 1}
    Index.verify(path)


def test_neither_folder_can_be_written(reference, cache, tmp_path, caplog):
    (tmp_path / "home").write_text("a file")
    metrics = Metrics()
    assert open_or_build(reference, metrics=metrics).positions.size > 0
    assert metrics.counts == {"index_built": 1, "index_not_saved": 1}


def test_a_place_of_its_own(reference, tmp_path):
    place, metrics = tmp_path / "mine", Metrics()
    for _ in range(2):
        open_or_build(reference, metrics=metrics, place=place)
    assert metrics.counts == {"index_built": 1} and not index_path(reference).exists()
    with pytest.raises(UsageError, match="there is no folder"):
        open_or_build(reference, place=tmp_path / "none" / "x.rwx")
    other = write_fasta(tmp_path / "other.fa", ["ACGT" * 9])
    with pytest.raises(InputError, match="made from another reference"):
        open_or_build(other, place=place)


@pytest.mark.parametrize("is_placed", [False, True])
@pytest.mark.parametrize("seeds", [PRESETS["short"].parameters.seed, SeedParameters(k=15, s=11, t=2), SeedParameters()])
def test_the_command_that_is_advised_makes_the_index(seeds, is_placed, reference, tmp_path):
    """The message that names it is not seen again."""
    place = tmp_path / "mine" if is_placed else None
    other = SeedParameters(k=18, s=14, t=2)
    open_or_build(reference, other, place=place)
    with pytest.raises(InputError, match="made with k=18 s=14") as error:
        open_or_build(reference, seeds, place=place)
    command = re.search(r"build it again with readwarp (.*), or keep both with --index FILE$", str(error.value))[1]
    assert main([*shlex.split(command), "-q"]) == 0
    assert open_or_build(reference, seeds, place=place).parameters == seeds
    with pytest.raises(InputError) as error:
        open_or_build(place or index_path(reference), other)
    command = re.search(r"make another of it with readwarp (.*) -o FILE$", str(error.value))[1]
    assert main([*shlex.split(command), "-o", str(tmp_path / "third.rwx"), "-q"]) == 0
    assert open_or_build(tmp_path / "third.rwx", other).parameters == other


def test_an_index_is_a_reference(reference, tmp_path):
    place = tmp_path / "ref.rwx"
    open_or_build(reference, place=place)
    opened, known = read_reference(place), read_reference(reference)
    assert (opened.names, opened.md5) == (known.names, known.md5) and (opened.packed == known.packed).all()
    assert open_or_build(place).reference.names == known.names
    with pytest.raises(InputError, match="made with k=20 s=16, asked for k=16 s=14"):
        open_or_build(place, PRESETS["short"].parameters.seed)
    with pytest.raises(UsageError, match="is an index itself"):
        open_or_build(place, place=tmp_path / "x")
    assert (Index.build(place).positions == Index.build(reference).positions).all()


def test_letters_of_an_index(tmp_path):
    reference = write_fasta(tmp_path / "ref.fa", [LETTERS, "acgtn" * 9 + "A", "TNRYSWKMBDHVNA"])
    open_or_build(reference)
    assert list(read_contigs(index_path(reference))) == list(read_contigs(reference))
    assert source_of(index_path(reference)) == reference
    os.utime(reference, (1, 1))
    assert source_of(index_path(reference)) is None
    strange = write_fasta(tmp_path / "strange.fa", ["ACGT", "ACGURY"])
    open_or_build(strange)
    with pytest.raises(InputError, match="record c1: has U, which the index holds as T"):
        list(read_contigs(index_path(strange)))
