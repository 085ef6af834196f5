"""What can be read, what may be written."""

import os
from pathlib import Path

import pytest

from readwarp.errors import InputError, UsageError
from readwarp.formats.common.files import check_inputs, check_output, named_files


def test_check_output(tmp_path):
    there = tmp_path / "there.bam"
    there.touch()
    check_output(tmp_path / "new.bam", False)
    check_output(there, True)
    check_output(None, False)
    with pytest.raises(UsageError, match="exists already"):
        check_output(there, False)
    with pytest.raises(UsageError, match="is an input too"):
        check_output(there, True, [tmp_path / "." / "there.bam"])
    with pytest.raises(UsageError, match="no folder"):
        check_output(tmp_path / "no" / "x.bam", False)
    with pytest.raises(UsageError, match="is a folder"):
        check_output(tmp_path, True)


def test_a_device_is_written_to_without_force(tmp_path):
    check_output(Path("/dev/null"), False)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_output(pipe, False)


def test_check_inputs(tmp_path):
    there = tmp_path / "r.fq"
    there.touch()
    check_inputs([there, "-"])
    with pytest.raises(UsageError, match="only once"):
        check_inputs(["-", "-"])
    with pytest.raises(InputError, match=r"no\.fq: no such file"):
        check_inputs([there, tmp_path / "no.fq"])
    with pytest.raises(InputError, match="is a directory"):
        check_inputs([tmp_path])


@pytest.mark.parametrize("text", [b"a.bam\nb\0.bam\n", b"\xff.bam\n"])
def test_lists_with_what_no_name_has(tmp_path, text):
    (tmp_path / "l.txt").write_bytes(text)
    with pytest.raises(InputError, match=r"l\.txt: is not a list of file names"):
        list(named_files(f"@{tmp_path}/l.txt", "BAM or CRAM"))


def test_lines_of_lists_end_as_in_a_shell(tmp_path):
    (tmp_path / "l.txt").write_text("# two\na\u2028b.bam\r\n\n c.bam")
    assert [*named_files(f"@{tmp_path}/l.txt", "BAM or CRAM")] == [Path("a\u2028b.bam"), Path("c.bam")]
