"""align: the same bytes whatever the resources; odd input that is accepted."""

import gzip
import io
import json
import os
import random
import sys
import threading
from pathlib import Path

import pysam
import pytest

import readwarp
from helpers.batch_samples import samtools
from helpers.command_samples import CONTIGS, fasta, letters, pairs, record, reverse_complement, run_main, sam_lines
from readwarp.errors import UsageError


@pytest.fixture
def sam(reference, capfd):
    """Run align to stdout and return the SAM text."""

    def sam(*arguments: object, ref: object = reference, warns: str = "") -> str:
        code = run_main(["align", ref, *arguments, "-q", "--no-pg"])
        said = capfd.readouterr()
        hint = "readwarp: only 0.00 % of the reads are mapped"  # of odd reads, see tests/align/test_summary.py
        lines = [line for line in said.err.splitlines() if not line.startswith(hint)]
        assert (code, lines) == (0, [f"readwarp: {warns}"] if warns else [])
        return said.out

    return sam


def fields(line: str) -> list[str]:
    return line.split("\t")


def test_golden_pair(sam, write):
    """A pair 300 apart on contig `two`, its first mate with one mismatch."""
    fragment = CONTIGS["two"][500:800]
    first = fragment[:40] + ("A" if fragment[40] != "A" else "C") + fragment[41:60]
    a = write("g_1.fq", record("p", first))
    b = write("g_2.fq", record("p", reverse_complement(fragment)[:60]))
    lines = sam_lines(sam(a, b, "-R", r"@RG\tID:x\tSM:y"))
    assert [fields(line)[:9] for line in lines] == [
        ["p", "99", "two", "501", "60", "60M", "=", "741", "300"],
        ["p", "147", "two", "741", "60", "60M", "=", "501", "-300"],
    ]
    tags = [dict(field.split(":", 1) for field in fields(line)[11:]) for line in lines]
    assert (tags[0]["NM"], tags[0]["AS"], tags[0]["RG"]) == ("i:1", "i:55", "Z:x")
    assert tags[0]["MD"] == f"Z:40{fragment[40]}19"
    assert (tags[1]["NM"], tags[1]["AS"], tags[1]["MD"]) == ("i:0", "i:60", "Z:60")


def test_reads_come_from_where_their_names_say(sam, mates):
    lines = sam_lines(sam(*mates))
    assert len(lines) == 400
    for line in lines:
        name, flag, contig, position = fields(line)[:4]
        _, true_contig, start = name.split(":")
        offset = 200 if int(flag) & 16 else 0
        assert (contig, int(position)) == (true_contig, int(start) + offset + 1), line


def test_header(sam, mates, reference):
    header = [line for line in sam(*mates).splitlines() if line.startswith("@")]
    assert header[0].startswith("@HD\tVN:1.6\tSO:unsorted")
    assert [line.split("\t")[:3] for line in header[1:3]] == [
        ["@SQ", f"SN:{name}", f"LN:{len(s)}"] for name, s in CONTIGS.items()
    ]
    assert header[3:] == ["@RG\tID:s\tSM:s\tLB:s\tPL:ILLUMINA"]


def test_program_line(reference, mates, tmp_path):
    out = tmp_path / "o.sam"
    assert run_main(["align", reference, *mates, "-o", out, "-q"]) == 0
    line = next(line for line in out.read_text().splitlines() if line.startswith("@PG"))
    assert line.startswith("@PG\tID:readwarp\tPN:readwarp\tVN:") and f"CL:readwarp align {reference}" in line


@pytest.mark.parametrize(
    "options",
    [
        ("-t", "1"),
        ("-t", "2"),
        ("-t", "3", "--batch-bases", "1000"),
        ("-t", "2", "--batch-bases", "7000"),
        ("-t", "1", "--batch-bases", "30000"),
        ("-t", "1", "--memory", "900M"),
    ],
)
def test_same_bytes_whatever_the_resources(options, sam, mates):
    assert sam(*mates, *options) == sam(*mates)


def test_same_bytes_from_gzip_and_pipe(sam, mates, write, monkeypatch):
    plain = sam(*mates)
    zipped = [write(f"s_{i}.fq.gz", path.read_text()) for i, path in enumerate(mates, 1)]
    assert sam(*zipped) == plain
    one, other = (path.read_text().splitlines(keepends=True) for path in mates)
    records = ["".join(text[i : i + 4]) for i in range(0, len(one), 4) for text in (one, other)]
    group = ("-R", "@RG\tID:s\tSM:s\tLB:s\tPL:ILLUMINA")
    assert sam(write("i.fq", "".join(records)), "--interleaved", *group) == plain
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(gzip.compress("".join(records).encode()))))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert sam("-", "--interleaved", *group) == plain


@pytest.mark.parametrize("options", [(), ("--trim",), ("-t", "2", "--batch-bases", "3000")])
def test_single_reads_among_interleaved_pairs(options, sam, monkeypatch, tmp_path):
    """What `samtools fastq` writes of a BAM file with both gives the records that the file itself gives."""
    unaligned, chance = str(tmp_path / "both.bam"), random.Random(5)
    with pysam.AlignmentFile(unaligned, "wb", header={"HD": {"GO": "query"}, "RG": [{"ID": "s", "SM": "s"}]}) as file:
        for name, *mates in pairs(150, length=60):
            flags = [(0x4D, 0x8D), (0x4D, 0x8D), (4,), (0x45,)][chance.randrange(4)]
            for flag, sequence in zip(flags, mates, strict=False):
                made = pysam.AlignedSegment()
                made.query_name, made.flag, made.query_sequence = name, flag, sequence
                made.query_qualities = pysam.qualitystring_to_array("I" * len(sequence))
                made.set_tag("RG", "s")
                file.write(made)
    mixed = tmp_path / "mixed.fq"
    samtools("fastq", *(part for option in "012" for part in (f"-{option}", mixed)), unaligned)
    expected, group = sam(unaligned, *options), ("-R", "@RG\tID:s\tSM:s")
    flags = {int(fields(line)[1]) & 0xC1 for line in sam_lines(expected)}
    assert flags == {0, 0x41, 0x81}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(mixed.read_bytes()))))
    assert sam_lines(sam("-", "-p", *group, *options)) == sam_lines(expected)


def test_same_bytes_from_named_pipes(sam, mates, tmp_path):
    """As in `readwarp align ref.fa <(zcat a_1.fq.gz) <(zcat a_2.fq.gz)`."""
    pipes = [tmp_path / path.name for path in mates]
    for pipe, path in zip(pipes, mates, strict=True):
        os.mkfifo(pipe)
        threading.Thread(target=lambda pipe=pipe, path=path: pipe.write_bytes(path.read_bytes()), daemon=True).start()
    assert sam(*pipes) == sam(*mates)


def test_bam_holds_what_sam_says(sam, mates, reference, tmp_path):
    out = tmp_path / "o.bam"
    assert run_main(["align", reference, *mates, "-o", out, "-q", "--no-pg"]) == 0
    with pysam.AlignmentFile(str(out)) as file:
        text = str(file.header) + "".join(read.to_string() + "\n" for read in file)
    assert text == sam(*mates)


def test_several_inputs_with_their_read_groups(sam, mates, write):
    again = [write(f"t_{i}.fq", path.read_text()) for i, path in enumerate(mates, 1)]
    text = sam(*mates, *again)
    groups = [line for line in text.splitlines() if line.startswith("@RG")]
    assert groups == [f"@RG\tID:{name}\tSM:{name}\tLB:{name}\tPL:ILLUMINA" for name in "st"]
    lines = sam_lines(text)
    assert [line.split("RG:Z:")[1].split("\t")[0] for line in lines] == ["s"] * 400 + ["t"] * 400
    assert [line.replace("RG:Z:t", "RG:Z:s") for line in lines[400:]] == lines[:400]


def test_lanes_of_one_sample(sam, mates, tmp_path):
    names = [f"NA1_S3_L00{lane}_R{mate}_00{part}.fastq" for lane, part in ((1, 1), (1, 2), (2, 1)) for mate in (1, 2)]
    for number, name in enumerate(names):
        (tmp_path / name).write_text(mates[number % 2].read_text())
    text = sam(*(tmp_path / name for name in names))
    assert [line for line in text.splitlines() if line.startswith("@RG")] == [
        f"@RG\tID:NA1_S3_L00{lane}\tSM:NA1\tLB:NA1\tPL:ILLUMINA" for lane in (1, 2)
    ]
    groups = [line.split("RG:Z:")[1].split("\t")[0] for line in sam_lines(text)]
    assert groups == ["NA1_S3_L001"] * 800 + ["NA1_S3_L002"] * 400
    text = sam(*(tmp_path / name for name in names[:2]), "--sample", "other", "--library", "pcr")
    assert "@RG\tID:NA1_S3_L001\tSM:other\tLB:pcr\tPL:ILLUMINA\n" in text


def test_sorted_marked_and_indexed(mates, reference, tmp_path, write):
    """Every pair is there twice; of the pairs at one place, all but one are duplicates."""
    twice = [
        write(f"d_{i}.fq", path.read_text() + path.read_text().replace("@r", "@q")) for i, path in enumerate(mates, 1)
    ]
    out = tmp_path / "o.bam"
    options = ["--sort", "coordinate", "--mark-duplicates", "--write-index"]
    assert run_main(["align", reference, *twice, "-o", out, "-q", *options]) == 0
    with pysam.AlignmentFile(str(out)) as file:
        reads = list(file)
        assert file.header.to_dict()["HD"]["SO"] == "coordinate"
    places = [(read.reference_id, read.reference_start) for read in reads]
    assert places == sorted(places)
    fragments = {name.split(":", 1)[1] for name, _, _ in pairs(200)}
    assert sum(read.is_duplicate for read in reads) == 800 - 2 * len(fragments)
    assert Path(f"{out}.bai").exists()


def test_empty_fastq_gives_a_header(sam, write):
    text = sam(write("e.fq", ""), warns="the input has no reads")
    assert sam_lines(text) == []
    assert text.count("@SQ") == 2


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        (record("a", ""), 1),  # length 0
        (record("a", "N" * 100), 1),
        (record("a", CONTIGS["one"][:100].lower()), 1),
        (record("a", CONTIGS["one"][:99] + "R"), 1),
        (record("a", CONTIGS["one"][:100]).replace("\n", "\r\n"), 1),
        (record("a", CONTIGS["one"][:100]).rstrip("\n"), 1),
        (record("a", CONTIGS["one"][:100], "@" * 100) * 3, 3),  # the same name three times, @ as quality
        (record("a/1 1:N:0:ACGT", CONTIGS["one"][:100]), 1),
        (record("a", CONTIGS["one"][:100]) + "\n\n\n", 1),
    ],
)
def test_odd_reads_are_fine(text, reads, sam, write):
    lines = sam_lines(sam(write("odd.fq", text), "--single"))
    assert [fields(line)[0] for line in lines] == ["a"] * reads


def test_a_mate_that_is_a_long_read(sam, write):
    long, short = record("a", CONTIGS["one"][:5000]), record("a", reverse_complement(CONTIGS["one"][5000:5100]))
    lines = sam_lines(sam(write("pair.fq", long + short), "--interleaved"))
    assert [fields(line)[:6] for line in lines] == [
        ["a", "97", "one", "1", "60", "5000M"],
        ["a", "145", "one", "5001", "60", "100M"],
    ]


def test_presets_of_long_reads(sam, write, reference, capfd, tmp_path):
    read = CONTIGS["one"][:1500] + reverse_complement(CONTIGS["one"][3000:6000])
    file = write("split.fq", record("r", read))
    for preset, score in (("hifi", 3000), ("asm", 3000), ("auto", 3000), ("ont", 6000)):
        rows = [fields(line) for line in sam_lines(sam(file, "--preset", preset))]
        assert [row[:4] + row[5:6] for row in rows] == [
            ["r", "16", "one", "3001", "3000M1500S"],
            ["r", "2048", "one", "1", "1500M3000H"],
        ]
        assert f"AS:i:{score}" in rows[0] and f"SA:Z:one,1,+,1500M3000S,{rows[1][4]},0;" in rows[0]
    assert run_main(["run", reference, file, "-o", tmp_path / "other", "--preset", "asm"]) == 2
    assert "asm: is not for calling variants" in capfd.readouterr().err
    with pytest.raises(UsageError, match="--preset asm: is not for calling variants"):
        readwarp.run(reference, file, output=tmp_path / "other", preset="asm")


def test_parts_are_named_with_equal_and_other_bases(sam, write):
    other = {"A": "C", "C": "G", "G": "T", "T": "A"}[CONTIGS["one"][700]]
    read = CONTIGS["one"][:700] + other + CONTIGS["one"][701:1500] + reverse_complement(CONTIGS["one"][3000:6000])
    rows = [fields(line) for line in sam_lines(sam(write("split.fq", record("r", read)), "--eqx"))]
    assert [row[5] for row in rows] == ["3000=1500S", "700=1X799=3000H"]
    assert any(tag.startswith("SA:Z:one,1,+,700=1X799=3000S,") for tag in rows[0])
    assert any(tag.startswith("SA:Z:one,3001,-,3000=1500S,") for tag in rows[1])


def test_odd_contigs_are_fine(sam, write):
    """Names of HLA alleles, contigs shorter than a read, IUPAC and lower case, and 10,000 contigs in all."""
    contigs = {
        "HLA-A*01:01": letters(500, 21),
        "a,b:c": letters(400, 22).lower(),
        "tiny": "ACGT",
        "iupac": "ACGTRYKM" * 20,
    }
    contigs |= {f"c{i}": letters(60, 100 + i) for i in range(9996)}
    reads = record("x", contigs["HLA-A*01:01"][100:200]) + record("y", contigs["a,b:c"][50:150])
    comma = "SA and XA cannot hold the comma in the name of contig 'a,b:c': other programs misread such records"
    ref, warns = write("odd.fa", fasta(contigs)), f"{comma}; rename it in the reference"
    text = sam(write("odd.fq", reads), ref=ref, warns=warns)
    lines = sam_lines(text)
    assert [fields(line)[2:4] for line in lines] == [["HLA-A*01:01", "101"], ["a,b:c", "51"]]


def test_genbank_reference(sam, write, test_data, tmp_path):
    ref = write("m.gb", (test_data / "odd" / "mitochondrion.gb").read_bytes())
    text = sam(
        write("r.fq", record("x", "GATCACAGGTCTATCACCCTATTAACCACTCACGGGAGCTCTCCATGCATTTGGTATTTTCGTCTGGGGGG")), ref=ref
    )
    assert text.count("@SQ") == 1


def test_comments_become_tags(sam, write):
    line = sam_lines(sam(write("c.fq", record("a BC:Z:ACGT\tzi:i:-5", CONTIGS["one"][:100])), "-C"))[0]
    assert "BC:Z:ACGT" in fields(line) and "zi:i:-5" in fields(line)


def test_metrics(reference, mates, tmp_path, capfd):
    out = tmp_path / "m.json"
    assert run_main(["align", reference, *mates, "-q", "--metrics", out, "--batch-bases", "5000", "-t", "2"]) == 0
    said = json.loads(out.read_text())
    assert said["counts"]["reads"] == 400 and said["counts"]["mapped"] == 400
    assert said["counts"]["batches"] > 5
    assert said["device"] == "cpu" and said["peak_memory_bytes"] > 1 << 20
    assert said["insert_sizes"][0]["pairs"] > 100 and abs(said["insert_sizes"][0]["mean"] - 300) < 1


def test_log_lines(reference, mates, tmp_path, capfd):
    log = tmp_path / "run.log"
    assert run_main(["align", reference, *mates, "-o", tmp_path / "o.sam", "--log", log]) == 0
    said = capfd.readouterr().err
    assert "readwarp: 400 reads in" in said and "100.00 % mapped" in said
    assert "400 reads in" in log.read_text()


def test_an_insert_size_that_cannot_be_told_is_said(reference, mates, tmp_path, capfd, write):
    first, last = (write(f"few_{i}.fq", "".join(m.read_text().splitlines(True)[:8])) for i, m in enumerate(mates))
    assert run_main(["align", reference, first, last, "-o", tmp_path / "few.sam"]) == 0
    assert "too few confident pairs to estimate the insert size" in capfd.readouterr().err


def test_an_index_that_cannot_be_saved_is_a_warning(mates, tmp_path, capfd, monkeypatch):
    reference = tmp_path / "ref.fa"
    reference.write_text(fasta(CONTIGS))
    monkeypatch.setenv("READWARP_INDEX_DIR", f"{reference}/none")
    assert run_main(["align", reference, *mates, "-o", tmp_path / "out.sam"]) == 0
    assert "the index is not saved, so each run builds it again" in capfd.readouterr().err


def test_force(reference, mates, tmp_path, capsys):
    out = tmp_path / "o.sam"
    out.write_text("precious")
    assert run_main(["align", reference, *mates, "-o", out, "-q"]) == 2
    assert out.read_text() == "precious"
    assert "already exists" in capsys.readouterr().err
    assert run_main(["align", reference, *mates, "-o", out, "-q", "--force"]) == 0
    assert out.read_text().startswith("@HD")


@pytest.mark.cards
@pytest.mark.parametrize(
    ("device", "separate"), [("cuda:0", "0"), ("cuda:1", "0"), ("cuda:0,1", "0"), ("cuda:0,1", "1")]
)
def test_cuda_gives_the_same_bytes(reference, mates, tmp_path, monkeypatch, device, separate):
    """With arrays in one block, and with each by itself, so that an access beyond one is found."""
    from readwarp.device.memory import SEPARATE

    monkeypatch.setenv(SEPARATE, separate)
    found = []
    for number, each in enumerate(("cpu", device)):
        out = tmp_path / f"{number}.sam"
        few = ["--batch-bases", 10_000, "--no-pg", "-q", "--device", each]
        assert run_main(["align", reference, *mates, "-o", out, *few]) == 0
        found.append(out.read_bytes())
    assert found[0] == found[1] and found[0].count(b"\n") > 400


def test_phred_64(sam, write, reference, capfd):
    """An error that names the fix, and with it the output of the same reads in Phred+33; in FASTQ and in BAM."""
    chance, named = random.Random(4), pairs(40)
    made = {name: [chance.choice((2, 20, 40)) for _ in first] for name, first, _ in named}

    def written(offset: int) -> str:
        lines = (record(name, first, "".join(chr(q + offset) for q in made[name])) for name, first, _ in named)
        return write(f"r{offset}.fq", "".join(lines))

    old, new = written(64), written(33)
    assert run_main(["align", reference, old, "-q"]) == 3
    text = "its base qualities are 33 to 71 as Phred+33, so they are Phred+64: give --phred64"
    assert f"readwarp: error: {old}: {text}" in capfd.readouterr().err
    meant = sam_lines(sam(new, "-R", r"@RG\tID:x\tSM:y"))
    assert sam_lines(sam(old, "--phred64", "-R", r"@RG\tID:x\tSM:y")) == meant
    assert fields(sam_lines(sam(old, "--phred33", "-R", r"@RG\tID:x\tSM:y"))[0])[10] != fields(meant[0])[10]
    assert run_main(["align", reference, new, "-q", "--phred64"]) == 3
    assert f"{new}: record {named[0][0]}: a base quality below Phred+64's 0" in capfd.readouterr().err

    bam = Path(new).with_suffix(".bam")
    with pysam.AlignmentFile(str(bam), "wb", header={"HD": {"VN": "1.6", "GO": "query"}}) as out:
        for name, first, _ in named:
            read = pysam.AlignedSegment(out.header)
            read.query_name, read.flag, read.query_sequence = name, 4, first
            read.query_qualities = [q + 31 for q in made[name]]
            out.write(read)
    assert run_main(["align", reference, bam, "-q"]) == 3
    assert f"{bam}: {text}" in capfd.readouterr().err
    assert sam_lines(sam(bam, "--phred64", "-R", r"@RG\tID:x\tSM:y")) == meant
