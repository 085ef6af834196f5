"""--trim on the command line: what records show of bases that are cut off, and what is said of it."""

import json
import random
import re

import pysam
import pytest

from helpers.command_samples import CONTIGS, letters, record, reverse_complement, run_main, sam_lines
from helpers.record_checks import checked
from helpers.trim_oracle import cuts_of
from readwarp.align.trim.known import ADAPTERS

LENGTH = 100
(FIRST, LAST), *_ = ADAPTERS.values()
KNOWN = list(zip(*ADAPTERS.values(), strict=True))
UNMAPPED, REVERSE, MATE_REVERSE, SUPPLEMENTARY = 0x4, 0x10, 0x20, 0x800


def short_pairs(count: int) -> list[tuple[str, str, str]]:
    """Pairs of fragments of 8 to 250 bases with adapters; some joined of two places, some with a poly-G tail."""
    chance, out = random.Random(5), []
    for i in range(count):
        contig = CONTIGS[chance.choice(list(CONTIGS))]
        insert = chance.choice([8, 15, 19, 20, 30, 60, 90, 99, 100, 101, 150, 250])
        start = chance.randrange(len(contig) - 300)
        fragment = contig[start : start + insert]
        if i % 7 == 0 and insert >= 90:
            other = chance.randrange(2000)
            fragment = fragment[: insert // 2] + CONTIGS["one"][other : other + insert - insert // 2]
        if chance.random() < 0.5:
            fragment = reverse_complement(fragment)
        mates = [(side + adapter + "A" * LENGTH)[:LENGTH] for side, adapter in (
            (fragment, FIRST), (reverse_complement(fragment), LAST)
        )]  # fmt: skip
        if i % 11 == 0:
            mates[0] = mates[0][:70] + "G" * 30
        out.append((f"A00100:1:r{i}", *mates))
    return out


PAIRS = short_pairs(300)
CUTS = {
    name: [sum(row) for row in cuts_of([(bases, []) for bases in mates], *KNOWN, True, 0)] for name, *mates in PAIRS
}


@pytest.fixture(scope="module")
def reads(tmp_path_factory):
    folder = tmp_path_factory.mktemp("short")
    for mate in (1, 2):
        text = "".join(record(pair[0], pair[mate], "".join("?I5"[i % 3] for i in range(LENGTH))) for pair in PAIRS)
        (folder / f"short_{mate}.fq").write_text(text)
    return folder / "short_1.fq", folder / "short_2.fq"


@pytest.fixture
def sam(reference, capfd):
    def sam(*arguments: object) -> list[list[str]]:
        assert run_main(["align", reference, *arguments, "-q", "--no-pg", "-I", "80,30"]) == 0
        said = capfd.readouterr()
        assert not said.err or said.err.startswith("readwarp: only 0.00 % of the reads are mapped"), said.err
        return [line.split("\t") for line in sam_lines(said.out)]

    return sam


def lengthen(cigar: str, is_reverse: bool, more: int, clip: str = "S") -> str:
    """The CIGAR of a read with more clipped bases at its 3' end."""
    if not more or cigar == "*":
        return cigar
    pattern = rf"^(\d+){clip}" if is_reverse else rf"(\d+){clip}$"
    found = re.search(pattern, cigar)
    run = f"{more + int(found[1] if found else 0)}{clip}"
    rest = re.sub(pattern, "", cigar)
    return run + rest if is_reverse else rest + run


def lengthen_places(text: str, more: int, sign_first: bool) -> str:
    """SA (contig,position,sign,CIGAR,...) or XA (contig,sign position,CIGAR,...) of a read."""
    places = []
    for place in text.rstrip(";").split(";"):
        fields = place.split(",")
        at, is_reverse = (2, fields[1][0] == "-") if sign_first else (3, fields[2] == "-")
        fields[at] = lengthen(fields[at], is_reverse, more)
        places.append(",".join(fields))
    return ";".join(places) + ";"


def as_clipped(dropped: list[str], clip: str) -> list[str]:
    """A record of a read without the bases that were cut off -> the record that shows them as clips."""
    name, flag, cigar = dropped[0], int(dropped[1]), dropped[5]
    mates = next(pair[1:] for pair in PAIRS if pair[0] == name)
    side = 0 if flag & 0x40 else 1
    more, mate_more = CUTS[name][side], CUTS[name][1 - side]
    is_reverse, mate_is_reverse = bool(flag & REVERSE), bool(flag & MATE_REVERSE)
    hard = clip if flag & SUPPLEMENTARY else "S"
    out = [*dropped[:5], lengthen(cigar, is_reverse, more, hard), *dropped[6:9]]
    bases, qualities = mates[side], "".join("?I5"[i % 3] for i in range(LENGTH))
    if is_reverse:
        bases, qualities = reverse_complement(bases), qualities[::-1]
    if hard == "H":
        bases, qualities = dropped[9], dropped[10]
    out += [bases, qualities]
    for tag in dropped[11:]:
        kind, value = tag[:5], tag[5:]
        if kind == "MC:Z:":
            value = lengthen(value, mate_is_reverse, mate_more)
        elif kind in ("SA:Z:", "XA:Z:"):
            value = lengthen_places(value, more, kind == "XA:Z:")
        elif kind == "ms:i:":
            value = str(sum(ord("?I5"[i % 3]) - 33 for i in range(LENGTH)))
        out.append(kind + value)
    return out


@pytest.mark.parametrize("clip", ["H", "S"])
def test_clipped_records_are_the_dropped_ones_with_clips(clip, reads, sam):
    options = ["-Y"] if clip == "S" else []
    dropped, clipped = (sam(*reads, "--trim", "--trim-bases", bases, *options) for bases in ("drop", "clip"))
    assert [as_clipped(line, clip) for line in dropped] == clipped
    assert clipped == sam(*reads, "--trim", *options)
    assert any(int(line[1]) & SUPPLEMENTARY for line in clipped) and any("H" in line[5] for line in clipped) == (
        clip == "H"
    )
    assert any("XA:Z:" in field or "SA:Z:" in field for line in clipped for field in line)
    for line in dropped:
        cut = CUTS[line[0]][0 if int(line[1]) & 0x40 else 1]
        if not int(line[1]) & SUPPLEMENTARY:
            assert len(line[9]) == LENGTH - cut
        if cut > LENGTH - 20:
            assert int(line[1]) & UNMAPPED


def test_records_agree_with_whole_reads(reads, reference, tmp_path):
    whole = {(pair[0], side): pair[mate] for pair in PAIRS for mate, side in ((1, 0x40), (2, 0x80))}
    options = ["--trim", "--sort", "coordinate", "--mark-duplicates", "-Y", "--eqx"]
    assert run_main(["align", reference, *reads, "-o", tmp_path / "out.bam", *options, "-q"]) == 0
    records = checked(tmp_path / "out.bam", whole, CONTIGS)
    clipped = 0
    for found in records:
        cut = CUTS[found.query_name][0 if found.is_read1 else 1]
        if cut and not found.is_unmapped:
            operation, length = found.cigartuples[0 if found.is_reverse else -1]
            assert operation == pysam.CSOFT_CLIP and length >= cut
            clipped += 1
    assert clipped > 200


@pytest.mark.parametrize("bases", ["clip", "drop"])
def test_resources_do_not_matter(bases, reads, reference, tmp_path):
    made = []
    for number, given in enumerate((["-t", "1"], ["-t", "3", "--batch-bases", "2000"])):
        path = tmp_path / f"{number}.bam"
        words = ["align", reference, *reads, "-o", path, "--trim", "--trim-bases", bases, "--correct-overlap", *given]
        assert run_main([*words, "--no-pg", "-q", "--metrics", tmp_path / f"{number}.json"]) == 0
        made.append(path.read_bytes())
    assert made[0] == made[1]
    counts = [json.loads((tmp_path / f"{number}.json").read_text())["counts"] for number in range(2)]
    trimmed = [{name: row[name] for name in row if "trimmed" in name or "corrected" in name} for row in counts]
    assert trimmed[0] == trimmed[1]
    assert trimmed[0]["bases_trimmed"] == sum(map(sum, CUTS.values()))
    assert trimmed[0]["reads_trimmed"] == sum(cut > 0 for row in CUTS.values() for cut in row)
    assert trimmed[0]["reads_trimmed_too_short"] == sum(cut > LENGTH - 20 for row in CUTS.values() for cut in row)


def test_the_same_reads_from_an_unaligned_bam(reads, reference, sam, tmp_path):
    header = pysam.AlignmentHeader.from_dict({"HD": {"VN": "1.6"}, "RG": [{"ID": "short", "SM": "short"}]})
    with pysam.AlignmentFile(str(tmp_path / "u.bam"), "wb", header=header) as file:
        for name, *mates in PAIRS:
            for flag, bases in zip((0x4D, 0x8D), mates, strict=True):
                unaligned = pysam.AlignedSegment(header)
                unaligned.query_name, unaligned.flag, unaligned.query_sequence = name, flag, bases
                unaligned.query_qualities = pysam.qualitystring_to_array("".join("?I5"[i % 3] for i in range(LENGTH)))
                file.write(unaligned)
    of_bam, of_fastq = sam(tmp_path / "u.bam", "--trim"), sam(*reads, "--trim")
    assert [line[:11] for line in of_bam] == [line[:11] for line in of_fastq]


def test_nothing_is_trimmed_without_being_asked(reads, reference, sam, tmp_path):
    metrics = tmp_path / "m.json"
    lines = sam(*reads, "--metrics", metrics)
    assert not any("trim" in name for name in json.loads(metrics.read_text())["counts"])
    assert {len(line[9]) for line in lines if not int(line[1]) & SUPPLEMENTARY} == {LENGTH}


def test_what_is_said(reads, reference, tmp_path, capfd):
    assert run_main(["align", reference, *reads, "-o", tmp_path / "o.bam", "--trim", "--no-progress"]) == 0
    said = capfd.readouterr().err
    share = 100 * sum(map(sum, CUTS.values())) / (2 * LENGTH * len(PAIRS))
    assert (
        f"trimmed {100 * sum(c > 0 for r in CUTS.values() for c in r) / 600:.2f} % of the reads, {share:.2f} %" in said
    )
    assert "adapters by the overlap of mates" in said and "became too short" in said


def test_single_reads_and_a_file_of_adapters(sam, write):
    adapter = letters(30, 77)
    path = write("single.fq", record("s", CONTIGS["one"][100:160] + adapter + "A" * 10))
    file = write("adapters.fa", f">x\n{adapter[:12].lower()}\n{adapter[12:]}\n>y\n{letters(20, 78)}\n")
    for given in (adapter, file):
        (line,) = sam(path, "--trim", "--adapter", given)
        assert line[5] == "60M40S"
    (line,) = sam(path, "--trim", "--trim-quality", "41")
    assert int(line[1]) & UNMAPPED and len(line[9]) == LENGTH


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--adapter", "ACGT"], "--adapter needs --trim"),
        (["--trim-quality", "20"], "--trim-quality needs --trim"),
        (["--trim-bases", "clip"], "--trim-bases needs --trim"),
        (["--correct-overlap"], "--correct-overlap needs --trim"),
        (["--trim", "--adapter2", "ACGT"], "--adapter2 needs --adapter"),
        (["--trim", "--adapter", "none.fa"], "--adapter none.fa: neither a sequence of IUPAC letters nor a file"),
        (
            ["--trim", "--adapter", "NNNN"],
            "--adapter NNNN: needs 5 bases other than N",
        ),
        (
            ["--trim", "--adapter", "ACRN"],
            "--adapter ACRN: needs 5 bases other than N",
        ),
        (["--trim", "--trim-quality", "94"], "--trim-quality must be 0 to 93"),
    ],
)
def test_refused(options, reason, reads, reference, capsys):
    assert run_main(["align", reference, *reads, *options]) == 2
    assert capsys.readouterr().err == f"readwarp: error: {reason}\n"


def test_a_file_of_adapters_that_is_damaged(reads, reference, write, capsys):
    for text, reason in ((">x\nACGT!\n", ""), (">y\nACGTACGT\n>x\nACRN\n", "needs 5 bases other than N\n")):
        path = write("adapters.fa", text)
        assert run_main(["align", reference, *reads, "--trim", "--adapter", path]) == 3
        assert capsys.readouterr().err.startswith(f"readwarp: error: {path}: record x: {reason}")


def test_run_trims_and_says_so(reads, reference, tmp_path, capfd):
    folder = tmp_path / "out"
    assert run_main(["run", reference, *reads, "-o", folder, "--trim", "--no-report", "--no-progress"]) == 0
    share = 100 * sum(map(sum, CUTS.values())) / (2 * LENGTH * len(PAIRS))
    assert re.search(rf"trimmed +{share:.2f} % +of the bases", capfd.readouterr().out)
    counts = json.loads((folder / "metrics.json").read_text())["counts"]
    assert counts["bases_trimmed_mates"] > 0 and counts["bases_trimmed_poly_g"] > 0


def test_in_python(reads, reference, tmp_path):
    import readwarp

    result = readwarp.align(reference, *reads, output=tmp_path / "p.bam", trim=True, adapter=[FIRST], adapter2=[LAST])
    assert result.metrics.counts["bases_trimmed"] > 0


def test_adapters_that_are_learned(reference, tmp_path, capfd):
    """From the first pairs of each input, whatever the batches."""
    adapters, made = (letters(40, 91), letters(40, 92)), []
    for i in range(80):
        fragment = CONTIGS["one"][50 * i : 50 * i + 25 + i % 60]
        sides = fragment, reverse_complement(fragment)
        made.append([(side + adapter + "A" * LENGTH)[:LENGTH] for side, adapter in zip(sides, adapters, strict=True)])
    for mate in range(2):
        text = "".join(record(f"r{i}", pair[mate]) for i, pair in enumerate(made))
        (tmp_path / f"u_{mate}.fq").write_text(text)
    words = ["align", reference, tmp_path / "u_0.fq", tmp_path / "u_1.fq", "--trim", "--no-pg", "--no-progress"]
    written = []
    for number, given in enumerate((["-t", "1"], ["-t", "2", "--batch-bases", "1000", "-I", "50,20"])):
        out = ["-o", tmp_path / f"{number}.bam", "--metrics", tmp_path / f"{number}.json"]
        assert run_main([*words, *out, *given]) == 0
        said = capfd.readouterr().err
        assert f"adapters {adapters[0][:32]} and {adapters[1][:32]}, learned from 80 pairs" in said
        facts = json.loads((tmp_path / f"{number}.json").read_text())
        assert facts["adapters"] == [{"first": adapters[0][:32], "last": adapters[1][:32], "pairs": 80}]
        with pysam.AlignmentFile(str(tmp_path / f"{number}.bam")) as file:
            written.append([(found.query_name, found.flag, found.cigarstring) for found in file])
        assert facts["counts"]["bases_trimmed"] == sum(2 * (LENGTH - 25 - i % 60) for i in range(80))
    assert written[0] == written[1]
