"""Files of reads become inputs with read groups."""

import pytest

from readwarp.align.inputs import group_files, merge_programs
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
    with pytest.raises(UsageError, match="3 FASTQ files are not pairs"):
        group_files(["a", "b", "c"], ["fastq"] * 3, False)


def test_programs_of_several_headers():
    one = "@PG\tID:trim\n@PG\tID:bwa\tPP:trim\tCL:1\n"
    other = "@PG\tID:trim\n@PG\tID:bwa\tPP:trim\tCL:2\n@PG\tID:dedup\tPP:bwa\n"
    assert merge_programs([one, other]) == [
        "@PG\tID:trim",
        "@PG\tID:bwa\tPP:trim\tCL:1",
        "@PG\tID:bwa.1\tPP:trim\tCL:2",
        "@PG\tID:dedup\tPP:bwa.1",
    ]
