"""Options become values, or a usage error that says what is wrong."""

import argparse
import os

import pytest
from readwarp.cli.inputs import grouped, merged_programs, read_group_lines

from readwarp.cli import options
from readwarp.cli.align import insert_size
from readwarp.errors import InputError, UsageError


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("17", 17),
        ("4G", 4 << 30),
        ("4g", 4 << 30),
        ("500M", 500 << 20),
        ("1.5K", 1536),
        ("2GB", 2 << 30),
        ("2GiB", 2 << 30),
    ],
)
def test_size(text, number):
    assert options.size(text) == number


@pytest.mark.parametrize("text", ["", "G", "many", "-1G", "0", "1e400", "nan", "4X"])
def test_not_a_size(text):
    with pytest.raises(argparse.ArgumentTypeError):
        options.size(text)


@pytest.mark.parametrize(("text", "number"), [("1", 1), ("20M", 20_000_000), ("3k", 3000)])
def test_count(text, number):
    assert options.count(text) == number


@pytest.mark.parametrize("text", ["0", "-3", "1.5", "", "x"])
def test_not_a_count(text):
    with pytest.raises(argparse.ArgumentTypeError):
        options.count(text)


@pytest.mark.parametrize(
    ("text", "value"), [("400", (400.0,)), ("400,50", (400.0, 50.0)), ("400,50.5,700,100", (400.0, 50.5, 700, 100))]
)
def test_insert_size(text, value):
    assert insert_size(text) == value


@pytest.mark.parametrize("text", ["", "a", "1,2,3,4,5", "400,50,7.5", "nan", "400,inf"])
def test_not_an_insert_size(text):
    with pytest.raises(argparse.ArgumentTypeError):
        insert_size(text)


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
    assert grouped(files, kinds, alone) == groups


def test_odd_number_of_files():
    with pytest.raises(UsageError, match="3 FASTQ files do not make pairs"):
        grouped(["a", "b", "c"], ["fastq"] * 3, False)


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
    assert merged_programs([one, other]) == [
        "@PG\tID:trim",
        "@PG\tID:bwa\tPP:trim\tCL:1",
        "@PG\tID:bwa.1\tPP:trim\tCL:2",
        "@PG\tID:dedup\tPP:bwa.1",
    ]


def test_check_output(tmp_path):
    there = tmp_path / "there.bam"
    there.touch()
    options.check_output(tmp_path / "new.bam", False)
    options.check_output(there, True)
    options.check_output(None, False)
    with pytest.raises(UsageError, match="exists already"):
        options.check_output(there, False)
    with pytest.raises(UsageError, match="is an input too"):
        options.check_output(there, True, [tmp_path / "." / "there.bam"])
    with pytest.raises(UsageError, match="no folder"):
        options.check_output(tmp_path / "no" / "x.bam", False)
    with pytest.raises(UsageError, match="is a folder"):
        options.check_output(tmp_path, True)


def test_a_device_is_written_to_without_force(tmp_path):
    from pathlib import Path

    options.check_output(Path("/dev/null"), False)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    options.check_output(pipe, False)


def test_check_inputs(tmp_path):
    there = tmp_path / "r.fq"
    there.touch()
    options.check_inputs([there, "-"])
    with pytest.raises(UsageError, match="once only"):
        options.check_inputs(["-", "-"])
    with pytest.raises(InputError, match=r"no\.fq: no such file"):
        options.check_inputs([there, tmp_path / "no.fq"])
    with pytest.raises(InputError, match="is a directory"):
        options.check_inputs([tmp_path])
