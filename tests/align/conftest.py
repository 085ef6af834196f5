"""A small genome with a repeat, an index of it, and reads cut from it."""

import pytest

from helpers.align_oracle import random_bases
from readwarp.align import Aligner
from readwarp.align.pair import given
from readwarp.index import Index


@pytest.fixture(scope="session")
def genome() -> dict[str, str]:
    """one: unique; two: three copies of 800 bases between unique ones; tiny: shorter than a read."""
    copy = random_bases(800, 5)
    two = "".join(random_bases(1500, seed) + copy for seed in (6, 7, 8)) + random_bases(1500, 9)
    return {"one": random_bases(20_000, 4), "two": two, "tiny": random_bases(90, 10)}


@pytest.fixture(scope="session")
def index(genome, tmp_path_factory) -> Index:
    path = tmp_path_factory.mktemp("genome") / "genome.fa"
    path.write_text("".join(f">{name}\n{bases}\n" for name, bases in genome.items()))
    return Index.build(path)


@pytest.fixture(scope="session")
def aligner(index) -> Aligner:
    return Aligner(index, insert_sizes=given(350, 40))
