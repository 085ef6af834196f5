"""Slips of tired users: mistyped words, and what is known by other names elsewhere."""

import argparse
import re
from pathlib import Path

import pysam
import pytest

from helpers.command_samples import run_main, sam_lines
from readwarp.cli import COMMANDS, build_parser, habits, main, parse
from readwarp.errors import UsageError
from readwarp.wording import counted, nearest


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("aling r q", "unknown command 'aling'; did you mean `align`? (see"),
        ("help aling", "unknown command 'aling'; did you mean `align`? (see"),
        ("mem r q", "unknown command 'mem'; did you mean `align`? (see"),
        ("HaplotypeCaller r b", "unknown command 'HaplotypeCaller'; did you mean `call`? (see"),
        ("-t 4 align r q", "-t: the command comes first: `readwarp align ... -t` (see"),
        ("--vresion", "--vresion: did you mean --version? (see"),
        ("align r q -threads 4", "-threads: long names begin with two hyphens: --threads"),
        ("align r q -output=x", "-output: long names begin with two hyphens: --output"),
        ("align r q \u2013t 4", "\u2013t: begins with a long dash: type a hyphen"),
        ("align r q \u2014\u2014sort name", "begins with a long dash: type a hyphen"),
        ("align -a -x map-ont r q", "-a writes all hits; for SAM, as in minimap2, leave it out (all hits: --all-hits)"),
        ("align -x map-pb r q", "map-pb: PacBio CLR is not supported (error rate too high): use minimap2"),
        ("align -ax lr:hq r q", "lr:hq: give --preset ont for nanopore reads, hifi for PacBio HiFi (see"),
        ("align -ax splice r q", "splice: readwarp is for DNA: align RNA with minimap2, STAR or HISAT2 (see"),
        ("align -x ava-ont r q", "ava-ont: readwarp aligns reads to a reference, not to each other: use minimap2"),
        ("align -x hfi r q", "hfi: not one of standard, short, hifi, ont, asm, auto (see"),
        ("run -x asm5 r q -o d", "asm5: is not for calling variants: align these with `readwarp align` (see"),
        ("minimap2 -ax sr r q", "unknown command 'minimap2'; did you mean `align`? (see"),
        ("index -d r.mmi r.fa", "-d: the index is named by -o (--output) (see"),
        ("align -w 100 r q", "-w: readwarp has no equivalent option: leave it out (see"),
        ("align --MD r q", "--MD: MD is always written (see"),
        ("call r b -ploidy 1", "-ploidy: long names begin with two hyphens: --ploidy"),
        ("align r q -L 5", "-L: the penalty for clipping is --clip; -L is --targets in call"),
        ("align r q -k 19", "-k: seed length is set when the index is built"),
        ("call r b --plody 1", "--plody: did you mean --ploidy? (see"),
        ("call r b --PLOIDY 1", "--PLOIDY: did you mean --ploidy? (see"),
        ("align r q --markdup", "--markdup: did you mean --mark-duplicates? (see"),
        ("align r q --noprogres", "--noprogres: did you mean --no-progress? (see"),
        ("align r q --no-such", "unrecognized arguments: --no-such (see"),
        (
            "run r q -o d --mark-duplicates",
            "--mark-duplicates: run sorts, marks duplicates and writes the index anyway",
        ),
        ("align r q -T30", "-T30: the lowest score to report is --min-score (see"),
        ("call -R r -I b -O o", "-R: the reference comes first, without an option: `readwarp call ref.fa ...`"),
        ("call r b -bamout x.bam", "-bamout: --bam-output writes the realigned reads"),
        ("call r b -ERC GVCF", "-ERC: a genomic VCF is written with --gvcf"),
        ("call r b -Oz -o x", "-Oz: use -o; the extension sets the format"),
        ("sort x.bam", "unknown command 'sort': `readwarp align --sort coordinate`"),
        ("MarkDuplicates x.bam", "unknown command 'MarkDuplicates': `readwarp align --mark-duplicates`"),
    ],
)
def test_what_was_meant(arguments, said, capsys):
    assert main(arguments.split()) == 2
    out, error = capsys.readouterr()
    assert out == "" and error.count("\n") == 1 and said in error


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("-ax map-hifi", "--preset hifi"),
        ("-axmap-ont", "--preset ont"),
        ("-x sr", "--preset standard"),
        ("--preset=map-ont", "--preset ont"),
        ("-cx asm5", "--paf --preset asm"),
        ("-Yacx asm20", "-Y --paf --preset asm"),
        ("--secondary=no", ""),
        ("-ax ont2d", "-a --preset ont"),  # bwa's -a
        ("-ax ont", "-a --preset ont"),
    ],
)
def test_presets_of_minimap2(given, meant):
    found, wanted = (vars(parse(["align", *words.split(), "r", "q"])) for words in (given, meant))
    assert found == wanted


def test_a_file_in_place_of_the_command(tmp_path, capsys):
    path = tmp_path / "ref.fa"
    path.touch()
    assert main([str(path), "reads.fq"]) == 2
    assert f"{path} is a file: the command comes first, as in `readwarp run" in capsys.readouterr().err


def test_every_other_name_is_of_a_command():
    table = habits._table()
    assert table["commands"].keys() <= set(COMMANDS)
    others, steps = " ".join(table["commands"].values()).split(), " ".join(table["steps"]).split()
    assert len({*others, *steps, *COMMANDS}) == len(others) + len(steps) + len(COMMANDS)


def options_of(command: str) -> set[str]:
    (commands,) = (a for a in build_parser(every=True)._actions if isinstance(a, argparse._SubParsersAction))
    return set(commands.choices[command]._option_string_actions)


@pytest.mark.parametrize("command", COMMANDS)
def test_habits_name_options_that_exist_and_hide_none(command):
    known, said = options_of(command), habits.habits_of(command)
    assert not known & set(said)
    named = {
        name
        for text in said.values()
        for name in re.findall(r"(?<![\w`-])--[a-z-]+", text)
        if "in call and run" not in text
    }
    assert named <= known | {"--targets", "--region", "--normal"}, named - known


@pytest.mark.parametrize(
    ("title", "command"),
    [("bwa mem", "align"), ("GATK", "call"), ("freebayes", "call"), ("Parabricks", "align call")],
)
def test_what_the_docs_translate_is_known_on_the_terminal(title, command):
    """Each option in the first column of docs/coming-from.md is one of the command, or has its line."""
    page = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text()
    (table,) = re.findall(rf"^## {title}.*?\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    cells = [line.split(" | ")[0] for line in table.replace(r"\|", "/").splitlines()[4:] if line.startswith("| ")]
    options = set(re.findall(r"(?<=[ `])--?[A-Za-z][\w-]*", " ".join(cells).replace("samtools sort -o", "")))
    known = set().union(*({*options_of(name), *habits.habits_of(name)} for name in command.split()))
    unknown = {name for name in options if name not in known and f"-{name}" not in known}
    assert len(options) > 5 and not unknown


@pytest.mark.parametrize("command", COMMANDS)
def test_two_dashes_are_no_value_of_any_option(command):
    """Python 3.11 takes them for the end of the options even there, and gives an empty list; later ones do not."""
    (commands,) = (a for a in build_parser(every=True)._actions if isinstance(a, argparse._SubParsersAction))
    for action in commands.choices[command]._actions:
        for name in action.option_strings:
            for given in (f"{name}=--", *([f"{name}--"] if len(name) == 2 else [])):
                with pytest.raises(UsageError) as refused:
                    parse([command, given])
                text = "ignored explicit argument" if action.nargs == 0 else f"{name}: '--' is not a value"
                assert text in str(refused.value).replace(f"{'/'.join(action.option_strings)}:", f"{name}:")


def test_two_dashes_end_the_options():
    assert parse(["index", "-f", "--", "--threads=--"]).reference == Path("--threads=--")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_a_command(command, capsys):
    assert main([*command.split(), "--help"]) == 0
    expected = capsys.readouterr()
    assert main(["help", *command.split()]) == 0
    assert capsys.readouterr() == expected and expected.out.startswith("usage: readwarp")


def test_short_options_mean_one_thing_in_all_commands():
    """-L is --targets wherever it is; so with every letter."""
    parser = build_parser(every=True)
    commands = next(a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    meaning: dict[str, set[str]] = {}
    for action in (action for command in commands.values() for action in command._actions):
        for short in (name for name in action.option_strings if not name.startswith("--")):
            long = next((name for name in action.option_strings if name.startswith("--")), short)
            meaning.setdefault(short, set()).add(long)
    assert meaning["-L"] == {"--targets"}
    assert {short: names for short, names in meaning.items() if len(names) > 1} == {}


@pytest.mark.parametrize("options", [["--mark-duplicates"], ["--write-index"], ["--mark-duplicates", "--write-index"]])
def test_marking_and_indexing_imply_sorting(options, reference, mates, tmp_path):
    def records(*given: str) -> list[str]:
        path = tmp_path / "o.bam"
        assert run_main(["align", reference, *mates, "-o", path, "-q", "-f", "--no-pg", *given]) == 0
        return pysam.view("-h", "--no-PG", str(path)).splitlines()

    implied = records(*options)
    assert implied == records(*options, "--sort", "coordinate") and "SO:coordinate" in implied[0]
    assert (tmp_path / "o.bam.bai").exists() == ("--write-index" in options)


def test_merge_implies_sorting_too(reference, mates, tmp_path):
    unsorted, merged = tmp_path / "u.bam", tmp_path / "m.bam"
    assert run_main(["align", reference, *mates, "-o", unsorted, "-q"]) == 0
    assert run_main(["merge", unsorted, "-o", merged, "--mark-duplicates", "--write-index", "-q"]) == 0
    with pysam.AlignmentFile(str(merged)) as file:
        assert file.header["HD"]["SO"] == "coordinate" and file.has_index()


@pytest.mark.parametrize("order", ["name", "none"])
def test_another_order_is_refused_with_them(order, reference, mates, tmp_path, capsys):
    command = ["align", reference, *mates, "-o", tmp_path / "o.bam", "--mark-duplicates", "--sort", order]
    assert run_main(command) == 2
    assert f"--mark-duplicates and --sort {order} cannot be combined" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_index_of_a_stream_is_refused_before_the_work(tmp_path, mates, capsys):
    """Before the reference is even read."""
    empty = tmp_path / "empty.fa"
    empty.touch()
    assert run_main(["align", empty, *mates, "--write-index"]) == 2
    assert "--write-index needs BAM or CRAM output: name it with -o" in capsys.readouterr().err


def test_numbers_have_their_nouns():
    assert [counted(n, "variant") for n in (0, 1, 2, 12345)] == [
        "0 variants",
        "1 variant",
        "2 variants",
        "12,345 variants",
    ]
    assert (counted(2, "batch"), counted(1, "batch")) == ("2 batches", "1 batch")
    assert counted(2, "pair or single read", "pairs or single reads") == "2 pairs or single reads"


def test_one_read_is_one_read(reference, write, capfd):
    path = write("one.fq", "@a\nACGTACGTACGTACGTACGTACGTACGTACGT\n+\nIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII\n")
    assert run_main(["align", reference, path]) == 0
    out, said = capfd.readouterr()
    assert len(sam_lines(out)) == 1 and "readwarp: 1 read in " in said


def test_the_nearest_word():
    assert nearest("ploidi", ["sample", "ploidy"]) == "ploidy"
    assert nearest("SAMPLE", ["Sample", "x"]) == "Sample"
    assert nearest("colour", ["sample", "ploidy"]) is None


def test_a_lone_file_of_first_reads(reference, mates, tmp_path, capfd):
    """It is aligned; the line goes away with the mates' file, and with --single."""

    def warned(*files: object) -> bool:
        assert run_main(["align", reference, *files, "-o", tmp_path / "o.bam", "-f"]) == 0
        return f"exists next to it: give {mates[1]} too" in capfd.readouterr().err

    assert warned(mates[0])
    assert not warned(mates[0], "--single") and not warned(*mates) and not warned(mates[1])


@pytest.fixture(scope="module")
def files(tmp_path_factory, reference, mates):
    """Files of every kind, to be given where another kind belongs."""
    folder = tmp_path_factory.mktemp("files")
    assert run_main(["align", reference, *mates, "-o", folder / "s.bam", "--write-index", "-q"]) == 0
    assert run_main(["call", reference, folder / "s.bam", "-o", folder / "s.vcf.gz", "-q"]) == 0
    (folder / "ref.fa").write_bytes(reference.read_bytes())
    (folder / "ref.fa.fai").write_text("one\t6000\t5\t70\t71\ntwo\t3000\t6097\t70\t71\n")
    (folder / "s_1.fq").write_bytes(mates[0].read_bytes())
    (folder / "x.csv").write_text("one,1,50\n")
    return folder


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("align s_1.fq ref.fa", 3, "s_1.fq: is FASTQ; the first argument must be the reference (FASTA,"),
        ("align s.bam s_1.fq", 3, "s.bam: is a BAM file; the first argument must be the reference (FASTA,"),
        ("call s.bam ref.fa", 3, "s.bam: is a BAM file; the first argument must be the reference"),
        ("call s.vcf.gz s.bam", 3, "s.vcf.gz: is VCF; the first argument must be the reference"),
        ("call ref.fa.fai s.bam", 3, "ref.fa.fai: is the index of a FASTA file (.fai): give the FASTA file itself"),
        ("align ref.fa s.vcf.gz", 3, "s.vcf.gz: is VCF, not reads"),
        ("call ref.fa s.vcf.gz", 3, "s.vcf.gz: is neither BAM nor CRAM"),
        ("call ref.fa s_1.fq", 3, "s_1.fq: is neither BAM nor CRAM"),
        ("call ref.fa s.bam -L x.csv", 3, "x.csv: record 1: expected columns contig, start and end (columns are"),
        ("call ref.fa s.bam -L s.bam", 3, "s.bam: is not text"),
        ("merge s_1.fq -o m.bam", 3, "s_1.fq: is neither BAM nor CRAM"),
        ("run ref.fa s_1.fq -o s.vcf.gz", 2, "s.vcf.gz: is a file; -o names the folder for the results"),
        ("report s.bam", 2, "s.bam: is a file: name it with --bam or --vcf, or give the folder of its run"),
        ("align ref.fa s_1.fq -o no/o.bam", 2, "no/o.bam: there is no folder no"),
    ],
)  # fmt: skip
def test_one_file_in_place_of_another(arguments, code, said, files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    before = set(files.iterdir())
    assert run_main(arguments.split()) == code
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("readwarp: error: ")]
    assert len(lines) == 1 and lines[0].startswith(f"readwarp: error: {said}")
    assert set(files.iterdir()) == before
