"""One folder of results and its page, for all tests of the report."""

import pytest

from helpers.made_samples import Made, build


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Made:
    return build(tmp_path_factory.mktemp("report") / "results")


@pytest.fixture(scope="session")
def page(made) -> str:
    """The page of the folder, in which its texts are then present."""
    from readwarp.cli import main

    assert main(["report", str(made.folder), "-q", "-t", "2"]) == 0
    return (made.folder / "report.html").read_text()
