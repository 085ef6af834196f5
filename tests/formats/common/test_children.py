"""The processes in which htslib and samtools run."""

import sys
from pathlib import Path

import pytest

from readwarp.errors import InputError
from readwarp.formats.alignments import samtools
from readwarp.formats.common import htslib

OPENED = {"do": "open_cram", "file": 0, "reference": None}


@pytest.fixture
def child():
    child = htslib.HtslibProcess()
    yield child
    child.close()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current one, with modules that Python must not import."""
    (tmp_path / "a.sam").write_text("@SQ\tSN:a\tLN:9\n")
    for name in ("pysam", "heapq", "json", "readwarp"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('hostile')\n")
    monkeypatch.chdir(tmp_path)


def test_nothing_is_imported_from_the_current_folder(folder, child):
    assert b"SN:a" in child.ask(Path("a.sam"), **OPENED, name="a.sam")
    samtools.run("view", "-b", "-o", "a.bam", "a.sam")
    assert Path("a.bam").exists()


def test_a_child_ends_within_its_answer(monkeypatch):
    answer = "import sys; sys.stdin.readline(); sys.stdout.buffer.write(bytes([0, 9, 0, 0, 0, 0, 0, 0, 0]) + b'half')"
    monkeypatch.setattr(htslib, "CHILD", (sys.executable, "-c", answer))
    child = htslib.HtslibProcess()
    try:
        with pytest.raises(InputError, match=r"a.bcf: damaged, or truncated"):
            child.ask(Path("a.bcf"), do="read_bcf")
    finally:
        child.close()


class Stopped:
    def read(self, _):
        raise KeyboardInterrupt


def test_a_stop_while_the_child_answers(folder, child, monkeypatch):
    """Else what is closed then would wait for an answer that perhaps never comes."""
    with monkeypatch.context() as patch:
        patch.setattr(child._process, "stdout", Stopped())
        with pytest.raises(KeyboardInterrupt):
            child.ask(Path("a.sam"), **OPENED, name="a.sam")
    with pytest.raises(InputError):
        child.ask(Path("a.sam"), do="close", file=0)
