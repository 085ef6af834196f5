"""chr1 and 1: contigs that go by other names are said, with the remedy."""

import re
import subprocess

import pytest

from readwarp.formats.common.contig_names import explain_absent, listed, other_name, remedy_for

UCSC, ENSEMBL = ["chr1", "chr2", "chrX", "chrM", "chrUn_1"], ["1", "2", "X", "MT"]


@pytest.mark.parametrize(
    ("name", "known", "other"),
    [
        ("1", UCSC, "chr1"),
        ("chr1", ENSEMBL, "1"),
        ("Chr1", UCSC, "chr1"),
        ("CHRX", ENSEMBL, "X"),
        ("MT", UCSC, "chrM"),
        ("chrM", ENSEMBL, "MT"),
        ("M", ENSEMBL, "MT"),
        ("3", UCSC, None),
        ("chr12", ENSEMBL, None),
    ],
)
def test_other_names(name, known, other):
    assert other_name(name, known) == other


def test_reasons():
    assert explain_absent("1", UCSC) == "no contig '1' in the reference, which calls it 'chr1'"
    assert explain_absent("chr22", ENSEMBL) == "no contig 'chr22' in the reference, which has '1', '2', 'X', ..."
    assert explain_absent("contig_17", ["contig_71", "x"]).endswith("which has 'contig_71'")
    assert explain_absent("1", UCSC, "intervals").endswith(r"as by `sed 's/^MT\b/M/;s/^/chr/'`")
    assert explain_absent("chr1", ENSEMBL, "variants").endswith("--rename-chrs NAMES`, a line `chr1 1` for each")
    assert "sed 's/SN:chr/SN:/'" in remedy_for("alignments", "chr1", "1", ["1", "2"])
    assert listed(["a"]) == "'a'"


@pytest.mark.parametrize(
    ("own", "known"),
    [
        (["1", "X", "MT", "MTX.1"], ["chr1", "chrX", "chrM", "chrMTX.1"]),
        (["1", "X", "M"], ["chr1", "chrX", "chrM"]),
        (["chr1", "chrX", "chrM"], ["1", "X", "MT"]),
        (["chr1", "chrMT"], ["1", "MT"]),
        (["MT"], ["chrM"]),
        (["chrM"], ["chrMT"]),
        (["M"], ["MT"]),
        (["chr1"], ["Chr1"]),
        (["CHR1", "CHRMT"], ["1", "MT"]),
    ],
)
def test_the_command_that_renames_is_right(own, known):
    """As a shell runs it, whichever contig the message is about."""
    files = {
        "alignments": ("@SQ\tSN:{}\tLN:5\n", r"-c \"(sed '.*')\"`"),
        "intervals": ("{}\t0\t5\n", r"`(sed '.*')`"),
    }
    for kind, (line, pattern) in files.items():
        text, wanted = ("".join(map(line.format, names)) for names in (own, known))
        for name in own:
            command = re.search(pattern, remedy_for(kind, name, other_name(name, known), known))[1]
            assert subprocess.run(command, shell=True, text=True, input=text, capture_output=True).stdout == wanted
