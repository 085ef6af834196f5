"""Molecules by UMI compared with an oracle in plain Python, for all kinds of templates, windows and spills."""

from collections import Counter

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.batch_samples import sam_lines
from helpers.random_templates import CONTIGS, GROUPS, templates, written
from helpers.umi_oracle import directional, expect
from readwarp.config import DuplicateRules
from readwarp.finish import runs, sort, umi_clusters
from readwarp.finish.umi_clusters import Nodes, cluster
from readwarp.finish.umis import RecordUmis
from readwarp.finish.writer import AlignmentWriter, Finish
from readwarp.formats.alignments.encoded import Encoded
from readwarp.formats.alignments.header import header_text
from readwarp.ragged import empty, offsets_of

LIBRARIES = {"a": 0, "b": 1, "c": 0}  # as in GROUPS


def umi_fields(parts, unknown=0.05):
    """Makes RX of few letters, so that UMIs meet and are neighbours; some with N; and an old MI."""

    def make(rng):
        text = "-".join("".join(rng.choices("ACGT", (8, 4, 1, 1), k=3)) for _ in range(parts))
        if rng.random() < unknown:
            text = "N" + text[1:]
        old = rng.choice((b"MIZ9\0", b"MIi\7\0\0\0", b""))
        return old + b"RXZ" + text.encode() + b"\0" + b"ZZZend\0"

    return make


def marked(path, seed, parts, spread, duplex=False):
    made = templates(seed, 1000, spread, (0, 1, 2), umi_fields(parts))
    rules = DuplicateRules(umis=True, duplex=duplex)
    header = header_text(CONTIGS, "coordinate", GROUPS)
    with AlignmentWriter(str(path), header, Finish("coordinate", mark_duplicates=True, duplicates=rules)) as writer:
        for batch in made:
            writer.write(batch)
    return writer


@pytest.fixture
def small_runs(monkeypatch):
    """Runs of 30 kB go to files, of which four are merged at once, in pieces of 16 kB."""
    small = sort.SortSizes(capacity=60_000, piece=16_000, frame=4_000)
    monkeypatch.setattr(sort.SortSizes, "of", lambda memory, threads: small)
    monkeypatch.setattr(runs, "IN_MEMORY", 2_000)


def found(path):
    """MI of each template, which its mates share, and the names of duplicates."""
    molecules, duplicates = {}, Counter()
    with pysam.AlignmentFile(str(path)) as file:
        for record in file:
            fields = [tag for tag, _ in record.get_tags()]
            assert len(set(fields)) == len(fields)
            assert record.get_tag("ZZ") == "end"
            if record.is_supplementary:
                assert not record.has_tag("MI") and not record.is_duplicate
            elif record.has_tag("MI"):
                assert molecules.setdefault(record.query_name, record.get_tag("MI")) == record.get_tag("MI")
                duplicates[record.query_name] += record.is_duplicate
            else:
                assert not record.is_duplicate and record.query_name not in molecules
    return molecules, duplicates


@pytest.mark.parametrize("spilled", [False, True])
@pytest.mark.parametrize(("parts", "duplex"), [(1, False), (2, False), (2, True)])
def test_molecules_are_those_of_the_oracle(tmp_path, parts, duplex, spilled, request):
    if spilled:
        request.getfixturevalue("small_runs")
    writer = marked(tmp_path / "ours.bam", 5 + parts, parts, 3, duplex)
    expected = expect(tmp_path / "ours.bam", LIBRARIES, duplex)
    molecules, duplicates = found(tmp_path / "ours.bam")
    assert molecules == expected.molecules
    assert {name for name, number in duplicates.items() if number} == expected.duplicates
    assert writer.families == expected.families
    assert len(expected.duplicates) > 60 and max(expected.families) > 3
    assert writer.duplicates == sum(duplicates.values())


def test_an_odd_place_has_one_leftmost_mate(tmp_path):
    """Hundreds of templates at two places, among them mates that begin at one base."""
    marked(tmp_path / "ours.bam", 3, 1, 1)
    expected = expect(tmp_path / "ours.bam", LIBRARIES)
    molecules, duplicates = found(tmp_path / "ours.bam")
    assert molecules == expected.molecules
    assert {name for name, number in duplicates.items() if number} == expected.duplicates


def test_without_umis_nothing_changes(tmp_path):
    """RX alone tells no molecules apart: the same flags as without it, and MI as it was."""
    made = templates(4, 500, 4, (0,), umi_fields(1))
    plain = sam_lines(written(tmp_path / "plain.bam", made, "coordinate"))
    made = templates(4, 500, 4, (0,), umi_fields(1))
    ours = sam_lines(written(tmp_path / "ours.bam", made, "coordinate", mark_duplicates=True))
    rows = [line.split("\t", 2) for line in ours]
    assert ["\t".join([name, str(int(flag) & ~1024), rest]) for name, flag, rest in rows] == plain
    assert sum(int(flag) & 1024 != 0 for _, flag, _ in rows) > 100


def clusters_of(counts):
    """The kernels on one group with these UMIs."""
    texts = list(counts)
    lengths = [len(text) for text in texts]
    letters = np.frombuffer("".join(texts).encode(), np.uint8)
    umis = RecordUmis(letters, offsets_of(lengths), np.zeros(len(texts), np.uint8))
    signatures = Encoded(np.zeros(32 * len(texts), np.uint8), 32 * np.arange(len(texts) + 1))
    nodes, node = empty(Nodes, {"nodes": len(texts)}), np.empty(len(texts), np.int64)
    table = np.full(1 << (2 * len(texts)).bit_length(), -1, np.int32)
    assert umi_clusters.number_umis(signatures, umis, np.zeros(len(texts), np.int64), table, node, nodes) == len(texts)
    nodes.number[node] = list(counts.values())
    seed = cluster(umis, nodes, table)
    return {texts[i]: texts[nodes.record[seed[node[i]]]] for i in range(len(texts))}


COUNTS = st.dictionaries(st.text("AC", min_size=4, max_size=4), st.integers(1, 9), min_size=1, max_size=16)
DUAL = st.dictionaries(st.from_regex(r"[ACGT]{2}-[AG]{1}", fullmatch=True), st.integers(1, 9), min_size=1, max_size=30)


@settings(max_examples=150)
@given(COUNTS | DUAL)
def test_clusters_are_those_of_the_oracle(counts):
    assert clusters_of(counts) == directional(counts)


def test_clusters_by_hand():
    """The example that UMI-tools' authors draw: the directional method finds two molecules."""
    counts = {"ACGT": 456, "TCGT": 2, "CCGT": 2, "ACAT": 72, "ACAG": 1, "AAAT": 90}
    seeds = clusters_of(counts)
    assert {umi for umi, seed in seeds.items() if seed == "AAAT"} == {"AAAT"}
    assert set(seeds.values()) == {"ACGT", "AAAT"}


def test_a_chain_grows_from_the_most_frequent():
    assert clusters_of({"AAAA": 1, "AAAC": 1, "AACC": 1, "CCCC": 1})["AACC"] == "AAAA"
    assert clusters_of({"AAAA": 4, "AAAC": 3}) == {"AAAA": "AAAA", "AAAC": "AAAC"}
    assert clusters_of({"AAAA": 5, "AAAC": 3}) == {"AAAA": "AAAA", "AAAC": "AAAA"}


def test_many_umis_at_one_place_are_not_compared_with_each_other():
    """50,000 UMIs of one group, each once: clusters are what neighbours connect. All against all would take minutes."""
    rng = np.random.default_rng(1)
    letters = np.unique(rng.choice(list("ACGT"), (60_000, 9)), axis=0)
    seeds = clusters_of(dict.fromkeys(map("".join, letters.tolist()), 1))
    assert len(seeds) > 50_000
    for umi, seed in seeds.items():
        for i in range(9):
            near = (umi[:i] + letter + umi[i + 1 :] for letter in "ACGT")
            assert {seeds.get(other, seed) for other in near} == {seed}
    assert 1 < len(set(seeds.values())) < len(seeds)
