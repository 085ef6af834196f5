"""The germline workflow in a folder of its own, on real reads, and a SLURM with two nodes to run it on."""

import gzip
import os
import shutil
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from helpers.workflow_runs import OTHER, READS, ROOT


@pytest.fixture(scope="session")
def snakemake_installed() -> None:
    if find_spec("snakemake") is None:
        pytest.skip("needs snakemake: pip install '.[workflows]'")


@pytest.fixture
def project(tmp_path, snakemake_installed) -> Callable[..., Path]:
    """Make a folder with the workflow, a config and tables, and return its path."""

    def make(samples: str, units: str, reference: Path, **config: object) -> Path:
        folder = tmp_path / "project"
        shutil.copytree(ROOT / "workflows" / "germline", folder, ignore=shutil.ignore_patterns(".snakemake", "results"))
        (folder / "config" / "samples.tsv").write_text(samples)
        (folder / "config" / "units.tsv").write_text(units)
        import yaml

        content = {
            "samples": "config/samples.tsv",
            "units": "config/units.tsv",
            "reference": {"fasta": str(reference)},
            "call": {"scatter": 2},
            **config,
        }
        (folder / "config" / "config.yaml").write_text(yaml.safe_dump(content))
        return folder

    return make


@pytest.fixture(scope="session")
def genome(tmp_path_factory) -> Path:
    """Both regions of NA12878 as one reference."""
    path = tmp_path_factory.mktemp("genome") / "genome.fa"
    with gzip.open(OTHER / "ref.fa.gz", "rt") as other:
        path.write_text((READS / "ref.fa").read_text() + other.read())
    return path


@pytest.fixture(scope="session")
def slurm():
    """A SLURM with two nodes on this machine (see slurm.sh)."""
    if shutil.which("slurmctld") is None or os.getuid() != 0:
        pytest.skip("needs root and slurmctld, slurmd, slurm-client, munge")
    script = Path(__file__).parent / "slurm.sh"
    started = subprocess.run(["bash", script, "start"], text=True, capture_output=True)
    if "idle" not in started.stdout:
        pytest.fail(f"SLURM does not start: {started.stdout}{started.stderr}")
    yield
    subprocess.run(["bash", script, "stop"], check=False)
