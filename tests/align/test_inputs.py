"""Files of reads become inputs with read groups."""

import pytest

from readwarp.align.inputs import group_files, merge_programs, read_group_lines
from readwarp.errors import UsageError


@pytest.mark.parametrize(
    ("files", "kinds", "alone", "groups"),
    [
        (["a"], ["fastq"], False, [("a",)]),
        (["a", "b"], ["fastq"] * 2, False, [("a", "b")]),
        (["a", "b"], ["fastq"] * 2, True, [("a",), ("b",)]),
        (["a", "b", "c", "d"], ["fastq"] * 4, False, [("a", "b"), ("c", "d")]),
        (["a", "x", "b"], ["fastq", "bam", "fastq"], False, [("x",), ("a", "b")]),
        (["x", "y"], ["bam", "cram"], False, [("x",), ("y",)]),
        (["x", "a"], ["bam", "fastq"], False, [("x",), ("a",)]),
    ],
)
def test_grouped(files, kinds, alone, groups):
    assert group_files(files, kinds, alone) == groups


def test_odd_number_of_files():
    with pytest.raises(UsageError, match="3 FASTQ files do not make pairs"):
        group_files(["a", "b", "c"], ["fastq"] * 3, False)


NONE: list[list[str]] = [[], [], []]


def test_read_groups_from_names_are_distinct():
    lines = read_group_lines(None, [("x/a_1.fq", "x/a_2.fq"), ("y/a_1.fq", "y/a_2.fq")], NONE[:2])
    assert lines == ["@RG\tID:a\tSM:a", "@RG\tID:a.2\tSM:a"]


def test_one_read_group_for_all_or_one_each():
    one, other = r"@RG\tID:x\tSM:s", "@RG\tID:y\tSM:s"
    assert read_group_lines([one], [("a",), ("b",)], NONE[:2]) == ["@RG\tID:x\tSM:s"] * 2
    assert read_group_lines([one, other], [("a",), ("b",)], NONE[:2]) == ["@RG\tID:x\tSM:s", other]
    with pytest.raises(UsageError, match="2 read groups for 3 inputs"):
        read_group_lines([one, other], [("a",), ("b",), ("c",)], NONE)


def test_own_read_groups_are_kept():
    assert read_group_lines(None, [("a.bam",), ("b.fq",)], [["@RG\tID:q"], []]) == ["", "@RG\tID:b\tSM:b"]


def test_programs_of_several_headers():
    one = "@PG\tID:trim\n@PG\tID:bwa\tPP:trim\tCL:1\n"
    other = "@PG\tID:trim\n@PG\tID:bwa\tPP:trim\tCL:2\n@PG\tID:dedup\tPP:bwa\n"
    assert merge_programs([one, other]) == [
        "@PG\tID:trim",
        "@PG\tID:bwa\tPP:trim\tCL:1",
        "@PG\tID:bwa.1\tPP:trim\tCL:2",
        "@PG\tID:dedup\tPP:bwa.1",
    ]
