"""The small reference and its reads as files."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.command_samples import CONTIGS, fasta, pairs, record
from readwarp.cli import main


@pytest.fixture(scope="session")
def reference(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("reference") / "ref.fa"
    path.write_text(fasta(CONTIGS))
    assert main(["index", str(path), "-q"]) == 0
    return path


@pytest.fixture(scope="session")
def mates(tmp_path_factory) -> tuple[Path, Path]:
    """200 pairs in two files."""
    folder, made = tmp_path_factory.mktemp("reads"), pairs(200)
    first, last = folder / "s_1.fq", folder / "s_2.fq"
    first.write_text("".join(record(f"{name}/1", a) for name, a, _ in made))
    last.write_text("".join(record(f"{name}/2", b) for name, _, b in made))
    return first, last


@pytest.fixture
def write(tmp_path) -> Callable[[str, str | bytes], str]:
    """Write a file (gzipped if its name ends in .gz and text is given) and return its path."""

    def write(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        if isinstance(content, str):
            content = gzip.compress(content.encode()) if name.endswith(".gz") else content.encode()
        path.write_bytes(content)
        return str(path)

    return write
