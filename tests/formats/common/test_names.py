"""A name is held by every format, or refused before work begins."""

import re

import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.hostile import names
from readwarp.errors import InputError, UsageError
from readwarp.formats.alignments.header import Contig, field, header_text, lines_of, read_group_line
from readwarp.formats.common.names import ROOM, contig_problem, file_problem, sample_problem, text_problem
from readwarp.formats.variants.vcf import Header, check_contigs
from readwarp.wording import printable

SAM = re.compile(r"[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*")  # of the specification
CONTIGS = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=8)


@pytest.fixture
def vcf(tmp_path):
    """vcf(header): what pysam reads of it: contigs and samples."""

    def read(header: Header) -> tuple[list[str], list[str]]:
        path = tmp_path / "x.vcf"
        path.write_text(header.text(), encoding="utf-8")
        with pysam.VariantFile(str(path)) as file:
            return list(file.header.contigs), list(file.header.samples)

    return read


@given(st.one_of(CONTIGS, names))
def test_names_of_contigs_are_those_of_the_specification(name):
    """And those with commas, which are in use, where VCF is not."""
    assert (contig_problem(name) is None) == bool(SAM.fullmatch(name.replace(",", "_")))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "the contig has no name"),
        ("é", "its name is not printable ASCII"),
        ("*a", "the name of a contig cannot begin with '*'"),
        ("=a", "the name of a contig cannot begin with '='"),
        ("a<b>", "the name of a contig cannot have '<' in SAM and VCF"),
        ("(a)", "the name of a contig cannot have '('"),
    ],
)
def test_why_a_contig_is_refused(name, said):
    assert contig_problem(name).startswith(said)


def test_a_contig_comes_back(vcf):
    @given(CONTIGS)
    def check(name):
        if contig_problem(name):
            return
        header = pysam.AlignmentHeader.from_text(header_text([Contig(name, 100)]))
        assert header.references == (name,)
        try:
            check_contigs("ref.fa", [name])
        except InputError:
            assert "," in name
        else:
            assert vcf(Header([(name, 100, "")], ["s"], "", "", (), ()))[0] == [name]

    check()


def test_a_sample_comes_back(vcf):
    """By pysam, from the headers of SAM and VCF, whatever the other texts in them are."""

    @given(names, names)
    def check(name, other):
        if text_problem(name):
            with pytest.raises(UsageError):
                read_group_line(f"@RG\tID:x\tSM:{name}")
            return
        line = read_group_line(f"@RG\tID:x\tSM:{name}") if "\\t" not in name else f"@RG\tID:x\tSM:{name}"
        text = header_text([Contig("c", 100)], read_groups=[line])
        assert lines_of(text, "RG") == [line] and field(line, "SM") == name
        assert str(pysam.AlignmentHeader.from_text(text)) == text
        if sample_problem(name):
            assert not name.strip(" ")
            return
        found = vcf(Header([("c", 100, "")], [name], command=other, reference=other, information=(), filters=()))
        assert found == (["c"], [name])

    check()


@given(names)
def test_a_file_named_after_a_sample_lies_in_its_folder(name):
    if file_problem(name):
        return
    assert "/" not in name and "\0" not in name and not name.startswith((".", "-"))
    assert len(f"{name}{'x' * ROOM}".encode()) <= 255
    assert not re.match("[a-z0-9]+:", name, re.IGNORECASE) or len(name.partition(":")[0]) == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        *[("a/b", "has a slash"), ("..", "begins with '.'"), (".a", "begins with '.'"), ("-a", "begins with '-'")],
        *[
            ("", "is blank"),
            (" ", "is blank"),
            ("a\nb", "has '\\n'"),
            ("a\x1b[2J", "has '\\x1b'"),
            ("a\u2028", "has '\\u2028'"),
        ],
        *[("s3:a", "begins like an address"), ("a##idx##b", "has '##idx##'"), ("é" * 96, "has more than 191 bytes")],
    ],
)
def test_why_no_file_is_named_after_a_sample(name, said):
    assert file_problem(name).startswith(said)


@pytest.mark.parametrize("name", ["NA12878", "a b", "a'b", '$(id)"', "日本😀", "x:1", "<b>", "é" * 95])
def test_usual_and_odd_names_are_kept(name):
    assert file_problem(name) is None


@given(names)
def test_a_message_is_one_line_and_steers_no_terminal(name):
    shown = printable(name)
    assert shown.isprintable() and shown.encode() and len(shown.splitlines()) <= 1
    if name.isprintable():
        assert shown == name
