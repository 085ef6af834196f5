"""Cards of a shared machine: each process takes a free one, and the least used where none is."""

import os
import subprocess
import sys

import pytest

from readwarp.device import backend as backends
from readwarp.device.claims import claim
from readwarp.device.driver import Device

TWO = ("uuid-a", "uuid-b")


def test_free_cards_first_then_the_least_used(tmp_path):
    made = [claim(TWO, tmp_path) for _ in range(5)]
    assert [(each.card, each.others) for each in made] == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)]
    made[1].release()
    again = claim(TWO, tmp_path)
    assert (again.card, again.others) == (1, 0)
    for each in (*made[:1], *made[2:], again):
        each.release()


def test_processes_that_are_shown_other_cards_agree(tmp_path):
    first, second = claim(TWO[1:], tmp_path), claim(TWO, tmp_path)
    assert (first.card, second.card) == (0, 0)
    third = claim(TWO, tmp_path)
    assert third.others == 1
    for each in (first, second, third):
        each.release()


def test_the_system_gives_back_what_a_killed_process_had(tmp_path):
    code = (
        "import os, sys, pathlib; from readwarp.device.claims import claim;"
        "print(claim(['uuid-a'], pathlib.Path(sys.argv[1])).others, flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdout.readline() == "0\n"
        (other := claim(TWO[:1], tmp_path)).release()
        assert other.others == 1
        child.kill()
    (own := claim(TWO[:1], tmp_path)).release()
    assert own.others == 0


def test_a_file_that_may_only_be_read_can_be_claimed(tmp_path):
    path = tmp_path / "readwarp-uuid-a.0.lock"
    path.touch()
    path.chmod(0o444)
    (made := claim(TWO[:1], tmp_path)).release()
    assert made.others == 0


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "readwarp-uuid-a.0.lock").symlink_to(tmp_path / "elsewhere")
    assert claim(TWO[:1], tmp_path) is None
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_is_not_there(tmp_path):
    assert claim(TWO, tmp_path / "none") is None


@pytest.fixture
def two_cards(monkeypatch, tmp_path):
    """A driver that shows two cards, and nobody who has claimed one."""
    shown = tuple(Device(f"card {uuid}", (9, 0), 1 << 36, None, uuid) for uuid in TWO)
    monkeypatch.setattr(backends, "devices", lambda: shown)
    monkeypatch.setattr(backends, "_claims", {})
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield
    for made in backends._claims.values():
        if made:
            made.release()


def test_cuda_takes_a_free_card_and_keeps_it(two_cards, tmp_path):
    busy = claim(TWO[:1], tmp_path)
    assert backends.take_device(None) == 1
    assert backends.take_device(None) == 1  # the same for the next stage of the run
    (other := claim(TWO[1:], tmp_path)).release()
    assert other.others == 1
    busy.release()


def test_a_card_that_is_asked_for_is_told_to_others(two_cards, tmp_path):
    assert backends.take_device(0) == 0
    (other := claim(TWO, tmp_path)).release()
    assert (other.card, other.others) == (1, 0)


def test_sharing_is_said(two_cards, tmp_path, caplog):
    busy = [claim(TWO, tmp_path) for _ in range(3)]
    assert backends.take_device(None) == 1
    assert "every GPU is in use: sharing cuda:1 with 1 other processes" in caplog.text
    for each in busy:
        each.release()


def test_locks_end_with_the_claim(tmp_path):
    made = claim(TWO, tmp_path)
    made.release()
    with pytest.raises(OSError):
        os.fstat(made.lock)
