"""The texts beside the files: made if absent or stale, complete or absent, errors with the tool's name."""

import gzip
import os
import shutil
from dataclasses import replace

import pysam
import pytest

from helpers.made_samples import build
from readwarp.cli import main
from readwarp.errors import InputError, ReadwarpError, UsageError
from readwarp.report.counting.long_reads import count_long_reads
from readwarp.report.counting.one_pass import count_alignments
from readwarp.report.headline import read_subject
from readwarp.report.inputs import Sample, samples_in, stem, tell_apart
from readwarp.report.statistics import make, texts_of
from readwarp.report.tools import Tools, read_rows, read_stats, sections_of, without_comments


@pytest.fixture
def folder(tmp_path):
    return build(tmp_path / "results")


def test_texts_are_made_once_and_again_when_their_file_is_newer(folder):
    samples = samples_in(folder.folder)
    texts = make(samples, None, 2)[0].texts.values()
    assert set(texts) == {
        *(folder.folder / f"x.{name}.txt" for name in ("stats", "flagstat", "idxstats", "depth", "vcf.stats")),
        folder.folder / "x.depth.bedgraph",
    }
    assert list(texts) == [path for name, path in texts_of(samples[0]).items() if name != "long"]
    before = {path: path.stat().st_mtime_ns for path in texts}
    make(samples, None, 2)
    assert before == {path: path.stat().st_mtime_ns for path in texts}
    later = max(before.values()) + 10**9
    os.utime(folder.folder / "x.bam", ns=(later, later))
    make(samples, None, 2)
    changed = {path.name for path in texts if path.stat().st_mtime_ns != before[path]}
    assert changed == {"x.stats.txt", "x.flagstat.txt", "x.idxstats.txt", "x.depth.txt", "x.depth.bedgraph"}
    assert not [path for path in folder.folder.iterdir() if "partial" in path.name]


def test_a_reference_that_was_not_known_makes_them_anew(folder):
    samples = samples_in(folder.folder)
    without = [replace(sample, reference=None) for sample in samples]
    text = make(without, None, 1)[0].texts["stats"]
    assert sections_of(read_stats(text))["MPC"] == []
    make(samples, None, 1)
    assert sections_of(read_stats(text))["MPC"]


def test_texts_do_not_depend_on_places_and_threads(folder, tmp_path):
    """The command line in a text names files only."""
    texts = make(samples_in(folder.folder), None, 1)[0].texts
    copy = tmp_path / "a longer name" / "results"
    shutil.copytree(folder.folder, copy, ignore=shutil.ignore_patterns("*.txt", "*.bedgraph"))
    samples = [replace(sample, reference=samples_in(folder.folder)[0].reference) for sample in samples_in(copy)]
    other = make(samples, None, 12)[0].texts
    assert {name: path.read_bytes() for name, path in other.items()} == {
        name: path.read_bytes() for name, path in texts.items()
    }
    line = texts["stats"].read_text().splitlines()[2]
    assert line == f"# It is what samtools 1.24 writes for:  stats --ref-seq {samples[0].reference.name} x.bam"


def test_targets(folder):
    """Depth only in the intervals, of which two overlap; bases without reads count."""
    bed = folder.folder / "targets.bed"
    bed.write_text("track name=x\none\t100\t200\none\t150\t250\n\ntwo\t0\t50\textra\n")
    packed = folder.folder / "targets.bed.gz"
    packed.write_bytes(gzip.compress(bed.read_bytes()))
    samples = [replace(sample, targets=(str(packed),)) for sample in samples_in(folder.folder)]
    same = read_rows(make(samples, None, 2)[0].texts["depth"])[1:]
    samples = [replace(sample, targets=(str(bed),)) for sample in samples]
    texts = make(samples, None, 2)[0].texts
    (title,), *depth = read_rows(texts["depth"])
    assert depth == same and title.startswith("# Depth of the intervals of targets.bed: ")
    names: list[set[str]] = [set() for _ in range(150)]
    with pysam.AlignmentFile(str(folder.folder / "x.bam")) as file:
        for read in file.fetch("one", 100, 250):
            for _, place in () if read.is_duplicate else read.get_aligned_pairs(matches_only=True):
                if 100 <= place < 250:
                    names[place - 100].add(read.query_name)
    counted = {int(d): int(n) for d, n in without_comments(depth)}
    wanted = [len(covering) for covering in names] + [0] * 50
    assert counted == {d: wanted.count(d) for d in set(wanted)}
    found = without_comments(read_rows(texts["targets"]))
    assert [row[:4] for row in found] == [
        ["one", "100", "200", ""],
        ["one", "150", "250", ""],
        ["two", "0", "50", "extra"],
    ]
    assert [float(row[4]) for row in found] == [
        pytest.approx(sum(part) / len(part), rel=1e-4) for part in (wanted[:100], wanted[50:150], [0])
    ]
    assert [float(row[5]) for row in found[:2]] == [
        pytest.approx(sum(d >= 20 for d in part) / 100) for part in (wanted[:100], wanted[50:150])
    ]


def test_targets_as_texts(folder, tmp_path):
    """As -L takes them elsewhere: regions, lists of them, several files, and contigs that are not there."""
    listed = tmp_path / "some.intervals"
    listed.write_text("one:151-250\n")
    sample = Sample("x", folder.folder / "x.bam", targets=("one:101-200,two:1-50", str(listed)))
    texts = make([sample], tmp_path, 1)[0].texts
    rows = without_comments(read_rows(texts["targets"]))
    assert [row[:3] for row in rows] == [["one", "100", "200"], ["one", "150", "250"], ["two", "0", "50"]]
    title = texts["depth"].read_text()
    assert title.startswith("# Depth of the intervals of one:101-200,two:1-50, some.intervals: ")
    with pytest.raises(InputError, match="three"):
        make([replace(sample, targets=("three:1-9",))], tmp_path, 1)


def test_a_bad_interval_is_named(folder, tmp_path):
    bed = tmp_path / "bad.bed"
    bed.write_text("one\t0\t10\none\tten\t20\n")
    with pytest.raises(InputError, match=r"bad\.bed: record 2"):
        make([Sample("x", folder.folder / "x.bam", targets=(str(bed),))], None, 1)


@pytest.mark.parametrize(
    ("text", "says"),
    [(">one\nACGT\n", "has no contig"), (">one\nAC\nACGT\n", "cannot be read as indexed FASTA")],
    ids=["other", "lines"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_bad_reference_is_named_by_its_own_name(folder, tmp_path, text, says, packed):
    """Not a copy of it that is indexed for the time being."""
    path = tmp_path / ("other.fa.gz" if packed else "other.fa")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    with pytest.raises(InputError, match=rf"^{path}: {'has no contig' if packed else says}"):
        make([Sample("x", folder.folder / "x.bam", reference=path)], tmp_path, 1)


def test_gvcf(folder):
    """Reference blocks do not count, and <NON_REF> is not a variant."""
    lines = (folder.folder / "x.vcf").read_text().splitlines()
    alt = '##ALT=<ID=NON_REF,Description="any">'
    body = [line for line in lines if line.startswith("one")]
    cells = [line.split("\t") for line in body]
    withall = ["\t".join([*c[:4], c[4] + ",<NON_REF>", *c[5:9], c[9] + ",0"]) for c in cells]
    block = "one\t50\t.\tA\t<NON_REF>\t.\t.\t.\tGT:DP:AD\t0/0:20:20,0"
    head = [line for line in lines if line.startswith("#")]
    gvcf = folder.folder / "x.g.vcf"
    gvcf.write_text("\n".join([head[0], alt, *head[1:], block, *withall]) + "\n")
    plain, both = ([Sample("x", calls=folder.folder / name)] for name in ("x.vcf", "x.g.vcf"))
    wanted = read_subject(plain[0], make(plain, None, 1)[0]).variants
    (folder.folder / "x.vcf.stats.txt").unlink()
    found = read_subject(both[0], make(both, None, 1)[0]).variants
    assert found == replace(wanted, rows=found.rows)


def test_calls_without_genotypes_or_qualities(tmp_path):
    vcf = tmp_path / "sites.vcf"
    vcf.write_text(
        "##fileformat=VCFv4.2\n##contig=<ID=one,length=1000>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
        "one\t5\t.\tA\tC\t.\t.\t.\none\t9\t.\tA\tG\t.\t.\t.\n"
    )
    samples = [Sample("sites", calls=vcf)]
    found = read_subject(samples[0], make(samples, None, 1)[0]).variants
    assert (found.transitions, found.transversions, found.genotypes.passed) == (1, 1, 2)
    assert found.genotypes.heterozygous == 0 and not found.genotypes.depth


def test_no_reads_and_no_calls(folder):
    """What a run on empty files leaves: a page that says so."""
    bam, vcf = folder.folder / "x.bam", folder.folder / "x.vcf"
    with pysam.AlignmentFile(str(bam)) as file:
        header = file.header
    pysam.AlignmentFile(str(bam), "wb", header=header).close()
    pysam.index(str(bam))
    vcf.write_text("".join(line for line in vcf.read_text().splitlines(True) if line.startswith("#")))
    assert main(["report", str(folder.folder), "-q", "-t", "2"]) == 0
    page = (folder.folder / "report.html").read_text()
    assert "There are no reads." in page and 'id="phases"' in page and 'id="depth"' not in page


def test_a_tool_that_fails_is_named_and_leaves_nothing(folder):
    bam = folder.folder / "x.bam"
    bam.write_bytes(bam.read_bytes()[:3000])
    with pytest.raises(ReadwarpError, match=r"x\.bam: "):
        make(samples_in(folder.folder), None, 1)
    assert not [path for path in folder.folder.iterdir() if "partial" in path.name or path.name == "x.stats.txt"]


def test_a_text_of_something_else_is_refused(tmp_path):
    other = tmp_path / "x.stats.txt"
    other.write_text("hello\n")
    with pytest.raises(InputError, match="was not made by samtools stats"):
        read_stats(other)


def test_nothing_is_started_after_the_stop(tmp_path):
    tools = Tools()
    tools.stop()
    with pytest.raises(ReadwarpError):
        tools.write("samtools", "flagstat", "x.bam", output=tmp_path / "out", folder=tmp_path)


def test_a_count_ends_after_the_stop(folder, tmp_path):
    """Not when it is complete: Ctrl-C is not to take as long as a genome."""
    tools, bam = Tools(), folder.folder / "x.bam"
    tools.stop()
    for count in (
        lambda: count_alignments(bam, None, [], 2, tools.check),
        lambda: count_long_reads(bam, None, 2, tools.check),
    ):
        with pytest.raises(ReadwarpError, match="stopped"):
            count()


def test_samples_of_folders(folder, tmp_path):
    sample = samples_in(folder.folder)[0]
    assert (sample.name, sample.alignments.name, sample.calls.name) == ("x", "x.bam", "x.vcf")
    assert sample.reference == folder.reference and sample.metrics.name == "metrics.json"
    (tmp_path / "more").mkdir()
    other = build(tmp_path / "more" / "again")
    both = tell_apart([sample, samples_in(other.folder)[0]])
    assert [s.name for s in both] == ["results/x", "again/x"]
    with pytest.raises(UsageError, match="two samples"):
        tell_apart([sample, sample])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="holds no BAM"):
        samples_in(tmp_path / "empty")


@pytest.mark.parametrize("name", ["a.b.g.vcf.gz", "a.b.vcf.gz", "a.b.bcf", "a.b.bam", "a.b.cram", "a.b.json"])
def test_stems(tmp_path, name):
    assert stem(tmp_path / name) == "a.b"
