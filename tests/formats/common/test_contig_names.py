"""chr1 and 1: contigs that go by other names are said, with the remedy."""

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
    assert explain_absent("1", UCSC, "intervals").endswith("rename those of the file, as by `sed 's/^/chr/'`")
    assert explain_absent("chr1", ENSEMBL, "variants").endswith("--rename-chrs NAMES`, a line `chr1 1` for each")
    assert "sed 's/SN:chr/SN:/'" in remedy_for("alignments", "chr1", "1")
    assert listed(["a"]) == "'a'"
