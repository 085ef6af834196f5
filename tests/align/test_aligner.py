"""Aligner from Python: what it takes, and what can be made of its records."""

import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pysam
import pytest

import readwarp
from helpers.align_oracle import READ, cut_pair, reverse_complement
from helpers.sequences import records_of
from readwarp.align import Aligner
from readwarp.compiler import manifest
from readwarp.errors import InputError, MissingLibraryError, OutputExistsError, ReadwarpError, UsageError

QUALITIES = ("I5?+" * READ)[:READ]


@pytest.fixture(scope="module")
def fasta(genome, tmp_path_factory):
    path = tmp_path_factory.mktemp("fasta") / "genome.fa"
    path.write_text("".join(f">{name}\n{bases}\n" for name, bases in genome.items()))
    return path


@pytest.fixture(scope="module")
def records(aligner, genome):
    """A pair, a read with a supplementary alignment, and an unmapped one, all reads single."""
    first, last = cut_pair(genome["one"], 5000)
    split = genome["one"][1000:1080] + reverse_complement(genome["one"][9000:9060])
    reads = [("first", first, QUALITIES), ("last", last), ("split", split, "I5" * 70), ("none", "ACGT" * 20)]
    return aligner.align(reads)


@pytest.mark.parametrize("kind", ["SeqRecord", "dnaio", "FastxRecord", "AlignedSegment", "tuple"])
def test_records_of_other_libraries(kind, aligner, genome, tmp_path):
    sequence = genome["one"][700 : 700 + READ]
    expected = aligner.align([("pair", sequence, QUALITIES)])
    given = records_of("pair", sequence, QUALITIES, tmp_path)[kind]
    assert aligner.align([given]) == expected == aligner.align(iter([given]))
    assert (expected[0].name, expected[0].position, expected[0].qualities) == ("pair", 700, QUALITIES)


def test_a_single_sequence(aligner, genome):
    from Bio.Seq import Seq

    sequence = genome["one"][700 : 700 + READ]
    for given in (sequence, sequence.encode(), Seq(sequence)):
        (record,) = aligner.align(given)
        assert (record.name, record.position, record.sequence) == ("0", 700, sequence)


def test_refusals(aligner):
    with pytest.raises(UsageError, match=r"a tuple of text is one read \(name, sequence\); give a list"):
        aligner.align(("name", "ACGT"))
    with pytest.raises(UsageError, match="1 read, but 2 mates"):
        aligner.align(["ACGT"], ["ACGT", "ACGT"])
    with pytest.raises(UsageError, match="mates have different names: a and b"):
        aligner.align([("a/1", "ACGT")], [("b/2", "ACGT")])
    with pytest.raises(UsageError, match=r"read 0: has 'e' at position 2"):
        aligner.align("reads.fq")
    with pytest.raises(UsageError, match=r"test_aligner.py is a path; give sequences or reads"):
        aligner.align(__file__)
    with pytest.raises(AttributeError, match=r"an Aligner has no 'map'; here it is align"):
        _ = aligner.map


def test_mates_may_end_in_1_and_2(aligner, genome):
    first, last = cut_pair(genome["one"], 5000)
    records = aligner.align([("a/1", first)], [("a/2", last)])
    assert [record.name for record in records] == ["a", "a"] and records[0].is_proper_pair


def test_options_are_those_of_the_command(fasta, genome):
    read = genome["one"][3000:3050] + genome["one"][3051:3140]
    (record,) = Aligner(fasta, eqx=True, gap_open=2, insert_size=(400, 90)).align(read)
    assert (record.cigar, record.tags["AS"]) == ("50=1D89=", 139 - 3)
    with pytest.raises(
        TypeError, match=r"Aligner\(\) got an unexpected keyword argument 'mismatches'; did you mean mismatch"
    ):
        Aligner(fasta, mismatches=3)
    with pytest.raises(UsageError, match="preset fast: not one of standard, short"):
        Aligner(fasta, preset="fast")
    with pytest.raises(InputError, match="asked for k=16"):
        Aligner(fasta, preset="short")


def test_records_are_a_sequence(records):
    names = [record.name for record in records]
    assert names == ["first", "last", "split", "split", "none"] and len(records) == 5
    assert records[-1].name == "none" and records[1:3] == list(records)[1:3]
    mapped = records[np.array([record.is_mapped for record in records])]
    assert [record.name for record in mapped] == names[:4]
    assert repr(records) == "Records(5 of 4 reads, 3 mapped)" and repr(mapped) == "Records(4 of 3 reads, 3 mapped)"
    with pytest.raises(IndexError, match="record 5: there are 5"):
        records[5]


def test_sequences_are_those_of_the_records(records, genome):
    first, last, primary, other, none = records
    assert first.sequence == genome["one"][first.position : first.stop] and first.qualities == QUALITIES
    assert last.is_reverse and last.sequence == genome["one"][last.position : last.stop] and last.qualities is None
    assert (primary.cigar, len(primary.sequence), primary.qualities) == ("80M60S", 140, "I5" * 70)
    assert (other.cigar, other.is_reverse, other.sequence) == ("60M80H", True, genome["one"][9000:9060])
    assert other.qualities == ("I5" * 70)[80:][::-1] and other.operations == [(60, "M"), (80, "H")]
    assert (none.sequence, none.position, none.stop, none.operations) == ("ACGT" * 20, -1, -1, [])


def test_names_of_other_libraries_are_explained(records):
    with pytest.raises(AttributeError, match="a Record has no 'reference_start'; here it is position, and to_pysam"):
        _ = records[0].reference_start
    with pytest.raises(AttributeError, match=r"no 'colour'$"):
        _ = records[0].colour


def test_as_pysam(records):
    segments = records.to_pysam()
    assert len(segments) == len(records)
    for record, segment in zip(records, segments, strict=True):
        assert (segment.query_name, segment.flag, segment.mapping_quality) == (
            record.name,
            record.flag,
            record.mapping_quality,
        )
        assert (segment.reference_name, segment.reference_start) == (record.contig, record.position)
        assert (segment.cigarstring or "", segment.query_sequence) == (record.cigar, record.sequence)
        assert segment.qual == record.qualities and dict(segment.get_tags()) == record.tags
    assert segments[0].header.references == ("one", "two", "tiny") == records.header.references


@pytest.mark.parametrize("name", ["x.sam", "x.bam", "x.cram"])
def test_files(records, fasta, tmp_path, name):
    records = readwarp.ragged.replace(records, fasta=fasta)
    out = records.write(tmp_path / name, read_group=r"@RG\tID:lane\tSM:sample")
    with pysam.AlignmentFile(str(out), reference_filename=str(fasta)) as file:
        assert file.header.to_dict()["RG"] == [{"ID": "lane", "SM": "sample"}]
        found = list(file)
    for segment in found:
        assert segment.get_tag("RG") == "lane"
    theirs = [(s.query_name, s.flag, s.reference_start, s.query_sequence) for s in found]
    assert theirs == [(r.name, r.flag, r.position, r.sequence) for r in records]
    with pytest.raises(FileExistsError, match="already exists"):
        records.write(out)
    records[:2].write(out, force=True, sort="name")


def test_a_sorted_file_has_an_index(records, tmp_path):
    out = records.write(tmp_path / "x.bam", mark_duplicates=True, write_index=True)
    with pysam.AlignmentFile(str(out)) as file:
        assert [segment.query_name for segment in file.fetch("one", 5000, 5400)] == ["first", "last"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.bam", "x.bam.bai"]


def test_files_that_cannot_be_written(records, tmp_path):
    with pytest.raises(UsageError, match="CRAM output needs the reference's FASTA"):
        records.write(tmp_path / "x.cram")
    with pytest.raises(UsageError, match=r"must end in \.sam, \.bam, \.cram or \.paf"):
        records.write(tmp_path / "x.txt")
    with pytest.raises(UsageError, match="--write-index and --sort name cannot be combined"):
        records.write(tmp_path / "x.bam", sort="name", write_index=True)
    with pytest.raises(UsageError, match="--sort coord: not one of coordinate, name, none"):
        records.write(tmp_path / "x.bam", sort="coord")
    assert not list(tmp_path.iterdir())


def test_a_read_group_as_a_dictionary(records, tmp_path):
    for read_group in (r"@RG\tID:lane\tSM:me", {"ID": "lane", "SM": "me"}):
        records.write(tmp_path / "x.sam", read_group=read_group, force=True)
        assert "@RG\tID:lane\tSM:me\n" in (tmp_path / "x.sam").read_text()


def test_kernels_are_prepared_after_what_is_wrong_is_said(fasta, records, tmp_path, monkeypatch):
    """All that lacks is compiled before an object or a file is made, which takes up to a minute; errors come first."""
    asked = []
    for module in ("readwarp.align.aligner", "readwarp.align.results", "readwarp.caller.caller", "readwarp.index"):
        monkeypatch.setattr(f"{module}.prepare_once", lambda command, *_: asked.append(command))
    for wrong in ({"device": "quantum"}, {"preset": "long"}, {"index": "no.fa"}, {"parameters": 1, "eqx": True}):
        with pytest.raises(ReadwarpError):
            Aligner(**{"index": fasta, **wrong})
    for wrong in ({"reference": "no.fa"}, {"ploidy": 0}):
        with pytest.raises(ReadwarpError):
            readwarp.Caller(**{"reference": fasta, **wrong})
    with pytest.raises(UsageError):
        records.write(tmp_path / "x.bam", sort="coord")
    assert asked == []
    Aligner(fasta), Aligner(fasta, trim=True), readwarp.Caller(fasta), readwarp.Index.build(fasta)
    records.write(tmp_path / "x.bam")
    assert [name for name in asked if name != "index"] == ["Aligner", "Aligner.trim", "call", "Records"]
    assert "index" in asked and {*asked} <= {*manifest.commands()}


def test_tables(records):
    arrow, frame = records.to_arrow(), records.to_pandas()
    assert arrow.num_rows == len(frame) == len(records)
    assert arrow.column_names == list(frame.columns)
    for name in ("name", "flag", "contig", "mapping_quality", "cigar", "sequence"):
        expected = [getattr(record, name) for record in records]
        assert arrow[name].to_pylist() == expected
        assert [None if value is pandas().NA else value for value in frame[name]] == expected
    assert arrow["position"].to_pylist()[-1] is None and frame["position"][0] == records[0].position
    assert arrow["NM"].to_pylist() == [record.tags.get("NM") for record in records]
    assert str(frame["position"].dtype) == "Int64" and str(frame["flag"].dtype) == "int64"
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(records.to_arrow()).columns == arrow.column_names


def pandas():
    return pytest.importorskip("pandas")


def test_a_table_without_its_library(records, monkeypatch):
    for name, what in (("pyarrow", "arrow"), ("pandas", "pandas")):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match=f"need {name}: python -m pip install {name}") as raised:
            getattr(records, f"to_{what}")()
        assert isinstance(raised.value, MissingLibraryError)


def test_no_records(aligner, tmp_path):
    records = aligner.align([])
    assert records == [] and len(records.to_pysam()) == 0 and records.to_arrow().num_rows == 0
    assert records.to_pandas().empty and records.write(tmp_path / "x.bam").exists()


def test_aligners_and_their_results_pickle(fasta, genome, records):
    aligner = Aligner(fasta, eqx=True, insert_size=(350, 40))
    assert len(pickle.dumps(aligner)) < 5000  # the index is mapped again, not copied
    again = pickle.loads(pickle.dumps(aligner))
    pair = [[half] for half in cut_pair(genome["one"], 5000)]
    assert again.align(*pair) == aligner.align(*pair) and again.parameters == aligner.parameters
    assert pickle.loads(pickle.dumps(records)) == records
    assert pickle.loads(pickle.dumps(records[0])) == records[0]


def test_an_index_in_memory_pickles_as_it_is(index):
    again = pickle.loads(pickle.dumps(index))
    assert again.reference.names == index.reference.names and again.parameters == index.parameters
    assert np.array_equal(again.positions, index.positions)


def test_an_index_that_was_replaced_is_refused(fasta, tmp_path, genome):
    path = tmp_path / "ref.fa"
    path.write_text(f">one\n{genome['one']}\n")
    aligner = pickle.dumps(Aligner(path))
    path.write_text(f">one\n{genome['two']}\n")
    readwarp.Index.build(path).save(f"{path}.rwx", path, force=True)
    with pytest.raises(InputError, match="is no longer the index that was pickled"):
        pickle.loads(aligner)


def test_other_processes(fasta, genome):
    """Errors come back whole, too."""
    aligner = Aligner(fasta)
    reads = [genome["one"][start : start + READ] for start in (700, 5000)]
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert list(pool.map(aligner.align, reads)) == [aligner.align(read) for read in reads]
        with pytest.raises(UsageError, match="which is not a nucleotide"):
            pool.submit(aligner.align, "MKVE").result()
        with pytest.raises(InputError, match=r"no\.fa: no such file"):
            pool.submit(Aligner, "no.fa").result()


@pytest.mark.parametrize(
    "error",
    [InputError("x.fq", "is bad", 3), OutputExistsError("x.bam", "remedy"), UsageError("no")],
    ids=lambda e: type(e).__name__,
)
def test_errors_pickle(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
