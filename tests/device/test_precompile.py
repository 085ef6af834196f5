"""The tiny jobs that compile kernels ahead are real jobs: they find what was planted."""

import pysam

from readwarp.call.precompile import compile_calling
from readwarp.device import precompile
from readwarp.formats.reads.precompile import TinyGenome, compile_formats, compile_text


def test_tiny_calling(tmp_path):
    compile_calling(tmp_path)
    with pysam.VariantFile(str(tmp_path / "calling.vcf")) as file:
        found = [(r.start, len(r.ref), len(r.alts[0]), r.samples[0]["GT"]) for r in file]
    both = (1, 1)
    assert found == [(300, 1, 1, both), (700, 1, 1, both), (705, 1, 1, both), (999, 4, 1, both), (1298, 1, 3, both)]


def test_tiny_formats(tmp_path):
    compile_formats(tmp_path)
    compile_text(tmp_path)
    with pysam.AlignmentFile(str(tmp_path / "formats.bam")) as file:
        assert file.count() == 2 * len(TinyGenome.make().starts())


def test_the_slowest_stage_gets_the_first_child(tmp_path, monkeypatch):
    """With two threads one child is started; the rest is compiled here, after the block."""
    done = []
    monkeypatch.setattr(precompile, "_mark", lambda stage: tmp_path / stage)
    monkeypatch.setattr(precompile.subprocess, "Popen", lambda command, **_: Child(done, command[-1]))
    monkeypatch.setattr(precompile, "compile_stage", lambda folder, stage: done.append(stage))
    with precompile.precompile_stages(["formats", "calling"], 2):
        done.append("block")
    assert done == ["child calling", "block", "formats"]
    (tmp_path / "calling").touch()
    with precompile.precompile_stages(["formats", "calling"], 8):
        done.append("block")
    assert done[3:] == ["child formats", "block"]


class Child:
    def __init__(self, done, stage):
        done.append(f"child {stage}")

    def kill(self):
        pass

    def wait(self):
        pass
