"""Private files: gone with their object, and with a killed process when the next one comes."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from readwarp.formats.common.writing import write_whole
from readwarp.system import scratch
from readwarp.system.scratch import ScratchFolder, private_file

HOLD = """
import sys
from pathlib import Path
from readwarp.system.scratch import ScratchFolder, private_file
held = private_file(Path(sys.argv[1])), ScratchFolder()
for one in held:
    print(one.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def holder(folder):
    """A process that has a private file and a folder, and their paths."""
    command = [sys.executable, "-c", HOLD, str(folder / "x.json")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process, [Path(process.stdout.readline().strip()) for _ in range(2)]
        process.kill()


def test_gone_when_they_are_closed(folder):
    with ScratchFolder() as made:
        (made.path / "x").touch()
        assert made.path.stat().st_mode & 0o777 == 0o700
    with private_file(folder / "x.json") as made:
        assert made.path.exists()
    assert list(folder.iterdir()) == []


def test_those_of_a_killed_process_are_removed(folder, holder):
    process, paths = holder
    (paths[1] / "large").write_text("x")
    with ScratchFolder(), private_file(folder / "x.json"):
        assert all(path.exists() for path in paths)  # it lives
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert all(path.exists() for path in paths)
    write_whole(folder / "x.json", b"{}")
    with ScratchFolder():
        assert not any(path.exists() for path in paths)
    assert [path.name for path in folder.iterdir()] == ["x.json"]


def test_others_stay(folder, monkeypatch):
    """Files of other users and other names, links, and all where there are no locks."""
    kept = [folder / f"readwarp-{os.getuid()}", folder / "readwarp-scratch-mine", folder / ".x.json.note"]
    for path in kept:
        path.mkdir()
    link = folder / f"readwarp-scratch-{'0' * 16}"
    link.symlink_to(kept[0])
    (folder / f".x.json.old.{'0' * 16}").touch()  # of another file
    with monkeypatch.context() as patch:
        patch.setattr(scratch.fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError(38, "Function not implemented")))
        unlocked = folder / f"readwarp-scratch-{'1' * 16}"
        unlocked.mkdir()
        ScratchFolder().close()
        assert unlocked.exists()
    private_file(folder / "x.json").close()
    ScratchFolder().close()
    assert not unlocked.exists() and link.is_symlink() and all(path.is_dir() for path in kept)
    assert len(list(folder.iterdir())) == 5


def test_a_path_that_somebody_took_for_abandoned(folder, monkeypatch):
    """It is removed before its process has locked it: another one is made."""
    flock, calls = scratch.fcntl.flock, []

    def late(descriptor, how):
        if not calls:
            next(folder.iterdir()).unlink()
        calls.append(how)
        flock(descriptor, how)

    monkeypatch.setattr(scratch.fcntl, "flock", late)
    with private_file(folder / "x.json") as made:
        assert made.path.exists()
    assert len(calls) == 2
