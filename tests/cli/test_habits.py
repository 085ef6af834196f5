"""Options that users of bwa mem and minimap2 know: which places become records, Hi-C, PAF, several libraries."""

import json
import random
import shutil
import subprocess

import pysam
import pytest

from helpers.align_oracle import cut_pair, random_bases, reverse_complement
from helpers.command_samples import fasta, record, run_main
from readwarp import Aligner

UNIT, COPIES = 300, 30
HAS_BWA = shutil.which("bwa") is not None


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    """A contig with COPIES copies of a unit, every other one reversed, and a contig without repeats."""
    unit = random_bases(UNIT, 1)
    spacers = [random_bases(500, seed) for seed in range(2, 3 + COPIES)]
    parts = [spacer + (reverse_complement(unit) if i % 2 else unit) for i, spacer in enumerate(spacers[:-1])]
    contigs = {"repeats": "".join(parts) + spacers[-1], "plain": random_bases(20_000, 99)}
    path = tmp_path_factory.mktemp("genome") / "ref.fa"
    path.write_text(fasta(contigs))
    assert run_main(["index", path, "-q"]) == 0
    return path, contigs, unit


@pytest.fixture
def align(genome, tmp_path, capfd):
    def align(*arguments) -> list[pysam.AlignedSegment]:
        out = tmp_path / "out.sam"
        assert run_main(["align", genome[0], *arguments, "-o", out, "-q", "--force"]) == 0
        with pysam.AlignmentFile(str(out)) as file:
            return list(file)

    return align


@pytest.fixture
def repeated(genome, write):
    return write("r.fq", record("r", genome[2][100:220]) + record("plain", genome[1]["plain"][400:520]))


def places(records) -> set[tuple[int, bool]]:
    return {(each.reference_start, each.is_reverse) for each in records}


def copies() -> set[tuple[int, bool]]:
    """Where the repeated read lies."""
    starts = (500 + number * (500 + UNIT) for number in range(COPIES))
    return {(start + (80 if number % 2 else 100), number % 2 == 1) for number, start in enumerate(starts)}


def test_all_hits(align, repeated):
    first, *others, plain = align(repeated, "-a")
    assert not first.is_secondary and all(other.is_secondary for other in others) and not plain.is_secondary
    assert len(others) == COPIES - 1 and places([first, *others]) == copies()
    for other in others:
        assert (other.query_sequence, other.query_qualities, other.mapping_quality) == (None, None, 0)
        assert (other.cigarstring, other.get_tag("NM"), other.get_tag("AS")) == ("120M", 0, 120)
    assert not any(each.has_tag("XA") or each.has_tag("SA") for each in (first, *others))
    default, _ = align(repeated)
    assert (default.reference_start, default.query_sequence) == (first.reference_start, first.query_sequence)


@pytest.mark.parametrize("number", [0, 1, 3, 72])
def test_secondary(align, repeated, number):
    first, *others, _ = align(repeated, "--secondary", number)
    assert len(others) == min(number, COPIES - 1) and places([first, *others]) <= copies()
    assert len(places([first, *others])) == len(others) + 1 and not first.has_tag("XA")


def test_secondary_records_in_the_counts(genome, repeated, tmp_path):
    metrics = tmp_path / "m.json"
    assert run_main(["align", genome[0], repeated, "-a", "-o", tmp_path / "o.bam", "--metrics", metrics, "-q"]) == 0
    counts = json.loads(metrics.read_text())["flagstat"]
    names = ("total", "primary", "secondary", "supplementary", "mapped")
    assert [counts[name] for name in names] == [COPIES + 1, 2, COPIES - 1, 0, COPIES + 1]


def test_hits_that_contradict(genome, repeated, tmp_path, capsys):
    assert run_main(["align", genome[0], repeated, "-a", "--secondary", "3"]) == 2
    assert "--all-hits and --secondary cannot be combined" in capsys.readouterr().err
    assert run_main(["align", genome[0], repeated, "--secondary", "73"]) == 2


@pytest.fixture(scope="module")
def contacts(genome, tmp_path_factory):
    """Hi-C: first mates across a ligation, last mates anywhere; a short part first, or last."""
    chance, letters = random.Random(4), genome[1]["plain"]
    folder, texts = tmp_path_factory.mktemp("contacts"), ["", ""]
    for number in range(60):
        here, there, far = (chance.randrange(19_000) for _ in range(3))
        size = chance.choice([45, 60, 90, 105])
        one, other = letters[here : here + size], letters[there : there + 150 - size]
        one = reverse_complement(one) if number % 3 == 0 else one
        other = reverse_complement(other) if number % 2 else other
        for mate, text in enumerate((one + other, reverse_complement(letters[far : far + 150]))):
            texts[mate] += record(f"{number}:{size}", text)
    paths = [folder / f"h_{mate}.fq" for mate in (1, 2)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


def test_five_prime_part_is_primary(align, contacts):
    for each in align(*contacts, "-5SP"):
        assert not each.is_proper_pair
        if each.is_read1 and not each.is_supplementary:
            size = int(each.query_name.split(":")[1])
            end = each.query_length - each.query_alignment_end
            assert (end if each.is_reverse else each.query_alignment_start) == 0
            assert abs(each.query_alignment_length - size) < 10 and each.has_tag("SA")
    usual = [each for each in align(*contacts) if each.is_read1 and not each.is_supplementary]
    assert sum(each.query_alignment_length > 75 for each in usual) == len(usual)


def test_splits_as_secondary(align, contacts):
    usual, marked = align(*contacts), align(*contacts, "-M")
    assert [each.flag ^ (0x800 | 0x100) if each.is_supplementary else each.flag for each in usual] == [
        each.flag for each in marked
    ]
    for one, other in zip(usual, marked, strict=True):
        assert (one.query_sequence, one.cigarstring, one.tags) == (other.query_sequence, other.cigarstring, other.tags)
    assert any(each.is_secondary and each.query_sequence for each in marked)


@pytest.mark.skipif(not HAS_BWA, reason="needs bwa")
@pytest.mark.parametrize("options", [["-5SP"], ["-SP"], ["-5SPM"]])
def test_contacts_are_those_of_bwa(align, genome, contacts, options, tmp_path):
    copy = shutil.copy(genome[0], tmp_path / "bwa.fa")
    subprocess.run(["bwa", "index", copy], check=True, capture_output=True)
    command = ["bwa", "mem", *options, copy, *map(str, contacts)]
    theirs = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    known = [line.split("\t") for line in theirs.splitlines() if line[0] != "@"]
    ours = [each.to_string().split("\t") for each in align(*contacts, *options)]
    told, expected = (sorted((*fields[:4], *fields[5:9]) for fields in records) for records in (ours, known))
    assert told == expected  # name, flag, place, CIGAR, mate's place, TLEN


def test_no_rescue(align, genome, write):
    """A mate full of mismatches is found beside the other one, or not looked for."""
    letters, texts = genome[1]["plain"], ["", ""]
    for number in range(100):
        pair = cut_pair(letters, 100 * number)
        last = "".join("ACGT"["ACGT".index(base) - 1] if i % 11 == 5 else base for i, base in enumerate(pair[1]))
        for mate, text in enumerate((pair[0], last if number == 50 else pair[1])):
            texts[mate] += record(str(number), text)
    paths = [write(f"n_{mate}.fq", text) for mate, text in enumerate(texts)]
    found = [[each for each in align(*paths, *options) if each.query_name == "50"][1] for options in ((), ("-S",))]
    assert [each.is_unmapped for each in found] == [False, True] and found[0].is_proper_pair


@pytest.mark.parametrize("apart", [False, True])
def test_read_groups_of_one_file_have_insert_sizes_of_their_own(genome, tmp_path, apart, align):
    """Two libraries, in turns or one after the other; a pair of each that is proper in the other library only."""
    letters, chance, header = genome[1]["plain"], random.Random(7), {"HD": {"VN": "1.6", "SO": "queryname"}}
    header["RG"] = [{"ID": name, "SM": "s", "LB": name} for name in ("short", "long")]
    usual = {"short": 250, "long": 900}
    names = [name for name in usual for _ in range(60)]
    drawn = [(name, chance.randrange(18_000), usual[name] + chance.randrange(-20, 21)) for name in names]
    drawn += [(name, 5000, insert) for name, insert in zip(usual, (900, 250), strict=True)]
    order = list(range(len(drawn)))
    order = order if apart else chance.sample(order, len(order))
    path, metrics = tmp_path / "u.bam", tmp_path / "m.json"
    with pysam.AlignmentFile(path, "wb", header=header) as out:
        for number in order:
            name, start, insert = drawn[number]
            for mate, text in enumerate(cut_pair(letters, start, insert)):
                read = pysam.AlignedSegment()
                read.query_name, read.query_sequence, read.flag = f"p{number}", text, (0x4D, 0x8D)[mate]
                read.set_tag("RG", name)
                out.write(read)
    found = {each.query_name: each for each in align(path, "--metrics", metrics)}
    assert all(each.is_proper_pair == (name not in ("p120", "p121")) for name, each in found.items())
    models = {m["read_group"]: m for m in json.loads(metrics.read_text())["insert_sizes_of_read_groups"]}
    for name, model in models.items():
        assert abs(model["mean"] - usual[name]) < 8 and model["pairs"] >= 60
    again = {each.query_name: each for each in align(path, "--batch-bases", "4000", "-t", "1")}
    assert {n: e.to_string() for n, e in found.items()} == {n: e.to_string() for n, e in again.items()}


def test_in_python(genome, tmp_path):
    """Secondary records have no bases, parts of split reads do, however they are flagged."""
    plain, unit = genome[1]["plain"], genome[2]
    aligner = Aligner(genome[0], secondary=2, split_secondary=True)
    reads = [("copies", unit[100:220]), ("split", plain[100:190] + reverse_complement(plain[9000:9060]))]
    records = aligner.align(reads)
    shown = [(each.name, each.is_secondary, bool(each.sequence)) for each in records]
    assert shown[:3] == [("copies", False, True), ("copies", True, False), ("copies", True, False)]
    assert shown[3:] == [("split", False, True), ("split", True, True)]
    lines = records.write(tmp_path / "o.paf").read_text().splitlines()
    assert [line.split("\t")[15] for line in lines] == ["tp:A:P", "tp:A:S", "tp:A:S", "tp:A:P", "tp:A:S"]


def test_paf(genome, repeated, tmp_path, capfd):
    assert run_main(["align", genome[0], repeated, "--paf", "--secondary", "2", "-q"]) == 0
    text = capfd.readouterr().out
    lines = [line.split("\t") for line in text.splitlines()]
    assert [line[15] for line in lines] == ["tp:A:P", "tp:A:S", "tp:A:S", "tp:A:P"]
    last = "plain 120 0 120 + plain 20000 400 520 120 120 60 NM:i:0 AS:i:120 nn:i:0 tp:A:P de:f:0 cg:Z:120M"
    assert " ".join(lines[-1]) == last
    out = tmp_path / "o.paf"
    assert run_main(["align", genome[0], repeated, "--secondary", "2", "-o", out, "--resume", "-q"]) == 0
    assert out.read_text() == text
    for wrong in (["--sort", "coordinate"], ["--part", "1/2"]):
        assert run_main(["align", genome[0], repeated, "-o", tmp_path / "p.paf", *wrong, "-q"]) == 2
    assert run_main(["align", genome[0], repeated, "-o", tmp_path / "p.bam", "--paf"]) == 2
