"""CRAM of another build: its reads come out as they went in, or a line says which sequence is missing."""

import hashlib
from pathlib import Path

import pysam
import pytest

from helpers.command_samples import CONTIGS, fasta, letters, pairs, run_main

QUIET = ("-q", "--device", "cpu")


@pytest.fixture(autouse=True)
def no_folders(monkeypatch):
    for name in ("REF_CACHE", "REF_PATH"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def lane(mates, tmp_path_factory):
    """Reads aligned to old.fa, which has moved since, as BAM and CRAM; new.fa has contigs of the same names."""
    folder = tmp_path_factory.mktemp("lane")
    (folder / "old.fa").write_text(fasta(CONTIGS))
    (folder / "new.fa").write_text(fasta({name: letters(len(old), 77) for name, old in CONTIGS.items()}))
    for kind in ("bam", "cram"):
        assert run_main(["align", folder / "old.fa", *mates, "-o", folder / f"lane.{kind}", *QUIET]) == 0
    (folder / "moved").mkdir()
    (folder / "old.fa").rename(folder / "moved" / "old.fa")
    return folder


def reads_in(path) -> list[tuple[str, bool, str]]:
    """Name, segment and bases as they were sequenced."""
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        return sorted((read.query_name, read.is_read2, read.get_forward_sequence()) for read in file)


WANTED = sorted((name, k == 1, mate) for name, *mates in pairs(200) for k, mate in enumerate(mates))


def keep_sums(folder: Path) -> str:
    for sequence in CONTIGS.values():
        (folder / hashlib.md5(sequence.encode()).hexdigest()).write_text(sequence)
    return str(folder)


@pytest.mark.parametrize("options", [("--input-reference", "moved/old.fa"), ()])
def test_align(lane, options, tmp_path, monkeypatch):
    monkeypatch.chdir(lane)
    if not options:
        monkeypatch.setenv("REF_PATH", keep_sums(tmp_path))
    out = tmp_path / "out.bam"
    assert run_main(["align", "new.fa", "lane.cram", *options, "-o", out, *QUIET]) == 0
    assert reads_in(out) == WANTED


@pytest.mark.parametrize("command", [("align", "new.fa"), ("merge",), ("consensus",)])
def test_a_missing_sequence_is_named(lane, command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(lane)
    out, sums = tmp_path / "out.bam", hashlib.md5(CONTIGS["one"].encode()).hexdigest()
    assert run_main([*command, "lane.cram", "-o", out, "-q"]) == 3
    said = capsys.readouterr().err
    assert said.startswith(f"readwarp: error: lane.cram: the sequence of its contig one (M5 {sums}) is not in ")
    assert f"{lane}/old.fa (UR: no such file), REF_CACHE (not set), REF_PATH (not set)" in said
    assert said.count("\n") == 1 and not out.exists()


def test_merge(lane, tmp_path):
    """CRAM and BAM alike, but for the order of tags."""
    found = []
    for kind in ("bam", "cram"):
        out = tmp_path / f"{kind}.bam"
        options = ["--reference", lane / "moved" / "old.fa", "--sort", "coordinate", "--mark-duplicates", "-q"]
        assert run_main(["merge", lane / f"lane.{kind}", "-o", out, *options]) == 0
        with pysam.AlignmentFile(str(out)) as file:
            lines = (read.to_string().split("\t") for read in file)
            found.append([(*line[:11], sorted(line[11:])) for line in lines])
            assert "UR" not in file.header["SQ"][0]
    assert found[0] == found[1] and len(found[0]) == 400


def test_merge_takes_cram_and_bam_together(lane, mates, tmp_path):
    one, two = tmp_path / "1.bam", tmp_path / "2.cram"
    reference = lane / "moved" / "old.fa"
    for name, group in ((one, "a"), (two, "b")):
        assert run_main(["align", reference, *mates, "-R", rf"@RG\tID:{group}\tSM:s", "-o", name, *QUIET]) == 0
    assert run_main(["merge", one, two, "-o", tmp_path / "m.bam", "-q"]) == 0  # UR says where the reference is
    with pysam.AlignmentFile(str(tmp_path / "m.bam")) as file:
        groups = [read.get_tag("RG") for read in file]
    assert groups == ["a"] * 400 + ["b"] * 400


def test_what_samtools_calls_it(lane, capsys):
    assert run_main(["align", lane / "new.fa", lane / "lane.cram", "--reference", "old.fa"]) == 2
    assert "that of CRAM input is --input-reference" in capsys.readouterr().err
