"""Which folders of compiled kernels are used, which are refused, and what the user is told."""

import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.caches import forget_folders
from readwarp.compiler import cache_folders, kernel_cache, trust
from readwarp.compiler import lock as compile_lock
from readwarp.compiler.lock import compiling_alone
from readwarp.compiler.machine_code import MachineCode

IS_ROOT = os.getuid() == 0
SOMEBODY = 65534


@pytest.fixture
def asked(tmp_path, monkeypatch, caplog):
    """asked(function, READWARP_...=folder): its answer in a fresh process's state, and the lines that were told."""
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir(mode=0o755)
    temporary.mkdir()
    temporary.chmod(0o1777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.setattr(cache_folders.tempfile, "gettempdir", lambda: str(temporary))
    monkeypatch.setattr(cache_folders, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(logging.getLogger("readwarp"), "propagate", True)
    for name in ("READWARP_CACHE", "READWARP_KERNELS"):
        monkeypatch.delenv(name, raising=False)

    def ask(function, **environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, str(value))
        forget_folders()
        caplog.clear()
        return function(), [record.getMessage() for record in caplog.records]

    return ask


def made(folder: Path, mode: int = 0o755, owner: int | None = None) -> Path:
    folder.mkdir(parents=True)
    folder.chmod(mode)
    if owner is not None:
        os.chown(folder, owner, owner)
    return folder


def test_shipped_kernels_come_before_those_of_the_site_and_of_the_user(asked, tmp_path):
    shipped, first, second = (made(tmp_path / name) for name in ("shipped", "first", "second"))
    own = made(tmp_path / "home" / "readwarp")
    found, told = asked(cache_folders.folders, READWARP_KERNELS=f"{first}:{second}")
    assert (found, told) == ((shipped, first, second, own), [])
    assert asked(cache_folders.own_folder) == (own, [])


def test_folders_are_made_when_something_is_written(asked, tmp_path):
    own = tmp_path / "home" / "readwarp"
    assert asked(cache_folders.folders) == ((own,), [])
    assert not own.exists()
    assert asked(cache_folders.own_folder) == (own, [])
    assert own.stat().st_mode & 0o022 == 0


def test_another_cache_of_the_user_is_not_looked_at(asked, tmp_path):
    """He who names an empty folder wants that one."""
    made(tmp_path / "home" / "readwarp")
    assert asked(cache_folders.folders, READWARP_CACHE=tmp_path / "new") == ((tmp_path / "new",), [])


def test_a_cache_that_cannot_be_written_is_read_and_told(asked, tmp_path, monkeypatch):
    full = made(tmp_path / "full")
    can = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != full and can(path, mode))  # root may all
    own = tmp_path / "home" / "readwarp"
    assert asked(cache_folders.folders, READWARP_CACHE=full) == ((full, own), [])
    assert asked(cache_folders.own_folder) == (
        own, [f"READWARP_CACHE: {full} cannot be used for new kernels, which go to {own}"],
    )  # fmt: skip
    assert asked(cache_folders.folders) == ((full, own), [])


def test_a_cache_that_is_a_file_is_told(asked, tmp_path):
    (tmp_path / "file").touch()
    found, told = asked(cache_folders.own_folder, READWARP_CACHE=tmp_path / "file")
    assert found == tmp_path / "home" / "readwarp"
    assert told == [f"READWARP_CACHE: {tmp_path / 'file'} cannot be used for new kernels, which go to {found}"]


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757, 0o2775])
def test_a_folder_that_others_may_write_to_is_refused(asked, tmp_path, monkeypatch, mode):
    monkeypatch.setattr(trust, "_is_private", lambda group, user: False)
    (tmp_path / "home").rmdir()
    (tmp_path / "home").touch()  # so that the temporary folder is the last one
    bad = made(tmp_path / "tmp" / f"readwarp-{os.getuid()}", mode)
    file = tmp_path / "home" / "readwarp"  # cannot be made
    text = f"{bad}: kernels in this folder are not used: it is writable by others (mode {mode:o}); fix: chmod go-w"
    assert asked(cache_folders.folders) == ((file,), [text])
    with pytest.raises(OSError, match=r"no folder for compiled kernels can be written: .*/home/readwarp, .*/tmp/"):
        asked(cache_folders.own_folder)


@pytest.mark.skipif(not IS_ROOT, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(asked, tmp_path):
    """As /tmp/readwarp-1000 that somebody else made, or a shared READWARP_CACHE."""
    foreign = made(tmp_path / "foreign", owner=SOMEBODY)
    found, told = asked(cache_folders.folders, READWARP_CACHE=foreign, READWARP_KERNELS=foreign)
    assert (
        found == (tmp_path / "home" / "readwarp",)
        and len(told) == 1
        and f"{foreign}: kernels in this folder are not used: it belongs to" in told[0]
    )
    found, told = asked(cache_folders.own_folder)
    assert found == tmp_path / "home" / "readwarp" and any("READWARP_CACHE" in line for line in told)


def test_in_a_folder_of_all_each_user_has_a_part(asked, tmp_path):
    """As a volume that a container's users share: sticky, so that nobody can replace what another wrote."""
    common = made(tmp_path / "common", 0o1777)
    assert asked(cache_folders.own_folder, READWARP_CACHE=common) == (common / f"readwarp-{os.getuid()}", [])


def test_a_folder_of_the_site_that_is_absent_is_told(asked, tmp_path):
    told = [f"READWARP_KERNELS: {tmp_path / 'none'} is not a folder"]
    assert asked(cache_folders.shared_folders, READWARP_KERNELS=tmp_path / "none") == ((), told)


def test_a_group_with_nobody_else_is_no_danger(monkeypatch):
    import grp
    import pwd

    def has(members, name="ann", gid=1000):
        monkeypatch.setattr(grp, "getgrgid", lambda _: grp.struct_group((name, "x", gid, members)))
        monkeypatch.setattr(pwd, "getpwuid", lambda _: pwd.struct_passwd(("ann", "x", 1000, 1000, "", "", "")))
        return trust._is_private.__wrapped__(gid, 1000)

    assert has([]) and has(["ann"])
    assert not has(["ann", "bob"]) and not has([], "lab", 2000) and not has([], "users")


def test_a_file_is_trusted_by_itself(asked, tmp_path, monkeypatch):
    """Somebody may have been able to write to a folder for a while."""
    monkeypatch.setattr(trust, "_is_private", lambda group, user: False)
    good, bad = tmp_path / "good", tmp_path / "bad"
    for path, mode in ((good, 0o644), (bad, 0o666)):
        path.write_bytes(b"code")
        path.chmod(mode)
    paths = [tmp_path / "absent", bad, good]
    found, told = asked(lambda: list(cache_folders.read(iter(paths))))
    assert found == [(good, b"code")]
    assert told == [f"{bad}: this kernel is not used: it is writable by others (mode 666); fix: chmod go-w"]


def test_the_package_is_trusted_as_far_as_its_modules_are(asked, tmp_path, monkeypatch):
    """Where a group may change the package, it may change its kernels; elsewhere not."""
    monkeypatch.setattr(trust, "_is_private", lambda group, user: False)
    package = made(tmp_path / "package", 0o775)
    shipped = made(package / "kernels", 0o775)
    monkeypatch.setattr(cache_folders, "SHIPPED", shipped)
    assert asked(cache_folders.shared_folders)[0] == ()
    monkeypatch.setattr(trust, "PACKAGE", package)
    assert asked(cache_folders.shared_folders) == ((shipped,), [])


HOLD = """
import sys, time
from pathlib import Path
from readwarp.compiler.lock import compiling_alone
from readwarp.compiler.machine_code import MachineCode
with compiling_alone(Path(sys.argv[1]), print):
    print("held", flush=True)
    time.sleep(60)
"""


def test_one_compiles_and_the_others_wait(tmp_path):
    """Until the holder is killed, by the hardest means."""
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        told = []

        def waiting(holder):
            told.append(holder)
            other.kill()

        started = time.monotonic()
        with compiling_alone(tmp_path, waiting):
            assert told and time.monotonic() - started < 30
    assert told[0] == f"PID {other.pid} on {compile_lock.socket.gethostname()}"
    waits = len(told)
    with compiling_alone(tmp_path, waiting):
        assert len(told) == waits


def test_without_locks_the_user_is_told(tmp_path, monkeypatch, caplog):
    def refuse(*_):
        raise OSError(compile_lock.ENOLCK, "No locks available")

    monkeypatch.setattr(logging.getLogger("readwarp"), "propagate", True)
    monkeypatch.setattr(compile_lock.fcntl, "flock", refuse)
    with compiling_alone(tmp_path, print):
        pass
    assert "its file system has no locks (No locks available): other processes may compile the same" in caplog.text


@pytest.mark.skipif(not IS_ROOT, reason="only root can give a folder away")
def test_kernels_of_another_user_in_the_temporary_folder_are_not_loaded(asked, tmp_path, monkeypatch):
    """readwarp-UID, mode 777, of another user, with a kernel that ours would be."""
    code = MachineCode("symbol", "environment", (), (), b"ELF")
    mine = made(tmp_path / "mine")
    kernel, signature = "readwarp.rules.bases:any", "int64"
    asked(lambda: kernel_cache.save(kernel, signature, code, mine))
    assert asked(lambda: kernel_cache.find(kernel, signature), READWARP_CACHE=mine) == (code, [])

    (tmp_path / "home").rmdir()
    (tmp_path / "home").touch()
    monkeypatch.delenv("READWARP_CACHE")
    theirs = tmp_path / "tmp" / f"readwarp-{os.getuid()}"
    mine.rename(theirs)
    theirs.chmod(0o777)
    os.chown(theirs, SOMEBODY, SOMEBODY)
    found, told = asked(lambda: kernel_cache.find(kernel, signature))
    assert found is None and told == [
        f"{theirs}: kernels in this folder are not used: it belongs to {trust.name_of(SOMEBODY)}"
    ]


def test_the_way_to_a_cache_is_looked_at_too(asked, tmp_path, monkeypatch):
    monkeypatch.setattr(trust, "_is_private", lambda group, user: False)
    lab = made(tmp_path / "lab", 0o2775)
    found, told = asked(cache_folders.own_folder, READWARP_CACHE=lab / "cache")
    assert found == tmp_path / "home" / "readwarp"
    assert told == [
        f"{lab / 'cache'}: kernels in this folder are not used: {lab} is writable by others "
        "(mode 2775); fix: chmod go-w",
        f"READWARP_CACHE: {lab / 'cache'} cannot be used for new kernels, which go to {found}",
    ]
