"""What can be read, what may be written."""

import logging
import os
from pathlib import Path
from unittest import mock

import pytest

from readwarp.errors import InputError, UsageError
from readwarp.formats.common.files import check_inputs, check_output, locked, named_files


def test_check_output(tmp_path):
    there = tmp_path / "there.bam"
    there.touch()
    check_output(tmp_path / "new.bam", False)
    check_output(there, True)
    check_output(None, False)
    with pytest.raises(UsageError, match="already exists"):
        check_output(there, False)
    with pytest.raises(UsageError, match="is an input too"):
        check_output(there, True, [tmp_path / "." / "there.bam"])
    with pytest.raises(UsageError, match="no folder"):
        check_output(tmp_path / "no" / "x.bam", False)
    with pytest.raises(UsageError, match="is a folder"):
        check_output(tmp_path, True)


def test_a_device_is_written_to_without_force(tmp_path):
    check_output(Path("/dev/null"), False)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_output(pipe, False)


def plant(kind, path, elsewhere):
    """What somebody may leave under a name of ours."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(elsewhere if kind == "link" else elsewhere.with_name("absent"))


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "folder"])
def test_what_is_no_lock_of_ours_is_refused(kind, tmp_path):
    """And no link is followed: the lock is opened before any work."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("kept")
    plant(kind, tmp_path / "o.bam.lock", elsewhere)
    before = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(UsageError, match=r"o\.bam"), locked(tmp_path / "o.bam"):
        raise AssertionError("it was locked")
    assert {path.name for path in tmp_path.iterdir()} == before and elsewhere.read_text() == "kept"


@pytest.mark.parametrize("name", ["o.bam", "o.bam.bai", "o.bam.lock"])
def test_what_only_another_user_can_replace_is_refused(name, tmp_path, monkeypatch):
    """In a folder such as /tmp, where each user's files stay theirs: the end of a long run is too late."""
    planted, own = tmp_path / name, tmp_path.stat().st_uid

    def take(user, mode):
        planted.touch()
        tmp_path.chmod(mode)
        monkeypatch.setattr(os, "geteuid", lambda: user)
        check_output(tmp_path / "o.bam", True)
        with locked(tmp_path / "o.bam"):
            pass

    with pytest.raises(UsageError, match=f"{planted}: is another user's, and nobody else can replace it"):
        take(own + 1, 0o1777)
    for user, mode in ((own, 0o1777), (0, 0o1777), (own + 1, 0o777)):
        take(user, mode)


def test_a_lock_that_cannot_be_removed_is_no_error(tmp_path, monkeypatch, caplog):
    """The output is complete then."""
    monkeypatch.setattr(logging.getLogger("readwarp"), "propagate", True)
    with locked(tmp_path / "o.bam"):
        (tmp_path / "o.bam").touch()
        monkeypatch.setattr(Path, "unlink", mock.Mock(side_effect=PermissionError(1, "Operation not permitted")))
    assert set(caplog.messages) == {f"{tmp_path / 'o.bam.lock'}: cannot be removed (Operation not permitted)"}


def test_check_inputs(tmp_path):
    there = tmp_path / "r.fq"
    there.touch()
    check_inputs([there, "-"])
    with pytest.raises(UsageError, match="only once"):
        check_inputs(["-", "-"])
    with pytest.raises(InputError, match=r"no\.fq: no such file"):
        check_inputs([there, tmp_path / "no.fq"])
    with pytest.raises(InputError, match="is a directory"):
        check_inputs([tmp_path])


@pytest.mark.parametrize("text", [b"a.bam\nb\0.bam\n", b"\xff.bam\n"])
def test_lists_with_what_no_name_has(tmp_path, text):
    (tmp_path / "l.txt").write_bytes(text)
    with pytest.raises(InputError, match=r"l\.txt: is not a list of file names"):
        list(named_files(f"@{tmp_path}/l.txt", "BAM or CRAM"))


def test_lines_of_lists_end_as_in_a_shell(tmp_path):
    (tmp_path / "l.txt").write_text("# two\na\u2028b.bam\r\n\n c.bam")
    assert [*named_files(f"@{tmp_path}/l.txt", "BAM or CRAM")] == [Path("a\u2028b.bam"), Path("c.bam")]
