"""Outputs and their indexes get their names together, whenever the process is killed or stopped."""

import os
import signal
import stat
import time
from pathlib import Path

import pytest

from readwarp.errors import OutputExistsError, UsageError
from readwarp.formats.common.files import check_output, locked
from readwarp.formats.common.output_file import OutputFile
from readwarp.system import stopping

CALLS = ("replace", "unlink")  # by which files get and lose their names


class Killed(BaseException):
    """Nothing is done after it, as after SIGKILL."""


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def made(path: Path, content: str, index: str | None = ".bai") -> OutputFile:
    file = OutputFile(str(path))
    with file.open() as out:
        out.write(content.encode())
    if index:
        file.index_path(index).write_text(f"index of {content}")
    return file


def write(path: Path, content: str, index: str | None = ".bai") -> None:
    with locked(path):
        made(path, content, index).finish()


@pytest.mark.parametrize("is_replaced", [False, True])
@pytest.mark.parametrize("killed_after", range(5))
def test_killed_while_files_get_their_names(killed_after, is_replaced, tmp_path, monkeypatch):
    path, index = tmp_path / "o.bam", tmp_path / "o.bam.bai"
    if is_replaced:
        write(path, "old")
    with monkeypatch.context() as patch, locked(path):
        file = made(path, "new")
        count = []
        for name in CALLS:
            call = getattr(Path, name)

            def counted(*arguments, call=call, **named):
                if len(count) == killed_after:
                    raise Killed
                count.append(call)
                return call(*arguments, **named)

            patch.setattr(Path, name, counted)
        try:
            file.finish()
        except Killed:
            file.remove.detach()  # a killed process removes nothing
            (tmp_path / "o.bam.partial").rename(tmp_path / "kept")
        patch.undo()
    if (tmp_path / "kept").exists():
        (tmp_path / "kept").rename(tmp_path / "o.bam.partial")
    if path.exists():
        assert index.read_text() == f"index of {path.read_text()}"
    write(path, "new")
    assert (path.read_text(), index.read_text()) == ("new", "index of new")
    assert names(tmp_path) == {"o.bam", "o.bam.bai"}


def test_no_index_without_its_file(tmp_path, monkeypatch):
    """Its private file has vanished."""
    path = tmp_path / "o.bam"
    with pytest.raises(OSError, match="No such file"), locked(path):
        file = made(path, "x")
        file.place.unlink()
        file.finish()
    file.remove()
    assert names(tmp_path) == set()


def test_a_file_that_is_replaced_takes_its_indexes_with_it(tmp_path):
    """htslib would take the old .csi before the new .bai."""
    path = tmp_path / "o.bam"
    write(path, "old", ".csi")
    write(path, "new", ".bai")
    assert names(tmp_path) == {"o.bam", "o.bam.bai"}
    write(path, "new", None)
    assert names(tmp_path) == {"o.bam"}


def test_modes(tmp_path):
    """Nobody else looks into what is not complete; what is complete has the mode that the user wants."""
    path, before = tmp_path / "o.bam", os.umask(0o027)
    try:
        file = made(path, "x")
        assert stat.S_IMODE(file.place.parent.stat().st_mode) == 0o700
        file.finish()
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("o.bam", "o.bam.bai")] == [0o640] * 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_while_files_get_their_names(number, tmp_path, monkeypatch):
    """The signal waits until the index and the file have their names."""
    replace, path = Path.replace, tmp_path / "o.bam"
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(stopping.Terminated))

    def disturbed(self, target):
        os.kill(os.getpid(), number)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", disturbed)
    try:
        with pytest.raises(KeyboardInterrupt if number == signal.SIGINT else stopping.Terminated), locked(path):
            made(path, "new").finish()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    assert names(tmp_path) == {"o.bam", "o.bam.bai"}


def test_what_a_killed_process_left_is_cleared(tmp_path):
    path, there = tmp_path / "o.bam", tmp_path / "there.bam"
    there.write_text("complete")
    for output in (path, there):
        Path(f"{output}.lock").touch()
        Path(f"{output}.partial").mkdir()
        Path(f"{output}.partial", "output").write_text("half")
    with locked(path):
        assert names(tmp_path) == {"o.bam.lock", "there.bam", "there.bam.lock", "there.bam.partial"}
    with pytest.raises(OutputExistsError):
        check_output(there, force=False)
    assert names(tmp_path) == {"there.bam"}


def test_what_a_living_process_writes_stays(tmp_path):
    path = tmp_path / "o.bam"
    with locked(path):
        file = made(path, "x")
        with pytest.raises(UsageError, match="is being written by another process"), locked(path):
            pass
        path.write_text("meanwhile")
        with pytest.raises(OutputExistsError):
            check_output(path, force=False)
        assert file.place.exists()
        file.finish()
    assert (path.read_text(), names(tmp_path)) == ("x", {"o.bam", "o.bam.bai"})


def test_without_locks_nobody_clears(tmp_path):
    """Each process has a folder of its own then; so has one beside something of the user's with that name."""
    path = tmp_path / "o.bam"
    one, other = made(path, "one"), made(path, "other")
    assert one.place.parent != other.place.parent
    one.finish()
    other.finish()
    assert path.read_text() == "other"
    (tmp_path / "p.bam.partial").write_text("the user's")
    write(tmp_path / "p.bam", "x")
    assert names(tmp_path) == {"o.bam", "o.bam.bai", "p.bam", "p.bam.bai", "p.bam.partial"}


def test_held_back_signals_are_raised_once(monkeypatch):
    with pytest.raises(KeyboardInterrupt), stopping.held_back():
        for _ in range(2):
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.01)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
