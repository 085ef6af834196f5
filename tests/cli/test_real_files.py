"""Real and odd files end to end: what `align` writes is complete, and every record agrees with its read."""

import gzip
import random
import re
from pathlib import Path

import dnaio
import pysam
import pytest

from helpers.command_samples import CONTIGS, fasta, letters, record, reverse_complement, run_main
from helpers.record_checks import FIRST, LAST, SECONDARY_OR_SUPPLEMENTARY, checked


@pytest.fixture
def align(tmp_path):
    """Run `readwarp align REF FILES -o tmp_path/NAME` and return the path of the output."""

    def align(reference: object, *arguments: object, name: str = "out.bam") -> Path:
        out = tmp_path / name
        assert run_main(["align", reference, *arguments, "-o", out, "-q"]) == 0
        return out

    return align


@pytest.fixture
def copied(tmp_path, test_data):
    """A reference of test_data in a folder of its own, because its index is written beside it."""

    def copied(name: str) -> Path:
        path = tmp_path / name
        path.write_bytes((test_data / "odd" / name).read_bytes())
        return path

    return copied


def contigs_of(path: Path) -> dict[str, str]:
    with dnaio.open(path) as file:
        return {entry.name.split()[0]: entry.sequence for entry in file}


def reads_of(*paths: Path) -> dict[tuple[str, int], str]:
    """Sequences by name and segment, read without dnaio, which does not accept blank lines at the end."""
    out = {}
    for segment, path in zip((FIRST, LAST) if len(paths) == 2 else (0,), paths, strict=True):
        data = path.read_bytes()
        lines = (gzip.decompress(data) if path.suffix == ".gz" else data).decode().rstrip("\n").split("\n")
        for name, sequence in zip(lines[::4], lines[1::4], strict=True):
            out[re.sub("/[12]$", "", name[1:].split()[0]), segment] = sequence
    return out


def mapped(records: list[pysam.AlignedSegment]) -> int:
    return sum(not (r.is_unmapped or r.flag & SECONDARY_OR_SUPPLEMENTARY) for r in records)


def test_phix_pairs_of_300_bases(align, copied, test_data):
    reference, reads = copied("phix.fasta"), [test_data / "odd" / f"phix.{i}.fastq" for i in (1, 2)]
    out = align(reference, *reads, "--sort", "coordinate", "--mark-duplicates", "--write-index")
    records = checked(out, reads_of(*reads), contigs_of(reference))
    primaries = [r for r in records if not r.flag & SECONDARY_OR_SUPPLEMENTARY]
    proper = sum(r.is_proper_pair for r in primaries)
    assert (len(primaries), mapped(records), proper) == (90, 85, 78)  # those of bwa mem 0.7.17


def test_comments_of_phix_as_tags(align, copied, test_data):
    out = align(copied("phix.fasta"), test_data / "odd" / "phix.tags.fastq", "-C")
    with pysam.AlignmentFile(str(out)) as file:
        first = next(file)
    assert (first.get_tag("xy"), first.get_tag("ab")) == ("hello", 123)


def test_pairs_of_36_bases_and_fewer(align, copied, test_data, tmp_path):
    """The mates of real pairs, cut to 36 bases, with the preset for short reads."""
    reference, reads = copied("portiera_genome.fa.gz"), []
    for i in (1, 2):
        path = tmp_path / f"short_{i}.fq"
        with dnaio.open(test_data / "odd" / f"portiera_36bp_{i}.fastq.gz") as file:
            path.write_text("".join(record(r.name, r.sequence[:36], r.qualities[:36]) for r in file))
        reads.append(path)
    records = checked(align(reference, *reads, "--preset", "short"), reads_of(*reads), contigs_of(reference))
    assert mapped(records) >= 0.97 * len(reads_of(*reads))


def test_variable_lengths_and_a_blank_tail(align, copied, test_data, tmp_path):
    source, reads = test_data / "odd" / "variable_length_blank_tail_2.fastq.gz", tmp_path / "tail.fq.gz"
    reads.write_bytes(source.read_bytes() + gzip.compress(b"\n\n\n"))
    given = reads_of(reads)
    assert len(given) == 2821 and len({len(sequence) for sequence in given.values()}) > 50
    reference = copied("phix.fasta")
    records = checked(align(reference, reads), given, contigs_of(reference))
    assert all(r.query_length == len(given[r.query_name, 0]) for r in records if r.is_unmapped)


def test_interleaved_reads_and_their_unaligned_bam(align, copied, test_data):
    reference, source = copied("sarscov2_genome.fa.gz"), test_data / "odd" / "sarscov2_unaligned.bam"
    with pysam.AlignmentFile(str(source), check_sq=False) as file:
        given = {(r.query_name, r.flag & (FIRST | LAST)): r.query_sequence for r in file}
    records = checked(align(reference, source), given, contigs_of(reference))
    assert mapped(records) >= 0.97 * len(given)
    assert {r.get_tag("RG") for r in records} == {"1"}
    out = align(reference, test_data / "odd" / "sarscov2_interleaved.fastq.gz", "-p", name="pairs.sam")
    with pysam.AlignmentFile(str(out)) as file:
        pairs = [r for r in file if not r.flag & SECONDARY_OR_SUPPLEMENTARY]
    assert len(pairs) == 200 and mapped(pairs) >= 194


def test_aligned_cram_as_reads(align, reference, mates, tmp_path):
    """Sorted CRAM is collated and aligned again, with the same records as its reads gave."""
    once = align(reference, *mates, "--sort", "coordinate", "--no-pg", name="once.cram")
    again = align(reference, once, "--sort", "coordinate", "--no-pg", name="again.bam")
    texts = []
    for path in (once, again):
        with pysam.AlignmentFile(str(path), reference_filename=str(reference)) as file:
            texts.append(sorted(r.to_string() for r in file))
    fields = [[line.split("\t")[:11] for line in text] for text in texts]
    assert fields[0] == fields[1] and len(fields[0]) == 400


def test_lengths_from_30_to_500_in_one_file(align, reference, tmp_path):
    """With a pair that has an empty mate."""
    chance, texts, starts = random.Random(7), [[], []], {}
    for number in range(300):
        start, length = chance.randrange(5300), chance.randrange(30, 501)
        fragment = CONTIGS["one"][start : start + 700]
        other = chance.randrange(30, 501)
        texts[0].append(record(f"m{number}", fragment[:length]))
        texts[1].append(record(f"m{number}", reverse_complement(fragment)[:other]))
        starts[f"m{number}"] = start, start + 700 - other
    texts[0].append(record("void", ""))
    texts[1].append(record("void", CONTIGS["two"][200:300]))
    reads = [tmp_path / f"mixed_{i}.fq" for i in (1, 2)]
    for path, text in zip(reads, texts, strict=True):
        path.write_text("".join(text))
    records = checked(align(reference, *reads), reads_of(*reads), CONTIGS)
    assert len(records) == 602
    void, whole = records[-2:]
    assert (void.flag, void.query_length) == (0x1 | 0x4 | 0x40, 0) and whole.cigarstring == "100M"
    for r in records[:-2]:
        assert r.is_proper_pair and r.reference_start == starts[r.query_name][r.is_read2]


def test_reads_over_the_ends_of_a_circular_genome(align, copied, tmp_path):
    """A read across the origin of a GenBank reference has two parts, at its end and at its start."""
    reference = copied("mitochondrion.gb")
    pages = reference.read_text().split("ORIGIN")[1]
    genome = re.sub("[^acgtn]", "", pages).upper()
    over = genome[-80:] + genome[:70]
    reads = tmp_path / "circle.fq"
    reads.write_text(record("over", over) + record("within", genome[5000:5150]))
    out = align(reference, reads)
    with pysam.AlignmentFile(str(out)) as file:
        name = file.references[0]
        assert file.lengths == (len(genome),)
    records = checked(out, reads_of(reads), {name: genome})
    parts = [(r.query_name, r.reference_start, r.cigarstring) for r in records]
    assert parts == [
        ("over", len(genome) - 80, "80M70S"),
        ("over", 0, "80H70M"),
        ("within", 5000, "150M"),
    ]
    assert records[0].get_tag("SA") == f"{name},1,+,80S70M,{records[1].mapping_quality},0;"


def test_names_of_hla_alleles_among_ten_thousand_contigs(align, tmp_path):
    """Through a sorted, indexed BAM file to `call -r`, where a colon in the name is not the region's."""
    allele = "HLA-A*01:01"
    contigs = {"HLA-A*01:01:02": letters(800, 51), allele: letters(1000, 52), "a,b": letters(600, 53)}
    contigs |= {f"c{i}": letters(80, 1000 + i) for i in range(9997)}
    reference, reads = tmp_path / "many.fa", tmp_path / "hla.fq"
    reference.write_text(fasta(contigs))
    base = contigs[allele][500]
    sample = contigs[allele][:500] + {"A": "G", "C": "T", "G": "A", "T": "C"}[base] + contigs[allele][501:]
    starts = [s * 37 % 850 for s in range(200)]
    text = [record(f"h{i}", sample[s : s + 150]) for i, s in enumerate(starts)]
    reads.write_text("".join(text) + record("o", contigs["a,b"][100:250]) + record("c", contigs["c9996"]))
    out = align(reference, reads, "--sort", "coordinate", "--write-index")
    records = checked(out, reads_of(reads), contigs)
    names = [r.reference_name for r in records]
    assert names == [allele] * 200 + ["a,b", "c9996"]
    with pysam.AlignmentFile(str(out)) as file:
        assert file.nreferences == 10_000 and sum(1 for _ in file.fetch(allele)) == 200
    for region, calls in ((f"{allele}:450-550", [501]), (allele, [501]), (f"{allele}:502-900", [])):
        vcf = tmp_path / "calls.vcf"
        assert run_main(["call", reference, out, "-r", region, "-o", vcf, "-q", "--force"]) == 0
        with pysam.VariantFile(str(vcf)) as file:
            found = [(c.contig, c.pos, c.ref, c.samples[0]["GT"]) for c in file]
        assert found == [(allele, position, base, (1, 1)) for position in calls]
