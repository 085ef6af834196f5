"""Mutated BAI and CSI beside sound BAM: call refuses the index, or its calls are those of a sound index."""

import copy

import pysam
import pytest

from helpers.alignment_indexes import Index, mutate, write_piles
from helpers.fuzzing import Case, campaign

REGIONS = ((), ("-r", "two:30,000-36,000"), ("-r", "one:60,000-"), ("-r", "two"))


def make_files(folder, server):
    """BAM with both indexes, and the calls of the whole reference and of regions."""
    path = write_piles(folder)
    for option, ending in (("-b", "bai"), ("-c", "csi")):
        pysam.samtools.index(option, "-o", f"{path}.{ending}", str(path))
    (folder / "reads.bam.csi").rename(folder / "index.csi")
    for number, region in enumerate(REGIONS):
        server.warm_up(folder, ["call", "ref.fa", "reads.bam", *region, "-o", f"{number}.vcf", "-q"])
    return folder


@pytest.fixture(scope="session")
def files(tmp_path_factory, server):
    return make_files(tmp_path_factory.mktemp("indexes"), server)


@pytest.fixture(scope="session")
def checked_files(tmp_path_factory, checking_server):
    return make_files(tmp_path_factory.mktemp("checked-indexes"), checking_server)


def maker(files, kind):
    name = {"bai": "reads.bam.bai", "csi": "index.csi"}[kind]
    index = Index.read(files / name)

    def make(chance):
        what, data = mutate(chance, copy.deepcopy(index))
        region = chance.choice((0, 0, *range(1, len(REGIONS))))
        given = {"ref.fa": files / "ref.fa", "x.bam": files / "reads.bam", f"x.bam.{kind}": data}
        given["expected.vcf"] = files / f"{region}.vcf"
        arguments = ("call", "ref.fa", "x.bam", *REGIONS[region], "-o", "o.vcf", "-q")
        checks = [("helpers.fuzz_checks:same_variants", ["o.vcf", "expected.vcf"])]
        return Case(what, given, arguments, f"x.bam.{kind}", checks)

    return make


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bai", "csi"])
def test_indexes(pytestconfig, server, files, tmp_path, kind):
    campaign(pytestconfig, server, tmp_path, f"index-{kind}", maker(files, kind))


@pytest.mark.slow
@pytest.mark.xdist_group("bounds")  # one server compiles for all of them
def test_bounds(pytestconfig, checking_server, checked_files, tmp_path):
    campaign(pytestconfig, checking_server, tmp_path, "index-bounds", maker(checked_files, "bai"), share=0.2)
