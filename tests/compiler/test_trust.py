"""From which folders machine code is loaded: every name on the way is ours, and nobody else can replace it."""

import errno
import os
import stat
from pathlib import Path

import pytest

from helpers.caches import forget_folders
from readwarp.compiler import trust
from readwarp.compiler.trust import ACL, DistrustError, make_folder, read_trusted, real_folder

SOMEBODY = 65534
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(trust, "_is_private", lambda group, user: False)
    forget_folders()
    yield
    forget_folders()


@pytest.fixture
def way(tmp_path):
    """Folders a/b/c and a file in the last one."""
    folder = tmp_path / "a" / "b" / "c"
    for each in (tmp_path / "a", tmp_path / "a" / "b", folder):
        each.mkdir(0o755)
    (folder / "kernel").write_bytes(b"code")
    return folder


def distrusted(path: Path) -> Path:
    """The place that is to blame."""
    with pytest.raises(DistrustError) as caught:
        read_trusted(path)
    return caught.value.place


def test_a_folder_that_only_we_can_change(way):
    assert (real_folder(way), read_trusted(way / "kernel")) == (way, b"code")


@pytest.mark.parametrize("name", ["a", "a/b", "a/b/c"])
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757, 0o2775])
def test_every_folder_on_the_way_counts(way, tmp_path, name, mode):
    (tmp_path / name).chmod(mode)
    assert distrusted(way / "kernel") == tmp_path / name


@needs_root
@pytest.mark.parametrize("name", ["a", "a/b", "a/b/c", "a/b/c/kernel"])
def test_nothing_on_the_way_belongs_to_somebody_else(way, tmp_path, name):
    os.chown(tmp_path / name, SOMEBODY, SOMEBODY)
    assert distrusted(way / "kernel") == tmp_path / name


def test_all_may_write_to_a_sticky_folder_on_the_way(way, tmp_path):
    """As /tmp; but not to the folder itself."""
    (tmp_path / "a" / "b").chmod(0o1777)
    assert read_trusted(way / "kernel") == b"code"
    way.chmod(0o1777)
    forget_folders()
    assert distrusted(way / "kernel") == way


@needs_root
@pytest.mark.parametrize("mode", [0o777, 0o700])
def test_what_somebody_made_in_a_sticky_folder_is_refused(way, tmp_path, mode):
    """As /tmp/readwarp-0 of another user, whatever its mode."""
    (tmp_path / "a" / "b").chmod(0o1777)
    way.chmod(mode)
    os.chown(way, SOMEBODY, SOMEBODY)
    assert distrusted(way / "kernel") == way


def test_links_are_followed_to_what_is_ours(way, tmp_path):
    """As ~/.cache on another disk."""
    (tmp_path / "link").symlink_to(Path("a", "..", "a", "b"))
    assert real_folder(tmp_path / "link" / "c") == way
    assert read_trusted(tmp_path / "link" / ".." / "b" / "c" / "kernel") == b"code"  # of a/b, not of the link's folder


def test_a_link_in_an_open_folder_is_refused(way, tmp_path):
    """Anybody could let it point elsewhere."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "open" / "link").symlink_to(way)
    assert distrusted(tmp_path / "open" / "link" / "kernel") == tmp_path / "open"


@needs_root
def test_a_link_of_somebody_else_is_refused(way, tmp_path):
    """Also where it points to a folder of ours."""
    (tmp_path / "a").chmod(0o1777)
    (tmp_path / "a" / "link").symlink_to(way)
    os.chown(tmp_path / "a" / "link", SOMEBODY, SOMEBODY, follow_symlinks=False)
    assert distrusted(tmp_path / "a" / "link" / "kernel") == tmp_path / "a" / "link"


def test_a_file_is_no_link_and_no_pipe(way):
    (way / "link").symlink_to("kernel")
    with pytest.raises(OSError, match="symbolic links"):
        read_trusted(way / "link")
    os.mkfifo(way / "pipe", 0o644)
    assert read_trusted(way / "pipe") == b""  # at once
    (way / "kernel").chmod(0o666)
    assert distrusted(way / "kernel") == way / "kernel"


def test_a_list_of_users_is_seen(way, monkeypatch):
    """A group of one may write; its bit then stands for an ACL's users too."""
    monkeypatch.setattr(trust, "_is_private", lambda group, user: True)
    way.chmod(0o775)
    assert read_trusted(way / "kernel") == b"code"
    forget_folders()
    monkeypatch.setattr(os, "listxattr", lambda path: [ACL])
    assert distrusted(way / "kernel") == way


def test_file_systems_without_acls(way, monkeypatch):
    def refuse(path):
        raise OSError(errno.ENOTSUP, "Operation not supported", str(path))

    monkeypatch.setattr(trust, "_is_private", lambda group, user: True)
    monkeypatch.setattr(os, "listxattr", refuse)
    way.chmod(0o775)
    assert real_folder(way) == way


def test_folders_are_made_for_us_alone(tmp_path):
    old = os.umask(0)
    try:
        made = make_folder(tmp_path / "x" / "y" / "z")
    finally:
        os.umask(old)
    assert {stat.S_IMODE(each.stat().st_mode) for each in (made, made.parent, made.parent.parent)} == {0o755}


@needs_root
def test_what_somebody_made_meanwhile_is_refused(tmp_path):
    """An absent folder is looked at again when something is read from it."""
    (tmp_path / "sticky").mkdir()
    (tmp_path / "sticky").chmod(0o1777)
    folder = tmp_path / "sticky" / "readwarp-0"
    with pytest.raises(FileNotFoundError):
        real_folder(folder)
    folder.mkdir(0o777)
    (folder / "kernel").write_bytes(b"code")
    os.chown(folder, SOMEBODY, SOMEBODY)
    assert distrusted(folder / "kernel") == folder
    with pytest.raises(DistrustError, match="belongs to"):
        make_folder(folder)
