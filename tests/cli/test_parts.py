"""Parts and lanes, aligned separately and merged, give the bytes of one run; incomplete sets are refused."""

import random
from itertools import pairwise

import pysam
import pytest

from helpers.command_samples import CONTIGS, pairs, record, run_main
from readwarp.stream import parts
from readwarp.stream.parts import Part, parse_part

OPTIONS = ("--no-pg", "-q", "--batch-bases", "7000")


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(parts, "BLOCK", 16)


@pytest.fixture(scope="module")
def lanes(tmp_path_factory):
    """Two lanes of pairs, some of them duplicates, and a file with split reads and single reads."""
    folder, chance = tmp_path_factory.mktemp("lanes"), random.Random(5)
    made = pairs(150, seed=8)
    made += [(f"d{k}", a, b) for k, (_, a, b) in enumerate(chance.sample(made, 40))]
    for lane, some in enumerate((made[:100], made[100:]), 1):
        for mate in (1, 2):
            (folder / f"lane{lane}_{mate}.fq").write_text("".join(record(pair[0], pair[mate]) for pair in some))
    one, two = CONTIGS["one"], CONTIGS["two"]
    split = [(f"s{k}", one[40 * k : 40 * k + 80] + two[40 * k : 40 * k + 70]) for k in range(45)]
    (folder / "single.fq").write_text("".join(record(*read) for read in split))
    return folder


def files(lanes, lane):
    return [lanes / f"lane{lane}_{mate}.fq" for mate in (1, 2)]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("number", [1, 2, 3, 9])
def test_parts_merge_to_one_run(number, lanes, reference, tmp_path):
    """Two lanes of pairs in one run, also with more parts than blocks."""
    reads, sorting = [*files(lanes, 1), *files(lanes, 2)], ("--sort", "coordinate", "--mark-duplicates")
    assert run_main(["align", reference, *reads, "-o", tmp_path / "whole.bam", *sorting, *OPTIONS]) == 0
    made = [tmp_path / f"part{i}.bam" for i in range(1, number + 1)]
    for i, part in enumerate(made, 1):
        assert run_main(["align", reference, *reads, "--part", f"{i}/{number}", "-o", part, *OPTIONS]) == 0
    random.Random(1).shuffle(made)
    merged = ["merge", *made, "-o", tmp_path / "merged.bam", *sorting, "--write-index", "--no-pg", "-q"]
    assert run_main(merged) == 0
    assert (tmp_path / "merged.bam").read_bytes() == (tmp_path / "whole.bam").read_bytes()
    assert (tmp_path / "merged.bam.bai").exists()
    with pysam.AlignmentFile(tmp_path / "merged.bam") as file:
        assert sum(record.is_duplicate for record in file) > 20


@pytest.mark.usefixtures("small_blocks")
def test_supplementary_records_stay_with_their_read(lanes, reference, tmp_path):
    reads = lanes / "single.fq"
    assert run_main(["align", reference, reads, "-o", tmp_path / "whole.bam", *OPTIONS]) == 0
    for i in (1, 2):
        assert run_main(["align", reference, reads, "--part", f"{i}/2", "-o", tmp_path / f"{i}.bam", *OPTIONS]) == 0
    merged = ["merge", tmp_path / "1.bam", tmp_path / "2.bam", "-o", tmp_path / "merged.bam", "--no-pg", "-q"]
    assert run_main(merged) == 0
    assert (tmp_path / "merged.bam").read_bytes() == (tmp_path / "whole.bam").read_bytes()
    with pysam.AlignmentFile(tmp_path / "merged.bam", check_sq=False) as file:
        assert sum(record.is_supplementary for record in file) > 20


def test_lanes_merge_to_one_run(lanes, reference, tmp_path):
    groups = [("-R", rf"@RG\tID:L{lane}\tSM:s\tLB:x") for lane in (1, 2)]
    sorting = ("--sort", "coordinate", "--mark-duplicates")
    reads = [*files(lanes, 1), *files(lanes, 2)]
    together = ["align", reference, *reads, *groups[0], *groups[1], "-o", tmp_path / "whole.cram", *sorting, *OPTIONS]
    assert run_main(together) == 0
    for lane in (1, 2):
        one = ["align", reference, *files(lanes, lane), *groups[lane - 1], "-o", tmp_path / f"{lane}.bam", *OPTIONS]
        assert run_main(one) == 0
    made = [tmp_path / "1.bam", tmp_path / "2.bam"]
    merged = ["merge", *made, "-o", tmp_path / "merged.cram", "--reference", reference, *sorting, "--no-pg", "-q"]
    assert run_main(merged) == 0

    def lines(name):
        with pysam.AlignmentFile(tmp_path / name, reference_filename=str(reference)) as file:
            return [record.to_string() for record in file]

    assert lines("merged.cram") == lines("whole.cram")


@pytest.mark.parametrize("sorting", [(), ("--sort", "coordinate")])
def test_merged_to_sam(sorting, lanes, reference, tmp_path, capfd):
    """To a file, and to stdout as `-`."""
    lane, whole = tmp_path / "1.bam", tmp_path / "whole.sam"
    assert run_main(["align", reference, *files(lanes, 1), "-o", lane, *OPTIONS]) == 0
    assert run_main(["align", reference, *files(lanes, 1), "-o", whole, *sorting, *OPTIONS]) == 0
    assert run_main(["merge", lane, "-o", tmp_path / "merged.sam", *sorting, "--no-pg", "-q"]) == 0
    assert (tmp_path / "merged.sam").read_text() == whole.read_text()
    capfd.readouterr()
    assert run_main(["merge", lane, "-o", "-", *sorting, "--no-pg", "-q"]) == 0
    assert capfd.readouterr().out == whole.read_text()


def test_a_dash_is_stdout(lanes, reference, tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_main(["align", reference, *files(lanes, 1), "-o", tmp_path / "out.sam", *OPTIONS]) == 0
    capfd.readouterr()
    assert run_main(["align", reference, *files(lanes, 1), "-o", "-", *OPTIONS]) == 0
    assert capfd.readouterr().out == (tmp_path / "out.sam").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["out.sam"]


def test_what_cannot_be_merged(lanes, reference, tmp_path, capsys):
    reads, made = files(lanes, 1), [tmp_path / f"{i}.bam" for i in range(1, 4)]
    for i, part in enumerate(made, 1):
        assert run_main(["align", reference, *reads, "--part", f"{i}/3", "-o", part, *OPTIONS]) == 0
    placed = tmp_path / "sorted.bam"
    assert run_main(["align", reference, *reads, "-o", placed, "--sort", "coordinate", *OPTIONS]) == 0
    out, again = tmp_path / "out.bam", tmp_path / "again.bam"
    again.write_bytes(made[0].read_bytes())
    for inputs, code, reason in (
        (made[:2], 3, "is one of 3 parts, but these are missing: 3"),
        ([*made[:2], again], 3, f"is part 1/3, and {made[0]} of the same run too"),
        ([*made, made[0]], 2, f"{made[0]}: is given twice"),
        ([placed], 3, "is not an unsorted file of readwarp align"),
    ):
        assert run_main(["merge", *inputs, "-o", out, "-q"]) == code
        assert reason in capsys.readouterr().err
    assert not out.exists()
    assert run_main(["merge", placed, "-q"]) == 2
    cut = tmp_path / "cut.bam"
    cut.write_bytes(made[0].read_bytes()[:-60])
    assert run_main(["merge", cut, *made[1:], "-o", out, "-q"]) == 3
    assert "truncated" in capsys.readouterr().err and not out.exists()


def test_parts_of_other_runs_are_refused(lanes, reference, tmp_path, capsys):
    """Other options or other reads are another run; the same reads under another path are the same run."""
    copied = tmp_path / "node2"
    copied.mkdir()
    reads = files(lanes, 1)
    copies = [copied / path.name for path in reads]
    for path, copy in zip(reads, copies, strict=True):
        copy.write_bytes(path.read_bytes())
    group = ("-R", r"@RG\tID:x\tSM:s")

    def part(number, name, reads, *options):
        made = tmp_path / name
        given = ["align", reference, *reads, *group, "--part", f"{number}/2", "-o", made, *options, *OPTIONS]
        assert run_main(given) == 0
        return made

    first, out = part(1, "1.bam", reads), tmp_path / "out.bam"
    others = [part(2, "B.bam", reads, "-B", "5"), part(2, "reads.bam", files(lanes, 2))]
    for other in others:
        assert run_main(["merge", first, other, "-o", out, "-q"]) == 3
        assert f"{other}: is from another run than {first}" in capsys.readouterr().err
    assert run_main(["merge", first, part(2, "2.bam", copies), "-o", out, "-q"]) == 0
    again = tmp_path / "again.bam"
    assert run_main(["align", reference, first, "-o", again, *OPTIONS]) == 0
    assert run_main(["merge", again, "-o", tmp_path / "third.bam", "-q"]) == 0  # made of a part, and is none


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0", "-1/2"])
def test_parts_that_are_none(text, lanes, reference, tmp_path, capsys):
    code = run_main(["align", reference, *files(lanes, 1), f"--part={text}", "-o", tmp_path / "o.bam", "-q"])
    assert code == 2 and "must be I/N" in capsys.readouterr().err


def test_a_part_is_not_sorted(lanes, reference, tmp_path, capsys):
    options = ("--part", "1/2", "--sort", "coordinate", "-o", tmp_path / "o.bam", "-q")
    assert run_main(["align", reference, *files(lanes, 1), *options]) == 2
    assert "`readwarp merge` sorts" in capsys.readouterr().err


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("of", [1, 2, 5])
def test_spans_cover_everything_once(of):
    bounds = [0, 3, 16, 40, 41, 100]
    found = []
    for number in range(1, of + 1):
        for first, stop in pairwise(bounds):
            for start, end in Part(number, of).spans(first, stop):
                assert first <= start < end <= stop
                assert of == 1 or (start // 16 == (end - 1) // 16 and start // 16 % of == number - 1)
                found += range(start, end)
    assert sorted(found) == list(range(100))
    assert not any(span for number in range(1, of + 1) for span in Part(number, of).spans(90, 59))
    assert str(parse_part(f"{of}/{of}")) == f"{of}/{of}"
