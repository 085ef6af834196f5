"""align and run with a file of ALT contigs: found or given, told, refused; the same bytes for all resources."""

import json
import logging

import pysam
import pytest

from helpers.align_oracle import cut_pair
from helpers.command_samples import record, run_main
from helpers.made_alternates import make_alternates, primary_assembly, write_reference
from readwarp.align.api import make_job
from readwarp.align.job import facts_of
from readwarp.index import Index
from readwarp.stream import parts

TOLD = "ALT-aware by {0}.alt: 5 ALT contigs, 2 of them without a lift-over"


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    path = write_reference(tmp_path_factory.mktemp("reference"))
    assert run_main(["index", path, "-q"]) == 0
    return path


@pytest.fixture(scope="module")
def reads(tmp_path_factory):
    """Pairs from the primary assembly and from ALT contigs."""
    folder, one = tmp_path_factory.mktemp("reads"), primary_assembly()
    texts = ["", ""]
    for bases in (one, *(each.bases for each in make_alternates(one))):
        for at in range(0, len(bases) - 350, 29):
            for mate, cut in enumerate(cut_pair(bases, at)):
                texts[mate] += record(f"{len(bases)}:{at}", cut)
    paths = [folder / f"s_{mate}.fq" for mate in (1, 2)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


@pytest.fixture
def aligned(reference, reads, tmp_path):
    """The SAM of `readwarp align`."""

    def align(*options, ref=reference) -> str:
        out = tmp_path / "out.sam"
        assert run_main(["align", ref, *reads, "-o", out, "-f", "-q", *options]) == 0
        return out.read_text()

    return align


def body(sam: str) -> list[str]:
    return [line for line in sam.splitlines() if not line.startswith("@")]


def test_it_is_found_and_told(aligned, reference, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    metrics = tmp_path / "metrics.json"
    sam = aligned("--metrics", metrics)
    told = TOLD.format(reference)
    assert told in caplog.messages and f"\tDS:{told}" in sam and sam.count("\tAH:*\n") == 5
    known = json.loads(metrics.read_text())
    assert known["alternates"] == {"file": f"{reference}.alt", "contigs": 5, "without_lift_over": 2}
    assert known["counts"]["lifted_windows"] > 0
    supplementary = sum(int(line.split("\t")[1]) & 0x800 > 0 for line in body(sam))
    assert known["counts"]["supplementary"] == supplementary > 100


def test_where_it_may_lie(aligned, reference, tmp_path):
    expected = body(aligned())
    assert body(aligned(ref=f"{reference}.rwx")) == expected
    copy, file = tmp_path / "copy.fa", tmp_path / "given.alt"
    copy.write_bytes(reference.read_bytes())
    file.write_bytes((reference.parent / "ref.fa.alt").read_bytes())
    plain = aligned(ref=copy)
    assert body(plain) != expected and "AH:*" not in plain and "DS:" not in plain
    assert body(aligned("--alt", file, ref=copy)) == expected
    assert body(aligned("--no-alt")) == body(plain) and "AH:*" not in aligned("--no-alt")


@pytest.mark.parametrize(
    "options", [("--batch-bases", "20000", "-t", "1"), ("--batch-bases", "7000", "-t", "3"), ("-t", "2")]
)
def test_same_bytes_for_all_batches_and_threads(options, aligned):
    assert body(aligned(*options)) == body(aligned("-t", "1"))


def test_reads_come_with_their_mates_and_parts(aligned, reads, reference, tmp_path, monkeypatch):
    """Parts that are merged are one run, with the marks of ALT contigs; so are runs with and without sorting."""
    monkeypatch.setattr(parts, "BLOCK", 16)
    options = ("--no-pg", "-q")
    made = [tmp_path / f"part{number}.bam" for number in (1, 2)]
    for number, part in enumerate(made, 1):
        assert run_main(["align", reference, *reads, "--part", f"{number}/2", "-o", part, *options]) == 0
    sorting = ("--sort", "coordinate", "--mark-duplicates")
    assert run_main(["merge", *made, "-o", tmp_path / "merged.bam", *sorting, *options]) == 0
    assert run_main(["align", reference, *reads, "-o", tmp_path / "whole.bam", *sorting, *options]) == 0
    assert (tmp_path / "merged.bam").read_bytes() == (tmp_path / "whole.bam").read_bytes()
    with pysam.AlignmentFile(str(tmp_path / "whole.bam")) as file:
        assert [line.get("AH") for line in file.header.to_dict()["SQ"]] == [None, *["*"] * 5]
        assert sorted(r.query_name for r in file) == sorted(line.split("\t")[0] for line in body(aligned()))


def test_parts_of_other_alt_contigs_are_of_another_run(reads, reference, tmp_path, capfd):
    for number, more in ((1, ()), (2, ("--no-alt",))):
        part = tmp_path / f"part{number}.bam"
        assert run_main(["align", reference, *reads, "--part", f"{number}/2", "-o", part, "-q", *more]) == 0
    merge = ["merge", tmp_path / "part1.bam", tmp_path / "part2.bam", "-o", tmp_path / "merged.bam", "-q"]
    assert run_main(merge) == 3
    assert "part2.bam: has other contigs than" in capfd.readouterr().err


def test_an_earlier_run_goes_on_with_the_same_alt_contigs_only(reads, reference, tmp_path):
    index, copy = Index.open(f"{reference}.rwx"), tmp_path / "copy.alt"
    copy.write_bytes((reference.parent / "ref.fa.alt").read_bytes())

    def facts(**options) -> dict[str, object]:
        return facts_of(make_job(reference, reads, tmp_path / "o.bam", options, "align"), index)

    known = facts()
    assert known == facts(alt=copy) and known != facts(no_alt=True)
    copy.write_text("one_alt\n")
    assert known != facts(alt=copy)


def test_refusals(reads, reference, tmp_path, capfd):
    out, file = tmp_path / "out.bam", tmp_path / "x.alt"
    file.write_text("one_alt\t0\tone\t1\t60\t10M\n")
    align = ["align", reference, *reads, "-o", out, "-q"]
    for more, code, reason in (
        (("--alt", file), 3, f"{file}: record 1: one_alt: its CIGAR covers 10 bases, the contig has 2,870"),
        (("--alt", tmp_path / "absent.alt"), 3, f"{tmp_path / 'absent.alt'}: no such file or directory"),
        (("--alt", file, "--no-alt"), 2, "--alt and --no-alt cannot be combined"),
        (("-j",), 2, "ALT contigs are treated as all others by --no-alt; threads are -t (--threads)"),
    ):
        assert run_main([*align, *more]) == code
        assert reason in capfd.readouterr().err
    assert not out.exists()


def test_an_output_is_not_the_file(reads, reference, tmp_path, capfd):
    file = tmp_path / "alt.sam"
    file.write_bytes((reference.parent / "ref.fa.alt").read_bytes())
    assert run_main(["align", reference, *reads, "--alt", file, "-o", file, "-f", "-q"]) == 2
    assert "is an input too" in capfd.readouterr().err


def test_paf(reads, reference, tmp_path):
    """A line for each record, those on ALT contigs too."""
    out = tmp_path / "out.paf"
    assert run_main(["align", reference, *reads, "-o", out, "-q"]) == 0
    contigs = [line.split("\t")[5] for line in out.read_text().splitlines()]
    assert contigs.count("one") > contigs.count("one_alt") > 30


def test_variants_are_called_on_the_primary_assembly(reads, reference, tmp_path):
    """What the ALT contigs have is called where they are alternatives; without the file, their reads are there."""
    for name, more in (("aware", ()), ("plain", ("--no-alt",))):
        folder = tmp_path / name
        assert run_main(["run", reference, *reads, "-o", folder, "--no-report", "-q", *more]) == 0
    called = {}
    for name in ("aware", "plain"):
        with pysam.VariantFile(str(next((tmp_path / name).glob("*.vcf.gz")))) as file:
            called[name] = [variant.pos for variant in file if variant.contig == "one" and variant.alts]
    stretch = range(1500, 4000)
    assert sum(position in stretch for position in called["aware"]) > 30
    assert sum(position in stretch for position in called["plain"]) < 10
