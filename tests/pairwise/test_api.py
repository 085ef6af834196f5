"""readwarp.pairwise compared with parasail and Biopython, and odd inputs."""

import pickle
import subprocess
import sys

import numpy as np
import parasail
import pytest
from Bio.Align import PairwiseAligner, substitution_matrices
from Bio.Seq import Seq

import readwarp
from helpers.sequences import records_of
from readwarp.config import Scoring
from readwarp.errors import UsageError
from readwarp.pairwise import MatrixScoring, pairwise
from readwarp.python.sequences import SequenceError

PEERS = {"local": parasail.sw_striped_32, "global": parasail.nw_striped_32, "semiglobal": parasail.sg_dx_striped_32}
SCORINGS = [Scoring(), Scoring(2, 3, 4, 1), Scoring(1, 0, 0, 2), Scoring(5, 1, 3, 1), Scoring(10, 9, 25, 3)]


def letters(rng, alphabet, number, low, high):
    return ["".join(rng.choice(list(alphabet), rng.integers(low, high))) for _ in range(number)]


def edited(rng, query, alphabet):
    cut = rng.integers(0, len(query) + 1)
    return query[:cut] + letters(rng, alphabet, 1, 0, 6)[0] + query[cut + rng.integers(0, 5) :] + alphabet[0]


def biopython(mode, open_score, extend_score, **scores):
    aligner = PairwiseAligner(mode="local" if mode == "local" else "global", **scores)
    aligner.open_gap_score, aligner.extend_gap_score = open_score, extend_score
    if mode == "semiglobal":
        aligner.open_end_deletion_score = aligner.extend_end_deletion_score = 0
    return aligner


def rescored(query, target, row, result, match_score, gap_open, gap_extend):
    i, j, score = int(result.target_start[row]), int(result.query_start[row]), 0
    for run in result.cigar[result.cigar_offsets[row] : result.cigar_offsets[row + 1]]:
        length, operation = int(run) >> 4, "MIDNSHP=X"[int(run) & 15]
        if operation in "=X":
            for k in range(length):
                assert (query[j + k] == target[i + k]) == (operation == "=")
                score += match_score(query[j + k], target[i + k])
        else:
            score -= gap_open + gap_extend * length
        i, j = i + length * (operation != "I"), j + length * (operation != "D")
    assert (j, i) == (result.query_stop[row], result.target_stop[row])
    return score


@pytest.mark.parametrize("mode", PEERS)
@pytest.mark.parametrize("scoring", SCORINGS, ids=str)
def test_as_parasail_and_biopython(mode, scoring):
    rng = np.random.default_rng(5)
    queries = letters(rng, "ACGT", 80, 1, 90)
    targets = [edited(rng, query, "ACGT") for query in queries]
    result = pairwise(queries, targets, scoring, mode, traceback=True)
    matrix = parasail.matrix_create("ACGT", scoring.match, -scoring.mismatch)
    opening, extending = scoring.gap_open + scoring.gap_extend, scoring.gap_extend
    aligner = biopython(mode, -opening, -extending, match_score=scoring.match, mismatch_score=-scoring.mismatch)
    for row, (query, target) in enumerate(zip(queries, targets, strict=True)):
        assert result.score[row] == PEERS[mode](query, target, opening, extending, matrix).score
        assert result.score[row] == aligner.score(target, query)
        score = rescored(
            query, target, row, result, lambda a, b: scoring.match if a == b else -scoring.mismatch,
            scoring.gap_open, scoring.gap_extend,
        )  # fmt: skip
        assert score == result.score[row]


@pytest.mark.parametrize("mode", PEERS)
def test_proteins(mode):
    rng, blosum = np.random.default_rng(6), substitution_matrices.load("BLOSUM62")
    queries = letters(rng, "ARNDCQEGHILKMFPSTWYV", 60, 1, 80)
    targets = [edited(rng, query, "ARNDCQEGHILKMFPSTWYV") for query in queries]
    result = pairwise(queries, targets, MatrixScoring(blosum, blosum.alphabet, 10, 1), mode, traceback=True)
    aligner = biopython(mode, -11, -1, substitution_matrix=blosum)
    for row, (query, target) in enumerate(zip(queries, targets, strict=True)):
        assert result.score[row] == PEERS[mode](query, target, 11, 1, parasail.blosum62).score
        assert result.score[row] == aligner.score(target, query)
        assert result.score[row] == rescored(query, target, row, result, lambda a, b: blosum[a][b], 10, 1)


def test_longer_than_8_bits_hold():
    rng = np.random.default_rng(8)
    query = letters(rng, "ACGT", 1, 1000, 1001)[0]
    target = query[:400] + query[430:700] + "ACGTACGT" + query[700:]
    result = pairwise(query, target, Scoring(2, 3, 4, 1), "global", traceback=True)
    expected = parasail.nw_trace_striped_32(query, target, 5, 1, parasail.matrix_create("ACGT", 2, -3))
    assert (len(result), result.score[0]) == (1, expected.score)


def test_kinds_of_input():
    expected = pairwise(["ACGTN"], ["ACGTN"], traceback=True)
    assert (expected.score[0], expected.cigar_string(0)) == (4, "4=")  # N matches nothing
    codes = np.array([0, 1, 2, 3, 4], np.uint8)
    for same in ("acgun", b"ACGTN", codes, [codes], codes[None, :], ["ACGTN"]):
        assert pairwise(same, same, traceback=True).cigar_string(0) == "4="
    assert pairwise("ACGT", ["ACGT", "AC", "", "TTTT"]).score.tolist() == [4, 2, 0, 1]
    assert pairwise(["ACGT", "AC"], "ACGT").score.tolist() == [4, 2]
    assert len(pairwise([], [])) == len(pairwise([], [], traceback=True)) == 0
    plain = pairwise("ACGT", "AGGT", Scoring(3, 1, 9, 1), traceback=True, eqx=False)
    assert (plain.cigar_string(0), plain.edit_distance[0]) == ("4M", 1)
    assert pairwise(["BV"], ["BV"]).score[0] == 2  # equal letters match


@pytest.mark.parametrize(
    ("mode", "query", "target", "score", "cigar"),
    [("global", "", "ACG", -9, "3D"), ("global", "ACG", "", -9, "3I"), ("global", "", "", 0, ""),
     ("semiglobal", "", "ACG", 0, ""), ("semiglobal", "ACG", "", -9, "3I"), ("local", "", "ACG", 0, "")],
)  # fmt: skip
def test_empty_sequences(mode, query, target, score, cigar):
    result = pairwise([query], [target], mode=mode, traceback=True)
    assert (result.score[0], result.cigar_string(0)) == (score, cigar)


def test_bad_input():
    with pytest.raises(UsageError, match="mode"):
        pairwise("A", "A", mode="overlap")
    with pytest.raises(UsageError, match="2 queries and 3 targets"):
        pairwise(["A"] * 2, ["A"] * 3)
    with pytest.raises(UsageError, match="traceback"):
        pairwise("A", "A").cigar_string(0)
    with pytest.raises(UsageError, match="queries: sequence 1 has 'Z' at position 2, which the matrix does not have"):
        pairwise("AZ", "A", MatrixScoring(np.eye(4), "ACGT", 1, 1))
    with pytest.raises(UsageError, match="integers"):
        pairwise("A", "A", MatrixScoring(np.eye(4) / 2, "ACGT", 1, 1))
    with pytest.raises(UsageError, match="scoring 'BLOSUM62': give a Scoring or a MatrixScoring"):
        pairwise("A", "A", "BLOSUM62")
    with pytest.raises(UsageError, match="quantum"):
        pairwise("A", "A", device="quantum")


@pytest.mark.parametrize(
    "lines",
    [
        "import readwarp; f = readwarp.pairwise",
        "from readwarp.pairwise import pairwise as f",
        "import readwarp, readwarp.pairwise; f = readwarp.pairwise",
        "from readwarp import pairwise as f; import readwarp.pairwise",
        "import readwarp.pairwise.cpu, readwarp; f = readwarp.pairwise",
        "import readwarp; readwarp.pairwise; import readwarp.pairwise.api; f = readwarp.pairwise",
    ],
)
def test_callable_in_any_order_of_imports(lines):
    done = subprocess.run(
        [sys.executable, "-c", f"{lines}\nprint(f('ACGT', 'ACGT').score[0])"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.strip()) == (0, "4"), done.stderr


def test_the_module_is_the_function():
    assert readwarp.pairwise("ACGT", "CG", mode="local").score.tolist() == [2]


@pytest.mark.parametrize("kind", ["SeqRecord", "dnaio", "FastxRecord", "AlignedSegment"])
def test_records_of_other_libraries(kind, tmp_path):
    record = records_of("r", "ACGTA", "IIIII", tmp_path)[kind]
    expected = pairwise("ACGTA", "TTACGTATT", traceback=True)
    assert list(pairwise([record], ["TTACGTATT"], traceback=True)) == list(expected)
    assert list(pairwise(record, Seq("TTACGTATT"), traceback=True)) == list(expected)


@pytest.mark.parametrize(
    ("queries", "reason"),
    [
        (["ACGT", "MKVLE"], "queries: sequence 2 has 'L' at position 4, .*; proteins need a matrix"),
        ("ref.fa", "queries: sequence 1 has 'e' at position 2"),
        (["AC-T"], "queries: sequence 1 has '-' at position 3"),
        ([None], "queries: sequence 1 is of type NoneType: neither text nor an array of codes"),
        ([np.array([0.5])], "queries: sequence 1 is an array, but not of codes"),
        ([np.frombuffer(b"ACGT", np.uint8)], r"has 65, a code .*; these are letters: give array.tobytes\(\)"),
        ([np.array([0, 5])], "queries: sequence 1 has 5, a code that the scoring does not know"),
        (np.array([-1, 0]), "queries: sequence 1 has -1, a code"),
        (readwarp.Ragged(np.array([9], np.uint8), [0, 1]), "queries: the Ragged has 9, a code"),
        (3, "queries: int is neither a sequence nor a list of them"),
    ],
)  # fmt: skip
def test_refusals_of_sequences(queries, reason):
    with pytest.raises(UsageError, match=reason):
        pairwise(queries, "ACGT")


def test_a_matrix_by_its_name():
    assert pairwise("HEAGAWGHEE", "PAWHEAE", MatrixScoring.load("BLOSUM62")).score.tolist() == [17]
    with pytest.raises(UsageError, match=r"matrix 'BLOSUM63': not one of .*BLOSUM62"):
        MatrixScoring.load("BLOSUM63")


def test_rows_and_tables():
    found = pairwise(["ACGTT", "GG"], ["TTACGTT", "CC"], traceback=True)
    assert list(found) == [(5, 5, 7, 0, 2, 0, "5="), (0, 0, 0, 0, 0, 0, "")] and found[-1] == found[1]
    assert repr(found) == "Alignments(scores, spans and CIGARs of 2 pairs)"
    frame, arrow = found.to_pandas(), found.to_arrow()
    assert frame.to_dict("list") == arrow.to_pydict()
    assert arrow.to_pylist() == [pair._asdict() for pair in found]
    scores = pairwise("ACGTT", "TTACGTT")
    assert list(scores) == [(5, 5, 7, None, None, None, None)] and scores[0] == next(iter(scores))
    assert scores.to_arrow().column_names == ["score", "query_stop", "target_stop"]
    assert repr(scores) == "Alignments(scores and stops of 1 pair)"
    with pytest.raises(IndexError, match="pair 1: there are 1"):
        scores[1]


def test_results_and_functions_pickle():
    found = pairwise("ACGTT", "TTACGTT", traceback=True)
    assert list(pickle.loads(pickle.dumps(found))) == list(found)
    assert pickle.loads(pickle.dumps(readwarp.pairwise)) is readwarp.pairwise
    error = SequenceError("queries", 3, "is bad")
    assert vars(pickle.loads(pickle.dumps(error))) == vars(error)
